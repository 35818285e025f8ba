//! Which thread a step is of, where only the step is named.
//!
//! A step knows its start, not its thread: threads of the same start are asked one after the other.

use uwf_store::{Hash, Store};

use super::{Link, StepNode, ThreadError, ThreadId, all_failures, entries, links, step_node};

/// The thread that a step is of, be it a failed attempt; of several, as a fork makes them, the oldest.
///
/// # Errors
/// The step is none, or the threads cannot be listed. One that cannot be read is passed over.
pub fn owner(store: &Store, step: &Hash) -> Result<Option<ThreadId>, ThreadError> {
    let node = step_node(store, step)?;
    let start = node.start;
    let mut found = None;
    for entry in entries(store) {
        let entry = entry?;
        let is_of_start = |link: &Hash| step_node(store, link).is_ok_and(|step| step.start == start);
        let has_failed = |thread: &ThreadId| -> Result<bool, ThreadError> {
            let mut failed =
                all_failures(store, Some(thread))?.into_iter().filter_map(|list| list.steps.ok());
            Ok(failed.any(|steps| steps.contains(step)))
        };
        let is_in_chain = match entry.is_new || !is_of_start(&entry.head) {
            true => false,
            false => has(store, &entry.head, (step, &node)),
        };
        if is_in_chain || has_failed(&entry.thread)? {
            found = Some(entry.thread);
        }
    }
    Ok(found)
}

/// Whether a chain has a step, by itself or stored again, or a step of it lists that as a failed attempt.
fn has(store: &Store, head: &Hash, (step, node): (&Hash, &StepNode)) -> bool {
    let mut found = false;
    // What of a chain can be read says enough.
    let _severed = links(store, head, &mut |Link { hash, step: link, .. }| {
        let attempts = link.previous_attempts.as_deref().unwrap_or_default();
        found |= hash == *step || attempts.contains(step) || link.is_of_visit(node);
    });
    found
}
