//! The record of a step, wherever it is: its agent's, or what the steps of a thread that was called for it add up to.
//!
//! What a store holds may come from elsewhere: calls are followed only so far down, and what is met again is not added up
//! again.

use std::collections::HashMap;

use uwf_store::{Hash, Store};

use super::child::MAX_LEVELS;
use super::{StepNode, ThreadError, called_by, chain, step_node};
use crate::record::{Change, Detail, RunSnapshots};

/// The record of a step. Of one that another thread made it is what the steps there cost and changed in all that were made for
/// it, from before the first to after the last; what was said is in these steps themselves.
///
/// # Errors
/// The record, or a step of the thread that was called, cannot be read.
pub fn detail_of(store: &Store, step: &StepNode) -> Result<Detail, ThreadError> {
    sum(store, step, 0, &mut HashMap::new())
}

/// The steps of the thread that was called for this one and that were made for it, oldest first; none where an agent made it.
///
/// # Errors
/// A step of that thread, or the step before this one, cannot be read.
pub fn called_steps(store: &Store, step: &StepNode) -> Result<Vec<(Hash, StepNode)>, ThreadError> {
    called_since(store, step.prev.as_ref(), &step.detail)
}

/// The steps of a called thread up to `last`, without those that the caller's step before, `prev`, has told already; none where
/// `last` is no step of a called thread.
///
/// # Errors
/// A step of that thread, or the step before, cannot be read.
pub fn called_since(
    store: &Store,
    prev: Option<&Hash>,
    last: &Hash,
) -> Result<Vec<(Hash, StepNode)>, ThreadError> {
    if called_by(store, last)?.is_none() {
        return Ok(Vec::new());
    }
    let mut steps = chain(store, last)?.steps;
    let told = prev.map(|prev| step_node(store, prev)).transpose()?.map(|before| before.detail);
    if let Some(told) = told.filter(|told| called_by(store, told).is_ok_and(|called| called.is_some())) {
        // Steps may have been stored again since: their records are the same.
        let told = step_node(store, &told)?.detail;
        if let Some(at) = steps.iter().position(|(_, step)| step.detail == told) {
            steps.drain(..=at);
        }
    }
    Ok(steps)
}

/// The sum, `level` calls down; of steps that were met before as it was then.
fn sum(
    store: &Store,
    step: &StepNode,
    level: usize,
    met: &mut HashMap<(Option<Hash>, Hash), Detail>,
) -> Result<Detail, ThreadError> {
    if called_by(store, &step.detail)?.is_none() {
        return Ok(Detail::read(store, &step.detail)?);
    }
    if level == MAX_LEVELS {
        return Err(ThreadError::CallsWithoutEnd { node: step.detail });
    }
    if let Some(whole) = met.get(&(step.prev, step.detail)) {
        return Ok(whole.clone());
    }
    let mut whole = Detail { changes: Some(Vec::new()), ..Detail::default() };
    for (_, called) in called_steps(store, step)? {
        add(&mut whole, sum(store, &called, level + 1, met)?);
    }
    met.insert((step.prev, step.detail), whole.clone());
    Ok(whole)
}

fn add(whole: &mut Detail, step: Detail) {
    let sum = |one: Option<u64>, other: Option<u64>| match (one, other) {
        (None, None) => None,
        (one, other) => Some(one.unwrap_or(0).saturating_add(other.unwrap_or(0))),
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::fixture::Place;
    use crate::thread::{CalledFrom, StartNode, answer_of, stack, start_node};

    /// A step that so many called threads of two steps each are below, both of which have the same record.
    fn nested(store: &Store, first: StepNode, levels: u32) -> (Hash, StepNode) {
        let start = start_node(store, &first.start).unwrap();
        let mut state = first.start;
        let mut last = (store.put(&first.type_(), &json!(first)).unwrap(), first);
        for depth in 1..=levels {
            let call = Some(CalledFrom { parent_state: state, depth });
            let called = StartNode { call, ..start.clone() };
            state = store.put(&called.type_(), &json!(called)).unwrap();
            let one = StepNode { start: state, prev: None, detail: last.0, ..last.1.clone() };
            let prev = store.put(&one.type_(), &json!(one)).unwrap();
            let two = StepNode { prev: Some(prev), ..one };
            last = (store.put(&two.type_(), &json!(two)).unwrap(), two);
        }
        last
    }

    #[test]
    fn calls_are_followed_so_far_and_added_up_once() {
        let place = Place::new();
        let store = place.store();
        let step = place.step(&place.flow_thread(), None, "writer", &json!({"$status": "checked"}));
        let first = step_node(&store, &step).unwrap();
        let (_, deep) = nested(&store, first.clone(), 60);
        detail_of(&store, &deep).unwrap();
        answer_of(&store, &deep.detail).unwrap();
        let (_, endless) = nested(&store, first, 6_000);
        let error = detail_of(&store, &endless).unwrap_err();
        assert!(error.to_string().contains("more than 100 threads above or below"), "{error}");
        assert_eq!(answer_of(&store, &endless.detail).unwrap(), None);
        let start = start_node(&store, &endless.start).unwrap();
        assert!(matches!(stack(&store, &start), Err(ThreadError::CallsWithoutEnd { .. })));
    }
}
