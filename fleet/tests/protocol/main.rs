//! The protocol of the fleet as a model, explored to the end: every order in which claims, heartbeats, lines, pushes, crashes,
//! frozen workers, lost answers and late messages can come, within small bounds. And what it is good for: without one of its
//! rules the same exploration finds how it goes wrong.

#![allow(
    clippy::disallowed_methods,
    clippy::print_stderr,
    clippy::unwrap_used,
    missing_docs,
    reason = "a test: it has a clock, and says how much it has seen"
)]

mod database;
mod explore;
mod model;

use std::time::Instant;

use stateright::{Checker, HasDiscoveries, Model};

use self::explore::that_cannot_end;
use self::model::{Faults, Fleet};

/// How long each thread is.
const STEPS: usize = 2;

/// How many turns each step has.
const TURNS: usize = 1;

/// The rules, each of which can be left out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Protocol {
    /// Each write names the fence of the claim.
    has_fence: bool,
    /// A worker stops by its own clock before its lease can be somebody else's.
    has_own_clock: bool,
    /// What is there already as it was to be written counts as written.
    knows_its_own: bool,
    /// What the database has acknowledged survives its crash.
    is_durable: bool,
    /// Lines of a journal name the head that they come after.
    lines_name_head: bool,
    /// In the place of leases: locks that end with the connection of whoever has them.
    locks_sessions: bool,
}

const OURS: Protocol = Protocol {
    has_fence: true,
    has_own_clock: true,
    knows_its_own: true,
    is_durable: true,
    lines_name_head: true,
    locks_sessions: false,
};

/// Everything that can happen to so many workers and threads with so many faults.
fn fleet(protocol: Protocol, (workers, threads): (usize, usize), faults: u8) -> Fleet {
    Fleet { protocol, workers, threads, faults: Faults { all: faults, database: 1 } }
}

/// What is found wrong first.
fn found(protocol: Protocol) -> Vec<&'static str> {
    let checker = fleet(protocol, (3, 1), 2).checker().finish_when(HasDiscoveries::AnyFailures);
    let mut found: Vec<&str> = checker.spawn_bfs().join().discoveries().into_keys().collect();
    found.sort_unstable();
    found
}

#[test]
fn nothing_goes_wrong_whatever_happens() {
    for (size, faults) in [((3, 1), 3), ((3, 2), 2)] {
        let begun = Instant::now();
        let checker = fleet(OURS, size, faults).checker().threads(2).spawn_bfs().join();
        let mut wrong = checker.discoveries().into_iter();
        let wrong = wrong.next().map(|(name, path)| format!("{name}, after {:?}", path.into_actions()));
        assert_eq!(wrong, None);
        let (states, depth) = (checker.unique_state_count(), checker.max_depth());
        eprintln!("{size:?}, {faults} faults: {states} states, {depth} deep, in {:?}", begun.elapsed());
        assert!(states > 100_000, "{states}");
    }
}

#[test]
fn from_everywhere_every_thread_can_end() {
    for (size, faults) in [((3, 1), 3), ((3, 2), 2)] {
        assert_eq!(that_cannot_end(&fleet(OURS, size, faults)), None);
    }
}

#[test]
fn without_a_fence_whoever_lost_the_lease_writes() {
    let found = found(Protocol { has_fence: false, ..OURS });
    assert!(found.contains(&"who has no lease writes nothing"), "{found:?}");
}

#[test]
fn without_a_clock_of_its_own_a_worker_asks_what_others_know() {
    let found = found(Protocol { has_own_clock: false, ..OURS });
    assert_eq!(found, ["no turn that is in the journal is asked again"]);
}

#[test]
fn without_knowing_ones_own_a_lost_answer_looks_like_a_conflict() {
    let found = found(Protocol { knows_its_own: false, ..OURS });
    assert_eq!(found, ["who has the lease is told of no conflict"]);
}

#[test]
fn where_a_crash_loses_what_was_acknowledged_it_is_lost() {
    let found = found(Protocol { is_durable: false, ..OURS });
    assert!(found.contains(&"an acknowledged step is in the chain for ever, once"), "{found:?}");
}

#[test]
fn a_late_line_that_names_no_head_is_taken_for_one_of_the_next_step() {
    let found = found(Protocol { lines_name_head: false, ..OURS });
    assert!(found.contains(&"a journal has the lines of its own step"), "{found:?}");
}

#[test]
fn locks_of_sessions_let_the_cut_off_write_and_the_frozen_keep() {
    let locks = Protocol { locks_sessions: true, ..OURS };
    let found = found(Protocol { has_fence: false, ..locks });
    assert!(found.contains(&"who has no lease writes nothing"), "{found:?}");
    // One that is frozen for good, with its connection open, is enough.
    assert!(that_cannot_end(&fleet(locks, (2, 1), 1)).is_some());
}
