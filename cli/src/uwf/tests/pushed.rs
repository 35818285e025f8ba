//! `uwf push|fetch|pull|clone` between two homes and a Postgres of the test's own.

use serde_json::{Value, json};
use uwf_engine::ThreadId;
use uwf_engine::fixture::Place;
use uwf_engine::thread::{self, Status};
use uwf_fleet::fixture::Postgres;

use super::command_line::CommandLine;

/// Two homes that know the same remote.
fn homes(postgres: &Postgres) -> (Place, Place) {
    let (a, b) = (Place::new(), Place::new());
    for place in [&a, &b] {
        let ran = place.uwf(&["remote", "add", "team", &postgres.url(), "--create"]);
        assert_eq!(ran.exit, 0, "{ran:?}");
    }
    (a, b)
}

fn step(place: &Place, thread: &ThreadId, text: &str) {
    let store = place.store();
    let head = thread::head(&store, thread).unwrap();
    let prev = head.step().map(|_| head.hash);
    let step = place.step(thread, prev, "writer", &json!({"$status": "again", "dir": text}));
    thread::advance(&store, thread, &head.hash, &step, &Status::Idle).unwrap();
}

fn outcome(place: &Place, args: &[&str]) -> (u8, Value) {
    let ran = place.uwf(args);
    let outcomes = match ran.json() {
        Value::Array(rows) => rows.into_iter().map(|row| row["outcome"].clone()).collect(),
        row => row["outcome"].clone(),
    };
    (ran.exit, outcomes)
}

#[test]
fn threads_go_there_and_come_here() {
    let Some(postgres) = Postgres::start() else { return };
    let (a, b) = homes(&postgres);
    let (thread, other) = (a.flow_thread(), a.flow_thread());
    let id = thread.as_str();
    assert_eq!(outcome(&a, &["push"]), (0, json!([])), "neither is there");
    assert_eq!(outcome(&a, &["push", "team", id]), (0, json!(["new"])));
    assert_eq!(outcome(&a, &["push", "team", id]), (0, json!(["same"])));
    assert_eq!(outcome(&b, &["fetch", "team", id]), (0, json!(["new"])));
    assert_eq!(b.uwf(&["thread", "show", id]).exit, 1, "fetching makes no thread");
    assert_eq!(outcome(&b, &["clone", "team", &id[20..]]), (0, json!("new")));
    assert_eq!(b.uwf(&["thread", "show", id]).json()["currentRole"], "writer");
    step(&b, &thread, "one");
    assert_eq!(outcome(&b, &["push"]), (0, json!(["moved"])));
    assert_eq!(outcome(&a, &["fetch"]), (0, json!(["behind"])));
    let pulled = a.uwf(&["pull", "--format", "text"]);
    assert_eq!((pulled.exit, pulled.out), (0, format!("{id}: pulled, 1 step\n")));
    assert_eq!(outcome(&a, &["pull"]), (0, json!([])));
    assert_eq!(a.uwf(&["clone", "team", other.as_str()]).exit, 1);
    let unnamed = a.uwf(&["push", id]);
    assert_eq!(
        unnamed.err,
        format!("error: there is no remote `{id}`\n  hint: the remote comes first: `team {id}`\n")
    );
}

#[test]
fn what_has_diverged_is_said_and_the_others_go_on() {
    let Some(postgres) = Postgres::start() else { return };
    let (a, b) = homes(&postgres);
    let mut threads = [a.flow_thread(), a.flow_thread()];
    // As they are listed.
    threads.sort();
    let ids: Vec<&str> = threads.iter().map(ThreadId::as_str).collect();
    assert_eq!(outcome(&a, &["push", "team", ids[0], ids[1]]), (0, json!(["new", "new"])));
    assert_eq!(outcome(&b, &["pull", "team", ids[0], ids[1]]), (0, json!(["new", "new"])));
    step(&a, &threads[0], "here");
    step(&a, &threads[1], "here");
    step(&b, &threads[0], "there");
    assert_eq!(outcome(&b, &["push"]).0, 0);
    let ran = a.uwf(&["push"]);
    assert_eq!(ran.exit, 1);
    let rows = ran.json();
    let rows = rows.as_array().unwrap();
    let outcomes: Vec<&str> = rows.iter().map(|row| row["outcome"].as_str().unwrap()).collect();
    assert_eq!(outcomes, ["diverged", "moved"], "{rows:?}");
    let hint = rows[0]["hint"].as_str().unwrap();
    let fork = hint.split('`').nth(1).unwrap();
    // What the hint says works.
    let words = |typed: &str| typed.split(' ').skip(1).map(str::to_owned).collect::<Vec<_>>();
    for typed in [fork, hint.split('`').nth(3).unwrap(), hint.split('`').nth(5).unwrap()] {
        let words = words(typed);
        let ran = a.uwf(&words.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(ran.exit, 0, "{typed}: {ran:?}");
    }
    assert_eq!(outcome(&a, &["push"]), (0, json!([])), "both stand here as there");
    let alone = a.uwf(&["push", "team", "01ZZZZZZZZZZZZZZZZZZZZZZZZ"]);
    assert!(alone.exit == 1 && alone.err.contains("thread"), "{alone:?}");
}
