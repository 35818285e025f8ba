//! `uwf remote gc` and `uwf remote prune`: removing from a remote what nobody needs any more.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::Duration;

use clap::ValueEnum;
use serde_json::json;
use uwf_fleet::garbage::{self, Collect, YOUNGEST};
use uwf_fleet::retention::{self, Old, OldThread};
use uwf_fleet::schema::Access;
use uwf_fleet::{Connection, FleetError, objects};
use uwf_store::atomic_file::AtomicFile;

use crate::remote::{at, named, open};
use crate::shell::{CliError, Column, Session, USAGE, USER, render};
use crate::uwf::args::{OldStatus, RemotePrune};

pub(super) fn gc(
    session: &mut Session<'_>,
    remote: Option<&str>,
    younger: &str,
    dry_run: bool,
) -> Result<u8, CliError> {
    let younger = duration(younger)?;
    if younger < YOUNGEST {
        session.ui.warn("nodes that were put less than 1h ago are kept in any case: a push may be going on");
    }
    let remote = named(session, remote)?;
    let mut connection = open(session, &remote, Access::Write)?;
    let stores = match dry_run {
        true => BTreeMap::new(),
        false => objects::all(&mut connection).map_err(at(&remote.name))?,
    };
    let what = Collect { younger, dry_run };
    let collected = garbage::collect(&mut connection, what, &mut |keys| objects::remove(&stores, keys));
    let collected = collected.map_err(at(&remote.name))?;
    session.ui.result(&collected, || {
        let columns =
            ["TEAM", "KEPT", if dry_run { "WOULD GO" } else { "REMOVED" }, "BYTES"].map(Column::new);
        let cells = collected.iter().map(|team| {
            [team.team.clone(), team.kept.to_string(), team.removed.to_string(), team.bytes.to_string()]
        });
        render::table(columns, &cells.collect::<Vec<_>>())
    })
}

pub(super) fn prune(session: &mut Session<'_>, which: &RemotePrune) -> Result<u8, CliError> {
    let word = |status: &OldStatus| {
        status.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    };
    let old = Old { older: duration(&which.older_than)?, statuses: which.status.iter().map(word).collect() };
    let remote = named(session, which.remote.as_deref())?;
    let mut connection = open(session, &remote, Access::Write)?;
    let found = retention::old_threads(&mut connection, &old).map_err(at(&remote.name))?;
    let (mut removed, mut kept) = (Vec::new(), Vec::new());
    for thread in found {
        if let Some(dir) = &which.export
            && let Some(why) = written(session, &mut connection, &thread, &session.cwd.join(dir))?
        {
            session.ui.warn(&format!("thread {} cannot be exported, and stays: {why}", thread.thread));
            kept.push(json!({ "team": thread.team, "thread": thread.thread, "why": why }));
            continue;
        }
        let is_removed =
            which.dry_run || retention::remove(&mut connection, &thread, &old).map_err(at(&remote.name))?;
        if is_removed {
            removed.push(thread);
        }
    }
    let events =
        retention::remove_events(&mut connection, old.older, which.dry_run).map_err(at(&remote.name))?;
    let view = json!({ "removed": removed, "kept": kept, "events": events, "dryRun": which.dry_run });
    let exit = session.ui.result(&view, || {
        let would = if which.dry_run { "would be " } else { "" };
        let lines: String = removed
            .iter()
            .map(|old| format!("{}  {}  {}, {} steps\n", old.thread, old.team, old.status, old.steps))
            .collect();
        format!("{lines}{} threads and {events} events {would}removed\n", removed.len())
    })?;
    Ok(if kept.is_empty() { exit } else { USER })
}

/// Writes a thread into a file of its own; all of it is there when its rows are removed. Gives what is wrong with the thread where
/// it cannot be exported: the others may be. Where no file can be written, or the remote does not answer, that is an error.
fn written(
    session: &Session<'_>,
    connection: &mut Connection,
    thread: &OldThread,
    dir: &Path,
) -> Result<Option<String>, CliError> {
    let dir = dir.join(&thread.team);
    let path = dir.join(format!("{}.jsonl", thread.thread));
    let failed = |error| CliError::said(format!("cannot write {}", path.display()), error);
    fs::create_dir_all(&dir).map_err(failed)?;
    let mut out = BufWriter::new(AtomicFile::create(&path, 0o600).map_err(failed)?);
    if let Err(error) = retention::export(connection, thread, session.clock, &mut out) {
        let said = format!("cannot export thread {}, which was not removed", thread.thread);
        return if stops(&error) { Err(CliError::said(said, error)) } else { Ok(Some(error.to_string())) };
    }
    out.flush().map_err(failed)?;
    let whole = out.into_inner().map_err(|error| failed(error.into_error()))?;
    whole.persist_durably().map_err(failed)?;
    Ok(None)
}

/// Whether what is wrong with the export of a thread is wrong with all others too.
fn stops(error: &FleetError) -> bool {
    let mut cause: Option<&(dyn Error + 'static)> = error.source();
    while let Some(this) = cause {
        if this.is::<std::io::Error>() {
            return true;
        }
        cause = this.source();
    }
    error.is_passing()
}

/// A length of time as people type it: `90d`, `12h`.
fn duration(text: &str) -> Result<Duration, CliError> {
    humantime::parse_duration(text).map_err(|_| CliError::Said {
        error: format!("`{text}` is not a length of time").into(),
        hint: Some("expected 90d, 12h or 30min".to_owned()),
        exit: USAGE,
    })
}
