//! Workflows that play roles: a thread of their own, called from where the caller's thread stands.
//!
//! The called thread runs by the same functions as any other, under a lock of its own. The caller's step is made from where
//! the called thread stands and from nothing else, so that whoever is killed in between makes the same step again: its
//! record is the last step there, its output what became of that one's output. What a person is asked below is asked
//! above, and the answer goes down. No head of the caller moves here.

mod find;
mod observer;
mod output;
mod run;
mod step;

use std::path::Path;

use uwf_store::Store;

use super::{Engine, ExecError, ExecOptions, Observer, hold};
use crate::spawn::protocol::{AdapterOutput, AgentRequest, WORKFLOW_PREFIX};
use crate::thread::{self, CalledThread, Head, StartNode, Status, StepNode, ThreadError};
use crate::workflow::{self, Workflow};

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

    /// The step of the role that waits for what is asked now, and what it asks; none where it does not wait.
    fn asking(&self) -> Option<(&StepNode, &str)> {
        match &self.head.status {
            Status::Suspended { role, message } if role == self.role() => {
                self.head.step().map(|step| (step, message.as_str()))
            }
            _ => None,
        }
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

    fn agent(&self) -> String {
        format!("{WORKFLOW_PREFIX}{}", self.call.workflow)
    }
}
