//! The record of a step, wherever it is: its agent's, or what the steps of a thread that was called for it add up to.

use uwf_store::{Hash, Store};

use super::{StepNode, ThreadError, chain};
use crate::builtin;
use crate::record::{Change, Detail, RunSnapshots};

/// The record of a step. Of one that another thread made it is the whole of that: what its steps cost and changed, in all,
/// from before the first to after the last; what was said is in the steps themselves.
///
/// # Errors
/// The record, or a step of the thread that was called, cannot be read.
pub fn detail_of(store: &Store, step: &StepNode) -> Result<Detail, ThreadError> {
    let node = store.get(&step.detail)?;
    if !builtin::STEPS.contains(&node.type_) {
        return Ok(Detail::of(node.payload));
    }
    let mut whole = Detail { changes: Some(Vec::new()), ..Detail::default() };
    for (_, step) in chain(store, &step.detail)?.steps {
        add(&mut whole, detail_of(store, &step)?);
    }
    Ok(whole)
}

/// The steps of the thread that was called for this one, oldest first; none where an agent made it.
///
/// # Errors
/// A step of that thread cannot be read.
pub fn called_steps(store: &Store, step: &StepNode) -> Result<Vec<(Hash, StepNode)>, ThreadError> {
    match builtin::STEPS.contains(&store.get(&step.detail)?.type_) {
        true => Ok(chain(store, &step.detail)?.steps),
        false => Ok(Vec::new()),
    }
}

fn add(whole: &mut Detail, step: Detail) {
    let sum = |one: Option<u64>, other: Option<u64>| match (one, other) {
        (None, None) => None,
        (one, other) => Some(one.unwrap_or(0) + other.unwrap_or(0)),
    };
    whole.duration = sum(whole.duration, step.duration);
    whole.turn_count = sum(whole.turn_count, step.turn_count);
    whole.failed_calls = sum(whole.failed_calls, step.failed_calls);
    whole.cost = match (whole.cost, step.cost) {
        (None, None) => None,
        (one, other) => Some(one.unwrap_or(0.0) + other.unwrap_or(0.0)),
    };
    whole.model = step.model.filter(|model| !model.is_empty()).or(whole.model.take());
    let changes = whole.changes.get_or_insert_default();
    step.changes.into_iter().flatten().for_each(|change| changed(changes, change));
    if let Some(snapshots) = step.snapshots {
        let before = whole.snapshots.take().unwrap_or_default();
        whole.snapshots = Some(RunSnapshots {
            before: before.before.or(snapshots.before),
            after: snapshots.after.or(before.after),
            failed: before.failed.or(snapshots.failed),
        });
    }
}

/// A file that is changed twice was before as it was first, and is after as it was last.
fn changed(changes: &mut Vec<Change>, change: Change) {
    match changes.iter_mut().find(|earlier| earlier.path == change.path) {
        Some(earlier) => earlier.after = change.after,
        None => changes.push(change),
    }
}
