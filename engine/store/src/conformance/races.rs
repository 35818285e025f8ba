//! Many at once: threads that share one store.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use serde_json::{Value, json};

use super::*;
use crate::Collect;
use crate::schema::builtin::TEXT;

const ROUNDS: usize = 200;

/// Both expect the same, in every round anew.
pub fn of_two_who_set_a_name_one_wins(make: Make<'_>) -> Checked {
    let store = &make();
    let mine: Vec<_> = (0..2).map(|n| number(store, n)).collect::<Result<_, _>>()?;
    let gate = Barrier::new(2);
    for round in 0..ROUNDS {
        let name = format!("@t/{round}");
        let race = |node: (Hash, Hash)| {
            gate.wait();
            match store.vars().apply(&[set_to(&name, node, Expect::Absent)]) {
                Ok(()) => Ok(Some(node.1)),
                Err(StoreError::Conflict { found: Some(_), .. }) => Ok(None),
                Err(error) => Err(error),
            }
        };
        let won = thread::scope(|scope| {
            let (race, other) = (&race, mine[1]);
            let other = scope.spawn(move || race(other));
            [race(mine[0]), other.join().expect("it does not panic")]
        });
        let [one, other] = won;
        let winner = match (one?, other?) {
            (Some(winner), None) | (None, Some(winner)) => winner,
            both => panic!("round {round}: {both:?}"),
        };
        let found = store.vars().get(&name)?.map(|variable| variable.value);
        assert_eq!(found, Some(winner), "round {round}");
        assert_eq!(store.vars().history(&name)?.len(), 1);
    }
    Ok(())
}

/// Four count on one variable.
pub fn no_update_is_lost(make: Make<'_>) -> Checked {
    const EACH: u64 = 25;
    let store = &make();
    store.vars().apply(&[set_to("@t/count", number(store, 0)?, Expect::Absent)])?;
    let increment = || -> Checked {
        loop {
            let Some(before) = store.vars().get("@t/count")? else { panic!("it is gone") };
            let count = store.get(&before.value)?.payload.as_u64().unwrap_or_default();
            let after = number(store, count + 1)?;
            match store.vars().apply(&[set_to("@t/count", after, Expect::Value(before.value))]) {
                Err(StoreError::Conflict { .. }) => {}
                done => return done,
            }
        }
    };
    thread::scope(|scope| {
        let count = || scope.spawn(|| (0..EACH).try_for_each(|_| increment()));
        let counting: Vec<_> = (0..4).map(|_| count()).collect();
        counting.into_iter().try_for_each(|counting| counting.join().expect("it does not panic"))
    })?;
    let last = store.vars().get("@t/count")?.map(|last| last.value);
    assert_eq!(last, Some(number(store, 4 * EACH)?.1));
    Ok(())
}

/// Alone and in batches: each is there once, and whole.
pub fn many_may_put_the_same_nodes_at_once(make: Make<'_>) -> Checked {
    let store = &make();
    let nodes: Vec<(Hash, Value)> = (0..40).map(|n| (TEXT, json!(format!("text {n}")))).collect();
    let put = |at: usize| -> Checked {
        let mut nodes = nodes.clone();
        nodes.rotate_left(at * 5);
        if at.is_multiple_of(2) {
            return store.put_all(&nodes).map(drop);
        }
        nodes.iter().try_for_each(|(type_, payload)| store.put(type_, payload).map(drop))
    };
    thread::scope(|scope| {
        let put = &put;
        let putting: Vec<_> = (0..8).map(|at| scope.spawn(move || put(at))).collect();
        putting.into_iter().try_for_each(|putting| putting.join().expect("it does not panic"))
    })?;
    let mut found = store.indexed(&TEXT)?;
    let mut expected: Vec<Hash> = nodes.iter().map(|(type_, payload)| Hash::of(type_, payload)).collect();
    found.sort();
    expected.sort();
    assert_eq!(found, expected);
    assert_sound(store)
}

/// What is needed is there at every moment, while what is not goes.
pub fn who_reads_is_not_disturbed_by_a_collection(make: Make<'_>) -> Checked {
    let store = &make();
    let leaves: Vec<Hash> =
        (0..20).map(|n| store.put_text(&format!("leaf {n}"))).collect::<Result<_, _>>()?;
    let root = link(store, &leaves)?;
    store.vars().apply(&[set_to("@t/root", root, Expect::Any)])?;
    let done = AtomicBool::new(false);
    let read = || -> Checked {
        while !done.load(Ordering::Relaxed) {
            assert_eq!(store.walk(&root.1)?.missing, []);
            leaves.iter().try_for_each(|leaf| store.get(leaf).map(drop))?;
            assert!(store.vars().get("@t/root")?.is_some());
        }
        Ok(())
    };
    let collect = || -> Checked {
        for round in 0..20 {
            let garbage: Vec<_> = (0..20).map(|n| (TEXT, json!(format!("{round} {n}")))).collect();
            store.put_all(&garbage)?;
            assert_eq!(later(|| store.gc(&Collect::default()))?.removed, 20);
        }
        Ok(())
    };
    thread::scope(|scope| {
        let readers = [scope.spawn(read), scope.spawn(read)];
        let collected = collect();
        done.store(true, Ordering::Relaxed);
        readers.into_iter().try_for_each(|reader| reader.join().expect("it does not panic"))?;
        collected
    })?;
    assert_sound(store)
}
