//! `uwf logs`: what the runs of a thread have told, and what they tell.
//!
//! What is in the thread's log file is printed as it is. Runs that wrote none, as those of called threads, are told in the same
//! lines from their records and from the journal of the one that goes on.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Read, Seek, SeekFrom};
use std::path::Path;
use std::time::Duration;

use super::args::Logs;
use super::watch::{Follower, News, Standing, step_line};
use crate::shell::{CliError, OK, Session};
use uwf_agent::live::{HomeChanges, LiveReader, recorded_lines, thread_log};
use uwf_engine::{Homes, ThreadId, lock, thread};
use uwf_store::Store;

/// How often a file is looked at that others write.
const LOOK: Duration = Duration::from_millis(200);

/// How long nobody looks by himself where the kernel tells of changes.
const TICK: Duration = Duration::from_secs(1);

pub(super) fn logs(session: &mut Session<'_>, args: &Logs) -> Result<u8, CliError> {
    let (thread, homes, store) = (session.thread_id(&args.thread)?, session.homes()?, session.store()?);
    thread::entry(&store, &thread)?;
    let path = thread_log(&homes.uwf, &thread);
    let is_running = || lock::running(&homes.uwf, &thread).is_running();
    match File::open(&path) {
        Ok(file) => from_file(session, (&path, file), args, is_running)?,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            recorded(session, (&homes, &store), &thread, args)?;
        }
        Err(error) => return Err(unreadable(&path, error)),
    }
    if args.follow && session.terminals.err {
        let standing = Standing::of(session, (&homes, &store), &thread)?;
        session.ui.note(&format!("nothing of it runs any more: {}", standing.line()));
    }
    Ok(OK)
}

fn unreadable(path: &Path, error: std::io::Error) -> CliError {
    CliError::said(format!("cannot read {}", path.display()), error)
}

/// The last lines of a file, and with `--follow` what is added as long as the run lasts.
fn from_file(
    session: &mut Session<'_>,
    (path, file): (&Path, File),
    args: &Logs,
    is_running: impl Fn() -> bool,
) -> Result<(), CliError> {
    let failed = |error| unreadable(path, error);
    let mut reader = BufReader::new(file);
    if let Some(tail) = args.tail {
        let at = beginning_of_last(&mut reader, tail).map_err(failed)?;
        reader.seek(SeekFrom::Start(at)).map_err(failed)?;
    }
    loop {
        // Asked before the rest is read: what is told until the end is in the file then.
        let goes_on = args.follow && is_running();
        let mut bytes = Vec::new();
        while reader.by_ref().take(1 << 16).read_to_end(&mut bytes).map_err(failed)? > 0 {
            session.ui.print_bytes(&bytes)?;
            bytes.clear();
        }
        if !goes_on {
            return Ok(());
        }
        std::thread::sleep(LOOK);
    }
}

/// Where the last so many lines begin.
fn beginning_of_last(reader: &mut impl BufRead, lines: usize) -> std::io::Result<u64> {
    let (mut starts, mut at, mut line) = (VecDeque::new(), 0, Vec::new());
    loop {
        line.clear();
        let count = reader.read_until(b'\n', &mut line)?;
        if count == 0 {
            return Ok(starts.front().copied().unwrap_or(at));
        }
        starts.push_back(at);
        if starts.len() > lines {
            starts.pop_front();
        }
        at += count as u64;
    }
}

/// The same from the record, and from the journal of what runs.
fn recorded(
    session: &mut Session<'_>,
    (homes, store): (&Homes, &Store),
    thread: &ThreadId,
    args: &Logs,
) -> Result<(), CliError> {
    let mut reader = LiveReader::new(&homes.uwf);
    let mut follower = Follower::of(store, &mut reader, thread, true)?;
    let mut lines = VecDeque::new();
    for (hash, step) in thread::chain(store, follower.watch.head())?.steps {
        lines.extend(recorded_lines(store, &step).into_iter().map(|line| line.text));
        lines.push_back(step_line(store, &hash, &step));
    }
    let (news, _) = follower.news(store, &mut reader)?;
    lines.extend(news.into_iter().map(text));
    let skipped = args.tail.map_or(0, |tail| lines.len().saturating_sub(tail));
    for line in lines.into_iter().skip(skipped) {
        session.ui.print(&format!("{line}\n"))?;
    }
    let mut changes = HomeChanges::of(homes);
    while args.follow && follower.run().is_some() {
        changes.wait(TICK, &[]).map_err(|error| CliError::said("cannot wait", error))?;
        for news in follower.news(store, &mut reader)?.0 {
            session.ui.print(&format!("{}\n", text(news)))?;
        }
    }
    Ok(())
}

fn text(news: News) -> String {
    match news {
        News::Line(line) => line.text,
        News::Step(_, line) => line,
    }
}
