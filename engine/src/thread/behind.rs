//! What is behind a head. A summary stores the last steps of a thread again, so that a head of before is in no chain of it by
//! `prev` alone: the step that made the summary leads there.

use uwf_engine::thread::{self, StepNode, WalkBack};
use uwf_store::{Hash, Store};

use crate::FleetError;

/// Whether a node is in the chain behind another one, or is what a part of that was before it was stored again.
pub(crate) fn is_before(store: &Store, earlier: &Hash, later: &Hash) -> Result<bool, FleetError> {
    Ok(steps_between(store, earlier, later)?.is_some())
}

/// The same, with how many steps have been made since.
pub(crate) fn steps_between(store: &Store, earlier: &Hash, later: &Hash) -> Result<Option<u64>, FleetError> {
    let (mut at, mut since) = (*later, 0);
    'walks: loop {
        let (mut back, mut steps) = (WalkBack::from(store, &at)?, since);
        for link in &mut back {
            let link = link?;
            if link.hash == *earlier {
                return Ok(Some(steps));
            }
            steps += 1;
            if let Some(by) = &link.step.links.compacted_by
                && let Some((head, after)) = summed_up(store, (&at, steps - since), by)?
            {
                (at, since) = (head, since + after);
                continue 'walks;
            }
        }
        return Ok((back.start() == *earlier).then_some(steps));
    }
}

/// Where the thread stood that a summary was made of, and how many steps have come since; `walked` are the last steps behind a
/// head, down to the one with the summary. None where they are others than those of then, as where one was made anew.
fn summed_up(
    store: &Store,
    (head, walked): (&Hash, u64),
    by: &Hash,
) -> Result<Option<(Hash, u64)>, FleetError> {
    let Some(before) = thread::step_node(store, by)?.prev else { return Ok(None) };
    let last: StepNode = thread::step_node(store, &before)?;
    let most = usize::try_from(walked).unwrap_or(usize::MAX);
    for (after, link) in (0..).zip(WalkBack::from(store, head)?.at_most(most).take(most)) {
        if link?.step.is_of_visit(&last) {
            return Ok(Some((before, after)));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use uwf_engine::fixture::Place;
    use uwf_engine::thread::{ThreadId, kept_steps, stored_again};

    use super::*;

    /// Sums a thread up that stands at `head`, but for the last steps. Gives where it stands then.
    fn summed_up(place: &Place, thread: &ThreadId, head: Hash, keep: u32) -> Hash {
        let store = place.store();
        let by = place.step(thread, Some(head), "writer", &json!({"$status": "done", "dir": "a summary"}));
        let kept = kept_steps(&store, thread, &head, keep).unwrap();
        stored_again(&store, kept, (store.put_text("so far").unwrap(), by)).unwrap().1
    }

    #[test]
    fn a_head_of_before_a_summary_is_behind_the_one_after_it() {
        let place = Place::in_memory();
        let (store, thread) = (place.store(), place.flow_thread());
        let start = thread::stands_at(&store, &thread).unwrap().unwrap();
        let step = |prev: Option<Hash>, dir: u32| {
            place.step(&thread, prev, "writer", &json!({"$status": "again", "dir": dir.to_string()}))
        };
        let mut steps = vec![step(None, 0)];
        (1..5).for_each(|at| steps.push(step(steps.last().copied(), at)));
        let again = summed_up(&place, &thread, steps[4], 2);
        let sixth = step(Some(again), 5);
        let twice = summed_up(&place, &thread, step(Some(sixth), 6), 1);
        let last = step(Some(twice), 7);
        let since = |earlier: &Hash| steps_between(&store, earlier, &last).unwrap();
        assert_eq!(
            [&start, &steps[0], &steps[3], &steps[4]].map(since),
            [Some(8), Some(7), Some(4), Some(3)]
        );
        assert_eq!([&again, &sixth, &twice, &last].map(since), [Some(3), Some(2), Some(1), Some(0)]);
        assert_eq!(steps_between(&store, &steps[4], &again).unwrap(), Some(0));
        assert!(!is_before(&store, &again, &steps[4]).unwrap());
        // Somebody has gone on from there.
        assert!(!is_before(&store, &step(Some(steps[4]), 9), &last).unwrap());
    }
}
