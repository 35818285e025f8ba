//! Ending a run that another process makes: a polite signal, then waiting until it is gone.
//!
//! Apart because it is the one place of the engine that signals a process which it did not start itself. It signals
//! none but a [`LockHolder`]: never a number.

use std::io;
use std::path::Path;
use std::time::Duration;

use thiserror::Error;

use super::{LockError, Running, ThreadLock, running};
use crate::thread::ThreadId;

/// How long a run has for its orderly end; its agent alone may take two seconds.
const PATIENCE: Duration = Duration::from_secs(10);

/// How often a lock is taken from runs that begin again and again.
const TRIES: usize = 5;

/// Why a run goes on.
#[derive(Debug, Error)]
pub enum StopError {
    /// It is not known which process it is.
    #[error("thread {thread} is running, but which process runs it cannot be told")]
    Unnamed {
        /// The thread.
        thread: ThreadId,
    },
    /// The process may not be signalled, or cannot be waited for.
    #[error("cannot stop process {pid}, which runs thread {thread}")]
    Signal {
        /// The thread.
        thread: ThreadId,
        /// The process.
        pid: u32,
        /// The system's reason.
        source: io::Error,
    },
    /// It was asked and goes on.
    #[error("process {pid}, which runs thread {thread}, has not ended within {} s", PATIENCE.as_secs())]
    Stubborn {
        /// The thread.
        thread: ThreadId,
        /// The process.
        pid: u32,
    },
    /// The lock's files cannot be used, or runs of the thread begin faster than they are ended.
    #[error(transparent)]
    Lock(#[from] LockError),
}

impl StopError {
    /// What to do about it, when that can be said.
    pub fn hint(&self) -> Option<String> {
        match self {
            StopError::Unnamed { thread } => {
                Some(format!("stop it where it was started; see running/{thread}.json in $UWF_HOME"))
            }
            StopError::Stubborn { pid, .. } => Some(format!("kill -KILL {pid} ends it at once")),
            StopError::Signal { .. } => None,
            StopError::Lock(error) => error.hint(),
        }
    }
}

/// Ends the run of `thread`, if there is one, and says whether there was.
///
/// # Errors
/// The process that runs the thread is unknown, cannot be signalled, or does not end within ten seconds.
pub fn stop(home: &Path, thread: &ThreadId) -> Result<bool, StopError> {
    let thread = *thread;
    let holder = match running(home, &thread) {
        Running::No => return Ok(false),
        Running::Unnamed => return Err(StopError::Unnamed { thread }),
        Running::By(holder) => holder,
    };
    let pid = holder.pid();
    let failed = |source| StopError::Signal { thread, pid, source };
    holder.terminate().map_err(failed)?;
    if holder.wait(PATIENCE).map_err(failed)? { Ok(true) } else { Err(StopError::Stubborn { thread, pid }) }
}

/// Ends the run of `thread`, if there is one, and keeps another from beginning as long as the lock is held.
///
/// # Errors
/// The run cannot be ended, as in [`stop`], others begin faster than they are ended, or the file of the lock cannot be
/// used.
pub fn stop_and_lock(home: &Path, thread: &ThreadId) -> Result<ThreadLock, StopError> {
    let mut tries = TRIES;
    loop {
        tries -= 1;
        match ThreadLock::unannounced(home, thread) {
            Err(LockError::Busy { .. }) if tries > 0 => stop(home, thread)?,
            lock => return Ok(lock?),
        };
    }
}
