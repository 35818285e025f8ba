//! One step of one thread: lock → head → route → agent → check the reply → advance.
//!
//! The only place that moves a head. Whoever makes a step holds the thread's lock from before the agent is spawned
//! ([`hold`]), and the head moves by compare-and-set for the sake of engines that know no lock. Whatever fails, the head
//! stays where it was.

mod agent;
mod artifacts;
pub(crate) mod child;
mod compaction;
mod continue_hint;
pub(crate) mod error;
mod invocation;
mod pauses;
mod reply;
mod resume;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Duration;

use uwf_store::{Hash, Store};
use uwf_workflow::moderator::{Route, SUSPEND, Target};

pub use self::agent::{StepAgent, StepAgentError, answer};
pub use self::artifacts::{ArtifactError, ArtifactFault, MAX_ARTIFACT_BYTES, MAX_ARTIFACTS};
pub use self::child::{WorkflowCall, call_workflow};
pub use self::compaction::{Compacted, Compaction, compact_once};
pub use self::continue_hint::{command_for, quoted};
pub use self::error::ExecError;
use self::invocation::Invocation;
use self::reply::Outcome;
pub use self::reply::ReplyFault;
pub use self::resume::{check_resumable, resume_once};
use crate::conditions::Judge;
use crate::config::Config;
use crate::home::{Env, Homes};
use crate::lock::ThreadLock;
use crate::log::{self, Log, LogEvent};
use crate::record;
use crate::spawn::StopSignal;
use crate::spawn::lookup::Programs;
use crate::spawn::protocol::AgentCommand;
use crate::thread::{
    self, Head, HeadKind, Pause, StartNode, Status, StepNode, ThreadError, ThreadId, ThreadOptions,
};
use crate::workflow::{self, Workflow};

/// What a step needs beside its thread.
#[derive(Clone, Copy)]
pub struct Engine<'a> {
    /// Nodes and variables.
    pub store: &'a Store,
    /// Where the lock is; both are made explicit in the agent's environment.
    pub homes: &'a Homes,
    /// Who plays which role.
    pub config: &'a Config,
    /// The agent's environment.
    pub env: &'a Env,
    /// Who plays when nothing is configured.
    pub builtin: &'a AgentCommand,
    /// What bare words stand for.
    pub programs: &'a Programs,
    /// Set when this program is to stop.
    pub stop: &'a StopSignal,
    /// Code of this program that plays the roles, in the place of processes; [`ExecOptions::agent`] still names one.
    pub agent: Option<&'a dyn StepAgent>,
    /// Who evaluates the conditions of graphs; without anybody a thread stops where one decides.
    pub conditions: Judge<'a>,
}

/// How one step is to be run.
#[derive(Clone, Debug, Default)]
pub struct ExecOptions {
    /// This agent, whatever the configuration says.
    pub agent: Option<AgentCommand>,
    /// This directory instead of the thread's own; absolute.
    pub cwd: Option<PathBuf>,
    /// How long the agent may take.
    pub deadline: Option<Duration>,
    /// What was chosen for the thread: typed now, else kept with it.
    pub chosen: ThreadOptions,
    /// Whether what was chosen is kept with the thread as soon as a role plays.
    pub keep: bool,
    /// Whether a summary that the workflow wants before a step is all that is made: the role plays the next time. For whoever
    /// keeps each move of the head elsewhere, too.
    pub apart: bool,
    /// Whether the agent gets our stderr itself, rather than a pipe to [`Observer::agent_stderr`].
    pub inherit_stderr: bool,
}

/// Who is told what happens while it happens.
pub trait Observer {
    /// An agent is about to start.
    fn spawning(&mut self, role: &str, agent: &AgentCommand, cwd: &Path);
    /// Something is done otherwise than people may expect.
    fn warn(&mut self, text: &str);
    /// The agent wrote to its stderr.
    fn agent_stderr(&mut self, bytes: &[u8]);
    /// A step of several is made: whether there is to be another one.
    fn stepped(&mut self, _: &StepReport) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// Nobody is told.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unobserved;

impl Observer for Unobserved {
    fn spawning(&mut self, _: &str, _: &AgentCommand, _: &Path) {}
    fn warn(&mut self, _: &str) {}
    fn agent_stderr(&mut self, _: &[u8]) {}
}

/// Where a thread stands after a step, and what the step was.
#[derive(Clone, Debug)]
pub struct StepReport {
    /// The thread.
    pub thread: ThreadId,
    /// Its Workflow node.
    pub workflow: Hash,
    /// Its head now.
    pub head: Hash,
    /// Its state now.
    pub status: Status,
    /// Who plays next, while it is idle.
    pub current_role: Option<String>,
    /// The step that was made; none when nothing was spawned, or a summary alone was made.
    pub played: Option<StepResult>,
    /// Why the step counts as failed: the head has stayed.
    pub failure: Option<String>,
    /// Whether that failed step was to take the place of the head.
    pub poked: bool,
    /// How many steps were to stay, where that failed step was to sum the thread up and somebody wanted it to.
    pub compact_keep: Option<u32>,
    /// What stands in the way of the next step, if that is known by now.
    pub obstacle: Option<String>,
    /// The summary that was made before the step, or in its place, as the workflow wants it.
    pub compacted: Option<Compacted>,
    /// Why there is to be no further step for now.
    pub paused: Option<Pause>,
}

/// A step that an agent has just made.
#[derive(Clone, Debug)]
pub struct StepResult {
    /// The StepNode.
    pub hash: Hash,
    /// The payload of the StepNode.
    pub step: StepNode,
    /// Its output's payload.
    pub output: serde_json::Value,
}

/// Takes the lock of a thread, for as many steps as one likes.
///
/// # Errors
/// The thread cannot be read, another process holds its lock, or the file of the lock cannot be used.
pub fn hold(engine: &Engine<'_>, thread: &ThreadId) -> Result<ThreadLock, ExecError> {
    let store = engine.store;
    let start = thread::head(store, thread)?.start(store)?;
    Ok(ThreadLock::acquire(&engine.homes.uwf, thread, &start.workflow, store.now())?)
}

/// Runs the next step of an idle thread, and before it `$COMPACT` where the workflow wants a summary by now: if that fails,
/// its failed step is the one that is reported; with [`ExecOptions::apart`] the summary alone is. A suspended thread is only
/// reported; an ended, cancelled or paused one is an error, and so is one whose next role has played as often as it may: it is
/// paused then.
///
/// # Errors
/// The thread has ended or was cancelled, it is paused, the graph has no route from its head, the agent cannot be started or gives no
/// valid reply, or the head was moved meanwhile. The head stays where it was.
pub fn step_once(
    engine: &Engine<'_>,
    lock: &ThreadLock,
    options: &ExecOptions,
    observer: &mut dyn Observer,
) -> Result<StepReport, ExecError> {
    let locked = LockedThread::begin(engine, lock)?;
    match locked.head.status {
        Status::Idle => {}
        Status::Suspended { .. } => return Ok(locked.report(locked.head.hash, locked.head.status.clone())),
        Status::Ended { .. } | Status::Cancelled { .. } => return Err(locked.not_active()),
    }
    let route = thread::next(engine.store, &locked.workflow, &locked.head, engine.conditions)?;
    locked.check_not_paused(&route, options)?;
    match &route.target {
        Target::Role(role) => {
            let invocation = Invocation::routed(&locked.start, role, &route, options)?;
            match locked
                .to_compact(&route)?
                .map(|keep| locked.compact(keep, options, observer))
                .transpose()?
            {
                None => locked.play(&invocation, options, observer),
                Some(Compaction::Failed(report)) => Ok(*report),
                Some(Compaction::Done(compacted)) if options.apart => Ok(StepReport {
                    current_role: Some(role.clone()),
                    compacted: Some(compacted),
                    ..locked.report(compacted.head, Status::Idle)
                }),
                Some(Compaction::Done(compacted)) => {
                    let report = LockedThread::begin(engine, lock)?.play(&invocation, options, observer)?;
                    Ok(StepReport { compacted: Some(compacted), ..report })
                }
            }
        }
        Target::End | Target::Suspend => {
            let status = locked.settled(&route, locked.head.step());
            locked.advance(&locked.head.hash, &status)?;
            Ok(locked.report(locked.head.hash, status))
        }
    }
}

/// Has the last role of an active thread play once more, told `text`; the new step takes the place of the last one,
/// which stays in the store.
///
/// # Errors
/// The thread has ended, was cancelled or has no step yet, or the step fails as in [`step_once`]. The head stays where
/// it was.
pub fn poke_once(
    engine: &Engine<'_>,
    lock: &ThreadLock,
    text: &str,
    options: &ExecOptions,
    observer: &mut dyn Observer,
) -> Result<StepReport, ExecError> {
    let locked = LockedThread::begin(engine, lock)?;
    if locked.head.status.is_final() {
        return Err(locked.not_active());
    }
    let step = locked.head.step().ok_or(ExecError::NothingToPoke { thread: locked.thread })?;
    let invocation = Invocation::again(step.role.clone(), text.to_owned(), &step.cwd, options);
    locked.play(&invocation.in_place_of(step), options, observer)
}

/// Who plays by that route.
fn player(route: Route) -> Option<String> {
    match route.target {
        Target::Role(role) => Some(role),
        Target::End | Target::Suspend => None,
    }
}

impl<'a> LogEvent<'a> {
    /// What an invocation came to.
    fn of_invocation(role: &'a str, ran: &'a Result<(StepResult, Outcome), ExecError>) -> LogEvent<'a> {
        match ran {
            Ok((played, Outcome::Failed(error))) => {
                LogEvent::StepFailed { role, step: &played.hash, error: log::line(error) }
            }
            Ok((played, _)) => LogEvent::StepFinished {
                role,
                step: &played.hash,
                status: record::status(&played.output).unwrap_or_default(),
                duration_ms: played.step.duration_ms(),
            },
            Err(error) => {
                let (line, own) = (log::line(&error.to_string()), error.of_agent());
                let hint = own.as_ref().map_or_else(|| error.hint(), |own| own.hint.clone());
                let error = own.map_or_else(|| line.clone(), |own| format!("{line}: {}", own.error));
                LogEvent::Error { role, error, hint }
            }
        }
    }
}

/// A locked thread, read once under the lock.
struct LockedThread<'a> {
    engine: &'a Engine<'a>,
    thread: ThreadId,
    head: Head,
    start: StartNode,
    workflow: Workflow,
}

impl<'a> LockedThread<'a> {
    /// Reads where the thread stands; under its lock, so that this holds until the head moves.
    fn begin(engine: &'a Engine<'a>, lock: &ThreadLock) -> Result<LockedThread<'a>, ExecError> {
        let (store, thread) = (engine.store, *lock.thread());
        let head = thread::head(store, &thread)?;
        let start = head.start(store)?;
        let workflow = workflow::get(store, &start.workflow).map_err(ThreadError::from)?;
        let head = head.settled(store, &workflow, engine.conditions);
        Ok(LockedThread { engine, thread, head, start, workflow })
    }

    fn not_active(&self) -> ExecError {
        let again = thread::begins_again(&self.workflow);
        ExecError::NotActive { thread: self.thread, status: self.head.status.as_str(), again }
    }

    /// Spawns the agent, checks what it did, and moves the head if that was a success.
    fn play(
        &self,
        invocation: &Invocation,
        options: &ExecOptions,
        observer: &mut dyn Observer,
    ) -> Result<StepReport, ExecError> {
        let mut attempts = Vec::new();
        let ran = invocation.run(self, options, observer).and_then(|(played, outcome)| match outcome {
            Outcome::Failed(_) => Ok((played, outcome)),
            _ => {
                attempts = self.attempts_before(&played.step);
                Ok((invocation.placed(self, played, &attempts)?, outcome))
            }
        });
        self.log(LogEvent::of_invocation(&invocation.role, &ran));
        let (played, outcome) = ran?;
        if let Outcome::Failed(message) = outcome {
            // An agent may have listed it itself. That the list is damaged is no reason to keep silent about the failure.
            thread::record_failure(self.engine.store, &self.thread, &invocation.role, &played.hash).ok();
            let idle = self.head.status == Status::Idle;
            let next = || self.way_from(&self.head).ok().and_then(player);
            return Ok(StepReport {
                current_role: idle.then(next).flatten(),
                played: Some(played),
                failure: Some(message),
                poked: invocation.replaces(),
                ..self.report(self.head.hash, self.head.status.clone())
            });
        }
        let (hash, step) = (played.hash, played.step.clone());
        let (status, current_role, obstacle) = match (outcome, self.after(&played)) {
            (Outcome::Suspended(message), _) => (Status::Suspended { role: step.role, message }, None, None),
            (_, Err(error)) => (Status::Idle, None, Some(error.to_string())),
            (_, Ok(route)) => (self.settled(&route, Some(&step)), player(route), None),
        };
        self.advance(&hash, &status)?;
        if !attempts.is_empty() {
            thread::clear_failures(self.engine.store, &self.thread, &invocation.role).ok();
        }
        self.give_up_called(&played.step);
        // The head has moved: what cannot be read of a pause is told before the next step.
        let paused = self.paused_after(&hash, current_role.as_deref(), options).unwrap_or(None);
        Ok(StepReport { current_role, obstacle, paused, played: Some(played), ..self.report(hash, status) })
    }

    /// Cancels a thread that was called for the visit that somebody else has made now.
    fn give_up_called(&self, made: &StepNode) {
        let store = self.engine.store;
        let Ok(Some(called)) = thread::last_called(store, &self.thread) else { return };
        let start = thread::step_node(store, &made.detail).map(|step| step.start);
        if !start.is_ok_and(|start| start == called.start_hash) {
            // One that has ended is left as it is.
            thread::cancel(store, &called.thread).ok();
        }
    }

    /// The failed attempts before a success: it links them, and then they are listed no longer. None when one came after
    /// it, as when a reply is given again, or the list cannot be read: then they stay until the next success.
    fn attempts_before(&self, success: &StepNode) -> Vec<Hash> {
        let (store, role) = (self.engine.store, success.role.as_str());
        let linked = success.previous_attempts.as_deref().unwrap_or_default();
        let came_before = |hash: &Hash| {
            let attempt = thread::step_node(store, hash);
            linked.contains(hash)
                || attempt.is_ok_and(|attempt| attempt.started_at_ms <= success.started_at_ms)
        };
        let attempts = thread::failed_attempts(store, &self.thread, role).unwrap_or_default();
        if attempts.iter().all(came_before) { attempts } else { Vec::new() }
    }

    /// Where the graph leads from a step that is about to become the head.
    fn after(&self, played: &StepResult) -> Result<Route, ThreadError> {
        let kind = HeadKind::Step(Box::new(played.step.clone()));
        let head = Head { hash: played.hash, status: Status::Idle, kind, updated: self.engine.store.now() };
        self.way_from(&head)
    }

    fn way_from(&self, head: &Head) -> Result<Route, ThreadError> {
        thread::next(self.engine.store, &self.workflow, head, self.engine.conditions)
    }

    /// The state that a route leads to by itself.
    fn settled(&self, route: &Route, last: Option<&StepNode>) -> Status {
        match route.target {
            Target::Role(_) => Status::Idle,
            Target::End => Status::Ended { completed_at: self.engine.store.now() },
            Target::Suspend => {
                let role = last.map_or(SUSPEND, |step| step.role.as_str()).to_owned();
                Status::Suspended { role, message: route.prompt.clone() }
            }
        }
    }

    fn advance(&self, to: &Hash, status: &Status) -> Result<(), ExecError> {
        thread::advance(self.engine.store, &self.thread, &self.head.hash, to, status)?;
        self.log(LogEvent::HeadMoved { from: &self.head.hash, to, status: status.as_str() });
        if status.is_final() {
            self.log(LogEvent::ThreadEnded);
        }
        Ok(())
    }

    fn log(&self, event: LogEvent<'_>) {
        Log::new(&self.engine.homes.uwf, self.engine.store.now()).write(&self.thread, event);
    }

    fn report(&self, head: Hash, status: Status) -> StepReport {
        StepReport {
            thread: self.thread,
            workflow: self.start.workflow,
            head,
            status,
            current_role: None,
            played: None,
            failure: None,
            poked: false,
            compact_keep: None,
            obstacle: None,
            compacted: None,
            paused: None,
        }
    }
}

#[cfg(test)]
mod tests;
