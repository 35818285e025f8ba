//! Threads between two stores and a real Postgres.

mod collision;
mod names;

use std::thread as threads;
use std::time::Duration;

use serde_json::json;
use uwf_engine::ThreadId;
use uwf_engine::fixture::Place;
use uwf_engine::lock::ThreadLock;
use uwf_engine::thread::{self, Status};
use uwf_store::{Hash, Store};

use super::*;
use crate::fixture::Postgres;
use crate::queue::{self, Claimant, Submitted, Terms};

/// A machine: a store and what is beside it.
struct Machine {
    place: Place,
    store: Store,
}

impl Machine {
    fn new() -> Machine {
        let place = Place::in_memory();
        Machine { store: place.store(), place }
    }

    /// One more step of a thread, which says this.
    fn step(&self, thread: &ThreadId, text: &str) -> Hash {
        let head = thread::head(&self.store, thread).unwrap();
        let prev = head.step().map(|_| head.hash);
        let step = self.place.step(thread, prev, "writer", &json!({"$status": "again", "dir": text}));
        thread::advance(&self.store, thread, &head.hash, &step, &Status::Idle).unwrap();
        step
    }

    /// Sums a thread up, but for its last step.
    fn sum_up(&self, thread: &ThreadId) -> Hash {
        let head = self.head(thread);
        let said = json!({"$status": "done", "dir": "a summary"});
        let by = self.place.step(thread, Some(head), "writer", &said);
        let kept = thread::kept_steps(&self.store, thread, &head, 1).unwrap();
        let summary = self.store.put_text("so far").unwrap();
        let (_, again) = thread::stored_again(&self.store, kept, (summary, by)).unwrap();
        thread::advance(&self.store, thread, &head, &again, &Status::Idle).unwrap();
        again
    }

    fn head(&self, thread: &ThreadId) -> Hash {
        thread::stands_at(&self.store, thread).unwrap().unwrap()
    }

    fn push(&self, at: &mut Connection, thread: &ThreadId) -> Result<Pushed, FleetError> {
        push(at, &self.store, thread, Some("writer"))
    }

    fn pull(&self, at: &mut Connection, thread: &ThreadId) -> Result<Pulled, FleetError> {
        pull(at, (&self.store, &self.place.homes().uwf), thread).map(|(pulled, _)| pulled)
    }
}

fn column(at: &mut Connection, column: &str) -> String {
    let sql = format!("SELECT {column}::text FROM uwf.thread");
    at.client().query_one(&sql, &[]).unwrap().get::<_, Option<String>>(0).unwrap_or_default()
}

#[test]
fn a_thread_goes_from_machine_to_machine_forward_alone() {
    let Some(postgres) = Postgres::start() else { return };
    let mut at = postgres.connection();
    let (a, b) = (Machine::new(), Machine::new());
    let thread = a.place.flow_thread();
    assert_eq!(a.push(&mut at, &thread).unwrap(), Pushed::New);
    assert_eq!(a.push(&mut at, &thread).unwrap(), Pushed::Same);
    assert_eq!(b.pull(&mut at, &thread).unwrap(), Pulled::New);
    assert_eq!(b.pull(&mut at, &thread).unwrap(), Pulled::Same);
    b.step(&thread, "one");
    b.step(&thread, "two");
    assert_eq!(b.pull(&mut at, &thread).unwrap(), Pulled::Ahead { steps: 2 });
    assert_eq!(b.push(&mut at, &thread).unwrap(), Pushed::Moved { steps: 2 });
    assert_eq!((column(&mut at, "state"), column(&mut at, "role")), ("held".into(), "writer".into()));
    let before = a.head(&thread);
    assert_eq!(a.push(&mut at, &thread).unwrap(), Pushed::Behind { steps: 2 });
    let fetched = fetch_nodes(&mut at, &a.store, &thread).unwrap();
    assert_eq!((fetched.relation, fetched.nodes), (Some(Relation::Behind { steps: 2 }), 0));
    assert_eq!(a.head(&thread), before, "fetching moves nothing");
    assert_eq!(a.pull(&mut at, &thread).unwrap(), Pulled::Moved { steps: 2 });
    assert_eq!(a.head(&thread), b.head(&thread));
    // Both go on.
    let (mine, theirs) = (a.step(&thread, "mine"), b.step(&thread, "theirs"));
    assert_eq!(b.push(&mut at, &thread).unwrap(), Pushed::Moved { steps: 1 });
    for error in [a.push(&mut at, &thread).unwrap_err(), a.pull(&mut at, &thread).unwrap_err()] {
        assert!(matches!(error, FleetError::Diverged { .. }), "{error}");
        assert!(error.hint_at("team").unwrap().contains(&format!("uwf clone team {thread}")));
    }
    assert_eq!((a.head(&thread), column(&mut at, "head")), (mine, theirs.to_string()));
}

#[test]
fn a_thread_that_was_summed_up_on_one_side_goes_to_the_other() {
    let Some(postgres) = Postgres::start() else { return };
    let mut at = postgres.connection();
    let (a, b) = (Machine::new(), Machine::new());
    let thread = a.place.flow_thread();
    for text in ["one", "two", "three"] {
        a.step(&thread, text);
    }
    a.push(&mut at, &thread).unwrap();
    b.pull(&mut at, &thread).unwrap();
    b.sum_up(&thread);
    assert_eq!(b.push(&mut at, &thread).unwrap(), Pushed::Moved { steps: 0 });
    assert_eq!(a.push(&mut at, &thread).unwrap(), Pushed::Behind { steps: 0 });
    b.step(&thread, "four");
    b.step(&thread, "five");
    b.sum_up(&thread);
    let last = b.step(&thread, "six");
    assert_eq!(b.push(&mut at, &thread).unwrap(), Pushed::Moved { steps: 3 });
    // A worker at home, where nobody has done anything.
    let standing = fetch_nodes(&mut at, &a.store, &thread).unwrap().standing;
    standing.write(&a.store, &thread, Some(1)).unwrap();
    assert_eq!((a.head(&thread), a.pull(&mut at, &thread).unwrap()), (last, Pulled::Same));
    a.sum_up(&thread);
    b.step(&thread, "seven");
    b.push(&mut at, &thread).unwrap();
    assert!(matches!(a.push(&mut at, &thread), Err(FleetError::Diverged { .. })));
}

#[test]
fn a_status_goes_with_its_head_and_who_is_given_up_stays_so() {
    let Some(postgres) = Postgres::start() else { return };
    let mut at = postgres.connection();
    let (a, b) = (Machine::new(), Machine::new());
    let thread = a.place.flow_thread();
    a.push(&mut at, &thread).unwrap();
    b.pull(&mut at, &thread).unwrap();
    thread::cancel(&a.store, &thread).unwrap();
    assert_eq!(a.push(&mut at, &thread).unwrap(), Pushed::Moved { steps: 0 });
    assert_eq!((column(&mut at, "state"), column(&mut at, "status")), ("done".into(), "cancelled".into()));
    assert_eq!(b.push(&mut at, &thread).unwrap(), Pushed::Behind { steps: 0 });
    assert_eq!(b.pull(&mut at, &thread).unwrap(), Pulled::Moved { steps: 0 });
    assert_eq!(thread::head(&b.store, &thread).unwrap().status.as_str(), "cancelled");
}

#[test]
fn what_a_worker_has_is_pushed_by_nobody_else() {
    let Some(postgres) = Postgres::start() else { return };
    let mut at = postgres.connection();
    let a = Machine::new();
    let thread = a.place.flow_thread();
    a.push(&mut at, &thread).unwrap();
    let submitted = queue::submit(&mut at, &thread, &Terms::default()).unwrap();
    assert_eq!(submitted, Submitted::Is("ready".into()));
    let claimant =
        Claimant { name: "build7".into(), labels: vec![], workflow: None, lease: Duration::from_secs(60) };
    let claim = queue::claim(&mut at, &claimant).unwrap().unwrap();
    let there = column(&mut at, "head");
    a.step(&thread, "mine");
    let error = a.push(&mut at, &thread).unwrap_err();
    assert_eq!(error.to_string(), format!("thread {thread} is leased at the remote, to build7"));
    assert_eq!(column(&mut at, "head"), there);
    queue::hand_back(&mut at, "build7", &claim.lease, &queue::HandBack::Drained).unwrap();
    assert_eq!(a.push(&mut at, &thread).unwrap(), Pushed::Moved { steps: 1 });
    assert_eq!(column(&mut at, "state"), "ready", "it is to be run still");
}

#[test]
fn of_two_who_push_at_once_one_has_diverged() {
    let Some(postgres) = Postgres::start() else { return };
    let mut at = postgres.connection();
    let machines = [Machine::new(), Machine::new(), Machine::new()];
    let thread = machines[0].place.flow_thread();
    machines[0].push(&mut at, &thread).unwrap();
    for machine in &machines[1..] {
        machine.pull(&mut at, &thread).unwrap();
    }
    let mut texts = Vec::new();
    for (machine, text) in machines.iter().zip(["a", "b", "c"]) {
        texts.push(machine.step(&thread, text).to_string());
    }
    let push = |machine: &Machine| machine.push(&mut postgres.connection(), &thread).is_ok();
    let push = &push;
    let done: Vec<bool> = threads::scope(|scope| {
        let running: Vec<_> = machines.iter().map(|machine| scope.spawn(move || push(machine))).collect();
        running.into_iter().map(|running| running.join().unwrap()).collect()
    });
    assert_eq!(done.iter().filter(|done| **done).count(), 1, "{done:?}");
    let won = done.iter().position(|done| *done).unwrap();
    assert_eq!(column(&mut at, "head"), texts[won]);
}

#[test]
fn a_thread_of_which_a_step_runs_here_is_not_pulled() {
    let Some(postgres) = Postgres::start() else { return };
    let mut at = postgres.connection();
    let (a, b) = (Machine::new(), Machine::new());
    let thread = a.place.flow_thread();
    a.push(&mut at, &thread).unwrap();
    b.pull(&mut at, &thread).unwrap();
    a.step(&thread, "one");
    a.push(&mut at, &thread).unwrap();
    let (home, before) = (b.place.homes().uwf, b.head(&thread));
    let running = ThreadLock::acquire(&home, &thread, &before, 7).unwrap();
    let error = b.pull(&mut at, &thread).unwrap_err();
    assert!(matches!(error, FleetError::Lock(_)), "{error}");
    assert!(error.hint().unwrap().contains("uwf thread stop"));
    assert_eq!(b.head(&thread), before);
    drop(running);
    assert_eq!(b.pull(&mut at, &thread).unwrap(), Pulled::Moved { steps: 1 });
}

#[test]
fn a_push_that_is_cut_off_anywhere_is_done_by_the_next_one() {
    let Some(postgres) = Postgres::start() else { return };
    let (a, b) = (Machine::new(), Machine::new());
    let thread = a.place.flow_thread();
    let mut at = postgres.connection();
    a.push(&mut at, &thread).unwrap();
    let mut lost = 0;
    for round in 0..12_u64 {
        // The text is longer than what goes into a packet or two.
        let step = a.step(&thread, &format!("{round} {}", "x".repeat(300_000)));
        let mut cut = postgres.connection();
        let pid: i32 = cut.client().query_one("SELECT pg_backend_pid()", &[]).unwrap().get(0);
        let pushed = threads::scope(|scope| {
            let pushing = scope.spawn(|| a.push(&mut cut, &thread));
            threads::sleep(Duration::from_millis(round));
            at.client().execute("SELECT pg_terminate_backend($1)", &[&pid]).unwrap();
            pushing.join().unwrap()
        });
        if let Err(error) = &pushed {
            assert!(error.is_passing(), "{error:?}");
            lost += 1;
        }
        // Whatever head there is, all of it is there.
        b.pull(&mut at, &thread).unwrap();
        assert!(matches!(a.push(&mut at, &thread).unwrap(), Pushed::Moved { steps: 1 } | Pushed::Same));
        b.pull(&mut at, &thread).unwrap();
        assert_eq!((b.head(&thread), column(&mut at, "head")), (step, step.to_string()));
    }
    assert!(lost > 0, "no push was cut off");
}

#[test]
fn only_threads_that_differ_are_looked_at() {
    let Some(postgres) = Postgres::start() else { return };
    let mut at = postgres.connection();
    let a = Machine::new();
    let all = [a.place.flow_thread(), a.place.flow_thread(), a.place.flow_thread()];
    a.push(&mut at, &all[0]).unwrap();
    a.push(&mut at, &all[1]).unwrap();
    a.step(&all[1], "one");
    assert_eq!(differing(&mut at, &a.store, &all).unwrap(), (2, vec![all[1]]));
}

#[test]
fn what_is_over_comes_so_and_is_not_given_up_any_more() {
    let Some(postgres) = Postgres::start() else { return };
    let mut at = postgres.connection();
    let a = Machine::new();
    let thread = a.place.flow_thread();
    let head = a.head(&thread);
    let step = a.place.step(&thread, None, "writer", &json!({"$status": "done"}));
    let ended = Status::Ended { completed_at: 7 };
    thread::advance(&a.store, &thread, &head, &step, &ended).unwrap();
    assert_eq!(a.push(&mut at, &thread).unwrap(), Pushed::New);
    assert_eq!(column(&mut at, "state"), "done");
    let over = queue::Wished::NotNow { state: "done".into(), status: "end".into() };
    assert_eq!(queue::wish(&mut at, &thread, queue::Wish::Cancel, 7).unwrap(), over);
    assert_eq!(column(&mut at, "status"), "end");
}

#[test]
fn steps_that_are_pushed_without_their_files_are_run_by_nobody_unasked() {
    let Some(postgres) = Postgres::start() else { return };
    let mut at = postgres.connection();
    let a = Machine::new();
    let thread = a.place.flow_thread();
    a.push(&mut at, &thread).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let options = uwf_snapshot::Options::default();
    let (workspace, _) = crate::workspace::snapshot_of(&a.store, dir.path(), &options).unwrap();
    nodes::put(&mut at, &a.store, (&workspace.roots(), &mut HashSet::new())).unwrap();
    queue::submit(&mut at, &thread, &Terms { workspace, ..Terms::default() }).unwrap();
    a.step(&thread, "one");
    assert_eq!(a.push(&mut at, &thread).unwrap(), Pushed::Held { steps: 1 });
    assert_eq!(column(&mut at, "state"), "held");
    assert!(column(&mut at, "reason").contains("without their files"));
    // What is over needs none.
    thread::cancel(&a.store, &thread).unwrap();
    assert_eq!(a.push(&mut at, &thread).unwrap(), Pushed::Moved { steps: 0 });
    assert_eq!((column(&mut at, "state"), column(&mut at, "reason")), ("done".into(), String::new()));
}

#[test]
fn a_thread_is_started_on_all_its_terms_or_not_at_all() {
    let Some(postgres) = Postgres::start() else { return };
    let mut at = postgres.connection();
    let a = Machine::new();
    let thread = a.place.flow_thread();
    let dir = tempfile::tempdir().unwrap();
    let (workspace, _) =
        crate::workspace::snapshot_of(&a.store, dir.path(), &uwf_snapshot::Options::default()).unwrap();
    let terms = Terms { labels: vec!["gpu".into()], max_cost_usd: Some(2.0), workspace, ..Terms::default() };
    let refuse = "ALTER TABLE uwf.event ADD CONSTRAINT never CHECK (kind <> 'submitted')";
    at.client().batch_execute(refuse).unwrap();
    assert!(start(&mut at, &a.store, &thread, (Some("writer"), &terms)).is_err());
    assert_eq!(at.client().query("SELECT FROM uwf.thread", &[]).unwrap().len(), 0);
    at.client().batch_execute("ALTER TABLE uwf.event DROP CONSTRAINT never").unwrap();
    assert!(start(&mut at, &a.store, &thread, (Some("writer"), &terms)).unwrap());
    let found = ["state", "labels", "max_cost_usd", "workspace ->> 'kind'"].map(|name| column(&mut at, name));
    assert_eq!(found, ["ready", "{gpu}", "2", "snapshot"]);
}
