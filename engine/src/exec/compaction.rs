//! Summing a thread up: the role `$COMPACT` plays at the head, then the last steps are stored again with its summary.
//!
//! It plays as any role does: by the configured agent, at the thread's head and under its lock, with a step and a record
//! of its own. Only that step is not put behind the head: the step that has the summary names it. Until the head has
//! moved to the steps that are stored again, the thread is what it was, and whoever tries again is given the same reply
//! by an agent that keeps one.

use serde::{Deserialize, Serialize};
use uwf_store::Hash;
use uwf_workflow::moderator::{Route, Target};

use super::invocation::Invocation;
use super::reply::Outcome;
use super::{Engine, ExecError, ExecOptions, LockedThread, Observer, StepReport, StepResult, player};
use crate::journals;
use crate::lock::ThreadLock;
use crate::log::LogEvent;
use crate::thread::{self, COMPACT, Link, Status, ThreadError, ThreadId};

/// A summary that was put before the last steps of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Compacted {
    /// The thread.
    pub thread: ThreadId,
    /// A text node: the summary.
    pub summary: Hash,
    /// The step of `$COMPACT` that made it.
    pub compacted_by: Hash,
    /// The step before which it stands.
    pub step: Hash,
    /// How many steps stay as they are.
    pub keep: u32,
    /// Where the head was.
    pub from: Hash,
    /// Where it is.
    pub head: Hash,
}

/// What an attempt to sum up came to.
#[derive(Debug)]
pub enum Compaction {
    /// There is a summary.
    Done(Compacted),
    /// The role gave none: its failed step, and the thread as it was.
    Failed(Box<StepReport>),
}

/// Has a thread summed up, but for its last `keep` steps. One that waits for a person, or has ended, stays so.
///
/// # Errors
/// The thread was cancelled or has nothing to sum up, the agent cannot be started or gives no valid reply, or the head
/// was moved meanwhile. The head stays where it was.
pub fn compact_once(
    engine: &Engine<'_>,
    lock: &ThreadLock,
    keep: u32,
    options: &ExecOptions,
    observer: &mut dyn Observer,
) -> Result<Compaction, ExecError> {
    let locked = LockedThread::begin(engine, lock)?;
    if let Status::Cancelled { .. } = locked.head.status {
        return Err(locked.not_active());
    }
    if keep == 0 {
        return Err(ExecError::KeepsNothing);
    }
    if let Some(role) = locked.role_in_progress()? {
        return Err(ExecError::InProgress { thread: locked.thread, role });
    }
    Ok(match locked.compact(keep, options, observer)? {
        Compaction::Failed(report) => {
            Compaction::Failed(Box::new(StepReport { compact_keep: Some(keep), ..*report }))
        }
        done @ Compaction::Done(_) => done,
    })
}

impl LockedThread<'_> {
    /// The role that would lose what it has done so far if the head moved now.
    fn role_in_progress(&self) -> Result<Option<String>, ExecError> {
        if let Some(called) = thread::called_at(self.engine.store, &self.thread, &self.head.hash)? {
            return Ok(Some(called.role));
        }
        let visit = (&self.thread, &self.head.hash);
        journals::role_in_progress(&self.engine.homes.uwf, visit, COMPACT)
            .map_err(|error| ExecError::Journals(Box::new(error)))
    }

    /// How many steps are to stay where the workflow wants a summary before a role plays by this route. A visit that was
    /// cut off is made first.
    pub(super) fn to_compact(&self, route: &Route) -> Result<Option<u32>, ExecError> {
        let rule = match route.target {
            Target::Role(_) => self.workflow.compact,
            Target::End | Target::Suspend => None,
        };
        let Some(rule) = rule else { return Ok(None) };
        let is_due = thread::is_due(self.engine.store, &self.head.hash, rule.after)?;
        Ok((is_due && self.role_in_progress()?.is_none()).then_some(rule.keep))
    }

    /// Has `$COMPACT` play, and moves the head to the steps that have its summary before them.
    pub(super) fn compact(
        &self,
        keep: u32,
        options: &ExecOptions,
        observer: &mut dyn Observer,
    ) -> Result<Compaction, ExecError> {
        let store = self.engine.store;
        let kept = thread::kept_steps(store, &self.thread, &self.head.hash, keep)?;
        thread::ensure_summary_type(store)?;
        let prompt = thread::compact_prompt(keep);
        let invocation = Invocation::again(COMPACT.to_owned(), prompt, &self.start.cwd, options);
        let mut attempts = Vec::new();
        let ran = invocation.run(self, options, observer).and_then(|(played, outcome)| match outcome {
            Outcome::Answer => {
                attempts = self.attempts_before(&played.step);
                Ok((invocation.placed(self, played, &attempts)?, outcome))
            }
            Outcome::Suspended(reason) => {
                // For its agent this is an answer, which it would give again.
                let visit = (&self.thread, &self.head.hash);
                journals::forget_visits(&self.engine.homes.uwf, visit, COMPACT);
                Ok((played, Outcome::Failed(format!("it asks instead: {reason}"))))
            }
            Outcome::Failed(_) => Ok((played, outcome)),
        });
        self.log(LogEvent::of_invocation(COMPACT, &ran));
        match ran? {
            (played, Outcome::Failed(message)) => {
                thread::record_failure(store, &self.thread, COMPACT, &played.hash).ok();
                Ok(Compaction::Failed(Box::new(self.not_summed_up(played, message))))
            }
            (played, _) => {
                let compacted = self.keep_summary(kept, &played, keep)?;
                if !attempts.is_empty() {
                    thread::clear_failures(store, &self.thread, COMPACT).ok();
                }
                Ok(Compaction::Done(compacted))
            }
        }
    }

    /// Puts the summary that was given before the steps that stay.
    fn keep_summary(&self, kept: Vec<Link>, played: &StepResult, keep: u32) -> Result<Compacted, ExecError> {
        let store = self.engine.store;
        let text = played.output.get("summary").and_then(|summary| summary.as_str()).unwrap_or_default();
        let summary = store.put_text(text.trim()).map_err(ThreadError::from)?;
        let (step, head) = thread::stored_again(store, kept, (summary, played.hash))?;
        let (from, status) = (self.head.hash, &self.head.status);
        thread::advance(store, &self.thread, &from, &head, status)?;
        self.log(LogEvent::HeadMoved { from: &from, to: &head, status: status.as_str() });
        let (thread, compacted_by) = (self.thread, played.hash);
        Ok(Compacted { thread, summary, compacted_by, step, keep, from, head })
    }

    /// The thread as it stands after a failed attempt.
    fn not_summed_up(&self, played: StepResult, message: String) -> StepReport {
        let next = || {
            thread::next(self.engine.store, &self.workflow, &self.head, self.engine.conditions)
                .ok()
                .and_then(player)
        };
        let current_role = (self.head.status == Status::Idle).then(next).flatten();
        StepReport {
            current_role,
            played: Some(played),
            failure: Some(message),
            ..self.report(self.head.hash, self.head.status.clone())
        }
    }
}

#[cfg(test)]
#[path = "compaction_tests.rs"]
mod tests;
