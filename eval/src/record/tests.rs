//! The types are what they are called, and take what is written.

use serde_json::json;
use uwf_engine::builtin::{META_SCHEMA, PROFILE};
use uwf_store::Store;

use super::*;

fn store() -> Store {
    Store::in_memory(PROFILE, || 1_800_000_000_000).unwrap()
}

#[test]
fn types_are_registered_once_and_have_names() {
    let store = store();
    let records = Records::register(&store).unwrap();
    assert_eq!(records, Records::known());
    assert_eq!(store.vars().get("@uwf/eval-run").unwrap().unwrap().value, records.run);
    assert_eq!(store.get(&records.data).unwrap().type_, META_SCHEMA);
    let names: Vec<String> =
        store.vars().list("@uwf/eval").unwrap().into_iter().map(|found| found.name).collect();
    assert_eq!(names.len(), NAMES.len());
    let before = store.vars().get("@uwf/eval-run").unwrap().unwrap().updated;
    Records::register(&store).unwrap();
    assert_eq!(store.vars().get("@uwf/eval-run").unwrap().unwrap().updated, before);
}

#[test]
fn what_was_planned_is_taken_as_it_was_planned() {
    let store = store();
    let records = Records::register(&store).unwrap();
    let text = store.put_text("a workflow").unwrap();
    let planned = json!({
        "task": "fix", "config": {"agent": "builtin", "model": null, "engineVersion": "0.1.0"}, "threadId": "T",
        "judges": [{"name": "tests", "score": 1, "weight": 0.5, "dataHash": text.to_string()}],
        "overall": 1, "timestamp": 1, "outcome": "scored", "evaluation": "e", "repeat": 1, "seed": 7,
        "taskHash": "h", "workflow": text.to_string(), "seconds": 0.5, "steps": 2,
        "usage": {"input": 1, "output": 2, "turns": 1},
    });
    let hash = store.put(&records.run, &planned).unwrap();
    let run: EvalRun = get(&store, &records.run, &hash).unwrap();
    assert_eq!(put(&store, &records.run, &run).unwrap(), put(&store, &records.run, &run).unwrap());
    let case = run.case(&hash);
    assert_eq!((case.score, case.judges[0].score, case.run), (Some(1.0), Some(1.0), hash.to_string()));
    assert!(get::<EvalRun>(&store, &records.evaluation, &hash).is_err());
}

#[test]
fn names_are_segments_of_variables() {
    for (name, good) in [
        ("fix-off-by-one", true),
        ("a.b_c", true),
        ("", false),
        ("a/b", false),
        ("..", false),
        (".tasks", false),
        ("é", false),
    ] {
        assert_eq!(is_segment(name), good, "{name}");
    }
}
