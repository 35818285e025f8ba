//! `uwf thread … --remote NAME` and `uwf remote status` against a Postgres of the test's own.

use std::time::Duration;

use serde_json::{Value, json};
use uwf_engine::ThreadId;
use uwf_engine::fixture::Place;
use uwf_engine::thread::{self, Status};
use uwf_fleet::fixture::Postgres;
use uwf_fleet::queue::{self, Claimant, HandBack};

use super::command_line::CommandLine;

fn place(postgres: &Postgres) -> Place {
    let place = Place::new();
    assert_eq!(place.uwf(&["remote", "add", "team", &postgres.url(), "--create"]).exit, 0);
    place
}

fn started(place: &Place, more: &[&str]) -> String {
    let ran = place
        .uwf(&[&["thread", "start", "flow", "-p", "A text,\nplease.", "--remote", "team"], more].concat());
    assert_eq!(ran.exit, 0, "{ran:?}");
    ran.json()["thread"].as_str().unwrap().to_owned()
}

fn claimant() -> Claimant {
    Claimant {
        name: "build7".into(),
        labels: vec!["gpu".into()],
        workflow: None,
        lease: Duration::from_secs(60),
    }
}

#[test]
fn a_thread_is_started_shown_paused_resumed_and_cancelled_from_anywhere() {
    let Some(postgres) = Postgres::start() else { return };
    let (a, b) = (place(&postgres), place(&postgres));
    let id = started(&a, &["--label", "gpu", "--priority", "-3", "--max-cost", "1.50"]);
    assert_eq!(a.uwf(&["thread", "list", "--all"]).json(), json!([]), "it is not kept here");
    let shown = b.uwf(&["thread", "show", &id[20..], "--remote", "team"]).json();
    assert_eq!(
        json!([shown["thread"], shown["status"], shown["state"], shown["currentRole"], shown["task"]]),
        json!([id, "idle", "ready", "writer", "A text,"])
    );
    assert_eq!(
        json!([shown["labels"], shown["priority"], shown["maxCost"], shown["workflowName"]]),
        json!([["gpu"], -3, 1.5, "flow"])
    );
    let far = |args: &[&str]| b.uwf(&[args, &["--remote", "team"]].concat());
    assert_eq!(
        far(&["thread", "pause", &id]).json(),
        json!({"thread": id, "paused": true, "running": false})
    );
    let listed = far(&["thread", "list"]).json();
    assert_eq!((listed[0]["status"].as_str(), listed.as_array().unwrap().len()), (Some("paused"), 1));
    assert_eq!(far(&["thread", "resume", &id]).json()["state"], "ready");
    let read = far(&["thread", "read", &id]);
    assert!(read.exit == 0 && read.out.contains("A text,"), "{read:?}");
    assert_eq!(b.uwf(&["thread", "list", "--all"]).json(), json!([]), "reading keeps nothing");
    let text = far(&["thread", "show", &id, "--format", "text"]).out;
    assert!(text.contains(&format!("uwf thread watch {id} --remote team")), "{text}");
    assert_eq!(far(&["thread", "cancel", &id]).json(), json!({"thread": id, "cancelled": true}));
    assert_eq!(far(&["thread", "list"]).json(), json!([]));
    assert_eq!(far(&["thread", "list", "--all"]).json()[0]["status"], "cancelled");
    let late = far(&["thread", "resume", &id]);
    assert!(late.exit == 1 && late.err.contains("is cancelled"), "{late:?}");
    let watched = far(&["thread", "watch", &id]);
    assert!(watched.exit == 0 && watched.out.contains(" done"), "{watched:?}");
}

#[test]
fn what_a_thread_asks_is_answered_and_what_runs_is_told() {
    let Some(postgres) = Postgres::start() else { return };
    let (a, mut at) = (place(&postgres), postgres.connection());
    let thread = a.flow_thread();
    let (store, id) = (a.store(), thread.as_str());
    let asks = Status::Suspended { role: "writer".into(), message: "Which one?".into() };
    let head = thread::head(&store, &thread).unwrap().hash;
    let step = a.step(&thread, None, "writer", &json!({"$status": "waits"}));
    thread::advance(&store, &thread, &head, &step, &asks).unwrap();
    assert_eq!(a.uwf(&["push", "team", id]).exit, 0);
    queue::submit(&mut at, &thread, &queue::Terms::default()).unwrap();
    let far = |args: &[&str]| a.uwf(&[args, &["--remote", "team"]].concat());
    let shown = far(&["thread", "show", id]).json();
    assert_eq!(
        json!([shown["status"], shown["state"], shown["suspendMessage"]]),
        json!(["suspended", "waiting", "Which one?"])
    );
    let refused = far(&["thread", "resume", id]);
    assert!(refused.exit == 1 && refused.err.contains("asks: Which one?"), "{refused:?}");
    assert_eq!(far(&["thread", "resume", id, "-p", "The second."]).json()["state"], "ready");
    let claim = queue::claim(&mut at, &claimant()).unwrap().unwrap();
    assert_eq!(claim.answer.as_deref(), Some("The second."));
    let shown = far(&["thread", "show", id]).json();
    assert_eq!(json!([shown["status"], shown["worker"]]), json!(["running", "build7"]));
    assert_eq!(far(&["thread", "pause", id]).json()["running"], true);
    assert_eq!(far(&["thread", "show", id]).json()["wish"], "pause");
    for _ in 0..2 {
        queue::hand_back(&mut at, "build7", &claim.lease, &HandBack::Drained).ok();
    }
    assert_eq!(far(&["thread", "show", id]).json()["status"], "paused");
}

#[test]
fn a_thread_that_has_cost_what_it_may_says_so_and_is_given_more() {
    let Some(postgres) = Postgres::start() else { return };
    let a = place(&postgres);
    let id = started(&a, &["--max-cost", "1.50"]);
    let spent = "UPDATE uwf.thread SET state = 'paused', cost_usd = 1.5";
    postgres.client().batch_execute(spent).unwrap();
    let far = |args: &[&str]| a.uwf(&[args, &["--remote", "team"]].concat());
    let text = far(&["thread", "show", &id, "--format", "text"]).out;
    assert!(text.contains(&format!("uwf thread resume {id} --remote team --max-cost USD")), "{text}");
    for more in [&[][..], &["--max-cost", "1"]] {
        let refused = far(&[&["thread", "resume", &id], more].concat());
        assert!(refused.exit == 1 && refused.err.contains("has cost $1.5000"), "{refused:?}");
        assert!(refused.err.contains(&format!("{id} --remote team --max-cost USD")), "{refused:?}");
    }
    let resumed = far(&["thread", "resume", &id, "--max-cost", "5"]).json();
    assert_eq!(json!([resumed["state"], resumed["maxCost"]]), json!(["ready", 5.0]));
}

#[test]
fn what_cannot_be_started_is_not_there_and_what_was_typed_is_here() {
    let Some(postgres) = Postgres::start() else { return };
    let a = place(&postgres);
    postgres.client().batch_execute("UPDATE uwf.team SET max_threads = 0").unwrap();
    let refused = a.uwf(&["thread", "start", "flow", "-p", "A long text.", "--remote", "team"]);
    assert!(refused.exit == 1 && refused.err.contains("may have 0 threads"), "{refused:?}");
    assert!(refused.err.contains("uwf remote team set team default"), "{refused:?}");
    let kept = refused.err.split("`uwf ").find(|text| text.starts_with("thread read")).unwrap();
    let shown = a.uwf(&kept.split('`').next().unwrap().split(' ').collect::<Vec<_>>());
    assert!(shown.out.contains("A long text."), "{shown:?}");
    assert_eq!(a.uwf(&["thread", "list", "--all", "--remote", "team"]).json(), json!([]));
    postgres.client().batch_execute("UPDATE uwf.team SET max_threads = NULL").unwrap();
    started(&a, &[]);
}

#[test]
fn a_remote_says_how_it_stands() {
    let Some(postgres) = Postgres::start() else { return };
    let (a, mut at) = (place(&postgres), postgres.connection());
    let empty = a.uwf(&["remote", "status", "--format", "text"]);
    assert!(empty.exit == 0 && empty.out.contains("uwf worker --remote team"), "{empty:?}");
    let id = started(&a, &["--max-attempts", "1"]);
    let presence = queue::Presence { version: "0.1".into(), host: "h".into(), parallel: 4 };
    queue::come(&mut at, &claimant(), &presence).unwrap();
    let claim = queue::claim(&mut at, &claimant()).unwrap().unwrap();
    queue::hand_back(&mut at, "build7", &claim.lease, &HandBack::Failed("no model".into())).unwrap();
    at.client().batch_execute("UPDATE uwf.team SET budget_usd = 5, budget_period = 'day'").unwrap();
    let status = a.uwf(&["remote", "status", "team"]).json();
    assert_eq!(
        json!([status["schema"], status["team"], status["threads"], status["dead"]]),
        json!([1, "default", [{"state": "dead", "count": 1}],
               [{"thread": id, "workflowName": "flow", "reason": "no model"}]])
    );
    assert_eq!(
        status["budget"],
        json!({"limitUsd": 5.0, "period": "day", "spentUsd": 0.0, "isSpent": false})
    );
    let worker = &status["workers"][0];
    assert_eq!(json!([worker["name"], worker["version"], worker["parallel"]]), json!(["build7", "0.1", 4]));
    let text = a.uwf(&["remote", "status", "--format", "text"]).out;
    let typed = text.split("try it again: uwf ").nth(1).unwrap().lines().next().unwrap().to_owned();
    // What it says works.
    let resumed = a.uwf(&typed.split(' ').collect::<Vec<_>>());
    assert_eq!((resumed.exit, &resumed.json()["state"]), (0, &json!("ready")), "{resumed:?}");
}

#[test]
fn what_does_not_go_together_is_refused_before_anything_begins() {
    let Some(postgres) = Postgres::start() else { return };
    let a = place(&postgres);
    let base = ["thread", "start", "flow", "-p", "x"];
    for (more, exit) in [
        (&["--label", "gpu"][..], 2),
        (&["--remote", "team", "--workspace", "git"], 2),
        (&["--remote", "team", "--repository", "https://h/r.git"], 2),
        (&["--remote", "team", "--workspace", "git", "--repository", "https://u:s3cret@h/r.git"], 2),
        (&["--remote", "team", "--dir", "../x"], 2),
        (&["--remote", "teem"], 1),
    ] {
        let ran = a.uwf(&[&base[..], more].concat());
        assert_eq!(ran.exit, exit, "{ran:?}");
        assert!(!ran.err.contains("s3cret"), "{ran:?}");
    }
    assert_eq!(a.uwf(&["thread", "list", "--all"]).json(), json!([]));
    assert_eq!(a.uwf(&["thread", "list", "--all", "--remote", "team"]).json(), json!([]));
    let with = a.uwf(&["thread", "resume", "01K", "--remote", "team", "--until-end"]);
    assert_eq!(with.exit, 2, "{with:?}");
    let snapshot = started(&a, &["--workspace", "snapshot"]);
    let shown: Value = a.uwf(&["thread", "show", &snapshot, "--remote", "team"]).json();
    let tree = shown["workspace"]["tree"].as_str().unwrap().to_owned();
    let there = "SELECT count(*) FROM uwf.node WHERE hash = $1";
    assert_eq!(postgres.client().query_one(there, &[&tree]).unwrap().get::<_, i64>(0), 1);
    let _: ThreadId = snapshot.parse().unwrap();
}
