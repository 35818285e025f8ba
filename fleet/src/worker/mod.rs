//! The loop of a worker: claim, bring the thread here, step, push, and on with the next step while the lease holds.
//!
//! Three kinds of threads of the process: each *slot* has a connection and works on one thread of the remote at a time; the
//! *heart* asks for the leases of all of them again, each third of one; and the caller's own watches the clock, so that a run is
//! stopped before its lease can be anybody else's, whatever a connection waits for.

mod counts;
mod directory;
mod heart;
mod left;
mod link;
mod outcome;
mod paid;
mod runs;
mod slot;
#[cfg(test)]
mod space_tests;
#[cfg(test)]
mod tests;
mod trouble;

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU8, Ordering};
use std::thread;
use std::time::Duration;

use uwf_engine::ThreadId;
use uwf_engine::exec::StepReport;
use uwf_engine::spawn::StopSignal;
use uwf_store::Store;

pub use self::counts::Counts;
use self::runs::Runs;
use crate::queue::{self, Claimant, Lease, Presence};
use crate::schema::Versions;
use crate::workspace::Workspaces;
use crate::{Connection, FleetError};

/// What a worker is to do.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Who it is, and what it takes.
    pub claimant: Claimant,
    /// What it says of itself.
    pub presence: Presence,
    /// When it ends by itself.
    pub until: Until,
    /// How long steps may go on when it is asked to end.
    pub grace: Duration,
    /// The versions of the schema that the program knows: it ends where it may not write any more.
    pub versions: Versions,
}

/// When a worker ends by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// Never.
    Asked,
    /// When nothing at the remote is ready or leased.
    Empty,
    /// When each of its slots has had one thread.
    Once,
}

/// Whoever knows how a step is made: the program.
pub trait Host: Sync {
    /// The store of this machine.
    fn store(&self) -> &Store;

    /// `$UWF_HOME`: the journals of agents are below it.
    fn home(&self) -> &Path;

    /// Makes the next step of a thread that is in the store, or takes it up again with what a person has answered. Where a summary
    /// is due that is all that is made ([`ExecOptions::apart`](uwf_engine::ExecOptions)): each move of the head is pushed before
    /// anything is built on it.
    ///
    /// # Errors
    /// Why there is no step, in words.
    fn step(&self, step: &WantedStep<'_>) -> Result<StepReport, String>;

    /// Forgets what runs of a thread that was brought here have left on this machine beside the store.
    fn forget(&self, thread: &ThreadId);

    /// What this machine has for the directories of threads; without any, threads work where they were begun, and nowhere else.
    fn workspaces(&self) -> Option<&Workspaces> {
        None
    }

    /// Something happened.
    fn tell(&self, happening: &Happening<'_>);
}

/// A step that a host is to make.
#[derive(Debug)]
pub struct WantedStep<'a> {
    /// The thread, and the fence of the worker's lease on it.
    pub lease: &'a Lease,
    /// Which attempt this is, from 1, since there was progress.
    pub attempt: i32,
    /// Where it works, if not where it says itself.
    pub cwd: Option<&'a Path>,
    /// What a person has answered, where it was suspended.
    pub answer: Option<&'a str>,
    /// Where the agents of the step ask to keep their journals: the variable `JOURNAL_SINK` of their environment.
    pub sink: &'a Path,
    /// Set when the step is to stop at once.
    pub stop: &'a StopSignal,
    /// How long it may take until then: whatever of it is not gone by that time is to be killed.
    pub grace: Duration,
}

/// What a worker tells of.
#[derive(Debug)]
pub enum Happening<'a> {
    /// It has a thread.
    Claimed(&'a ThreadId, i64),
    /// A step is pushed; the thread is in this state now.
    Stepped(&'a ThreadId, &'a StepReport, &'a str),
    /// A step failed, or could not be made.
    Failed(&'a ThreadId, &'a str),
    /// The lease of a thread was lost.
    Lost(&'a ThreadId),
    /// A thread was given back.
    HandedBack(&'a ThreadId),
    /// The remote does not answer, for this reason.
    Unreachable(&'a FleetError),
}

/// What somebody who ends a worker wants.
#[derive(Debug, Default)]
pub struct Wind(AtomicU8);

impl Wind {
    /// To take no more threads, finish the steps that run, and end.
    pub fn drain(&self) {
        self.0.fetch_max(1, Ordering::SeqCst);
    }

    /// To stop the steps that run, and end.
    pub fn stop(&self) {
        self.0.fetch_max(2, Ordering::SeqCst);
    }

    /// Whether it was asked to end.
    pub fn is_draining(&self) -> bool {
        self.0.load(Ordering::SeqCst) > 0
    }

    fn is_stopping(&self) -> bool {
        self.0.load(Ordering::SeqCst) > 1
    }
}

/// How a connection is made.
pub type Open<'a> = dyn Fn() -> Result<Connection, FleetError> + Sync + 'a;

/// All that the threads of a worker share.
struct Worker<'a> {
    settings: &'a Settings,
    host: &'a dyn Host,
    open: &'a Open<'a>,
    wind: &'a Wind,
    runs: Runs,
    counts: &'a Counts,
    /// Why a slot could not go on.
    failed: Mutex<Option<FleetError>>,
}

/// How often the clock is looked at.
const TICK: Duration = Duration::from_millis(20);

/// Works until it is asked to end, or as `settings` say.
///
/// # Errors
/// The remote cannot be reached when it begins, or may not be worked for. Whatever passes later is waited for.
pub fn work(
    settings: &Settings,
    host: &dyn Host,
    open: &Open<'_>,
    (wind, counts): (&Wind, &Counts),
) -> Result<(), FleetError> {
    let mut first = open()?;
    queue::come(&mut first, &settings.claimant, &settings.presence)?;
    drop(first);
    let worker = Worker {
        settings,
        host,
        open,
        wind,
        runs: Runs::new(settings.claimant.lease),
        counts,
        failed: Mutex::default(),
    };
    thread::scope(|scope| {
        let slots: Vec<_> = (0..settings.presence.parallel).map(|_| scope.spawn(|| worker.slot())).collect();
        scope.spawn(|| worker.heart());
        let mut ends_at = None;
        while slots.iter().any(|slot| !slot.is_finished()) {
            worker.watch(&mut ends_at);
            thread::sleep(TICK);
        }
        worker.runs.close();
    });
    if let Ok(mut last) = open() {
        queue::go(&mut last, &settings.claimant.name).ok();
    }
    match worker.failed.into_inner() {
        Ok(Some(error)) => Err(error),
        _ => Ok(()),
    }
}

impl Worker<'_> {
    /// One look at the clock: runs whose leases may be over are stopped, and all of them when the grace is.
    fn watch(&self, ends_at: &mut Option<Duration>) {
        let now = runs::now();
        self.runs.stop_overdue(now);
        if self.wind.is_draining() && ends_at.is_none() {
            *ends_at = Some(now + self.settings.grace);
        }
        if self.wind.is_stopping() || ends_at.is_some_and(|at| at <= now) {
            self.runs.stop_all();
        }
    }

    fn fail(&self, error: FleetError) {
        self.wind.drain();
        if let Ok(mut failed) = self.failed.lock() {
            failed.get_or_insert(error);
        }
    }
}
