//! Workflows that play roles: a thread of their own, called from where the caller's thread stands.
//!
//! The called thread runs by the same functions as any other, under a lock of its own. The caller's step is made from where
//! the called thread stands and from nothing else, so that whoever is killed in between makes the same step again: its
//! record is the last step there, its output what became of that one's output. What a person is asked below is asked
//! above, and the answer goes down. No head of the caller moves here.

mod observer;
mod output;

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;
use uwf_store::{Hash, Store};
use uwf_workflow::frontmatter;

use self::observer::Below;
use self::output::Fit;
use super::{Engine, ExecError, ExecOptions, Observer, hold, resume_once, step_once};
use crate::builtin;
use crate::lock::ThreadLock;
use crate::record::ErrorOutput;
use crate::spawn::SpawnError;
use crate::spawn::protocol::{AdapterOutput, AgentRequest, WORKFLOW_PREFIX};
use crate::thread::{
    self, CalledFrom, CalledThread, Head, StartNode, Status, StepLinks, StepNode, ThreadEntry, ThreadError,
    Usage, role_of,
};
use crate::workflow::{self, Resolved, Role, Workflow};

/// How many threads may be above another where nothing else is configured.
pub(crate) const MAX_DEPTH: u32 = 3;

/// How many steps a called thread makes in one visit; one that needs more goes on with the next attempt.
const MAX_STEPS: u32 = 100;

/// The phase of a step that failed below.
const PHASE: &str = "workflow";

/// A visit that a workflow makes.
#[derive(Clone, Copy, Debug)]
pub struct WorkflowCall<'a> {
    /// What is asked; always with a prompt.
    pub request: &'a AgentRequest,
    /// Which workflow: a hash, a file or a name, as the thread's directory knows it.
    pub workflow: &'a str,
    /// Where it is to work.
    pub cwd: &'a Path,
    /// The step that is to be replaced, if one is: what it was asked for is asked again, with what is asked now.
    pub instead: Option<&'a StepNode>,
}

/// Has a workflow play a role: begins a thread for it, or goes on with the one that was begun, runs that until it ends, asks
/// or fails, and writes the caller's step. The caller's head stays where it is.
///
/// # Errors
/// The workflow is not there, calls itself, or would be called too deep; the called thread runs elsewhere; a step of it cannot
/// be made; or this program is told to stop.
pub fn call_workflow(
    engine: &Engine<'_>,
    call: &WorkflowCall<'_>,
    options: &ExecOptions,
    observer: &mut dyn Observer,
) -> Result<AdapterOutput, ExecError> {
    let caller = Caller::read(engine, call)?;
    let called = caller.called(observer)?;
    let lock = hold(engine, &called.thread)?;
    let failure = caller.run(&called, &lock, options, observer)?;
    caller.step(&called, failure)
}

/// Why a called thread could not go on, and where.
struct StuckBelow {
    error: String,
    /// The step that failed, or the one after which there was no further one.
    at: Hash,
}

/// Where the caller stands.
struct Caller<'a> {
    engine: &'a Engine<'a>,
    call: &'a WorkflowCall<'a>,
    head: Head,
    start: StartNode,
    workflow: Workflow,
}

impl<'a> Caller<'a> {
    fn read(engine: &'a Engine<'a>, call: &'a WorkflowCall<'a>) -> Result<Caller<'a>, ExecError> {
        let store = engine.store;
        let head = thread::head(store, &call.request.thread)?;
        let start = head.start(store)?;
        let workflow = workflow::get(store, &start.workflow).map_err(ThreadError::from)?;
        let head = head.settled(store, &workflow, engine.conditions);
        Ok(Caller { engine, call, head, start, workflow })
    }

    fn store(&self) -> &'a Store {
        self.engine.store
    }

    fn role(&self) -> &'a str {
        &self.call.request.role
    }

    fn prompt(&self) -> &'a str {
        self.call.request.prompt.as_deref().unwrap_or_default()
    }

    /// The thread that plays the role: the one whose question is answered, the one that was begun for this very visit, or a
    /// new one.
    fn called(&self, observer: &mut dyn Observer) -> Result<CalledThread, ExecError> {
        let caller = &self.call.request.thread;
        if let Some(asked) = self.asked()? {
            return Ok(asked);
        }
        let last = thread::last_called(self.store(), caller)?;
        let noted = last.as_ref().map(|last| last.start_hash);
        let begun = last.filter(|last| {
            let is_here = last.start.call.is_some_and(|call| call.parent_state == self.head.hash);
            is_here && last.role == self.role()
        });
        let resolved = self.resolved()?;
        let Some(begun) = begun else { return self.begin(&resolved, noted) };
        let active = thread::entry(self.store(), &begun.thread).ok();
        let active = active.filter(|entry| !matches!(entry.status(), Ok(Status::Cancelled { .. })));
        let Some(active) = active else {
            observer.warn(&format!(
                "thread {}, which played role `{}`, is gone or cancelled: a new one begins",
                begun.thread, begun.role
            ));
            return self.begin(&resolved, noted);
        };
        let workflow = workflow::get(self.store(), &begun.start.workflow).map_err(ThreadError::from)?;
        let is_other = begun.start.prompt != self.task() || workflow.name != resolved.name;
        if is_other || self.was_unfit(&active)? {
            // Nobody waits for it: this is another visit, or it has ended with what cannot be used.
            thread::cancel(self.store(), &begun.thread).ok();
            return self.begin(&resolved, noted);
        }
        if resolved.hash != Some(begun.start.workflow) {
            observer.warn(&format!(
                "workflow `{}` has changed since thread {} began, which goes on as it was; `uwf thread cancel {}` first to \
                 begin with what it is now",
                workflow.name, begun.thread, begun.thread
            ));
        }
        Ok(begun)
    }

    /// Whether a thread ended with an output that was told to be none of the role.
    fn was_unfit(&self, called: &ThreadEntry) -> Result<bool, ExecError> {
        if !called.status()?.is_final() {
            return Ok(false);
        }
        let attempts = thread::failed_attempts(self.store(), &self.call.request.thread, self.role())?;
        let Ok(ended) = thread::step_node(self.store(), &called.head) else { return Ok(false) };
        let is_of = |attempt: &Hash| {
            let attempt = thread::step_node(self.store(), attempt);
            let told = attempt.and_then(|attempt| thread::step_node(self.store(), &attempt.detail));
            told.is_ok_and(|told| told.is_of_visit(&ended))
        };
        Ok(attempts.iter().any(is_of))
    }

    /// The workflow that is named.
    fn resolved(&self) -> Result<Resolved, ExecError> {
        let cwd = Path::new(&self.start.cwd);
        Ok(workflow::resolve(self.store(), self.call.workflow, cwd).map_err(ThreadError::from)?)
    }

    /// The called thread that asked what is answered now. One that is known here by its steps alone is taken up as a thread.
    fn asked(&self) -> Result<Option<CalledThread>, ExecError> {
        let store = self.store();
        let Status::Suspended { role, .. } = &self.head.status else { return Ok(None) };
        let Some(step) = self.head.step().filter(|_| role == self.role()) else { return Ok(None) };
        // Where the graph asks, the thread that played has ended.
        let asks = store.get(&step.output).map_err(ThreadError::from)?.type_ == builtin::SUSPEND_OUTPUT;
        let Some(question) = thread::called_by(store, &step.detail)?.filter(|_| asks) else {
            return Ok(None);
        };
        let start_hash = thread::step_node(store, &question)?.start;
        let last = thread::last_called(store, &self.call.request.thread)?;
        if let Some(last) = last.filter(|last| last.start_hash == start_hash)
            && let Ok(entry) = thread::entry(store, &last.thread)
        {
            return Ok((!self.was_unfit(&entry)?).then_some(last));
        }
        let start = thread::start_node(store, &start_hash)?;
        let adopted = CalledThread {
            thread: thread::fork(store, &question)?,
            start_hash,
            start,
            role: self.role().to_owned(),
        };
        thread::adopt(store, &self.call.request.thread, self.role(), &adopted)?;
        Ok(Some(adopted))
    }

    /// What the called thread is to do, and for whom.
    fn task(&self) -> String {
        // A thread that begins anew knows nothing of what was asked before.
        let answered = match &self.head.status {
            Status::Suspended { role, .. } if role == self.role() => self.head.step(),
            _ => None,
        };
        let before = self.call.instead.or(answered);
        let before = before.map(|step| format!("{}\n\n", step.edge_prompt.trim_end()));
        format!(
            "{}{}\n\n(For role `{}` of workflow `{}`, thread {}.)",
            before.unwrap_or_default(),
            self.prompt().trim_end(),
            self.role(),
            self.workflow.name,
            self.call.request.thread
        )
    }

    /// A new thread; nothing is stored unless it may be called from here.
    fn begin(&self, resolved: &Resolved, noted: Option<Hash>) -> Result<CalledThread, ExecError> {
        let store = self.store();
        let mut names = vec![self.workflow.name.clone()];
        names.extend(thread::stack(store, &self.start)?.into_iter().map(|frame| frame.workflow));
        names.reverse();
        let role = self.role().to_owned();
        let depth = names.len() as u32;
        if names.contains(&resolved.name) {
            names.push(resolved.name.clone());
            return Err(ExecError::CallsItself { role, stack: names });
        }
        let max = self.engine.config.max_depth.unwrap_or(MAX_DEPTH);
        if depth > max {
            names.push(resolved.name.clone());
            return Err(ExecError::TooDeep { role, stack: names, max });
        }
        let start = StartNode {
            workflow: resolved.ensure_stored(store).map_err(ThreadError::from)?,
            prompt: self.task(),
            cwd: self.call.cwd.display().to_string(),
            call: Some(CalledFrom { parent_state: self.head.hash, depth }),
        };
        Ok(thread::call(store, (&self.call.request.thread, self.role()), &start, noted)?)
    }

    /// Runs the called thread until it ends, asks or fails; why it failed, if it did.
    fn run(
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
            ..options.clone()
        })
    }

    /// What a person says to the question that the called thread waits with; none where it waits with another one, or not at
    /// all any more.
    fn answer(&self, called: &CalledThread) -> Result<Option<String>, ExecError> {
        let Status::Suspended { role, message } = &self.head.status else { return Ok(None) };
        let Some(step) = self.head.step().filter(|_| role == self.role()) else { return Ok(None) };
        // It may have been stored again since, behind a summary.
        let asked = thread::step_node(self.store(), &step.detail)?;
        let waits =
            thread::head(self.store(), &called.thread)?.step().is_some_and(|at| at.is_of_visit(&asked));
        let answer = self.prompt().strip_prefix(message.as_str()).unwrap_or(self.prompt()).trim();
        Ok(waits.then(|| answer.to_owned()))
    }

    /// Where the called thread stands.
    fn standing(&self, called: &CalledThread) -> Result<Head, ExecError> {
        let workflow = workflow::get(self.store(), &called.start.workflow).map_err(ThreadError::from)?;
        Ok(thread::head(self.store(), &called.thread)?.settled(
            self.store(),
            &workflow,
            self.engine.conditions,
        ))
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

    fn agent(&self) -> String {
        format!("{WORKFLOW_PREFIX}{}", self.call.workflow)
    }

    /// The step of the caller, made from where the called thread stands.
    fn step(&self, called: &CalledThread, failure: Option<StuckBelow>) -> Result<AdapterOutput, ExecError> {
        let (store, role) = (self.store(), role_of(&self.workflow, self.role())?);
        let standing = self.standing(called)?;
        let (detail, fit) = match failure {
            Some(StuckBelow { error, at }) => (at, Fit::Unfit(error)),
            None => (standing.hash, self.fit(role, &standing)?),
        };
        let (schema, output, error_message) = match fit {
            Fit::Output(output) => (role.frontmatter, output, None),
            Fit::Asks(reason) => {
                (builtin::SUSPEND_OUTPUT, json!({"$status": "$SUSPEND", "reason": reason}), None)
            }
            Fit::Unfit(error) => (builtin::ERROR_OUTPUT, json!(ErrorOutput::new(&error, PHASE)), Some(error)),
        };
        let prev = (self.head.hash != self.head.start_hash()).then_some(self.head.hash);
        let since = thread::called_since(store, prev.as_ref(), &detail)?;
        let started_at_ms = match since.first() {
            Some((_, first)) => first.started_at_ms,
            None => put_at(store, &called.start_hash)?,
        };
        let completed_at_ms = put_at(store, &detail)?;
        let mut batch = store.batch();
        let step = StepNode {
            start: self.head.start_hash(),
            prev,
            role: self.role().to_owned(),
            output: batch.put(&schema, &output).map_err(ThreadError::from)?,
            detail,
            agent: self.agent(),
            edge_prompt: self.prompt().to_owned(),
            started_at_ms,
            completed_at_ms,
            cwd: self.call.cwd.display().to_string(),
            assembled_prompt: None,
            usage: used(since),
            previous_attempts: None,
            links: StepLinks::default(),
        };
        let step_hash = batch.put(&step.type_(), &json!(step)).map_err(ThreadError::from)?;
        batch.commit().map_err(ThreadError::from)?;
        let body = thread::answer_of(store, &detail)?.map(|answer| frontmatter::body(&answer));
        Ok(AdapterOutput {
            step_hash,
            detail_hash: detail,
            role: step.role,
            frontmatter: output,
            body: body.unwrap_or_default(),
            started_at_ms,
            completed_at_ms,
            usage: step.usage,
            is_error: error_message.is_some(),
            error_message,
        })
    }

    /// What the caller's step puts out for where the called thread stands.
    fn fit(&self, role: &Role, standing: &Head) -> Result<Fit, ExecError> {
        let store = self.store();
        if let Status::Suspended { message, .. } = &standing.status {
            return Ok(Fit::Asks(message.clone()));
        }
        let Some(last) = standing.step() else {
            return Ok(Fit::Unfit("the workflow ended without a step".to_owned()));
        };
        if matches!(standing.status, Status::Cancelled { .. }) {
            return Ok(Fit::Unfit("the thread that played it was cancelled".to_owned()));
        }
        let output = store.get(&last.output).map_err(ThreadError::from)?.payload;
        let schema = store.schema_of(&role.frontmatter).map_err(ThreadError::from)?;
        let fields = self.workflow.output.get(self.role());
        let start = thread::start_node(store, &last.start)?;
        let played = workflow::get(store, &start.workflow).map_err(ThreadError::from)?.name;
        Ok(output::fit(&output, &schema, fields, (self.role(), &played)))
    }
}

/// When a node was put.
fn put_at(store: &Store, hash: &Hash) -> Result<u64, ExecError> {
    Ok(store.get(hash).map_err(ThreadError::from)?.timestamp)
}

/// What steps used in all; none where none tells.
fn used(steps: Vec<(Hash, StepNode)>) -> Option<Usage> {
    let used = steps.into_iter().filter_map(|(_, step)| step.usage);
    used.reduce(|one, other| Usage {
        turns: one.turns.saturating_add(other.turns),
        input_tokens: one.input_tokens.saturating_add(other.input_tokens),
        output_tokens: one.output_tokens.saturating_add(other.output_tokens),
        duration: one.duration + other.duration,
    })
}
