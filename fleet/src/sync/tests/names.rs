//! A thread brings its own variables, whatever somebody has written into its rows.

use std::collections::BTreeMap;

use uwf_engine::thread::{CHILDREN, CalledFrom, HEADS, PARENTS, StartNode};

use super::*;

/// Writes a variable into the rows of a thread, as any submitter may.
fn plant(at: &mut Connection, thread: &ThreadId, name: &str, value: Hash, tags: &serde_json::Value) {
    at.client()
        .execute(
            "INSERT INTO uwf.variable (team, thread, name, value, tags) VALUES ('default', $1, $2, $3, $4)",
            &[&thread.as_str(), &name, &value.as_str(), tags],
        )
        .unwrap();
}

/// All variables of a machine.
fn variables(machine: &Machine) -> BTreeMap<String, (Hash, BTreeMap<String, String>)> {
    let all = machine.store.vars().list("@").unwrap();
    all.into_iter().map(|variable| (variable.name, (variable.value, variable.tags))).collect()
}

/// Neither a pull nor a worker takes the thread, and nothing has changed here.
fn refused(at: &mut Connection, machine: &Machine, thread: &ThreadId, said: &str) {
    let before = variables(machine);
    for error in
        [machine.pull(at, thread).unwrap_err(), fetch(at, &machine.store, thread).map(drop).unwrap_err()]
    {
        assert!(matches!(error, FleetError::Malformed { .. }), "{error:?}");
        assert!(error.to_string().contains(said), "{error}");
    }
    assert_eq!(variables(machine), before);
}

/// A thread that plays a role of another one, which stands where it did.
fn call(machine: &Machine, caller: &ThreadId) -> ThreadId {
    let head = thread::head(&machine.store, caller).unwrap();
    let call = CalledFrom { parent_state: head.hash, depth: 1 };
    let start = StartNode { call: Some(call), ..head.start(&machine.store).unwrap() };
    let noted = thread::last_called(&machine.store, caller).unwrap().map(|last| last.start_hash);
    thread::call(&machine.store, (caller, "writer"), &start, noted).unwrap().thread
}

#[test]
fn names_that_are_not_the_threads_own_are_refused() {
    let Some(postgres) = Postgres::start() else { return };
    let mut at = postgres.connection();
    let (a, b) = (Machine::new(), Machine::new());
    let (thread, other) = (a.place.flow_thread(), b.place.flow_thread());
    a.push(&mut at, &thread).unwrap();
    b.step(&other, "one");
    let head = a.head(&thread);
    for name in [
        format!("{HEADS}{other}"),
        format!("{HEADS}{thread}"),
        format!("{PARENTS}{thread}"),
        format!("@uwf/pause/{other}"),
        format!("@uwf/thread-failed/{other}/writer"),
        format!("@uwf/thread-failed/{thread}"),
        format!("@uwf/brought/{other}"),
        "@uwf/registry/solve".to_owned(),
        "@uwf/eval/x".to_owned(),
        "anything".to_owned(),
    ] {
        plant(&mut at, &thread, &name, head, &json!({}));
        refused(&mut at, &b, &thread, "is not its own, nor of a thread that it called");
        at.client().execute("DELETE FROM uwf.variable WHERE name = $1", &[&name]).unwrap();
    }
    plant(&mut at, &thread, &format!("@uwf/thread-failed/{thread}/writer"), head, &json!({}));
    assert_eq!(b.pull(&mut at, &thread).unwrap(), Pulled::New);
}

#[test]
fn a_thread_that_was_not_called_is_not_taken_by_saying_that_it_was() {
    let Some(postgres) = Postgres::start() else { return };
    let mut at = postgres.connection();
    let (a, b) = (Machine::new(), Machine::new());
    let (thread, victim) = (a.place.flow_thread(), b.place.flow_thread());
    a.push(&mut at, &thread).unwrap();
    b.step(&victim, "one");
    let head = a.head(&thread);
    plant(&mut at, &thread, &format!("{CHILDREN}{thread}"), head, &json!({ "thread": victim.as_str() }));
    refused(&mut at, &b, &thread, "did not call it");
    plant(&mut at, &thread, &format!("{HEADS}{victim}"), head, &json!({}));
    refused(&mut at, &b, &thread, "did not call it");
    // One that another thread has called is that one's.
    let called = call(&b, &victim);
    let (name, tags) = (format!("{CHILDREN}{thread}"), json!({ "thread": called.as_str() }));
    at.client().batch_execute("DELETE FROM uwf.variable").unwrap();
    plant(&mut at, &thread, &name, head, &tags);
    refused(&mut at, &b, &thread, "did not call it");
}

#[test]
fn a_called_thread_moves_forward_alone() {
    let Some(postgres) = Postgres::start() else { return };
    let mut at = postgres.connection();
    let (a, b) = (Machine::new(), Machine::new());
    let thread = a.place.flow_thread();
    a.step(&thread, "before");
    let called = call(&a, &thread);
    a.step(&called, "one");
    a.push(&mut at, &thread).unwrap();
    assert_eq!(b.pull(&mut at, &thread).unwrap(), Pulled::New);
    a.step(&called, "two");
    a.push(&mut at, &thread).unwrap();
    assert_eq!(b.pull(&mut at, &thread).unwrap(), Pulled::Moved { steps: 0 });
    assert_eq!(b.head(&called), a.head(&called));
    // Both go on with it, and the remote's caller goes on as well.
    b.step(&called, "mine");
    a.step(&called, "theirs");
    a.step(&thread, "after");
    a.push(&mut at, &thread).unwrap();
    let before = variables(&b);
    for error in
        [b.pull(&mut at, &thread).unwrap_err(), fetch(&mut at, &b.store, &thread).map(drop).unwrap_err()]
    {
        assert!(matches!(error, FleetError::Diverged { .. }), "{error:?}");
    }
    assert_eq!(variables(&b), before);
}
