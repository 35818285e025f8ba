//! What the threads of a run share: which case is next, whether any is, and how many cases may be worked at.
//!
//! A case that is judged makes room for the next one and is recorded meanwhile: a small case would wait for the disk as long as its
//! thread works.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError, mpsc};

use super::plan::Slot;
use super::{Event, Runner};
use crate::EvalError;
use crate::case::Case;

pub(super) struct Pool {
    next: AtomicUsize,
    spent: Mutex<f64>,
    /// Why nothing more is begun.
    failed: Mutex<Option<EvalError>>,
    /// How many more cases may be worked at.
    room: Mutex<usize>,
    left: Condvar,
}

/// The right to work at a case, until it is dropped.
pub(super) struct Room<'a>(&'a Pool);

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Pool {
    /// Room for so many cases at once, where so much was spent before, in USD.
    pub(super) fn new(parallel: usize, spent: f64) -> Pool {
        Pool {
            next: AtomicUsize::new(0),
            spent: Mutex::new(spent),
            failed: Mutex::default(),
            room: Mutex::new(parallel),
            left: Condvar::new(),
        }
    }

    /// The next case that is to be run, if any is, as soon as there is room for it.
    pub(super) fn take<'s>(&self, waiting: &'s [Slot], runner: &Runner<'_>) -> Option<(&'s Slot, Room<'_>)> {
        let room = self.enter();
        if locked(&self.failed).is_some() || runner.stop.signal().is_some() || self.is_broke(runner) {
            return None;
        }
        Some((waiting.get(self.next.fetch_add(1, Ordering::SeqCst))?, room))
    }

    fn enter(&self) -> Room<'_> {
        let room = self.left.wait_while(locked(&self.room), |room| *room == 0);
        *room.unwrap_or_else(PoisonError::into_inner) -= 1;
        Room(self)
    }

    fn is_broke(&self, runner: &Runner<'_>) -> bool {
        let spent = *locked(&self.spent);
        runner.max_cost.is_some_and(|most| spent >= most && spent > 0.0)
    }

    /// A case is judged: what it costs is known.
    pub(super) fn judged(&self, case: &Case, slot: &Slot) {
        *locked(&self.spent) += case.paid().unwrap_or(0.0) - slot.paid_before();
    }

    /// A case is recorded, or was stopped, or cannot be worked at.
    pub(super) fn done(
        &self,
        came: Result<Option<Case>, EvalError>,
        runner: &Runner<'_>,
        events: &mpsc::Sender<Event>,
    ) {
        match came {
            // Whoever listens outlives the threads.
            Ok(Some(case)) => drop(events.send(Event::Finished(Box::new(case)))),
            // Stopped in the middle.
            Ok(None) => {}
            Err(_) if runner.stop.signal().is_some() => {}
            Err(error) => drop(locked(&self.failed).get_or_insert(error)),
        }
    }

    /// Why it came to an end, where that was no case's; and whether so many cases were all begun.
    pub(super) fn ended(self, cases: usize) -> Result<bool, EvalError> {
        match self.failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(error) => Err(error),
            None => Ok(self.next.into_inner() >= cases),
        }
    }
}

impl Drop for Room<'_> {
    fn drop(&mut self) {
        *locked(&self.0.room) += 1;
        self.0.left.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    #[test]
    fn no_more_are_worked_at_than_there_is_room_for() {
        let (pool, at_once, most) = (Pool::new(2, 0.0), AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..6 {
                scope.spawn(|| {
                    for _ in 0..50 {
                        let room = pool.enter();
                        most.fetch_max(at_once.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                        std::thread::yield_now();
                        at_once.fetch_sub(1, Ordering::SeqCst);
                        drop(room);
                    }
                });
            }
        });
        assert_eq!((most.into_inner(), *locked(&pool.room)), (2, 2));
    }
}
