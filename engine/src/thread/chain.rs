//! The steps of a thread in order, found by walking `prev` from the head back to the start.

use crate::builtin;
use uwf_store::{Hash, Node, Store};

use super::{StartNode, StepNode, ThreadError, WalkBack, decode, start_node};

/// A thread's nodes from its start to one head.
#[derive(Clone, Debug, PartialEq)]
pub struct Chain {
    /// The StartNode's hash.
    pub start_hash: Hash,
    /// The StartNode.
    pub start: StartNode,
    /// The steps, oldest first.
    pub steps: Vec<(Hash, StepNode)>,
}

/// One step of a chain.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// The StepNode's hash.
    pub hash: Hash,
    /// The StepNode.
    pub step: StepNode,
    /// When the node was put, in milliseconds since the epoch.
    pub timestamp: u64,
}

/// Walks back from `head`, a StartNode or a StepNode, and calls `visit` with each step, the youngest first; one read a
/// node. Gives the hash of the start.
///
/// # Errors
/// A node of the chain is missing, damaged, of another type, or belongs to the start of another thread.
pub fn links(store: &Store, head: &Hash, visit: &mut dyn FnMut(Link)) -> Result<Hash, ThreadError> {
    let mut back = WalkBack::from(store, head)?;
    for link in &mut back {
        visit(link?);
    }
    Ok(back.start())
}

/// One step, with the time it was put.
///
/// # Errors
/// The node is missing, damaged, or not a StepNode.
pub fn link(store: &Store, hash: &Hash) -> Result<Link, ThreadError> {
    linked(*hash, store.get(hash)?)
}

pub(super) fn linked(hash: Hash, node: Node) -> Result<Link, ThreadError> {
    if !builtin::STEPS.contains(&node.type_) {
        return Err(ThreadError::NotAThreadNode { hash, type_: node.type_ });
    }
    let timestamp = node.timestamp;
    Ok(Link { hash, step: decode(&hash, node)?, timestamp })
}

/// The whole chain behind `head`.
///
/// # Errors
/// A node of the chain is missing, damaged, of another type, or belongs to the start of another thread.
pub fn chain(store: &Store, head: &Hash) -> Result<Chain, ThreadError> {
    let mut steps = Vec::new();
    let start_hash = links(store, head, &mut |link| steps.push((link.hash, link.step)))?;
    steps.reverse();
    let start = start_node(store, &start_hash).map_err(|error| error.severed(head, "the start of"))?;
    Ok(Chain { start_hash, start, steps })
}
