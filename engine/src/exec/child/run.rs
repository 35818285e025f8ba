//! A called thread, step by step, until it ends, asks or fails; in the time and the directory that its caller has.

use std::path::Path;
use std::time::{Duration, Instant};

use uwf_store::Hash;

use super::Caller;
use super::observer::Below;
use crate::exec::{ExecError, ExecOptions, Observer, resume_once, step_once};
use crate::lock::ThreadLock;
use crate::spawn::SpawnError;
use crate::thread::{self, CalledThread, Status, ThreadOptions};

/// How many steps a called thread makes in one visit; one that needs more goes on with the next attempt.
const MAX_STEPS: u32 = 100;

/// Why a called thread could not go on, and where.
pub(super) struct StuckBelow {
    pub(super) error: String,
    /// The step that failed, or the one after which there was no further one.
    pub(super) at: Hash,
}

impl Caller<'_> {
    /// Runs the called thread until it ends, asks or fails; why it failed, if it did.
    pub(super) fn run(
        &self,
        called: &CalledThread,
        lock: &ThreadLock,
        options: &ExecOptions,
        observer: &mut dyn Observer,
    ) -> Result<Option<StuckBelow>, ExecError> {
        let (begun, mut answer) = (Instant::now(), self.answer(called)?);
        let mut below = Below::new(self.role(), observer);
        for _ in 0..MAX_STEPS {
            let answer = match (self.standing(called)?.status, answer.take()) {
                (Status::Suspended { .. }, Some(answer)) => Some(answer),
                (Status::Idle, _) => None,
                _ => return Ok(None),
            };
            let limit = options.deadline;
            let options = self.options(called, begun, options)?;
            let report = match answer {
                Some(answer) => resume_once(self.engine, lock, Some(&answer), &options, &mut below),
                None => step_once(self.engine, lock, &options, &mut below),
            };
            let report = report.map_err(|error| self.failed(called, error, limit))?;
            if let (Some(failure), Some(played)) = (report.failure, report.played) {
                let (role, thread) = (played.step.role, called.thread);
                let error = format!("role `{role}` of thread {thread} failed: {failure}");
                return Ok(Some(StuckBelow { error, at: played.hash }));
            }
        }
        let standing = self.standing(called)?;
        let error = format!("thread {} has made {MAX_STEPS} steps and has not ended", called.thread);
        Ok((standing.status == Status::Idle).then_some(StuckBelow { error, at: standing.hash }))
    }

    /// How the next step of the called thread is to be run: by whoever plays its roles, in the directory that the caller's role
    /// has now, in the time that is left.
    fn options(
        &self,
        called: &CalledThread,
        begun: Instant,
        options: &ExecOptions,
    ) -> Result<ExecOptions, ExecError> {
        let is_elsewhere = self.call.cwd != Path::new(&called.start.cwd);
        Ok(ExecOptions {
            agent: None,
            cwd: is_elsewhere.then(|| self.call.cwd.to_owned()),
            deadline: self.left(begun, options)?,
            // Who plays and how often is chosen for a thread, not for those that it calls.
            chosen: ThreadOptions { agent: None, max_rounds: None, ..options.chosen.clone() }
                .over(thread::options(self.store(), &called.thread)?),
            keep: false,
            // Its head is kept with every journal of it.
            apart: false,
            ..options.clone()
        })
    }

    /// What a person says to the question that the called thread waits with; none where it waits with another one, or not at
    /// all any more.
    fn answer(&self, called: &CalledThread) -> Result<Option<String>, ExecError> {
        let Some((step, message)) = self.asking() else { return Ok(None) };
        // It may have been stored again since, behind a summary.
        let asked = thread::step_node(self.store(), &step.detail)?;
        let waits =
            thread::head(self.store(), &called.thread)?.step().is_some_and(|at| at.is_of_visit(&asked));
        let answer = self.prompt().strip_prefix(message).unwrap_or(self.prompt()).trim();
        Ok(waits.then(|| answer.to_owned()))
    }

    /// How much of the time is left for the next step.
    fn left(&self, begun: Instant, options: &ExecOptions) -> Result<Option<Duration>, ExecError> {
        let Some(deadline) = options.deadline else { return Ok(None) };
        match deadline.checked_sub(begun.elapsed()) {
            Some(left) if !left.is_zero() => Ok(Some(left)),
            _ => Err(SpawnError::Deadline { program: self.agent(), deadline }.into()),
        }
    }

    /// An error of a step of the called thread, told to whoever runs this one.
    fn failed(&self, called: &CalledThread, error: ExecError, limit: Option<Duration>) -> ExecError {
        let error = match (error, limit) {
            // What was left of the time means nothing to whoever set the limit.
            (ExecError::Spawn(SpawnError::Deadline { program, .. }), Some(deadline)) => {
                SpawnError::Deadline { program, deadline }.into()
            }
            (error, _) => error,
        };
        match error {
            ExecError::Stopped { signal, .. } => {
                ExecError::Stopped { thread: self.call.request.thread, signal }
            }
            error => ExecError::Below {
                role: self.role().to_owned(),
                thread: called.thread,
                source: Box::new(error),
            },
        }
    }
}
