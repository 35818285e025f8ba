//! What comes of a step at the remote: it becomes the head, or it failed, or the thread is given up.

use uwf_engine::exec::StepReport;
use uwf_engine::thread::{self, Status};

use super::counts::add;
use super::link::Link;
use super::runs::now;
use super::slot::{Left, Work};
use super::trouble;
use super::{Happening, Worker};
use crate::heads::{self, Advance, RemoteHead};
use crate::queue::HandBack;
use crate::workspace::Kept;
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
        let record = played.and_then(|played| thread::detail_of(store, &played.step).ok());
        let tokens = played
            .and_then(|played| played.step.usage.as_ref())
            .map_or(0, |usage| usage.input_tokens + usage.output_tokens);
        let step = Advance {
            lease: run.lease,
            worker: &self.settings.claimant.name,
            from: work.head,
            to: &to,
            played: played.map(|played| played.step.role.as_str()),
            role: report.and_then(|report| report.current_role.as_deref()),
            state,
            reason: reason.as_deref(),
            cost_usd: record.and_then(|record| record.cost).unwrap_or(0.0),
            tokens: i64::try_from(tokens).unwrap_or(i64::MAX),
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

    /// A step failed: its record, if there is one, is kept, and the thread is tried again later.
    pub(super) fn failed(
        &self,
        link: &mut Link,
        work: &mut Work<'_>,
        why: String,
    ) -> Result<Left, FleetError> {
        let (store, run) = (self.host.store(), work.run);
        add(&self.counts.failures, 1);
        self.host.tell(&Happening::Failed(&run.lease.thread, &why));
        let standing = RemoteHead::of(store, &run.lease.thread)?;
        let (roots, known) = (standing.roots(), &mut work.known);
        self.at(link, run, |connection| {
            nodes::put(connection, store, (&roots, known))?;
            heads::keep_variables(connection, &run.lease, &standing.variables)
        })?;
        Ok(Left::HandBack(match trouble::tells_of_machine(&why) {
            true => HandBack::Elsewhere(why),
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
