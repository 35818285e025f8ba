//! One slot of a worker: claims a thread, works on it while it has the lease, and takes the next one.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use uwf_engine::ThreadId;
use uwf_engine::exec::StepReport;
use uwf_engine::journals::sink::{KeepAnswer, KeepRequest};
use uwf_engine::lock::ThreadLock;
use uwf_store::Hash;

use super::counts::add;
use super::directory::{self, Place};
use super::left::{Fault, Left, Unmade};
use super::link::Link;
use super::runs::{Run, Stopped, now};
use super::trouble::{self, Trouble};
use super::{Happening, Until, WantedStep, Worker};
use crate::heads;
use crate::journal::{self, Keeper, Restored, Stream};
use crate::queue::{self, Claim, HandBack, Settled};
use crate::workspace::{Directory, MadeStep};
use crate::{FleetError, nodes};

/// How long a slot without work waits before it looks by itself.
const LOOK: Duration = Duration::from_secs(1);

/// How long it is taken for granted that the remote has a node; less than it keeps those that nothing needs.
const KNOWN: Duration = Duration::from_secs(20 * 60);

/// What a slot knows of the thread that it has.
pub(super) struct Work<'a> {
    pub(super) run: &'a Run,
    pub(super) claim: &'a Claim,
    /// Where the thread stands at the remote.
    pub(super) head: Hash,
    /// What the remote has.
    pub(super) known: HashSet<Hash>,
    /// Since when that is known.
    pub(super) known_since: Duration,
    /// Where it works.
    pub(super) place: Place<'a>,
    /// How much it has of the journals of the step that is going on.
    pub(super) kept: Restored,
    /// How often the step that is going on was tried, this time included.
    pub(super) attempts: i32,
}

impl Work<'_> {
    /// What the remote has is asked for again after a while: what was not needed there meanwhile may have been collected.
    fn forget_known(&mut self) {
        let time = now();
        if time.saturating_sub(self.known_since) > KNOWN {
            self.known.clear();
            self.known_since = time;
        }
    }
}

impl Worker<'_> {
    pub(super) fn slot(&self) {
        let mut link = Link::prepared(|connection| {
            queue::prepare_claims(connection)?;
            queue::listen(connection, queue::News::Ready)
        });
        let mut trouble = Trouble::default();
        while !self.wind.is_draining() {
            // A lease is counted from before it is asked for, but not from before an outage that was waited for.
            let mut asked_at = now();
            let claimed = link.patiently(self.open, &|_| self.wind.is_draining(), |connection| {
                asked_at = now();
                queue::claim(connection, &self.settings.claimant)
            });
            match claimed {
                Ok(Some(claim)) => {
                    let has_failed = self.have(&mut link, &claim, asked_at);
                    if self.settings.until == Until::Once {
                        return;
                    }
                    trouble.after(has_failed, self.wind);
                }
                Ok(None) if self.is_all_done(&mut link) => return,
                Ok(None) => drop(link.once(self.open, |connection| queue::wait(connection, LOOK))),
                Err(error) if error.is_passing() => {}
                Err(error) => return self.fail(error),
            }
        }
    }

    fn is_all_done(&self, link: &mut Link) -> bool {
        match self.settings.until {
            Until::Asked | Until::Once => false,
            Until::Empty => {
                let is_empty = |connection: &mut _| queue::is_empty(connection, &self.settings.claimant);
                link.once(self.open, is_empty).unwrap_or(false)
            }
        }
    }

    /// Works on a claimed thread, and sees to it that nothing is left of it here. Tells whether it came to nothing.
    fn have(&self, link: &mut Link, claim: &Claim, asked_at: Duration) -> bool {
        let run = self.runs.begin(claim.lease, asked_at);
        let thread = &claim.lease.thread;
        add(&self.counts.claims, 1);
        self.counts.running.fetch_add(1, Ordering::Relaxed);
        self.host.tell(&Happening::Claimed(thread, claim.lease.fence));
        let left = self.work_on(link, &run, claim).or_else(|error| self.given_up(thread, error));
        let has_failed = !matches!(
            left,
            Ok(Left::Nothing | Left::Ended | Left::Settle(..) | Left::HandBack(HandBack::Drained))
        );
        if let Err(error) = left.and_then(|left| self.leave(link, &run, left)) {
            match error {
                FleetError::LeaseLost { .. } => {
                    add(&self.counts.lost, 1);
                    self.host.tell(&Happening::Lost(thread));
                }
                error => self.host.tell(&Happening::Failed(thread, &error.to_string())),
            }
        }
        self.forget(&run);
        self.runs.finish(&run);
        self.counts.running.fetch_sub(1, Ordering::Relaxed);
        has_failed
    }

    /// How a thread is left that this worker cannot go on with; an error where it no longer has it. A step may be paid for by
    /// then: it is not made again and again for what will not go away.
    fn given_up(&self, thread: &ThreadId, error: FleetError) -> Result<Left, FleetError> {
        if matches!(error, FleetError::LeaseLost { .. }) {
            return Err(error);
        }
        let why = directory::told(&error);
        self.host.tell(&Happening::Failed(thread, &why));
        Ok(match error {
            FleetError::Refused { .. } | FleetError::NotPermitted { .. } | FleetError::Collision { .. } => {
                Left::Settle(Settled::Dead, why)
            }
            // A run that ends late, somebody's own, or a copy of it that somebody has gone on with here: it is no fault of the
            // thread.
            FleetError::Lock(_) | FleetError::Diverged { .. } => Left::HandBack(HandBack::Elsewhere(why)),
            _ if trouble::is_of_machine(&error) => Left::HandBack(HandBack::Elsewhere(why)),
            _ => Left::HandBack(HandBack::Failed(why)),
        })
    }

    /// Forgets what a run has brought here, but not what a later one of the same thread has: that has the thread's lock, or its
    /// mark.
    fn forget(&self, run: &Run) {
        let thread = &run.lease.thread;
        let Ok(_lock) = ThreadLock::unannounced(self.host.home(), thread) else { return };
        if heads::forget(self.host.store(), &run.lease).is_ok_and(|was_brought| was_brought) {
            self.host.forget(thread);
        }
    }

    /// Does something at the remote for a run, for as long as its lease may hold.
    pub(super) fn at<T>(
        &self,
        link: &mut Link,
        run: &Run,
        what: impl FnMut(&mut crate::Connection) -> Result<T, FleetError>,
    ) -> Result<T, FleetError> {
        let is_lost = || run.stopped() == Some(Stopped::Lost);
        if is_lost() {
            return Err(run.lease.lost());
        }
        link.patiently(self.open, &|_| is_lost(), what)
            .map_err(|error| if is_lost() && error.is_passing() { run.lease.lost() } else { error })
    }

    /// Brings the thread here and makes its steps. Gives how it is to be left, if it is still this worker's.
    fn work_on(&self, link: &mut Link, run: &Arc<Run>, claim: &Claim) -> Result<Left, FleetError> {
        let known_since = now();
        let (known, kept) = self.bring(link, run)?;
        let (head, attempts) = (claim.head, claim.attempt);
        let mut work = Work { run, claim, head, known, known_since, kept, attempts, place: None };
        match self.directory(link, (run, claim), work.kept.latest.as_ref()) {
            Ok(place) => work.place = place,
            Err(error) => return directory::without(error),
        }
        let left = self.steps(link, run, &mut work);
        if let Some(place) = work.place.take() {
            place.leave(matches!(&left, Ok(Left::Ended | Left::Settle(..))));
        }
        left
    }

    /// Makes steps for as long as there is one to be made here.
    fn steps(&self, link: &mut Link, run: &Run, work: &mut Work<'_>) -> Result<Left, FleetError> {
        let claim = work.claim;
        let mut cwd = match self.cwd(claim, &work.place) {
            Ok(cwd) => cwd,
            Err(error) => return directory::without(error),
        };
        let mut answer = claim.answer.as_deref();
        loop {
            if self.wind.is_draining() {
                return Ok(Left::HandBack(HandBack::Drained));
            }
            work.place.iter_mut().for_each(Directory::touch);
            // This process may have been stopped for a while since the lease was looked at.
            self.runs.stop_overdue(now());
            if run.stopped() == Some(Stopped::Lost) {
                return Err(claim.lease.lost());
            }
            let made = self.make(link, work, (cwd.as_deref(), answer.take()));
            match run.stopped() {
                Some(Stopped::Lost) => return Err(claim.lease.lost()),
                Some(Stopped::Cancelled) if made.is_err() => return self.cancel(link, work),
                Some(Stopped::Ended) if made.is_err() => return Ok(Left::HandBack(HandBack::Drained)),
                _ => {}
            }
            let report = match made {
                Ok(report) => report,
                Err(unmade) => return self.failed(link, work, unmade),
            };
            if let Some(why) = &report.failure {
                return self.failed(link, work, Unmade { why: why.clone(), fault: Fault::Recorded });
            }
            if let Some(left) = self.made(link, work, &report)? {
                return Ok(left);
            }
            // Only the one that was asked works where it did.
            cwd = work.place.as_ref().map(|place| place.cwd(&claim.lease.thread, None)).transpose()?;
        }
    }

    /// Keeps what a step has made, and pushes it. Gives how the thread is left then, if it does not go on here.
    fn made(
        &self,
        link: &mut Link,
        work: &mut Work<'_>,
        report: &StepReport,
    ) -> Result<Option<Left>, FleetError> {
        let run = work.run;
        work.forget_known();
        let role = report.played.as_ref().map_or("uwf", |played| played.step.role.as_str());
        let step = MadeStep { role, head: &report.head };
        let kept = match self.keep(link, run, (&mut work.place, &mut work.known), &step) {
            Ok(kept) => kept,
            Err(error) => return directory::unkept(error).map(Some),
        };
        if run.stopped() == Some(Stopped::Cancelled) {
            // What the step has made is kept all the same; one that has ended the thread has.
            uwf_engine::thread::cancel(self.host.store(), &work.claim.lease.thread).ok();
        }
        let state = match self.push(link, work, (Some(report), kept.as_ref())) {
            Ok(state) => state,
            Err(error) => return directory::unpushed(error).map(Some),
        };
        Ok(match state.as_str() {
            // No further step is begun on a budget that is spent, as none is claimed.
            "leased" if self.at(link, run, queue::is_spent)? => Some(Left::HandBack(HandBack::Drained)),
            "leased" => None,
            "done" | "dead" => Some(Left::Ended),
            _ => Some(Left::Nothing),
        })
    }

    /// Has the host make a step, and keeps its journals at the remote meanwhile.
    fn make(
        &self,
        link: &mut Link,
        work: &mut Work<'_>,
        (cwd, answer): (Option<&Path>, Option<&str>),
    ) -> Result<StepReport, Unmade> {
        let (run, store, home) = (work.run, self.host.store(), self.host.home());
        let keeper = Keeper::open(home, &run.lease).map_err(|error| Unmade {
            why: format!("nobody can listen below {}: {error}", home.display()),
            fault: Fault::Unbegun,
        })?;
        let mut refused: Option<FleetError> = None;
        let mut stream = Stream {
            store,
            home,
            lease: &run.lease,
            head: work.head,
            known: &mut work.known,
            kept: &mut work.kept.lengths,
            has_progressed: false,
        };
        let mut keep =
            |request: &KeepRequest| match self.at(link, run, |connection| stream.keep(connection, request)) {
                Ok(()) => KeepAnswer::Kept { until: run.until().saturating_sub(self.runs.margin()) },
                Err(error) => {
                    if matches!(error, FleetError::LeaseLost { .. }) {
                        run.end(Stopped::Lost);
                    }
                    KeepAnswer::Refused(said(refused.insert(error)))
                }
            };
        let made = thread::scope(|scope| {
            let serving = scope.spawn(|| keeper.serve(&mut keep));
            let closing = Closing(&keeper);
            let step = WantedStep {
                lease: &run.lease,
                attempt: work.claim.attempt,
                cwd,
                answer,
                sink: keeper.path(),
                stop: &run.stop,
                grace: self.runs.grace(),
            };
            let made = self.host.step(&step);
            drop(closing);
            serving.join().ok();
            made
        });
        made.map_err(|why| refused.as_ref().map_or_else(|| Unmade::said(why), Unmade::unkept))
    }

    /// Brings a thread into the store of this machine, and the journals of the step that somebody else was in. Gives what the
    /// remote has of both.
    fn bring(&self, link: &mut Link, run: &Run) -> Result<(HashSet<Hash>, Restored), FleetError> {
        let (store, thread) = (self.host.store(), &run.lease.thread);
        self.at(link, run, |connection| {
            let (client, team) = connection.parts();
            let standing = heads::read(client, team, thread)?.ok_or_else(|| run.lease.lost())?;
            let mut known = nodes::closure(client, team, &standing.roots())?;
            nodes::get(connection, store, &known)?;
            // Nothing is written while a run of it goes on here.
            let _lock = ThreadLock::unannounced(self.host.home(), thread)?;
            standing.write(store, thread, Some(run.lease.fence))?;
            let here = (store, self.host.home());
            let kept = journal::restore(connection, here, (&run.lease, &standing), &mut known)?;
            Ok((known, kept))
        })
    }

    /// Leaves a thread as it is to be left.
    fn leave(&self, link: &mut Link, run: &Run, left: Left) -> Result<(), FleetError> {
        let (name, lease) = (&self.settings.claimant.name, &run.lease);
        match left {
            Left::Nothing | Left::Ended => Ok(()),
            Left::Settle(settled, why) => {
                let how = (settled, Some(why.as_str()));
                let is_dead = self.at(link, run, |connection| queue::settle(connection, name, lease, how))?;
                add(&self.counts.dead, u64::from(is_dead));
                Ok(())
            }
            Left::HandBack(why) => {
                let is_dead =
                    self.at(link, run, |connection| queue::hand_back(connection, name, lease, &why))?;
                add(&self.counts.handed_back, 1);
                add(&self.counts.dead, u64::from(is_dead));
                self.host.tell(&Happening::HandedBack(&lease.thread));
                Ok(())
            }
        }
    }
}

/// Closes a keeper, also where a step panics.
struct Closing<'a>(&'a Keeper);

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// An error with what it comes from.
fn said(error: &FleetError) -> String {
    crate::error::chain(error)
}
