//! What is behind a head. A summary stores the last steps of a thread again, so that a head of before is in no chain of it by
//! `prev` alone: the step that made the summary leads there.

use uwf_store::{Hash, Node, Store, StoreError};

use super::chain::linked;
use super::{StepNode, ThreadError, WalkBack};

/// Whether a node is in the chain behind another one, or is what a part of that was before it was stored again.
///
/// # Errors
/// A node on the way is missing, damaged or of another type.
pub fn is_before(store: &Store, earlier: &Hash, later: &Hash) -> Result<bool, ThreadError> {
    Ok(steps_between(store, earlier, later)?.is_some())
}

/// The same, with how many steps have been made since.
///
/// # Errors
/// As [`is_before`].
pub fn steps_between(store: &Store, earlier: &Hash, later: &Hash) -> Result<Option<u64>, ThreadError> {
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
                && let Some((before, last)) = before_summary(&|hash| store.get(hash), by)?
                && let Some(after) = since_visit(store, (&at, steps - since), &last)?
            {
                (at, since) = (before, since + after);
                continue 'walks;
            }
        }
        return Ok((back.start() == *earlier).then_some(steps));
    }
}

/// Where a thread stood when this step summed it up, and its last step then. The last steps since are the same visits, unless one
/// was made anew.
pub(crate) fn before_summary(
    get: &dyn Fn(&Hash) -> Result<Node, StoreError>,
    by: &Hash,
) -> Result<Option<(Hash, StepNode)>, ThreadError> {
    let step = |hash: &Hash| Ok::<_, ThreadError>(linked(*hash, get(hash)?)?.step);
    let Some(before) = step(by)?.prev else { return Ok(None) };
    Ok(Some((before, step(&before)?)))
}

/// How many of the last steps behind a head come after the one of this visit, if that is among them.
fn since_visit(
    store: &Store,
    (head, among): (&Hash, u64),
    visit: &StepNode,
) -> Result<Option<u64>, ThreadError> {
    let most = usize::try_from(among).unwrap_or(usize::MAX);
    for (after, link) in (0..).zip(WalkBack::from(store, head)?.at_most(most).take(most)) {
        if link?.step.is_of_visit(visit) {
            return Ok(Some(after));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::fixture::Place;
    use crate::thread::{ThreadId, kept_steps, stands_at, stored_again};

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
        let start = stands_at(&store, &thread).unwrap().unwrap();
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
