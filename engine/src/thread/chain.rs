//! The steps of a thread in order, found by walking `prev` from the head back to the start.

use super::{StartNode, StepNode, ThreadError, decode, start_node, step_node};
use crate::schema::builtin;
use crate::store::{Hash, Store};

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

/// Walks back from `head`, a StartNode or a StepNode; one read a node.
pub fn chain(store: &Store, head: &Hash) -> Result<Chain, ThreadError> {
    let node = store.get(head)?;
    if node.type_ == builtin::START_NODE {
        return Ok(Chain { start_hash: *head, start: decode(head, node)?, steps: Vec::new() });
    }
    let last = step_node(store, head)?;
    let start_hash = last.start;
    let mut steps = Vec::new();
    let mut next = Some((*head, last));
    while let Some((hash, step)) = next {
        if step.start != start_hash {
            return Err(ThreadError::BrokenChain { hash, expected: start_hash, found: step.start });
        }
        next = step.prev.map(|prev| Ok::<_, ThreadError>((prev, step_node(store, &prev)?))).transpose()?;
        steps.push((hash, step));
    }
    steps.reverse();
    Ok(Chain { start_hash, start: start_node(store, &start_hash)?, steps })
}
