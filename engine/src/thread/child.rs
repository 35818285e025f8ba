//! Threads that a thread called to have a role played: who called whom, and which called thread is the last one.
//!
//! A called thread's StartNode names the node at which its caller stood ([`CalledFrom`]), so that from any node the whole stack can
//! be told. Names lead the other way: `@uwf/child/<caller>` is the start of the last thread that was called, and
//! `@uwf/parent/<called>` the node at which its caller stood; their tags have the ids. Nothing here runs a step.

use std::collections::BTreeMap;

use uwf_store::{Expect, Hash, Store, VarChange, Variable};

use super::step::{CalledFrom, StartNode};
use super::{Status, ThreadError, ThreadId, begun, entry, start_node, step_node};
use crate::builtin;
pub use crate::thread_id::MAX_LEVELS;
use crate::variables::{CHILDREN, PARENTS};
use crate::workflow;

/// The tag that names a thread.
const THREAD: &str = "thread";
/// The tag that names the role that a thread was called for.
const ROLE: &str = "role";

/// A thread that was called by another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CalledThread {
    /// The thread.
    pub thread: ThreadId,
    /// Its StartNode.
    pub start_hash: Hash,
    /// The payload of that.
    pub start: StartNode,
    /// The role of the caller that it plays.
    pub role: String,
}

impl CalledThread {
    /// Whether it was called where its caller stood at `head`.
    pub fn is_from(&self, head: &Hash) -> bool {
        self.start.call.is_some_and(|call| call.parent_state == *head)
    }
}

/// One level of a call stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Where the caller stood: its last step, or its StartNode.
    pub state: Hash,
    /// The caller's StartNode.
    pub start: StartNode,
    /// What the caller's workflow is called.
    pub workflow: String,
}

/// The last thread that `caller` called, if it called one.
///
/// # Errors
/// The variable or the StartNode that it names cannot be read.
pub fn last_called(store: &Store, caller: &ThreadId) -> Result<Option<CalledThread>, ThreadError> {
    let Some(variable) = store.vars().get(&format!("{CHILDREN}{caller}"))? else { return Ok(None) };
    let Some(thread) = variable.tags.get(THREAD).and_then(|id| id.parse().ok()) else { return Ok(None) };
    let start = start_node(store, &variable.value)?;
    let role = variable.tags.get(ROLE).cloned().unwrap_or_default();
    Ok(Some(CalledThread { thread, start_hash: variable.value, start, role }))
}

/// The last thread that `caller` called, if that was where it stands at `head` and nobody gave it up: what plays there, or has
/// played and is yet to be told.
///
/// # Errors
/// As [`last_called`].
pub fn called_at(store: &Store, caller: &ThreadId, head: &Hash) -> Result<Option<CalledThread>, ThreadError> {
    let last = last_called(store, caller)?;
    let counts = |called: &CalledThread| {
        let entry = entry(store, &called.thread);
        entry.is_ok_and(|entry| !matches!(entry.status(), Ok(Status::Cancelled { .. })))
    };
    Ok(last.filter(|called| called.is_from(head) && counts(called)))
}

/// Begins a thread that plays a role of `caller`, and notes it as the last one that was called, after the one that began with
/// `noted`; both or neither.
///
/// # Errors
/// [`ThreadError::NoTask`] for an empty task; another thread was called meanwhile; otherwise the node or the variables
/// cannot be written.
pub fn call(
    store: &Store,
    (caller, role): (&ThreadId, &str),
    start: &StartNode,
    noted: Option<Hash>,
) -> Result<CalledThread, ThreadError> {
    let (thread, start_hash, head) = begun(store, start)?;
    let expect = noted.map_or(Expect::Absent, Expect::Value);
    let mut changes = vec![head, note((caller, role), (&thread, start_hash, start.type_()), expect)];
    if let Some(call) = start.call {
        changes.push(VarChange::Set {
            name: format!("{PARENTS}{thread}"),
            schema: store.get(&call.parent_state)?.type_,
            value: call.parent_state,
            tags: tagged(caller, role),
            expect: Expect::Any,
        });
    }
    store.vars().apply(&changes)?;
    Ok(CalledThread { thread, start_hash, start: start.clone(), role: role.to_owned() })
}

/// Notes a thread that is there, a fork of one that was called elsewhere, as the last one that `caller` called for `role`.
///
/// # Errors
/// The variable cannot be written.
pub fn adopt(store: &Store, caller: &ThreadId, role: &str, called: &CalledThread) -> Result<(), ThreadError> {
    let thread = (&called.thread, called.start_hash, called.start.type_());
    let change = note((caller, role), thread, Expect::Any);
    Ok(store.vars().apply(&[change])?)
}

fn note(
    (caller, role): (&ThreadId, &str),
    (thread, value, schema): (&ThreadId, Hash, Hash),
    expect: Expect,
) -> VarChange {
    let name = format!("{CHILDREN}{caller}");
    VarChange::Set { name, schema, value, tags: tagged(thread, role), expect }
}

fn tagged(thread: &ThreadId, role: &str) -> BTreeMap<String, String> {
    [(THREAD, thread.to_string()), (ROLE, role.to_owned())]
        .map(|(name, value)| (name.to_owned(), value))
        .into()
}

/// The threads that `caller` called, as far as they are noted.
///
/// # Errors
/// The variables cannot be listed.
pub fn all_called(store: &Store, caller: &ThreadId) -> Result<Vec<ThreadId>, ThreadError> {
    let is_of = |variable: &Variable| variable.tags.get(THREAD).is_some_and(|id| *id == caller.to_string());
    let called = store.vars().list(PARENTS)?.into_iter().filter(is_of);
    Ok(called.filter_map(|variable| variable.name.strip_prefix(PARENTS)?.parse().ok()).collect())
}

/// Every thread that was called and that is noted, with its caller.
///
/// # Errors
/// The variables cannot be listed.
pub fn callers(store: &Store) -> Result<Vec<(ThreadId, ThreadId)>, ThreadError> {
    let of = |variable: Variable| {
        let called = variable.name.strip_prefix(PARENTS)?.parse().ok()?;
        Some((called, variable.tags.get(THREAD)?.parse().ok()?))
    };
    Ok(store.vars().list(PARENTS)?.into_iter().filter_map(of).collect())
}

/// The thread that called this one, where that is noted, and the role that it was called for.
///
/// # Errors
/// The variable cannot be read.
pub fn caller(store: &Store, called: &ThreadId) -> Result<Option<(ThreadId, String)>, ThreadError> {
    let Some(variable) = store.vars().get(&format!("{PARENTS}{called}"))? else { return Ok(None) };
    let thread = variable.tags.get(THREAD).and_then(|id| id.parse().ok());
    Ok(thread.map(|thread| (thread, variable.tags.get(ROLE).cloned().unwrap_or_default())))
}

/// Who called a thread that began so, from its caller to the first thread of all.
///
/// # Errors
/// A node of the stack or a workflow of it cannot be read.
pub fn stack(store: &Store, start: &StartNode) -> Result<Vec<Frame>, ThreadError> {
    let (mut frames, mut next) = (Vec::new(), start.call);
    while let Some(CalledFrom { parent_state, .. }) = next {
        if frames.len() == MAX_LEVELS {
            return Err(ThreadError::CallsWithoutEnd { node: parent_state });
        }
        let start = start_at(store, &parent_state)?;
        let workflow = workflow::get(store, &start.workflow)?.name;
        next = start.call;
        frames.push(Frame { state: parent_state, start, workflow });
    }
    Ok(frames)
}

/// The start of the thread that a node is of.
fn start_at(store: &Store, node: &Hash) -> Result<StartNode, ThreadError> {
    match builtin::STARTS.contains(&store.get(node)?.type_) {
        true => start_node(store, node),
        false => start_node(store, &step_node(store, node)?.start),
    }
}

/// The last step of a thread that was called, where that is what a step has for its record.
///
/// # Errors
/// The record or the thread's start cannot be read.
pub fn called_by(store: &Store, detail: &Hash) -> Result<Option<Hash>, ThreadError> {
    if !builtin::STEPS.contains(&store.get(detail)?.type_) {
        return Ok(None);
    }
    let start = start_node(store, &step_node(store, detail)?.start)?;
    Ok(start.call.map(|_| *detail))
}
