//! What comes of a step at the remote: it becomes the head, or it failed, or the thread is given up.

use uwf_engine::ThreadId;
use uwf_engine::exec::StepReport;
use uwf_engine::thread::{self, COMPACT, Status};
use uwf_store::{Hash, Store};

use super::counts::add;
use super::left::{Fault, Left, Unmade};
use super::link::Link;
use super::runs::now;
use super::slot::Work;
use super::{Happening, Worker, directory, paid};
use crate::heads::{self, Advance, FailedStep, PaidRun, RemoteHead};
use crate::queue::HandBack;
use crate::workspace::{Kept, MadeStep};
use crate::{FleetError, journal, nodes};

impl Worker<'_> {
    /// Pushes how the thread stands here. Gives the state that it is in at the remote.
    pub(super) fn push(
        &self,
        link: &mut Link,
        work: &mut Work<'_>,
        (report, kept): (Option<&StepReport>, Option<&Kept>),
    ) -> Result<String, FleetError> {
        let (store, run) = (self.host.store(), work.run);
        let to = RemoteHead::of(store, &run.lease.thread)?;
        let roots = to.roots();
        let known = &mut work.known;
        self.at(link, run, |connection| nodes::put(connection, store, (&roots, known)))?;
        let (state, reason) = self.state_after(&to, report);
        let played = report.and_then(|report| report.played.as_ref());
        let summary = report.and_then(|report| report.compacted).map(|_| COMPACT);
        let (cost_usd, tokens) = self.paid(link, work, report)?;
        let step = Advance {
            lease: run.lease,
            worker: &self.settings.claimant.name,
            from: work.head,
            to: &to,
            played: played.map(|played| played.step.role.as_str()).or(summary),
            role: report.and_then(|report| report.current_role.as_deref()),
            state,
            reason: reason.as_deref(),
            cost_usd,
            tokens,
            next_lease: self.settings.claimant.lease,
            kept,
        };
        let asked_at = now();
        let state = self.at(link, run, |connection| heads::advance(connection, &step))?;
        if state == "leased" {
            run.renewed(asked_at, self.settings.claimant.lease);
        }
        (work.head, work.attempts) = (to.head, 0);
        work.kept.lengths.clear();
        add(&self.counts.steps, u64::from(played.is_some()));
        add(&self.counts.dead, u64::from(state == "dead"));
        self.counts.add_cost(step.cost_usd);
        if let Some(report) = report {
            self.host.tell(&Happening::Stepped(&run.lease.thread, report, &state));
        }
        Ok(state)
    }

    /// What a step has cost in US dollars, and its tokens: its own runs, that of a summary which was made before it, and without a
    /// step those of a thread that was called for it. What has counted when an attempt failed does not count once more.
    fn paid(
        &self,
        link: &mut Link,
        work: &Work<'_>,
        report: Option<&StepReport>,
    ) -> Result<(f64, i64), FleetError> {
        let (store, run) = (self.host.store(), work.run);
        let mut runs: Vec<PaidRun> = Vec::new();
        if let Some(compacted) = report.and_then(|report| report.compacted) {
            runs.extend(paid::runs_of(store, &thread::step_node(store, &compacted.compacted_by)?));
        }
        let played = report.and_then(|report| report.played.as_ref());
        if let Some(played) = played {
            runs.extend(paid::runs_of(store, &played.step));
        }
        if report.is_none() {
            let mut found = Vec::new();
            paid::below(store, (&run.lease.thread, &work.head), 0, &mut found)?;
            runs.extend(found.into_iter().map(|attempt| attempt.run));
        }
        let was_called = played.is_some_and(|played| {
            thread::called_by(store, &played.step.detail).is_ok_and(|called| called.is_some())
        });
        if was_called || (report.is_none() && !runs.is_empty()) {
            let told = self.at(link, run, |connection| heads::told_runs(connection, &run.lease))?;
            runs.retain(|run| !told.contains(&run.key));
        }
        Ok(runs.iter().fold((0.0, 0), |(cost, tokens), run| (cost + run.cost_usd, tokens + run.tokens)))
    }

    /// In which state a thread is after a step, and why.
    fn state_after(&self, to: &RemoteHead, report: Option<&StepReport>) -> (&'static str, Option<String>) {
        match report.map(|report| &report.status) {
            _ if matches!(to.status(), "cancelled" | "end") => ("done", None),
            Some(Status::Suspended { message, .. }) => ("waiting", Some(message.clone())),
            Some(Status::Ended { .. } | Status::Cancelled { .. }) => ("done", None),
            _ => {
                let paused = report.and_then(|report| report.paused.as_ref());
                let obstacle = report.and_then(|report| report.obstacle.clone());
                match (paused, obstacle) {
                    (Some(paused), _) => ("paused", Some(paused.reason.clone())),
                    (None, Some(obstacle)) => ("dead", Some(obstacle)),
                    (None, None) => ("leased", None),
                }
            }
        }
    }

    /// A step failed: its record, if there is one, is kept, with the files of what a called thread has finished in it, and the
    /// thread is tried again later. One that is on record is an attempt, also where the disk was full: it may be the step that fills
    /// it, and it is paid for.
    pub(super) fn failed(
        &self,
        link: &mut Link,
        work: &mut Work<'_>,
        unmade: Unmade,
    ) -> Result<Left, FleetError> {
        let (store, run) = (self.host.store(), work.run);
        let (thread, Unmade { why, fault }) = (&run.lease.thread, unmade);
        add(&self.counts.failures, 1);
        self.host.tell(&Happening::Failed(thread, &why));
        // What the attempt has cost is on record whatever becomes of its files.
        let kept = match called_has_steps(store, thread, &work.head)? {
            true => {
                let made = MadeStep { role: "uwf", head: &work.head };
                self.keep(link, run, (&mut work.place, &mut work.known), &made)
            }
            false => Ok(None),
        };
        let standing = RemoteHead::of(store, thread)?;
        let attempts = paid::attempts(store, (thread, &work.head), &standing)?;
        let step = FailedStep {
            lease: run.lease,
            worker: &self.settings.claimant.name,
            variables: &standing.variables,
            attempts: &attempts,
            kept: kept.as_ref().ok().and_then(Option::as_ref),
        };
        let (roots, known) = (standing.roots(), &mut work.known);
        let cost = self.at(link, run, |connection| {
            nodes::put(connection, store, (&roots, known))?;
            heads::keep_failed(connection, &step)
        });
        let cost = match cost {
            Ok(cost) => cost,
            Err(error) => return directory::unpushed(error),
        };
        self.counts.add_cost(cost);
        if fault == Fault::Recorded {
            // What it has cost is counted: nobody needs its journal.
            let attempts = work.attempts;
            self.at(link, run, |connection| journal::forget_attempt(connection, &run.lease, attempts))?;
        }
        if let Err(error) = kept {
            return directory::unkept(error);
        }
        Ok(Left::HandBack(match fault {
            Fault::Unbegun => HandBack::Elsewhere(why),
            Fault::Short if cost <= 0.0 => HandBack::Stranded(why),
            _ => HandBack::Failed(why),
        }))
    }

    /// Gives the thread up, as somebody wants.
    pub(super) fn cancel(&self, link: &mut Link, work: &mut Work<'_>) -> Result<Left, FleetError> {
        thread::cancel(self.host.store(), &work.claim.lease.thread).ok();
        self.push(link, work, (None, None))?;
        Ok(Left::Ended)
    }
}

/// Whether a thread that was called for the step at this head, however deep, has made steps of its own.
fn called_has_steps(store: &Store, caller: &ThreadId, head: &Hash) -> Result<bool, FleetError> {
    let Some(called) = thread::called_at(store, caller, head)? else { return Ok(false) };
    let below = thread::head(store, &called.thread)?;
    Ok(below.hash != below.start_hash() || called_has_steps(store, &called.thread, &below.hash)?)
}
