//! Where a thread stands: in full, and as a row among others.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;
use uwf_store::{Hash, Store, excerpt};
use uwf_workflow::moderator::{Route, Target};

use super::ArtifactRow;
use crate::conditions::Judge;
use crate::exec::{Compacted, StepReport};
use crate::lock::{self, Running};
use crate::log::Unmade;
use crate::record;
use crate::thread::{
    self, COMPACT, Head, Pause, StartNode, Status, SummaryPlace, ThreadEntry, ThreadError, ThreadId,
    ThreadOptions,
};
use crate::workflow::{self, Workflow};

/// The word for a thread of which a step runs just now, which is no stored state.
const RUNNING: &str = "running";

/// How many characters of a task are shown in a row.
const TASK: usize = 120;

/// The word for an idle thread that is to make no further step for now.
pub const PAUSED: &str = "paused";

/// Where a thread stands, as `show` and `exec` print it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadView {
    /// Its Workflow node.
    pub workflow: Hash,
    /// The thread.
    pub thread: ThreadId,
    /// The node it stands at.
    pub head: Hash,
    /// `idle`, `running`, `suspended`, `paused`, `end` or `cancelled`.
    pub status: &'static str,
    /// Who plays next, while it is idle.
    pub current_role: Option<String>,
    /// Who asks, while it is suspended.
    pub suspended_role: Option<String>,
    /// What is asked, while it is suspended.
    pub suspend_message: Option<String>,
    /// Why it is to make no further step for now; absent where it may.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pause_reason: Option<String>,
    /// Whether nothing more will happen by itself.
    pub done: bool,
    /// Whether what runs does so in the background, when that is known.
    pub background: Option<bool>,
    /// What to do, where something is in the way.
    pub hint: Option<String>,
    /// The step that stands between the thread and its next one.
    pub error: Option<FailedStep>,
    /// What is kept of its steps, the oldest first, where that was asked for; absent where there is nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<ArtifactRow>,
    /// Who called this thread; absent where nobody did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<ParentView>,
    /// The last thread that this one called; absent where it called none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub child: Option<ChildView>,
    /// The youngest summary of what happened before; absent where none stands among the last few hundred steps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<SummaryPlace>,
    /// The summary that was made before the step; absent where none was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compacted: Option<Compacted>,
    /// What was chosen for the thread, where that was asked for; absent where nothing was.
    #[serde(skip_serializing_if = "ThreadOptions::is_empty")]
    pub options: ThreadOptions,
}

/// Who called a thread.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ParentView {
    /// The thread that did, where that is noted.
    pub thread: Option<ThreadId>,
    /// The role of it that is played, where that is noted.
    pub role: Option<String>,
    /// Where it stood then: its last step, or its StartNode.
    pub state: Hash,
    /// How many threads are above the one that was called.
    pub depth: u32,
    /// The workflows of these, the nearest first.
    pub stack: Vec<String>,
}

/// A thread that was called.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ChildView {
    /// The thread.
    pub thread: ThreadId,
    /// The role that it plays.
    pub role: String,
    /// Where it stands.
    pub head: Hash,
    /// `idle`, `suspended`, `end` or `cancelled`.
    pub status: &'static str,
}

impl ParentView {
    /// Who called the thread that began so.
    ///
    /// # Errors
    /// The variable that notes it, or a node of the stack, cannot be read.
    pub fn of(
        store: &Store,
        thread: &ThreadId,
        start: &StartNode,
    ) -> Result<Option<ParentView>, ThreadError> {
        let Some(call) = start.call else { return Ok(None) };
        let (caller, role) = thread::caller(store, thread)?.unzip();
        let stack = thread::stack(store, start)?.into_iter().map(|frame| frame.workflow).collect();
        Ok(Some(ParentView { thread: caller, role, state: call.parent_state, depth: call.depth, stack }))
    }
}

impl ChildView {
    /// The last thread that this one called; none where it is gone.
    ///
    /// # Errors
    /// The variable that notes it cannot be read.
    pub fn of(store: &Store, caller: &ThreadId) -> Result<Option<ChildView>, ThreadError> {
        let Some(called) = thread::last_called(store, caller)? else { return Ok(None) };
        let Ok(entry) = thread::entry(store, &called.thread) else { return Ok(None) };
        let status = entry.status()?.as_str();
        Ok(Some(ChildView { thread: called.thread, role: called.role, head: entry.head, status }))
    }
}

/// A step that failed or could not be made, and has not succeeded since.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FailedStep {
    /// The StepNode; none where there is none.
    pub step_hash: Option<Hash>,
    /// Why it failed.
    pub message: String,
}

impl FailedStep {
    /// How to try again, where `command` is what does so.
    fn again(&self, command: &str) -> String {
        let step = self.step_hash.map(|step| format!("the failed step is {step}; ")).unwrap_or_default();
        format!("{step}try again with `uwf thread {command}`")
    }
}

impl ThreadView {
    /// A thread as it stands; `home` is `$UWF_HOME`, which tells whether it runs.
    ///
    /// # Errors
    /// What the thread, its head or its workflow cannot be read for.
    pub fn of(
        store: &Store,
        home: &Path,
        thread: &ThreadId,
        judge: Judge<'_>,
    ) -> Result<ThreadView, ThreadError> {
        let head = thread::head(store, thread)?;
        let hash = head.start(store)?.workflow;
        let workflow = workflow::get(store, &hash)?;
        let head = head.settled(store, &workflow, judge);
        let view =
            ThreadView::stored(store, (*thread, &head), (hash, &workflow), judge).linked(store, &head)?;
        view.running(&lock::running(home, thread)).with_artifacts(store, &workflow)
    }

    /// This view with what is kept of the thread's steps. The chain is walked only where a role of the workflow leaves
    /// anything.
    ///
    /// # Errors
    /// The chain, or what is kept of a step, cannot be read.
    pub fn with_artifacts(self, store: &Store, workflow: &Workflow) -> Result<ThreadView, ThreadError> {
        if workflow.roles.values().all(|role| role.artifacts.is_empty()) {
            return Ok(self);
        }
        let kept = thread::artifacts(store, &self.head)?;
        Ok(ThreadView { artifacts: kept.into_iter().map(ArtifactRow::from).collect(), ..self })
    }

    /// After a step.
    pub fn after(report: &StepReport) -> ThreadView {
        let thread = &report.thread;
        let command = match (report.compact_keep, report.poked, &report.status) {
            (Some(keep), ..) => format!("compact {thread} --keep {keep}"),
            (None, true, _) => format!("poke {thread} -p TEXT"),
            (None, false, Status::Idle) => format!("exec {thread}"),
            (None, false, _) => format!("resume {thread} -p TEXT"),
        };
        let failed = report.played.as_ref().zip(report.failure.clone());
        let error = failed.map(|(played, message)| FailedStep { step_hash: Some(played.hash), message });
        let hint = match (&error, &report.obstacle) {
            (Some(error), _) => Some(error.again(&command)),
            (None, Some(obstacle)) => Some(format!("the next step has no way to go: {obstacle}")),
            (None, None) => resume_hint(thread, &report.status),
        };
        let current_role = report.current_role.clone();
        let view = ThreadView::bare((*thread, report.head, report.workflow), &report.status);
        let view = ThreadView { current_role, error, hint, compacted: report.compacted, ..view };
        view.paused(report.paused.clone())
    }

    /// As it is stored, of a head that is settled.
    pub fn stored(
        store: &Store,
        (thread, head): (ThreadId, &Head),
        (hash, workflow): (Hash, &Workflow),
        judge: Judge<'_>,
    ) -> ThreadView {
        let next = (head.status == Status::Idle).then(|| thread::next(store, workflow, head, judge));
        let (current_role, obstacle) = match next.transpose() {
            Ok(route) => (route.and_then(player), None),
            Err(error) => (None, Some(format!("the next step has no way to go: {error}"))),
        };
        let retried = thread::retried(workflow, &head.status, current_role.as_deref());
        let command = match head.status {
            Status::Idle => format!("exec {thread}"),
            _ => format!("resume {thread} -p TEXT"),
        };
        let failed =
            retried.and_then(|role| last_failure(store, &thread, &role)).map(|error| (error, command));
        let failed = failed.or_else(|| {
            let verb = if workflow.compact.is_some() { "exec" } else { "compact" };
            Some((last_failure(store, &thread, COMPACT)?, format!("{verb} {thread}")))
        });
        let again = failed.as_ref().map(|(error, command)| error.again(command));
        let error = failed.map(|(error, _)| error);
        let hint = obstacle.or(again).or_else(|| resume_hint(&thread, &head.status));
        let view = ThreadView::bare((thread, head.hash, hash), &head.status);
        let summary = SummaryPlace::last(store, &head.hash).ok().flatten();
        let pause = thread::paused(store, &thread).ok().flatten().filter(|_| head.status == Status::Idle);
        let options = thread::options(store, &thread).unwrap_or_default();
        let view = ThreadView { current_role, error, hint, summary, options, ..view };
        view.paused(pause)
    }

    /// This view of a thread that makes no further step for now, where there is a reason.
    fn paused(self, pause: Option<Pause>) -> ThreadView {
        let Some(pause) = pause else { return self };
        let hint = format!("Thread is paused. Go on with: {}", pause.go_on(&self.thread));
        ThreadView { status: PAUSED, pause_reason: Some(pause.reason), hint: Some(hint), ..self }
    }

    /// This view with who called the thread, and whom it called.
    ///
    /// # Errors
    /// The variables that note it, or a node of the stack, cannot be read.
    pub fn linked(self, store: &Store, head: &Head) -> Result<ThreadView, ThreadError> {
        let parent = ParentView::of(store, &self.thread, &head.start(store)?)?;
        let child = ChildView::of(store, &self.thread)?;
        let asks = self.suspended_role.is_some();
        let caller = parent.as_ref().and_then(|parent| parent.thread).filter(|_| asks);
        let hint = caller.map(|caller| {
            format!("Its caller asks the same. Answer with: uwf thread resume {caller} -p TEXT")
        });
        Ok(ThreadView { parent, child, hint: hint.or(self.hint.clone()), ..self })
    }

    /// This view with what runs just now: an earlier failure is not shown while it runs.
    pub fn running(self, running: &Running) -> ThreadView {
        match running.is_running() {
            true => self.while_running(running.background()),
            false => self,
        }
    }

    /// This view of an idle thread whose last step could not be made.
    pub fn unmade(self, why: &Unmade) -> ThreadView {
        let error = FailedStep { step_hash: None, message: why.error.clone() };
        let again = error.again(&format!("exec {}", self.thread));
        let hint = why.hint.as_ref().map_or_else(|| again.clone(), |hint| format!("{hint}; then {again}"));
        ThreadView { error: Some(error), hint: Some(hint), ..self }
    }

    /// This view of a thread that runs.
    pub fn while_running(self, background: Option<bool>) -> ThreadView {
        ThreadView { status: RUNNING, background, error: None, hint: None, ..self }
    }

    fn bare((thread, head, workflow): (ThreadId, Hash, Hash), status: &Status) -> ThreadView {
        let (suspended_role, suspend_message) = match status {
            Status::Suspended { role, message } => (Some(role.clone()), Some(message.clone())),
            _ => (None, None),
        };
        ThreadView {
            workflow,
            thread,
            head,
            status: status.as_str(),
            current_role: None,
            suspended_role,
            suspend_message,
            pause_reason: None,
            done: status.is_final(),
            background: None,
            hint: None,
            error: None,
            parent: None,
            child: None,
            artifacts: Vec::new(),
            summary: None,
            compacted: None,
            options: ThreadOptions::default(),
        }
    }
}

fn resume_hint(thread: &ThreadId, status: &Status) -> Option<String> {
    let suspended = matches!(status, Status::Suspended { .. });
    suspended.then(|| format!("Thread is suspended. Resume with: uwf thread resume {thread}"))
}

/// The last try of a role that has not succeeded since.
fn last_failure(store: &Store, thread: &ThreadId, role: &str) -> Option<FailedStep> {
    let step_hash = *thread::failed_attempts(store, thread, role).ok()?.last()?;
    let output = store.get(&thread::step_node(store, &step_hash).ok()?.output).ok()?.payload;
    let message = record::error(&output).unwrap_or("it failed").to_owned();
    Some(FailedStep { step_hash: Some(step_hash), message })
}

/// Who plays next, if anybody does and it can be told.
pub fn current_role(store: &Store, workflow: &Workflow, head: &Head, judge: Judge<'_>) -> Option<String> {
    let route = (head.status == Status::Idle).then(|| thread::next(store, workflow, head, judge))?;
    player(route.ok()?)
}

fn player(route: Route) -> Option<String> {
    match route.target {
        Target::Role(role) => Some(role),
        Target::End | Target::Suspend => None,
    }
}

/// A thread as a row of `thread list`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadRow {
    /// The thread.
    pub thread: ThreadId,
    /// Its Workflow node.
    pub workflow: Hash,
    /// What that is called.
    pub workflow_name: String,
    /// The node it stands at.
    pub head: Hash,
    /// `idle`, `running`, `suspended`, `paused`, `end` or `cancelled`.
    pub status: &'static str,
    /// Why it is to make no further step for now; absent where it may.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pause_reason: Option<String>,
    /// Who plays next, while it is idle.
    pub current_role: Option<String>,
    /// When it was started, in milliseconds since the epoch.
    pub started_at: u64,
    /// When its head moved last, in milliseconds since the epoch.
    pub updated_at: u64,
    /// The directory it works in.
    pub directory: String,
    /// The first line of its task; of a long one, its beginning.
    pub task: String,
    /// Whether another thread called it; absent where none did.
    #[serde(skip_serializing_if = "is_false")]
    pub called: bool,
    /// Who asks, while it is suspended; told to people alone.
    #[serde(skip)]
    pub suspended_role: Option<String>,
    /// What is asked, while it is suspended; told as the reason where that is asked for.
    #[serde(skip)]
    pub suspend_message: Option<String>,
}

fn is_false(value: &bool) -> bool {
    !value
}

impl ThreadRow {
    /// The row of a thread that its variable tells of, which `runs` or does not.
    ///
    /// # Errors
    /// What its head or its workflow cannot be read for.
    pub fn of(
        store: &Store,
        known: &Workflows,
        entry: &ThreadEntry,
        runs: bool,
    ) -> Result<ThreadRow, ThreadError> {
        let head = entry.read(store)?;
        let start = head.start(store)?;
        let hash = start.workflow;
        let workflow = known.get(store, &hash)?;
        // Of many threads: no process is started for each, and what conditions decide is not told.
        let idle = head.status == Status::Idle;
        let route = idle.then(|| thread::next(store, &workflow, &head, None).ok()).flatten();
        let head = head.settled_by(route.as_ref());
        let (suspended_role, suspend_message) = match &head.status {
            Status::Suspended { role, message } => (Some(role.clone()), Some(message.clone())),
            _ => (None, None),
        };
        Ok(ThreadRow {
            thread: entry.thread,
            workflow: hash,
            workflow_name: workflow.name.clone(),
            head: head.hash,
            status: if runs { RUNNING } else { head.status.as_str() },
            current_role: route.and_then(player),
            started_at: entry.thread.time_ms(),
            updated_at: entry.updated,
            called: start.call.is_some(),
            task: excerpt(start.prompt.trim_start().lines().next().unwrap_or_default(), TASK).into_owned(),
            directory: start.cwd,
            suspended_role,
            suspend_message,
            pause_reason: None,
        })
    }

    /// This row of a thread that is to make no further step for now, for that reason.
    pub fn paused(self, reason: &str) -> ThreadRow {
        match self.status {
            "idle" => ThreadRow { status: PAUSED, pause_reason: Some(reason.to_owned()), ..self },
            _ => self,
        }
    }
}

/// The workflows met so far: threads of one workflow are many, and each workflow is read once.
#[derive(Debug, Default)]
pub struct Workflows(Mutex<HashMap<Hash, Arc<Workflow>>>);

impl Workflows {
    fn get(&self, store: &Store, hash: &Hash) -> Result<Arc<Workflow>, ThreadError> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(workflow) = known.get(hash) {
            return Ok(Arc::clone(workflow));
        }
        let workflow = Arc::new(workflow::get(store, hash)?);
        known.insert(*hash, Arc::clone(&workflow));
        Ok(workflow)
    }
}
