//! What comes of a step at the remote: it becomes the head, or it failed, or the thread is given up.

use uwf_engine::ThreadId;
use uwf_engine::exec::StepReport;
use uwf_engine::thread::{self, FAILED, Status, StepNode};
use uwf_store::{Hash, Store};

use super::counts::add;
use super::left::{Left, Unmade};
use super::link::Link;
use super::runs::now;
use super::slot::Work;
use super::{Happening, Worker, directory};
use crate::heads::{self, Advance, Attempt, FailedStep, RemoteHead};
use crate::queue::HandBack;
use crate::workspace::{Kept, MadeStep};
use crate::{FleetError, nodes};

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
        let step = Advance {
            lease: run.lease,
            worker: &self.settings.claimant.name,
            from: work.head,
            to: &to,
            played: played.map(|played| played.step.role.as_str()),
            role: report.and_then(|report| report.current_role.as_deref()),
            state,
            reason: reason.as_deref(),
            cost_usd: played.map_or(0.0, |played| cost(store, &played.step)),
            tokens: played.map_or(0, |played| tokens(&played.step)),
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
        let (thread, Unmade { why, is_of_machine }) = (&run.lease.thread, unmade);
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
        let attempts = attempts(store, &standing)?;
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
        if let Err(error) = kept {
            return directory::unkept(error);
        }
        Ok(Left::HandBack(match is_of_machine && cost <= 0.0 {
            true => HandBack::Stranded(why),
            false => HandBack::Failed(why),
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

/// What the failed attempts have cost that a thread lists, and those that it called; one that cannot be read has cost nothing
/// that anybody knows.
fn attempts(store: &Store, standing: &RemoteHead) -> Result<Vec<Attempt>, FleetError> {
    let listed = standing.variables.iter().filter(|variable| variable.name.starts_with(FAILED));
    listed
        .flat_map(|variable| &variable.also)
        .map(|hash| {
            let step = thread::step_node(store, hash)?;
            Ok(Attempt { step: *hash, cost_usd: cost(store, &step), tokens: tokens(&step) })
        })
        .collect()
}

/// What a step has cost, in US dollars, as far as its record tells.
fn cost(store: &Store, step: &StepNode) -> f64 {
    thread::detail_of(store, step).ok().and_then(|record| record.cost).unwrap_or(0.0)
}

/// The tokens that a step has sent and received.
fn tokens(step: &StepNode) -> i64 {
    let count = step.usage.as_ref().map_or(0, |usage| usage.input_tokens.saturating_add(usage.output_tokens));
    i64::try_from(count).unwrap_or(i64::MAX)
}
