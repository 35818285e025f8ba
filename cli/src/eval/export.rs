//! `uwf-eval export` and `uwf-eval import`: an evaluation as one file.

use std::io::{self, BufWriter, Write};

use serde::Serialize;
use uwf_engine::export::ExportError;
use uwf_eval::EvalError;
use uwf_eval::export::{self, Exported, Imported};

use super::args::{Export, Import};
use crate::shell::input::{Input, is_stdin};
use crate::shell::output::{Unwritten, write_file};
use crate::shell::{CliError, OK, Session};

/// An evaluation that was written to a file.
#[derive(Serialize)]
struct ExportView<'a> {
    name: &'a str,
    cases: usize,
    threads: usize,
    nodes: u64,
    file: String,
}

/// An evaluation that was taken in.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ImportView<'a> {
    name: &'a str,
    cases: usize,
    /// That were not here before.
    threads: usize,
    nodes: u64,
    /// What is not taken over.
    left_out: &'a [&'static str],
}

pub(super) fn export(session: &mut Session<'_>, args: &Export) -> Result<u8, CliError> {
    let (store, name) = (session.store()?, args.evaluation.as_str());
    let Some(file) = args.output.as_deref().filter(|file| !is_stdin(file)) else {
        let mut out = BufWriter::new(&mut *session.ui.out);
        let done = export::export(&store, name, &mut out).map_err(|error| match unwritten(error) {
            Ok(source) => CliError::from_stdout(source),
            Err(error) => error.into(),
        })?;
        out.flush().map_err(CliError::from_stdout)?;
        drop(out);
        tell_gone(session, &done);
        return Ok(OK);
    };
    let failed = |error| CliError::said(format!("cannot write {}", file.display()), error);
    let written = write_file(&session.cwd.join(file), |out| export::export(&store, name, out));
    let done = written.map_err(|error| match error {
        Unwritten::File(error) => failed(error),
        Unwritten::Content(error) => unwritten(error).map_or_else(CliError::from, failed),
    })?;
    tell_gone(session, &done);
    let Exported { cases, threads, nodes, .. } = done;
    let view = ExportView { name, cases, threads, nodes, file: file.display().to_string() };
    session.ui.result(&view, || {
        format!("{name}: {cases} cases, {threads} threads, {nodes} nodes in {}\n", view.file)
    })
}

/// The disk's reason, where it is the file that cannot be written.
fn unwritten(error: EvalError) -> Result<io::Error, EvalError> {
    match error {
        EvalError::Export(error) => match *error {
            ExportError::Io { source, .. } => Ok(source),
            other => Err(other.into()),
        },
        other => Err(other),
    }
}

fn tell_gone(session: &mut Session<'_>, done: &Exported) {
    if let [first, others @ ..] = done.gone.as_slice() {
        let more = if others.is_empty() { String::new() } else { format!(" and {} more", others.len()) };
        session.ui.warn(&format!("not in the file, since they are gone: thread {first}{more}"));
    }
}

pub(super) fn import(session: &mut Session<'_>, args: &Import) -> Result<u8, CliError> {
    let store = session.store()?;
    let Input { name, mut reader } = Input::open(session.stdin, &session.cwd, &args.file)?;
    let imported = export::import(&store, &mut reader, args.name.as_deref());
    drop(reader);
    let Imported { name, cases, threads, nodes, left_out } = imported.map_err(|error| {
        let hint = error.hint();
        let failure = CliError::said(format!("cannot import {name}"), error);
        hint.into_iter().fold(failure, CliError::with_hint)
    })?;
    if !left_out.is_empty() {
        session.ui.warn(&format!("not taken over: {}", left_out.join(", ")));
    }
    let view = ImportView { name: &name, cases, threads, nodes, left_out: &left_out };
    session.ui.result(&view, || {
        format!("{name}: {cases} cases, {threads} new threads, {nodes} nodes\nmore: uwf-eval report {name}\n")
    })
}
