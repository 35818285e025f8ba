//! A new thread that goes on from a node of another one.

use crate::builtin;
use uwf_store::{Expect, Hash, Store, VarChange};

use super::{Head, HeadKind, Status, ThreadError, ThreadId, decode, variable};
use crate::workflow;

/// Begins a thread whose head is `node`, a StartNode or a StepNode; the thread it is from stays as it is. A fork of a
/// step that asks a person asks, too; any other is idle.
///
/// # Errors
/// The node, its start or its workflow cannot be read, the node is of another type, or the variable cannot be written.
pub fn fork(store: &Store, node: &Hash) -> Result<ThreadId, ThreadError> {
    let found = store.get(node)?;
    let schema = found.type_;
    let kind = match schema {
        builtin::START_NODE => HeadKind::Start(decode(node, found)?),
        builtin::STEP_NODE => HeadKind::Step(decode(node, found)?),
        type_ => return Err(ThreadError::NotAThreadNode { hash: *node, type_ }),
    };
    let head = Head { hash: *node, status: Status::Idle, kind, updated: store.now() };
    let workflow = workflow::get(store, &head.start(store)?.workflow)?;
    let tags = head.settled(store, &workflow).status.to_tags();
    let thread = ThreadId::new(store.now());
    let name = variable(&thread);
    store.vars().apply(&[VarChange::Set { name, schema, value: *node, tags, expect: Expect::Absent }])?;
    Ok(thread)
}
