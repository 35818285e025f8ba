//! Threads: a name that points at the last of a chain of immutable nodes, and the state beside it.
//!
//! A thread is one variable, `@uwf/thread/<id>`: its value is the head (a StartNode or a StepNode), its tags are the
//! [`Status`]. Failed visits are listed apart, under `@uwf/thread-failed/<id>/<role>`, so that they never move a head.
//! Heads move only through [`advance`], by compare-and-set. Nothing here spawns or prints.

mod artifacts;
mod back;
mod behind;
mod cancel;
mod chain;
mod child;
mod compaction;
mod context;
mod detail;
mod entry;
mod error;
mod failures;
mod fork;
mod next;
pub(crate) mod options;
mod owner;
pub(crate) mod pause;
mod status;
mod step;

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde_json::json;
use uwf_store::{Expect, Hash, Node, Store, StoreError, VarChange, Variable};
use uwf_workflow::moderator::{Edges, Route, START, SUSPEND, Target};

pub use self::artifacts::{ThreadArtifact, artifacts, artifacts_of};
pub use self::back::{WalkBack, nth_back};
pub(crate) use self::behind::before_summary;
pub use self::behind::{is_before, steps_between};
pub use self::cancel::{cancel, check_exists, remove};
pub use self::chain::{Chain, Link, chain, link, links};
pub use self::child::{
    CalledThread, Frame, MAX_LEVELS, adopt, all_called, call, called_at, called_by, caller, callers,
    last_called, stack,
};
pub use self::compaction::{
    COMPACT, KEEP, SUMMARY, SummaryPlace, compact_prompt, compact_role, ensure_summary_type, is_due,
    kept_steps, stored_again,
};
pub use self::context::{
    EarlierStep, RoleContext, answer_of, failed_calls, role_context, role_context_at, role_of, role_played,
};
pub use self::detail::{called_since, called_steps, detail_of};
pub use self::entry::{ThreadEntries, ThreadEntry, entries, entry, head, stands_at};
pub use self::error::{ThreadError, store_hint};
pub(crate) use self::failures::steps_in;
pub use self::failures::{Failures, all_failures, clear_failures, failed_attempts, record_failure};
pub use self::fork::{fork, fork_into};
pub use self::next::{again, begins_again, next, retried};
pub use self::options::{ThreadOptions, UWF_OPTIONS, keep_options, options, options_change, options_of_node};
pub use self::owner::owner;
pub use self::pause::{Pause, PausedBy, all_paused, pause, paused, unpause};
pub use self::status::Status;
pub use self::step::{CalledFrom, StartNode, StepLinks, StepNode};
use crate::builtin;
use crate::conditions::Judge;
pub use crate::thread_id::{ThreadId, ThreadIdError};
pub use crate::usage::Usage;
pub use crate::variables::{CHILDREN, FAILED, HEADS, OPTIONS, PARENTS, PAUSES};
use crate::workflow::Workflow;

/// How often a head that is gone for a moment is waited for.
const GAPS: usize = 3;

/// The present state of a thread.
#[derive(Clone, Debug, PartialEq)]
pub struct Head {
    /// The node the thread stands at.
    pub hash: Hash,
    /// The stored state; what counts is that of [`Head::settled`].
    pub status: Status,
    /// The node, decoded.
    pub kind: HeadKind,
    /// When the head moved last, in milliseconds since the epoch.
    pub updated: u64,
}

/// What a head can be.
#[derive(Clone, Debug, PartialEq)]
pub enum HeadKind {
    /// Nothing was done yet.
    Start(StartNode),
    /// The last step done.
    Step(Box<StepNode>),
}

impl HeadKind {
    fn of(hash: &Hash, node: Node) -> Result<HeadKind, ThreadError> {
        match node.type_ {
            builtin::START_NODE | builtin::UWF_START => Ok(HeadKind::Start(decode(hash, node)?)),
            builtin::STEP_NODE | builtin::UWF_STEP => Ok(HeadKind::Step(Box::new(decode(hash, node)?))),
            type_ => Err(ThreadError::NotAThreadNode { hash: *hash, type_ }),
        }
    }
}

impl Head {
    /// The hash of the thread's StartNode.
    pub fn start_hash(&self) -> Hash {
        match &self.kind {
            HeadKind::Start(_) => self.hash,
            HeadKind::Step(step) => step.start,
        }
    }

    /// This head with the state that counts: where none is stored, the last step may still ask a person, by its output
    /// or by the edge it leads to. Other engines do not store that for a fork, or for a step that was poked.
    /// Where conditions decide that and nobody is there to judge them, what is stored counts.
    pub fn settled(self, store: &Store, workflow: &Workflow, judge: Judge<'_>) -> Head {
        // No condition is evaluated for an answer that is no.
        let role = self.step().map_or(START, |step| step.role.as_str());
        let ways = workflow.graph.get(role).map(Edges::ways).unwrap_or_default();
        let judge = judge.filter(|_| ways.iter().any(|way| way.role == SUSPEND));
        let may_ask = self.status == Status::Idle && self.step().is_some();
        let route = may_ask.then(|| next(store, workflow, &self, judge).ok()).flatten();
        self.settled_by(route.as_ref())
    }

    /// The same, where the route from here is known already; none is known where there is none.
    pub(crate) fn settled_by(mut self, route: Option<&Route>) -> Head {
        if let (Status::Idle, HeadKind::Step(step)) = (&self.status, &self.kind)
            && let Some(Route { target: Target::Suspend, prompt, .. }) = route
        {
            self.status = Status::Suspended { role: step.role.clone(), message: prompt.clone() };
        }
        self
    }

    /// The last step, if any.
    pub fn step(&self) -> Option<&StepNode> {
        match &self.kind {
            HeadKind::Start(_) => None,
            HeadKind::Step(step) => Some(step),
        }
    }

    /// The thread's StartNode; one read unless the head is it.
    ///
    /// # Errors
    /// The StartNode is missing, damaged or of another type.
    pub fn start(&self, store: &Store) -> Result<StartNode, ThreadError> {
        match &self.kind {
            HeadKind::Start(start) => Ok(start.clone()),
            HeadKind::Step(step) => {
                start_node(store, &step.start).map_err(|error| error.severed(&self.hash, "the start of"))
            }
        }
    }
}

/// Whether a thread may begin with this task; to be asked before anything is stored for it.
///
/// # Errors
/// [`ThreadError::NoTask`] for an empty task.
pub fn check_task(prompt: &str) -> Result<(), ThreadError> {
    if prompt.trim().is_empty() { Err(ThreadError::NoTask) } else { Ok(()) }
}

/// Begins a thread: a StartNode and a variable that points at it. Nothing runs.
///
/// # Errors
/// [`ThreadError::NoTask`] for an empty task; otherwise the node or the variable cannot be written.
pub fn start(store: &Store, workflow: &Hash, prompt: &str, cwd: &str) -> Result<ThreadId, ThreadError> {
    let start = StartNode { workflow: *workflow, prompt: prompt.to_owned(), cwd: cwd.to_owned(), call: None };
    let (thread, _, head) = begun(store, &start)?;
    store.vars().apply(&[head])?;
    Ok(thread)
}

/// Begins the thread of this id, as [`start`] does, and makes these other changes with it, or none of all. A thread that has begun
/// so already is left as it is, and the other changes are made.
///
/// # Errors
/// As [`start`]; or there is a thread of this id that began otherwise.
pub fn start_as(
    store: &Store,
    thread: &ThreadId,
    (workflow, prompt, cwd): (&Hash, &str, &str),
    others: Vec<VarChange>,
) -> Result<(), ThreadError> {
    check_task(prompt)?;
    let start = StartNode { workflow: *workflow, prompt: prompt.to_owned(), cwd: cwd.to_owned(), call: None };
    let (schema, payload) = (start.type_(), json!(start));
    let value = store.put(&schema, &payload)?;
    let (name, tags, expect) = (variable(thread), BTreeMap::new(), Expect::Absent);
    let mut changes = vec![VarChange::Set { name, schema, value, tags, expect }];
    changes.extend(others);
    match store.vars().apply(&changes) {
        Err(StoreError::Conflict { .. }) if head(store, thread)?.start_hash() == value => match &changes[1..]
        {
            [] => Ok(()),
            others => Ok(store.vars().apply(others)?),
        },
        done => Ok(done?),
    }
}

/// A new thread that begins so: its StartNode, which is stored, and the change that makes it a thread.
fn begun(store: &Store, start: &StartNode) -> Result<(ThreadId, Hash, VarChange), ThreadError> {
    check_task(&start.prompt)?;
    let value = store.put(&start.type_(), &json!(start))?;
    let (thread, schema) = (ThreadId::new(store.now()), start.type_());
    let (name, tags, expect) = (variable(&thread), BTreeMap::new(), Expect::Absent);
    Ok((thread, value, VarChange::Set { name, schema, value, tags, expect }))
}

/// The change that makes a thread of what another record knows: a head that is here, and the tags that are its state.
/// It fails if there is such a thread already.
pub(crate) fn adoption(
    store: &Store,
    thread: &ThreadId,
    head: &Hash,
    tags: BTreeMap<String, String>,
) -> Result<VarChange, ThreadError> {
    let schema = store.get(head)?.type_;
    if !builtin::STARTS.contains(&schema) && !builtin::STEPS.contains(&schema) {
        return Err(ThreadError::NotAThreadNode { hash: *head, type_: schema });
    }
    Ok(VarChange::Set { name: variable(thread), schema, value: *head, tags, expect: Expect::Absent })
}

/// The variable that is a thread's head, as it stands.
pub(crate) fn variable_of(store: &Store, thread: &ThreadId) -> Result<Option<Variable>, ThreadError> {
    Ok(store.vars().get(&variable(thread))?)
}

/// Moves the head from `from` to `to` with a new status, or fails with [`ThreadError::HeadMoved`] when it no longer
/// is at `from`. A thread that comes to its end forgets its failed attempts.
///
/// # Errors
/// [`ThreadError::HeadMoved`] when the head is elsewhere; otherwise the node `to` cannot be read or the variable cannot
/// be written.
pub fn advance(
    store: &Store,
    thread: &ThreadId,
    from: &Hash,
    to: &Hash,
    status: &Status,
) -> Result<(), ThreadError> {
    let mut changes = vec![VarChange::Set {
        name: variable(thread),
        schema: store.get(to)?.type_,
        value: *to,
        tags: status.to_tags(),
        expect: Expect::Value(*from),
    }];
    if status.is_final() {
        changes.push(VarChange::RemovePrefix { prefix: format!("{FAILED}{thread}/") });
        changes.push(VarChange::Remove { name: pause::variable(thread) });
    }
    // Other engines move a head by removing it and setting it anew; looking for the head waits for the end of such a gap.
    let gone = |error: &StoreError| matches!(error, StoreError::Conflict { found: None, .. });
    let mut applied = store.vars().apply(&changes);
    for _ in 0..GAPS {
        if !applied.as_ref().is_err_and(gone) || entry(store, thread).is_err() {
            break;
        }
        applied = store.vars().apply(&changes);
    }
    applied.map_err(|error| match error {
        StoreError::Conflict { found, .. } => {
            ThreadError::HeadMoved { thread: *thread, expected: *from, found }
        }
        other => ThreadError::Store(other),
    })
}

/// The step at `hash`, or an error that says what is there instead.
///
/// # Errors
/// The node is missing, damaged, or not a StepNode.
pub fn step_node(store: &Store, hash: &Hash) -> Result<StepNode, ThreadError> {
    read_as(store, hash, builtin::STEPS)
}

/// The start at `hash`, or an error that says what is there instead.
///
/// # Errors
/// The node is missing, damaged, or not a StartNode.
pub fn start_node(store: &Store, hash: &Hash) -> Result<StartNode, ThreadError> {
    read_as(store, hash, builtin::STARTS)
}

fn read_as<T: DeserializeOwned>(store: &Store, hash: &Hash, types: [Hash; 2]) -> Result<T, ThreadError> {
    let node = store.get(hash)?;
    if !types.contains(&node.type_) {
        return Err(ThreadError::NotAThreadNode { hash: *hash, type_: node.type_ });
    }
    decode(hash, node)
}

fn decode<T: DeserializeOwned>(hash: &Hash, node: Node) -> Result<T, ThreadError> {
    serde_json::from_value(node.payload).map_err(|source| ThreadError::Malformed { hash: *hash, source })
}

pub(crate) fn variable(thread: &ThreadId) -> String {
    format!("{HEADS}{thread}")
}

#[cfg(test)]
mod tests;
