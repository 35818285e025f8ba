//! The threads that a worker has just now, and until when by its own clock.
//!
//! That clock goes on while the machine sleeps, and is not set by anybody. A lease is counted from before it was asked for, so
//! it ends here before it ends at the remote.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use uwf_engine::ThreadId;
use uwf_engine::spawn::StopSignal;

use crate::queue::{Beat, Lease, Wish};

pub(super) use uwf_engine::journals::sink::since_boot as now;

/// What an agent is ended by.
const TERM: usize = 15;

/// Why a run was stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stopped {
    /// The lease is over, or may be.
    Lost,
    /// Somebody wants the thread given up.
    Cancelled,
    /// The worker ends.
    Ended,
}

/// A thread that the worker has.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) lease: Lease,
    /// Ends the agent.
    pub(super) stop: StopSignal,
    standing: Mutex<Standing>,
}

#[derive(Debug)]
struct Standing {
    until: Duration,
    stopped: Option<Stopped>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Run {
    /// Why it was stopped, if it was; what comes first counts, but that a lost lease counts always.
    pub(super) fn stopped(&self) -> Option<Stopped> {
        locked(&self.standing).stopped
    }

    pub(super) fn end(&self, why: Stopped) {
        let mut standing = locked(&self.standing);
        if why == Stopped::Lost || standing.stopped.is_none() {
            standing.stopped = Some(why);
        }
        self.stop.cell().store(TERM, Ordering::SeqCst);
    }

    /// When the worker stops it by itself, so that nobody else can have the thread before.
    pub(super) fn until(&self) -> Duration {
        locked(&self.standing).until
    }

    /// The lease was asked for again at this time, and given.
    pub(super) fn renewed(&self, asked_at: Duration, lease: Duration) {
        let mut standing = locked(&self.standing);
        standing.until = standing.until.max(asked_at + lease);
    }
}

/// All of them.
#[derive(Debug)]
pub(super) struct Runs {
    all: Mutex<BTreeMap<ThreadId, Arc<Run>>>,
    lease: Duration,
    is_closed: AtomicBool,
}

impl Runs {
    pub(super) fn new(lease: Duration) -> Runs {
        Runs { all: Mutex::default(), lease, is_closed: AtomicBool::new(false) }
    }

    /// A thread that was claimed, asked for at this time.
    pub(super) fn begin(&self, lease: Lease, asked_at: Duration) -> Arc<Run> {
        let standing = Mutex::new(Standing { until: asked_at + self.lease, stopped: None });
        let run = Arc::new(Run { lease, stop: StopSignal::default(), standing });
        // Whoever had it before has lost it, whether they know it or not.
        if let Some(earlier) = locked(&self.all).insert(lease.thread, Arc::clone(&run)) {
            earlier.end(Stopped::Lost);
        }
        run
    }

    /// A run is over. A later one of the same thread stays.
    pub(super) fn finish(&self, run: &Run) {
        locked(&self.all).retain(|_, other| other.lease != run.lease);
    }

    pub(super) fn leases(&self) -> Vec<Lease> {
        locked(&self.all).values().map(|run| run.lease).collect()
    }

    /// The remote's answer for the leases that were asked for again.
    pub(super) fn answered(&self, asked: &[Lease], asked_at: Duration, beats: &[Beat]) {
        let all = locked(&self.all);
        // Another claim of the same thread may have come meanwhile.
        for run in asked.iter().filter_map(|lease| all.get(&lease.thread).filter(|run| run.lease == *lease)) {
            match beats.iter().find(|beat| beat.thread == run.lease.thread) {
                Some(beat) => {
                    run.renewed(asked_at, self.lease);
                    if beat.wish == Some(Wish::Cancel) {
                        run.end(Stopped::Cancelled);
                    }
                }
                None => run.end(Stopped::Lost),
            }
        }
    }

    /// So long before its lease is over a run is stopped.
    pub(super) fn margin(&self) -> Duration {
        self.lease / 5
    }

    /// How long a run that is stopped may take to end by itself: it is gone before its lease is over, however short that is.
    pub(super) fn grace(&self) -> Duration {
        self.margin() * 5 / 6
    }

    /// Stops the runs whose leases may be over soon: it takes a moment until an agent is gone.
    pub(super) fn stop_overdue(&self, now: Duration) {
        let margin = self.margin();
        for run in locked(&self.all).values() {
            let until = locked(&run.standing).until;
            if now + margin >= until && run.stopped() != Some(Stopped::Lost) {
                run.end(Stopped::Lost);
            }
        }
    }

    pub(super) fn stop_all(&self) {
        locked(&self.all)
            .values()
            .filter(|run| run.stopped().is_none())
            .for_each(|run| run.end(Stopped::Ended));
    }

    /// Nothing may be written any more for any of them.
    pub(super) fn lose_all(&self) {
        locked(&self.all).values().for_each(|run| run.end(Stopped::Lost));
    }

    /// There will be no more runs.
    pub(super) fn close(&self) {
        self.is_closed.store(true, Ordering::SeqCst);
    }

    pub(super) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::SeqCst)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_ends_late_takes_nothing_from_the_next_one_of_its_thread() {
        let runs = Runs::new(Duration::from_secs(10));
        let thread = ThreadId::new(1);
        let lease = |fence| Lease { thread, fence };
        let (first, second) = (runs.begin(lease(1), now()), runs.begin(lease(2), now()));
        assert_eq!((first.stopped(), second.stopped()), (Some(Stopped::Lost), None));
        runs.finish(&first);
        assert_eq!(runs.leases(), [lease(2)]);
        runs.finish(&second);
        assert_eq!(runs.leases(), []);
    }
}
