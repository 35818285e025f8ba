//! `uwf remote gc` and `uwf remote prune`: removing from a remote what nobody needs any more.

use std::error::Error;
use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, ErrorKind, Write};
use std::path::Path;
use std::time::Duration;

use clap::ValueEnum;
use serde_json::json;
use uwf_engine::export::head_in;
use uwf_fleet::garbage::{self, Collect, Collected, YOUNGEST};
use uwf_fleet::objects::{self, Stores};
use uwf_fleet::retention::{self, Old, OldThread, WholeThread};
use uwf_fleet::schema::Access;
use uwf_fleet::{Connection, FleetError};
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
        true => Stores::default(),
        false => objects::all(&mut connection).map_err(at(&remote.name))?,
    };
    let what = Collect { younger, dry_run, spared: &stores.closed };
    let mut remove = |team: &str, keys: &[String]| stores.remove(team, keys);
    let collected = garbage::collect(&mut connection, what, &mut remove).map_err(at(&remote.name))?;
    for Collected { team, left, .. } in &collected {
        let warned = left.as_ref().map(|why| format!("garbage of the team {team} stays: {why}"));
        warned.iter().for_each(|warned| session.ui.warn(&warned.replace("NAME", &remote.name)));
    }
    let exit = session.ui.result(&collected, || {
        let columns =
            ["TEAM", "KEPT", if dry_run { "WOULD GO" } else { "REMOVED" }, "BYTES"].map(Column::new);
        let cells = collected.iter().map(|team| {
            [team.team.clone(), team.kept.to_string(), team.removed.to_string(), team.bytes.to_string()]
        });
        render::table(columns, &cells.collect::<Vec<_>>())
    })?;
    Ok(if collected.iter().any(|team| team.left.is_some()) { USER } else { exit })
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

/// Writes a thread into a file of its own; all of it is there when its rows are removed, also after a power cut. Gives what is wrong
/// with the thread where it cannot be exported: the others may be. Where no file can be written, or the remote does not answer,
/// that is an error.
fn written(
    session: &Session<'_>,
    connection: &mut Connection,
    thread: &OldThread,
    dir: &Path,
) -> Result<Option<String>, CliError> {
    let dir = dir.join(&thread.team);
    let mut path = dir.join(format!("{}.jsonl", thread.thread));
    let failed = |path: &Path, error| CliError::said(format!("cannot write {}", path.display()), error);
    make_durably(&dir).map_err(|error| failed(&path, error))?;
    let stopped = |error: FleetError| {
        let said = format!("cannot export thread {}, which was not removed", thread.thread);
        if stops(&error) { Err(CliError::said(said, error)) } else { Ok(Some(error.to_string())) }
    };
    let whole = match retention::fetch(connection, thread, session.clock) {
        Ok(whole) => whole,
        Err(error) => return stopped(error),
    };
    if !replaces(&whole, &path) {
        path = dir.join(format!("{}-{}.jsonl", thread.thread, whole.head()));
    }
    let failed = |error| failed(&path, error);
    let mut out = BufWriter::new(AtomicFile::create(&path, 0o600).map_err(failed)?);
    if let Err(error) = whole.write(&mut out) {
        return stopped(error);
    }
    out.flush().map_err(failed)?;
    let whole = out.into_inner().map_err(|error| failed(error.into_error()))?;
    whole.persist_durably().map_err(failed)?;
    Ok(None)
}

/// Whether the file of a thread may be replaced by this copy of it: there is none, or the copy has all steps that are in it. A
/// thread that somebody has pushed again from an old copy, after it was removed, is not what was kept of it.
fn replaces(whole: &WholeThread, path: &Path) -> bool {
    match File::open(path) {
        Ok(file) => {
            let kept = head_in(&mut BufReader::new(file));
            kept.is_ok_and(|kept| whole.has_step(&kept).unwrap_or(false))
        }
        Err(error) => error.kind() == ErrorKind::NotFound,
    }
}

/// Makes a directory with those above it, which are there still after a power cut.
fn make_durably(dir: &Path) -> io::Result<()> {
    let made: Vec<&Path> = dir.ancestors().take_while(|above| !above.exists()).collect();
    fs::create_dir_all(dir)?;
    // One that somebody else made a moment ago may not be written yet.
    let own = dir.parent().into_iter();
    own.chain(made.into_iter().filter_map(Path::parent)).try_for_each(|above| File::open(above)?.sync_all())
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
