use serde_json::json;

use super::super::{Spent, SpentBy};
use super::*;
use crate::builtin::UWF_DETAIL;
use crate::fixture::Place;
use crate::thread::{Status, Usage, record_failure};

/// A step like those of the builtin agent, of so many tokens.
fn step(place: &Place, thread: &ThreadId, prev: Option<Hash>, (model, cost): (&str, Option<f64>)) -> Hash {
    let store = place.store();
    let bare = place.step(thread, prev, "writer", &json!({"$status": "checked"}));
    let mut node = thread::step_node(&store, &bare).unwrap();
    let detail = Detail { cost, ..Detail::empty(&format!("{prev:?}{model}"), model) };
    node.detail = store.put(&UWF_DETAIL, &json!(detail)).unwrap();
    node.usage = Some(Usage { turns: 2, input_tokens: 100, output_tokens: 10, duration: 1.5 });
    store.put(&node.type_(), &json!(node)).unwrap()
}

fn advance(place: &Place, thread: &ThreadId, to: &Hash) {
    let (store, from) = (place.store(), thread::head(&place.store(), thread).unwrap().hash);
    thread::advance(&store, thread, &from, to, &Status::Idle).unwrap();
}

#[test]
fn what_summed_a_thread_up_counts_once() {
    let place = Place::new();
    let (store, thread) = (place.store(), place.flow_thread());
    let by = step(&place, &thread, None, ("summer", Some(0.4)));
    thread::ensure_summary_type(&store).unwrap();
    let mut prev = None;
    for (model, cost) in [("big", 0.1), ("small", 0.2)] {
        let mut node = thread::step_node(&store, &step(&place, &thread, prev, (model, Some(cost)))).unwrap();
        node.links.compacted_by = Some(by);
        prev = Some(store.put(&node.type_(), &json!(node)).unwrap());
        advance(&place, &thread, &prev.unwrap());
    }
    let facts = ThreadFacts::of(&store, &RunsBeside::of(&store).unwrap(), &thread, usize::MAX).unwrap();
    assert_eq!((facts.steps, facts.turns, facts.cost), (2, 6, Some(0.7)));
    let spent = Spent::of(&store, Some(&thread), None, SpentBy::Model).unwrap();
    assert_eq!((spent.total.runs, spent.total.cost), (3, Some(0.7)));
}

#[test]
fn every_run_counts_once_and_a_failed_one_too() {
    let place = Place::new();
    let (store, thread) = (place.store(), place.flow_thread());
    let first = step(&place, &thread, None, ("big", Some(0.1)));
    advance(&place, &thread, &first);
    let second = step(&place, &thread, Some(first), ("small", Some(0.2)));
    advance(&place, &thread, &second);
    let failed = step(&place, &thread, Some(second), ("own", None));
    record_failure(&store, &thread, "writer", &failed).unwrap();
    let fork = thread::fork(&store, &second).unwrap();

    let beside = RunsBeside::of(&store).unwrap();
    let facts = ThreadFacts::of(&store, &beside, &thread, usize::MAX).unwrap();
    assert_eq!((facts.steps, facts.more_steps, facts.turns), (2, false, 6));
    assert_eq!((facts.cost, facts.unpriced, facts.failed_runs), (Some(0.3), 1, 1));
    assert_eq!((facts.input_tokens, facts.models.len()), (300, 3));
    // What is noted of one thread alone tells the same of it.
    let own = RunsBeside::of_thread(&store, &thread).unwrap();
    assert_eq!(ThreadFacts::of(&store, &own, &thread, usize::MAX).unwrap(), facts);
    assert_eq!(RunsBeside::of_thread(&store, &fork).unwrap().last_failed(&thread), None);
    let last = ThreadFacts::of(&store, &beside, &fork, 1).unwrap();
    assert_eq!((last.steps, last.more_steps, last.cost), (1, true, Some(0.2)));

    let all = Spent::of(&store, None, None, SpentBy::Model).unwrap();
    assert_eq!((all.total.runs, all.total.failed_runs, all.total.unpriced_runs), (3, 1, 1));
    let names: Vec<_> = all.rows.iter().map(|row| row.name.as_deref().unwrap_or("-")).collect();
    assert_eq!(names, ["small", "big", "own"], "the dearest first, and what has no price last");
    let later = Spent::of(&store, Some(&thread), Some(u64::MAX), SpentBy::Day).unwrap();
    assert_eq!((later.total.runs, later.rows.len()), (0, 0));
    let by_day = Spent::of(&store, Some(&fork), None, SpentBy::Day).unwrap();
    assert_eq!((by_day.total.cost, by_day.rows[0].name.as_deref()), (Some(0.3), Some("2027-01-15")));
}
