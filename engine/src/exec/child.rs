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
    self, Call, CalledThread, Head, StartNode, Status, StepLinks, StepNode, ThreadError, Usage, role_of,
};
use crate::workflow::{self, Role, Workflow};

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
        let head = head.settled(store, &workflow);
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
        let begun = last.filter(|last| {
            let is_here = last.start.call.is_some_and(|call| call.parent_state == self.head.hash);
            is_here && last.role == self.role()
        });
        if let Some(begun) = begun {
            let active = thread::entry(self.store(), &begun.thread).ok().and_then(|entry| {
                let cancelled = matches!(entry.status(), Ok(Status::Cancelled { .. }));
                (!cancelled).then_some(entry)
            });
            match active {
                Some(_) if begun.start.prompt == self.task() => return Ok(begun),
                // Other words are another visit: nobody waits for the one before.
                Some(_) => drop(thread::cancel(self.store(), &begun.thread)),
                None => observer.warn(&format!(
                    "thread {}, which played role `{}`, is gone or cancelled: a new one begins",
                    begun.thread, begun.role
                )),
            }
        }
        self.begin()
    }

    /// The called thread that asked what is answered now. One that is known here by its steps alone is taken up as a thread.
    fn asked(&self) -> Result<Option<CalledThread>, ExecError> {
        let store = self.store();
        let Status::Suspended { role, .. } = &self.head.status else { return Ok(None) };
        let Some(step) = self.head.step().filter(|_| role == self.role()) else { return Ok(None) };
        let Some(question) = thread::called_by(store, &step.detail)? else { return Ok(None) };
        let start_hash = thread::step_node(store, &question)?.start;
        let last = thread::last_called(store, &self.call.request.thread)?;
        if let Some(last) = last.filter(|last| last.start_hash == start_hash)
            && thread::check_exists(store, &last.thread).is_ok()
        {
            return Ok(Some(last));
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
        format!(
            "{}\n\n(For role `{}` of workflow `{}`, thread {}.)",
            self.prompt().trim_end(),
            self.role(),
            self.workflow.name,
            self.call.request.thread
        )
    }

    /// A new thread; nothing is stored unless it may be called from here.
    fn begin(&self) -> Result<CalledThread, ExecError> {
        let (store, reference) = (self.store(), self.call.workflow);
        let resolved =
            workflow::resolve(store, reference, Path::new(&self.start.cwd)).map_err(ThreadError::from)?;
        let mut names = vec![self.workflow.name.clone()];
        names.extend(thread::stack(store, &self.start)?.into_iter().map(|frame| frame.workflow));
        names.reverse();
        let role = self.role().to_owned();
        if names.contains(&resolved.name) {
            names.push(resolved.name);
            return Err(ExecError::CallsItself { role, stack: names });
        }
        let (depth, max) = (self.start.depth() + 1, self.engine.config.max_depth.unwrap_or(MAX_DEPTH));
        if depth > max {
            names.push(resolved.name);
            return Err(ExecError::TooDeep { role, stack: names, max });
        }
        let start = StartNode {
            workflow: resolved.ensure_stored(store).map_err(ThreadError::from)?,
            prompt: self.task(),
            cwd: self.call.cwd.display().to_string(),
            call: Some(Call { parent_state: self.head.hash, depth }),
        };
        Ok(thread::call(store, &self.call.request.thread, self.role(), &start)?)
    }

    /// Runs the called thread until it ends, asks or fails; why it failed, if it did.
    fn run(
        &self,
        called: &CalledThread,
        lock: &ThreadLock,
        options: &ExecOptions,
        observer: &mut dyn Observer,
    ) -> Result<Option<String>, ExecError> {
        let (begun, mut answer) = (Instant::now(), self.answer(called)?);
        let mut below = Below::new(self.role(), observer);
        for _ in 0..MAX_STEPS {
            let status = self.standing(called)?.status;
            let options = ExecOptions {
                agent: None,
                cwd: None,
                deadline: self.left(begun, options)?,
                ..options.clone()
            };
            let report = match (status, answer.take()) {
                (Status::Suspended { .. }, Some(answer)) => {
                    resume_once(self.engine, lock, Some(&answer), &options, &mut below)
                }
                (Status::Idle, _) => step_once(self.engine, lock, &options, &mut below),
                _ => return Ok(None),
            };
            let report = report.map_err(|error| self.failed(called, error))?;
            if let Some(failure) = report.failure {
                let role = report.played.map(|played| played.step.role).unwrap_or_default();
                return Ok(Some(format!("role `{role}` of thread {} failed: {failure}", called.thread)));
            }
        }
        let done = self.standing(called)?.status != Status::Idle;
        Ok((!done).then(|| format!("thread {} has made {MAX_STEPS} steps and has not ended", called.thread)))
    }

    /// What a person says to the question that the called thread waits with; none where it waits with another one, or not at
    /// all any more.
    fn answer(&self, called: &CalledThread) -> Result<Option<String>, ExecError> {
        let Status::Suspended { role, message } = &self.head.status else { return Ok(None) };
        let Some(step) = self.head.step().filter(|_| role == self.role()) else { return Ok(None) };
        let waits = thread::head(self.store(), &called.thread)?.hash == step.detail;
        let answer = self.prompt().strip_prefix(message.as_str()).unwrap_or(self.prompt()).trim();
        Ok(waits.then(|| answer.to_owned()))
    }

    /// Where the called thread stands.
    fn standing(&self, called: &CalledThread) -> Result<Head, ExecError> {
        let workflow = workflow::get(self.store(), &called.start.workflow).map_err(ThreadError::from)?;
        Ok(thread::head(self.store(), &called.thread)?.settled(self.store(), &workflow))
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
    fn failed(&self, called: &CalledThread, error: ExecError) -> ExecError {
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
    fn step(&self, called: &CalledThread, failure: Option<String>) -> Result<AdapterOutput, ExecError> {
        let (store, role) = (self.store(), role_of(&self.workflow, self.role())?);
        let standing = self.standing(called)?;
        let detail = match &failure {
            Some(_) => last_attempt(store, called, &standing)?,
            None => standing.hash,
        };
        let fit = match failure {
            Some(error) => Fit::Failed(error),
            None => self.fit(role, &standing)?,
        };
        let is_unfit = matches!(&fit, Fit::Unfit(_));
        let (schema, output, error_message) = match fit {
            Fit::Output(output) => (role.frontmatter, output, None),
            Fit::Asks(reason) => {
                (builtin::SUSPEND_OUTPUT, json!({"$status": "$SUSPEND", "reason": reason}), None)
            }
            Fit::Failed(error) | Fit::Unfit(error) => {
                (builtin::ERROR_OUTPUT, json!(ErrorOutput::new(&error, PHASE)), Some(error))
            }
        };
        let (started_at_ms, completed_at_ms) = (put_at(store, &called.start_hash)?, put_at(store, &detail)?);
        let mut batch = store.batch();
        let step = StepNode {
            start: self.head.start_hash(),
            prev: (self.head.hash != self.head.start_hash()).then_some(self.head.hash),
            role: self.role().to_owned(),
            output: batch.put(&schema, &output).map_err(ThreadError::from)?,
            detail,
            agent: self.agent(),
            edge_prompt: self.prompt().to_owned(),
            started_at_ms,
            completed_at_ms,
            cwd: self.call.cwd.display().to_string(),
            assembled_prompt: None,
            usage: used(store, &detail)?,
            previous_attempts: None,
            links: StepLinks::default(),
        };
        let step_hash = batch.put(&step.type_(), &json!(step)).map_err(ThreadError::from)?;
        batch.commit().map_err(ThreadError::from)?;
        if is_unfit {
            // It has ended so for good: the next attempt needs another thread.
            thread::forget_called(store, &self.call.request.thread)?;
        }
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
        Ok(output::fit(&output, &schema, fields, (self.role(), self.call.workflow)))
    }
}

/// The last failed attempt of a called thread at the role that it stands at; where it stands, if there is none.
fn last_attempt(store: &Store, called: &CalledThread, standing: &Head) -> Result<Hash, ExecError> {
    let attempts = thread::all_failures(store, Some(&called.thread))?;
    let listed = attempts.into_iter().filter_map(|list| list.steps.ok()).flatten();
    let last = listed.max_by_key(|hash| put_at(store, hash).unwrap_or_default());
    match last {
        Some(last) => Ok(last),
        None if standing.step().is_some() => Ok(standing.hash),
        None => Err(ExecError::NothingToPoke { thread: called.thread }),
    }
}

/// When a node was put.
fn put_at(store: &Store, hash: &Hash) -> Result<u64, ExecError> {
    Ok(store.get(hash).map_err(ThreadError::from)?.timestamp)
}

/// What all steps up to one used; none where none tells.
fn used(store: &Store, last: &Hash) -> Result<Option<Usage>, ExecError> {
    let steps = thread::chain(store, last)?.steps;
    let used = steps.into_iter().filter_map(|(_, step)| step.usage);
    Ok(used.reduce(|one, other| Usage {
        turns: one.turns + other.turns,
        input_tokens: one.input_tokens + other.input_tokens,
        output_tokens: one.output_tokens + other.output_tokens,
        duration: one.duration + other.duration,
    }))
}
