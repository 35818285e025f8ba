//! Summaries in a chain: what a role sees then, and what the chain still has.

use serde_json::json;
use uwf_store::{Hash, Store};

use super::*;
use crate::builtin;
use crate::fixture::Place;
use crate::spawn::protocol::{AgentRequest, EdgePromptSource};
use crate::thread::{Status, advance, chain, fork, fork_into, head, link, role_context_at};

/// A thread of so many steps.
fn thread_of(place: &Place, store: &Store, count: usize) -> (ThreadId, Vec<Hash>) {
    let thread = place.flow_thread();
    let mut steps: Vec<Hash> = Vec::new();
    for _ in 0..count {
        let step = place.step(&thread, steps.last().copied(), "writer", &json!({"$status": "again"}));
        let from = head(store, &thread).unwrap().hash;
        advance(store, &thread, &from, &step, &Status::Idle).unwrap();
        steps.push(step);
    }
    (thread, steps)
}

/// Puts a summary before the last `keep` steps, as the engine does, without moving the head.
fn compacted(store: &Store, thread: &ThreadId, head: &Hash, (keep, text): (u32, &str)) -> Hash {
    let kept = kept_steps(store, thread, head, keep).unwrap();
    let summary = store.put_text(text).unwrap();
    stored_again(store, kept, (summary, *head)).unwrap().1
}

fn seen(store: &Store, thread: &ThreadId, head: &Hash) -> (Option<String>, usize) {
    let request = AgentRequest {
        thread: *thread,
        role: "writer".into(),
        prompt: Some("Go on.".into()),
        prompt_source: EdgePromptSource::Given,
    };
    let context = role_context_at(store, &request, head, vec![]).unwrap();
    assert_eq!(context.prev(), Some(*head));
    (context.summary, context.steps.len())
}

#[test]
fn the_type_of_a_summary_is_pinned() {
    assert_eq!(Hash::of(&META_SCHEMA, &schema()), SUMMARY);
    assert!(!builtin::PROFILE.schemas.contains(&SUMMARY), "a store gets it with its first summary");
    assert_eq!(compact_role().frontmatter, SUMMARY);
}

#[test]
fn the_words_say_how_many_steps_stay() {
    insta::assert_snapshot!([1, 2, 5].map(compact_prompt).join("\n"));
}

#[test]
fn a_role_sees_the_summary_and_what_comes_after_it() {
    let place = Place::new();
    let (store, (thread, steps)) = (place.store(), thread_of(&place, &place.store(), 9));
    let old = *steps.last().unwrap();
    assert_eq!(seen(&store, &thread, &old), (None, 9));
    let new = compacted(&store, &thread, &old, (3, "It was long."));
    assert_eq!(seen(&store, &thread, &new), (Some("It was long.".into()), 3));
    assert_eq!(seen(&store, &thread, &old), (None, 9), "what was stays");
    let again = compacted(&store, &thread, &new, (1, "Longer."));
    assert_eq!(seen(&store, &thread, &again), (Some("Longer.".into()), 1));
    for head in [new, again] {
        let steps = chain(&store, &head).unwrap().steps;
        assert_eq!(steps.len(), 9);
        let place = SummaryPlace::last(&store, &head).unwrap().unwrap();
        assert_eq!(place.by, Some(if head == new { old } else { new }));
        let named: Vec<usize> = steps.iter().map(|(_, step)| step.links.ancestors.len()).collect();
        assert_eq!(named, [0, 0, 0, 0, 0, 0, 2, 3, 4], "the steps before are of the older type");
    }
    assert_eq!(SummaryPlace::last(&store, &old).unwrap(), None);
    store.verify(&mut |finding| panic!("{finding}")).unwrap();

    let forked = head(&store, &fork(&store, &new).unwrap()).unwrap().hash;
    assert_eq!(seen(&store, &thread, &forked), (Some("It was long.".into()), 3));
    let elsewhere = head(&store, &fork_into(&store, &new, "/else").unwrap()).unwrap().hash;
    assert_eq!(seen(&store, &thread, &elsewhere), (Some("It was long.".into()), 3));
    assert_eq!(chain(&store, &elsewhere).unwrap().steps.len(), 9);
}

/// Building a context reads nothing of what was summed up.
#[test]
fn what_is_before_a_summary_is_not_read() {
    let place = Place::new();
    let (store, (thread, steps)) = (place.store(), thread_of(&place, &place.store(), 9));
    let new = compacted(&store, &thread, &steps[8], (3, "It was long."));
    for step in &steps[..5] {
        std::fs::remove_file(place.homes().ocas.join(format!("nodes/{step}.bin"))).unwrap();
    }
    let store = place.store();
    assert_eq!(seen(&store, &thread, &new), (Some("It was long.".into()), 3));
    assert!(chain(&store, &new).is_err());
    let carrier = SummaryPlace::last(&store, &new).unwrap().unwrap();
    std::fs::remove_file(place.homes().ocas.join(format!("nodes/{}.bin", carrier.summary))).unwrap();
    let request =
        AgentRequest { thread, role: "writer".into(), prompt: None, prompt_source: EdgePromptSource::Given };
    let error = role_context_at(&place.store(), &request, &new, vec![]).unwrap_err();
    assert_eq!(error.to_string(), format!("the summary before step {} cannot be read", carrier.step));
}

#[test]
fn a_summary_is_due_when_more_steps_have_come() {
    let place = Place::new();
    let (store, (thread, steps)) = (place.store(), thread_of(&place, &place.store(), 9));
    let due = |head: &Hash| (0..12).filter(|after| is_due(&store, head, *after).unwrap()).max();
    assert_eq!(due(&steps[8]), Some(8));
    let new = compacted(&store, &thread, &steps[8], (3, "x"));
    assert_eq!(due(&new), Some(2));
    let start = head(&store, &thread).unwrap().start_hash();
    assert_eq!(due(&start), None);
}

#[test]
fn where_nothing_is_left_to_sum_up_that_is_told() {
    let place = Place::new();
    let (store, (thread, steps)) = (place.store(), thread_of(&place, &place.store(), 4));
    let new = compacted(&store, &thread, &steps[3], (2, "x"));
    let start = head(&store, &thread).unwrap().start_hash();
    let told = |head: &Hash, keep: u32| match kept_steps(&store, &thread, head, keep) {
        Ok(kept) => format!("{} stay", kept.len()),
        Err(error) => {
            let told = format!("{error}; {}", error.hint().unwrap());
            told.replace(thread.as_str(), "T")
        }
    };
    let mut all = String::new();
    for (name, head) in [("start", start), ("first", steps[0]), ("fourth", steps[3]), ("summed up", new)] {
        for keep in [1, 2, 3, 4, 5] {
            all += &format!("{name}, {keep}: {}\n", told(&head, keep));
        }
    }
    insta::assert_snapshot!(all);
    assert!(link(&store, &new).unwrap().step.links.compact.is_none());
}
