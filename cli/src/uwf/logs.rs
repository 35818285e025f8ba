//! `uwf logs`: what the runs of a thread have told, and what they tell.
//!
//! The log file of a thread is printed as it is where its last run wrote one, which is what those in the background do. Other
//! runs are told in the same lines from their records and from the journal of the one that goes on.

mod recorded;

use std::collections::VecDeque;
use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Read, Seek, SeekFrom};
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use self::recorded::recorded;
use super::args::Logs;
use super::watch::Standing;
use crate::shell::{CliError, OK, Session};
use uwf_agent::live::thread_log;
use uwf_engine::{Homes, ThreadId, lock, thread};
use uwf_store::Store;

/// How often a file is looked at that others write.
const LOOK: Duration = Duration::from_millis(200);

/// How much later than the last line of its run the store may have something of it.
const AFTERWARDS: Duration = Duration::from_secs(2);

pub(super) fn logs(session: &mut Session<'_>, args: &Logs) -> Result<u8, CliError> {
    let (thread, homes, store) = (session.thread_id(&args.thread)?, session.homes()?, session.store()?);
    thread::entry(&store, &thread)?;
    let path = thread_log(&homes.uwf, &thread);
    match log_of_last_run((&homes, &store), &thread, &path)? {
        Some(file) => {
            let is_running = || lock::running(&homes.uwf, &thread).is_running();
            from_file(session, (&path, file), args, is_running)?;
        }
        None => recorded(session, (&homes, &store), &thread, args)?,
    }
    if args.follow && session.terminals.err {
        let standing = Standing::of(session, (&homes, &store), &thread)?;
        session.ui.note(&format!("nothing of it runs any more: {}", standing.line()));
    }
    Ok(OK)
}

/// The thread's log, if its last run wrote it.
fn log_of_last_run(
    (homes, store): (&Homes, &Store),
    thread: &ThreadId,
    path: &Path,
) -> Result<Option<File>, CliError> {
    let file = match File::open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        file => file.map_err(|error| unreadable(path, error))?,
    };
    if let Some(background) = lock::running(&homes.uwf, thread).background() {
        return Ok(Some(file).filter(|_| background));
    }
    // A step that was made later was made elsewhere.
    let written = file.metadata().and_then(|file| file.modified()).unwrap_or(UNIX_EPOCH);
    let written = written.duration_since(UNIX_EPOCH).unwrap_or_default() + AFTERWARDS;
    let failures = thread::all_failures(store, Some(thread))?;
    let last = failures.iter().map(|failures| failures.variable.updated).max().unwrap_or_default();
    let last = thread::head(store, thread)?.updated.max(last);
    Ok(Some(file).filter(|_| written.as_millis() >= u128::from(last)))
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
