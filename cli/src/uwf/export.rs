//! `uwf thread export` and `uwf thread import`: a thread as one file.

use std::io::{BufWriter, Write};
use std::path::Path;

use crate::shell::output::{Unwritten, write_file};
use crate::shell::{CliError, OK, Session, input::Input};
use uwf_engine::export::{self, ExportError};
use uwf_engine::view::{ThreadExported, ThreadImported};

pub(super) fn export(session: &mut Session<'_>, thread: &str, output: Option<&Path>) -> Result<u8, CliError> {
    let (thread, store) = (session.thread_id(thread)?, session.store()?);
    let Some(file) = output.filter(|file| file.as_os_str() != "-") else {
        let mut out = BufWriter::new(&mut *session.ui.out);
        let written = export::export(&store, &thread, &mut out);
        let written =
            written.and_then(|_| out.flush().map_err(|source| ExportError::Io { doing: "write", source }));
        return written.map(|()| OK).map_err(|error| match error {
            ExportError::Io { source, .. } => CliError::from_stdout(source),
            error => error.into(),
        });
    };
    let path = session.cwd.join(file);
    let failed = |error| CliError::said(format!("cannot write {}", file.display()), error);
    let done =
        write_file(&path, |out| export::export(&store, &thread, out)).map_err(|error| match error {
            Unwritten::File(error) | Unwritten::Content(ExportError::Io { source: error, .. }) => {
                failed(error)
            }
            Unwritten::Content(error) => error.into(),
        })?;
    let exported = ThreadExported::of(&done, file.display().to_string());
    session.ui.result(&exported, || format!("{thread}: {} nodes in {}\n", exported.nodes, exported.file))
}

pub(super) fn import(session: &mut Session<'_>, file: &Path) -> Result<u8, CliError> {
    let (store, home) = (session.store()?, session.homes()?.uwf);
    let Input { name, mut reader } = Input::open(session.stdin, &session.cwd, file)?;
    let imported = export::import(&store, &home, &mut reader);
    drop(reader);
    let imported = imported.map_err(|error| {
        let hint = error.hint();
        let failure = CliError::said(format!("cannot import {name}"), error);
        hint.into_iter().fold(failure, CliError::with_hint)
    })?;
    if !imported.left_out.is_empty() {
        session.ui.warn(&format!("not taken over: {}", imported.left_out.join(", ")));
        session.ui.hint("who plays here, and with which rights, is said here: `uwf thread exec --help`");
    }
    let view = ThreadImported::from(imported);
    let ThreadImported { thread, nodes, imported: new, forwarded, .. } = view;
    session.ui.result(&view, || {
        let what = match (new, forwarded) {
            (true, _) => format!("{nodes} nodes"),
            (false, true) => "it was here already, and has moved on".to_owned(),
            (false, false) => "it was here already".to_owned(),
        };
        format!("{thread}: {what}\n")
    })
}
