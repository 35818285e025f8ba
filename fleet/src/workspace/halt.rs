//! When the commands that are run for a thread end before they are done.

use std::cell::Cell;
use std::fmt;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use super::WorkspaceError;

/// How soon a worker wants to be done with a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Halt {
    /// Nothing more is begun; a step that was made is kept, if that does not take long.
    Soon,
    /// At once: somebody else may have the thread.
    Now,
}

/// Tells whether, and how soon, the worker wants to be done.
pub type HaltWish = dyn Fn() -> Option<Halt> + Send + Sync;

/// How long the files of a step that was made may take when the worker wants to be done soon.
const GRACE: Duration = Duration::from_secs(30);

/// How often it is looked.
pub(super) const TICK: Duration = Duration::from_millis(5);

/// How long commands may take, and what ends them before.
pub(super) struct Halting {
    wish: Arc<HaltWish>,
    /// How long one command, or the wait for a lock, may take.
    pub(super) limit: Duration,
    grace: Duration,
    since: Cell<Option<Instant>>,
}

impl Halting {
    pub(super) fn new(wish: Arc<HaltWish>, limit: Duration) -> Halting {
        Halting { wish, limit, grace: Duration::ZERO, since: Cell::new(None) }
    }

    /// A step was made: from now on its files are worth a while.
    pub(super) fn keeps(&mut self) {
        self.grace = GRACE;
    }

    /// # Errors
    /// [`WorkspaceError::Stopped`] when nothing more is to be done.
    pub(super) fn check(&self) -> Result<(), WorkspaceError> {
        let is_over = match (self.wish)() {
            None => false,
            Some(Halt::Now) => true,
            Some(Halt::Soon) => {
                let since = self.since.get().unwrap_or_else(Instant::now);
                self.since.set(Some(since));
                since.elapsed() >= self.grace
            }
        };
        if is_over { Err(WorkspaceError::Stopped) } else { Ok(()) }
    }

    /// Waits for so long, if it is not told to stop.
    pub(super) fn pause(&self, time: Duration) -> Result<(), WorkspaceError> {
        let until = Instant::now() + time;
        while Instant::now() < until {
            self.check()?;
            thread::sleep(TICK);
        }
        Ok(())
    }
}

impl fmt::Debug for Halting {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Halting").field("limit", &self.limit).finish_non_exhaustive()
    }
}
