//! Evaluations, listed and shown.

use serde_json::{Value, json};
use uwf_eval::Records;
use uwf_eval::record::evaluation_variable;
use uwf_store::{Expect, VarChange};

use super::*;

/// An evaluation of one task whose only case is the thread that is hostile.
fn evaluated(fixture: &Fixture, name: &str) -> ThreadId {
    let (thread, head) = fixture.hostile();
    let store = fixture.place.store();
    let records = Records::register(&store).unwrap();
    let workflow = store.put_text("a workflow").unwrap();
    let found = store.put(&records.data, &json!({ HOSTILE: HOSTILE })).unwrap();
    let judge = json!({ "name": HOSTILE, "score": 0.5, "weight": 1, "dataHash": found });
    let run = json!({
        "task": "fix", "config": { "agent": "a", "model": null, "engineVersion": "0.1.0" }, "threadId": thread,
        "judges": [judge], "overall": 0.5, "timestamp": 1, "outcome": "scored", "evaluation": name, "repeat": 1, "seed": 7,
        "taskHash": "h", "workflow": workflow, "head": head, "seconds": 2.5, "steps": 1,
        "usage": { "input": 1, "output": 2, "turns": 1 },
    });
    let run = store.put(&records.run, &run).unwrap();
    let task =
        json!({ "name": "fix", "path": "/t", "hash": "h", "workflow": workflow, "workflowName": HOSTILE });
    let config = json!({ "agent": HOSTILE, "model": null, "engineVersion": "0.1.0", "seed": 1, "count": 2 });
    let value = json!({
        "name": name, "config": config, "tasks": [task], "cases": [{ "task": "fix", "repeat": 1, "run": run }],
        "startedAt": 1_800_000_000_000_u64,
    });
    set(&store, name, (records.evaluation, store.put(&records.evaluation, &value).unwrap()));
    thread
}

fn set(store: &Store, name: &str, (schema, value): (Hash, Hash)) {
    let name = evaluation_variable(name);
    let change = VarChange::Set { name, schema, value, tags: Default::default(), expect: Expect::Any };
    store.vars().apply(&[change]).unwrap();
}

#[tokio::test]
async fn evaluations_are_listed_and_shown_with_links_to_their_threads() {
    let fixture = Fixture::new();
    let (status, page) = fixture.get("/evaluations").await;
    assert!(status == StatusCode::OK && page.contains("There is no evaluation yet"));
    let thread = evaluated(&fixture, "v1");
    let (_, page) = fixture.get("/evaluations").await;
    assert!(page.contains("href=\"/evaluation/v1\"") && page.contains("1 of 2 cases finished"));
    let (status, page) = fixture.get("/evaluation/v1").await;
    assert_eq!(status, StatusCode::OK);
    for text in [&format!("href=\"/t/{thread}\""), "<svg", "id=\"case-1-1\"", "writer", "1 not finished"] {
        assert!(page.contains(text), "{text}");
    }
    for page in [&page, &fixture.get("/evaluations").await.1] {
        assert!(!page.contains("<script>") && !page.contains("<img") && !page.contains('\u{202e}'));
    }
}

#[tokio::test]
async fn what_is_no_evaluation_is_told() {
    let fixture = Fixture::new();
    evaluated(&fixture, "v1");
    let (status, page) = fixture.get("/evaluation/v2").await;
    assert!(status == StatusCode::NOT_FOUND && page.contains("there is no evaluation v2"), "{page}");
    let store = fixture.place.store();
    let other: Value = json!("no evaluation");
    let schema = Records::known().data;
    set(&store, "odd", (schema, store.put(&schema, &other).unwrap()));
    let (status, page) = fixture.get("/evaluations").await;
    assert!(status == StatusCode::OK && page.contains("odd cannot be read") && page.contains("v1"));
    let (status, _, _) = fixture.ask(request("GET", "/evaluations", &[], "")).await;
    assert_ne!(status, StatusCode::OK, "without a session");
}
