//! Chains with and without ancestors, read back: the same steps either way.

use proptest::prelude::*;
use serde_json::json;
use uwf_store::{Hash, Store};

use super::{WalkBack, nth_back};
use crate::builtin;
use crate::fixture::Place;
use crate::thread::{StepLinks, StepNode, ThreadError, ThreadId, links, step_node};

/// A chain whose steps name so many ancestors each, as far as there are; 0 is a step of the older type.
fn chain_of(place: &Place, store: &Store, thread: &ThreadId, names: &[usize]) -> Vec<Hash> {
    let first = step_node(store, &place.step(thread, None, "writer", &json!({"$status": "again"}))).unwrap();
    let (mut chain, mut batch): (Vec<Hash>, _) = (Vec::new(), Vec::new());
    for (n, count) in names.iter().enumerate() {
        let ancestors = chain.iter().rev().copied().take(*count).collect();
        let links = StepLinks { ancestors, ..StepLinks::default() };
        let step = StepNode { prev: chain.last().copied(), started_at_ms: n as u64, links, ..first.clone() };
        let payload = json!(step);
        chain.push(Hash::of(&step.type_(), &payload));
        batch.push((step.type_(), payload));
    }
    store.put_all(&batch).unwrap();
    chain
}

/// The steps by `prev` alone.
fn by_prev(store: &Store, head: &Hash) -> Vec<Hash> {
    let mut found = vec![*head];
    while let Some(prev) = step_node(store, found.last().unwrap()).unwrap().prev {
        found.push(prev);
    }
    found
}

fn walked(store: &Store, head: &Hash) -> Vec<Hash> {
    let mut found = Vec::new();
    links(store, head, &mut |link| found.push(link.hash)).unwrap();
    found
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn a_walk_by_ancestors_is_one_by_prev(
        names in prop::collection::vec(prop_oneof![Just(0), Just(11), 0..12_usize], 1..90),
        wanted in 1..60_usize,
    ) {
        let place = Place::in_memory();
        let (store, thread) = (place.store(), place.flow_thread());
        let chain = chain_of(&place, &store, &thread, &names);
        let head = *chain.last().unwrap();
        let expected = by_prev(&store, &head);
        prop_assert_eq!(&walked(&store, &head), &expected);
        let page: Vec<Hash> =
            WalkBack::from(&store, &head).unwrap().at_most(wanted).take(wanted).map(|link| link.unwrap().hash).collect();
        prop_assert_eq!(&page[..], &expected[..wanted.min(expected.len())]);
        for back in 0..expected.len() + 3 {
            let nth = expected.get(back).copied().ok_or(expected.len());
            prop_assert_eq!(nth_back(&store, &head, back).unwrap(), nth);
        }
    }
}

#[test]
fn ancestors_that_prev_does_not_lead_to_are_an_error() {
    let place = Place::in_memory();
    let (store, thread) = (place.store(), place.flow_thread());
    let chain = chain_of(&place, &store, &thread, &[0, 0, 11, 11, 11]);
    let last = step_node(&store, &chain[4]).unwrap();
    let told = |ancestors: Vec<Hash>| {
        let step = StepNode {
            prev: Some(chain[4]),
            links: StepLinks { ancestors, ..StepLinks::default() },
            ..last.clone()
        };
        let hash = store.put(&builtin::UWF_STEP, &json!(step)).unwrap();
        let (nth, steps) = (nth_back(&store, &hash, 5), by_prev(&store, &hash));
        let true_one = steps.get(5).copied().ok_or(steps.len());
        assert!(nth.is_err() || nth.is_ok_and(|nth| nth == true_one), "`prev` is what counts");
        match links(&store, &hash, &mut |_| ()) {
            Ok(_) => "good".to_owned(),
            Err(error @ ThreadError::FalseAncestors { .. }) => {
                error.to_string().split(": ").nth(1).unwrap().into()
            }
            Err(error) => panic!("{error}"),
        }
    };
    let at = |numbers: &[usize]| told(numbers.iter().map(|number| chain[*number]).collect());
    assert_eq!(at(&[4, 3, 2, 1, 0]), "good");
    assert_eq!(at(&[4]), "good");
    assert_eq!(at(&[3]), "`prev` leads elsewhere");
    assert_eq!(at(&[4, 2]), "a later step tells others, or in another order");
    assert_eq!(at(&[4, 3, 2, 0]), "a later step tells others, or in another order");
    assert_eq!(at(&[4, 3, 2, 1, 0, 4]), "`prev` leads to fewer");
    let first = StepNode {
        links: StepLinks { ancestors: vec![chain[0]], ..StepLinks::default() },
        prev: None,
        ..last.clone()
    };
    let hash = store.put(&builtin::UWF_STEP, &json!(first)).unwrap();
    let error = links(&store, &hash, &mut |_| ()).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("the ancestors that step {hash} names are not those it has: `prev` leads to fewer")
    );
    assert!(error.hint().unwrap().contains("`prev` is what counts"));
}

#[test]
fn what_cannot_be_read_is_an_error_when_the_walk_comes_there() {
    let place = Place::new();
    let (store, thread) = (place.store(), place.flow_thread());
    let chain = chain_of(&place, &store, &thread, &[11; 30]);
    std::fs::remove_file(place.homes().ocas.join(format!("nodes/{}.bin", chain[20]))).unwrap();
    let store = place.store();
    let walk = WalkBack::from(&store, &chain[29]).unwrap();
    let read: Vec<Result<Hash, String>> =
        walk.map(|link| link.map(|link| link.hash).map_err(|error| error.to_string())).collect();
    let error = format!("the step before step {} cannot be read", chain[21]);
    let expected: Vec<Result<Hash, String>> =
        chain[21..].iter().rev().map(|hash| Ok(*hash)).chain([Err(error)]).collect();
    assert_eq!(read, expected);
}
