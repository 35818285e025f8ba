//! `uwf thread stop|cancel|rm|fork`: what changes a thread without running a step.

use std::fs;

use crate::shell::{CliError, Session};
use crate::uwf::step::fork_at;
use uwf_agent::live::thread_log;
use uwf_engine::journals;
use uwf_engine::lock::{self, LockError, ThreadLock};
use uwf_engine::log::{Log, LogEvent};
use uwf_engine::thread::{self, Pause, PausedBy, Status, ThreadError, ThreadId};
use uwf_engine::view::{ThreadCancelled, ThreadPaused, ThreadRemoved, ThreadStopped};
use uwf_store::{Hash, Store};

pub(super) fn stop(session: &mut Session<'_>, thread: &str) -> Result<u8, CliError> {
    let (thread, homes, store) = (session.thread_id(thread)?, session.homes()?, session.store()?);
    thread::entry(&store, &thread)?;
    let stopped = lock::stop(&homes.uwf, &thread)?;
    if !stopped {
        // Whoever wants it to be still has what he wants.
        session.ui.warn(&format!("thread {thread} is not running"));
        session.ui.hint(&format!("`uwf thread show {thread}` tells how it stands"));
    }
    session.ui.result(&ThreadStopped { thread, stopped }, || match stopped {
        true => format!("stopped; it goes on with `uwf thread exec {thread}`\n"),
        false => "nothing to stop\n".to_owned(),
    })
}

pub(super) fn pause(session: &mut Session<'_>, thread: &str) -> Result<u8, CliError> {
    let (thread, homes, store) = (session.thread_id(thread)?, session.homes()?, session.store()?);
    let status = thread::entry(&store, &thread)?.status()?.clone();
    let runs = lock::running(&homes.uwf, &thread).is_running();
    match &status {
        Status::Ended { .. } if !runs => return Err(ThreadError::Ended { thread }.into()),
        Status::Cancelled { .. } => {
            return Err(CliError::user(format!("thread {thread} is cancelled: it makes no further step")));
        }
        Status::Suspended { role, .. } if !runs => {
            session.ui.warn(&format!(
                "thread {thread} waits for an answer to {role}: it makes no step before that"
            ));
            session.ui.hint(&format!("answer with `uwf thread resume {thread} -p TEXT`"));
            return session.ui.result(&ThreadPaused { thread, paused: false, running: runs }, || {
                "nothing to pause\n".to_owned()
            });
        }
        _ => {}
    }
    // That rounds are used up is lifted by more of them, what a person wants is not.
    if thread::paused(&store, &thread)?.is_none_or(|pause| pause.by != PausedBy::Person) {
        let reason = if runs { "somebody paused it while it ran" } else { "somebody paused it" };
        thread::pause(&store, &thread, &Pause { reason: reason.to_owned(), by: PausedBy::Person })?;
    }
    session.ui.result(&ThreadPaused { thread, paused: true, running: runs }, || {
        let when = if runs { "pauses after the step that runs" } else { "paused" };
        format!("{when}; it goes on with `uwf thread resume {thread}`\n")
    })
}

pub(super) fn cancel(session: &mut Session<'_>, thread: &str) -> Result<u8, CliError> {
    let (thread, homes, store) = (session.thread_id(thread)?, session.homes()?, session.store()?);
    // A run that takes an ended thread up again is not worth stopping: there is nothing to cancel.
    if let Status::Ended { .. } = thread::entry(&store, &thread)?.status()? {
        return Err(ThreadError::Ended { thread }.into());
    }
    let still = lock::stop_and_lock(&homes.uwf, &thread)?;
    if thread::cancel(&store, &thread)? {
        Log::new(&homes.uwf, store.now()).write(&thread, LogEvent::ThreadCancelled);
    }
    drop(still);
    session.ui.result(&ThreadCancelled { thread, cancelled: true }, || "cancelled\n".to_owned())
}

pub(super) fn remove(session: &mut Session<'_>, thread: &str, force: bool) -> Result<u8, CliError> {
    let (thread, homes, store) = (session.thread_id(thread)?, session.homes()?, session.store()?);
    thread::check_exists(&store, &thread)?;
    let still = if force {
        lock::stop_and_lock(&homes.uwf, &thread)?
    } else {
        ThreadLock::unannounced(&homes.uwf, &thread).map_err(|error| busy(error, &thread))?
    };
    forget(session, &store, &thread)?;
    drop(still);
    let exit = session.ui.result(&ThreadRemoved { thread, removed: true }, || "removed\n".to_owned())?;
    session.ui.detail("its nodes stay until `uwf cas gc`");
    Ok(exit)
}

/// Forgets a thread, whose lock is held, and what its runs left.
pub(super) fn forget(session: &mut Session<'_>, store: &Store, thread: &ThreadId) -> Result<(), CliError> {
    let homes = session.homes()?;
    thread::remove(store, thread)?;
    let log = thread_log(&homes.uwf, thread);
    if let Err(error) = fs::remove_file(&log)
        && error.kind() != std::io::ErrorKind::NotFound
    {
        session.ui.warn(&format!("cannot remove {}: {error}", log.display()));
    }
    journals::forget(&homes.uwf, thread);
    Ok(())
}

fn busy(error: LockError, thread: &ThreadId) -> CliError {
    let stop = format!("stop it first with `uwf thread stop {thread}`, or give --force");
    let running = matches!(error, LockError::Busy { .. });
    let error = CliError::from(error);
    if running { error.with_hint(stop) } else { error }
}

pub(super) fn fork(session: &mut Session<'_>, from: &str) -> Result<u8, CliError> {
    let store = session.store()?;
    // A step's name has a hash's length or a colon; what is neither is tried as a thread's first.
    if from.parse::<Hash>().is_err() && !from.contains(':') {
        let thread = session.thread_id(from)?;
        return fork_at(session, &thread::entry(&store, &thread)?.head, Some(thread));
    }
    let named = session.step_argument(from)?;
    fork_at(session, &named.find(&store)?, named.thread())
}
