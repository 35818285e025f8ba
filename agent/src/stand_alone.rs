//! The end of a run that has no engine: the thread's head moves as the reply demands.
//!
//! Apart because a role run never moves the head; whoever is engine and agent in one process does it here.

use uwf_engine::record::{reason, status};
use uwf_engine::thread::{self, Status, ThreadError};
use uwf_engine::{AdapterOutput, ThreadId};
use uwf_store::{Hash, Store};
use uwf_workflow::moderator::SUSPEND;

use crate::failure::FailedAt;

/// What a run came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunOutcome {
    /// The role has answered.
    Ended,
    /// The role asks a person.
    Suspended,
    /// The attempt failed there.
    Failed(FailedAt),
}

/// Moves the head of a thread from `from` to the step; a failed one leaves the thread idle where it was.
///
/// # Errors
/// The head is not at `from` any more, or the variables of the store cannot be written.
pub fn advance(
    store: &Store,
    thread: &ThreadId,
    from: &Hash,
    reply: &AdapterOutput,
) -> Result<RunOutcome, ThreadError> {
    if reply.is_error {
        return Ok(RunOutcome::Failed(FailedAt::of(&reply.frontmatter)));
    }
    let (status, end) = if status(&reply.frontmatter) == Some(SUSPEND) {
        let message = reason(&reply.frontmatter).unwrap_or_default().to_owned();
        (Status::Suspended { role: reply.role.clone(), message }, RunOutcome::Suspended)
    } else {
        (Status::Ended { completed_at: store.now() }, RunOutcome::Ended)
    };
    thread::advance(store, thread, from, &reply.step_hash, &status)?;
    Ok(end)
}
