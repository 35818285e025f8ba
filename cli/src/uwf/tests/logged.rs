//! What steps leave in the log, and `uwf log`.

use serde_json::{Value, json};

use super::command_line::CommandLine;
use uwf_engine::fixture::{Place, reply};
use uwf_engine::thread::ThreadId;

fn events(place: &Place, args: &[&str]) -> Vec<String> {
    let shown = place.uwf(&[&["log", "show"], args].concat()).json();
    let word = |entry: &Value| entry["event"].as_str().unwrap().to_owned();
    shown.as_array().unwrap().iter().map(word).collect()
}

/// A thread of `flow`, as people start one.
fn started(place: &Place) -> ThreadId {
    place.uwf(&["thread", "start", "flow", "-p", "A text, please."]).json()["thread"]
        .as_str()
        .unwrap()
        .parse()
        .unwrap()
}

#[test]
fn a_step_leaves_its_lines_and_no_words_of_anybody() {
    let place = Place::new();
    let thread = started(&place);
    let failed = place.step(&thread, None, "writer", &json!({"$status": "error", "error": "x"}));
    let agent = place.agent(&[reply(&failed, "writer", Some("no answer\nsk-inner"))]);
    assert_eq!(
        place.uwf(&["thread", "exec", thread.as_str(), "--agent", &format!("{agent} sk-arg")]).exit,
        3
    );
    let dies = place.script("echo sk-said >&2; exit 7");
    assert_eq!(place.uwf(&["thread", "exec", thread.as_str(), "--agent", &dies]).exit, 1);
    let done = place.step(&thread, None, "writer", &json!({"$status": "done"}));
    let agent = place.agent(&[reply(&done, "writer", None)]);
    assert_eq!(place.uwf(&["thread", "exec", thread.as_str(), "--agent", &agent]).exit, 0);

    let expected = [
        "thread-started",
        "step-started",
        "agent-exited",
        "step-failed",
        "step-started",
        "agent-exited",
        "error",
        "step-started",
        "agent-exited",
        "step-finished",
        "head-moved",
        "thread-ended",
    ];
    assert_eq!(events(&place, &[]), expected);
    assert_eq!(events(&place, &["2027-01-15"]), expected);
    assert_eq!(events(&place, &[thread.as_str()]), expected);
    let text = place.uwf(&["log", "show", "--format", "text"]).out;
    assert!(text.contains("  agent-exited  writer  agent=sh  durationMs=0  exit=exit status 7\n"), "{text}");
    assert!(text.contains("  step-failed  writer  error=no answer  step="), "{text}");
    let file = place.homes().uwf.join("logs/2027-01-15.jsonl");
    let raw = std::fs::read_to_string(file).unwrap();
    for secret in ["sk-", "Write it.", "A text, please."] {
        assert!(!raw.contains(secret), "{secret}: {raw}");
    }
}

#[test]
fn days_are_listed_shown_and_removed() {
    let place = Place::new();
    assert_eq!(place.uwf(&["log", "list"]).json(), json!([]));
    assert_eq!(place.uwf(&["log", "show"]).json(), json!([]));
    assert!(place.uwf(&["log", "show", "2027-01-15"]).err.contains("there are none of any day"));
    let thread = started(&place);
    let logs = place.homes().uwf.join("logs");
    std::fs::write(logs.join("2026-12-01.jsonl"), "{\"event\":\"old\"}\n").unwrap();
    let listed = place.uwf(&["log", "list"]).json();
    assert_eq!(
        (&listed[1]["date"], &listed[0]["lines"]),
        (&json!("2026-12-01"), &json!(1)),
        "the last first"
    );
    assert_eq!((&listed[1]["name"], &listed[1]["size"]), (&json!("2026-12-01.jsonl"), &json!(16)));
    assert_eq!(events(&place, &[]), ["thread-started"], "of the last day");
    assert_eq!(events(&place, &["2026-12-01"]), ["old"]);
    assert!(
        place
            .uwf(&["log", "show", "2026-12-02"])
            .err
            .contains("there are some from 2026-12-01 to 2027-01-15")
    );
    assert_eq!(place.uwf(&["log", "clean", "--before", "60d"]).json(), json!({"removed": [], "deleted": 0}));
    let cleaned = place.uwf(&["log", "clean", "--before", "30d"]).json();
    assert_eq!(cleaned, json!({"removed": ["2026-12-01"], "deleted": 1}));
    assert_eq!(events(&place, &[thread.as_str()]), ["thread-started"]);
    assert_eq!(place.uwf(&["log", "clean", "--before", "soon"]).exit, 2);
    assert_eq!(place.uwf(&["log", "show", "yesterday"]).exit, 1);
}

#[test]
fn lines_of_either_kind_are_chosen_by_thread_process_and_date() {
    let place = Place::new();
    let (thread, other) = (started(&place), started(&place));
    let theirs = json!({
        "ts": "2026-12-01T08:00:00.000Z", "pid": "4711", "tag": "MK7X2QPV", "msg": "it began", "thread": thread, "workflow": null,
    });
    std::fs::write(place.homes().uwf.join("logs/2026-12-01.jsonl"), format!("{theirs}\n")).unwrap();
    let thread = thread.as_str();
    assert_eq!(events(&place, &["--thread", thread]), ["MK7X2QPV", "thread-started"]);
    assert_eq!(events(&place, &["--thread", thread, "--date", "2027-01-15"]), ["thread-started"]);
    assert_eq!(events(&place, &["--process", "4711"]), ["MK7X2QPV"]);
    let own = std::process::id().to_string();
    assert_eq!(events(&place, &["--process", &own]).len(), 2);
    assert_eq!(events(&place, &["--process", &own, "--thread", other.as_str()]).len(), 1);
    assert_eq!(events(&place, &["2026-12-01", "--process", &own]).len(), 0);
    let none = place.uwf(&["-v", "log", "show", "--date", "2026-12-02"]);
    assert_eq!((none.exit, none.out.as_str()), (0, "[]\n"));
    assert_eq!(none.err, "nothing is logged of 2026-12-02\n");
    for (args, exit) in [(["--date", "soon"], 2), (["--thread", "soon"], 1), (["--process", "soon"], 2)] {
        assert_eq!(place.uwf(&[&["log", "show"], &args[..]].concat()).exit, exit, "{args:?}");
    }
    let shown = place.uwf(&["log", "show", "--thread", thread]).json();
    assert_eq!((&shown[0]["time"], &shown[0]["msg"]), (&theirs["ts"], &json!("it began")));
    assert_eq!((&shown[1]["ts"], &shown[1]["tag"]), (&shown[1]["time"], &json!("thread-started")));
    assert!(shown[1]["msg"].as_str().unwrap().starts_with("name=flow"), "{shown}");
    let text = place.uwf(&["log", "show", "2026-12-01", "--format", "text"]).out;
    assert_eq!(text, format!("2026-12-01 08:00:00.000  {thread}  MK7X2QPV  it began\n"));
}
