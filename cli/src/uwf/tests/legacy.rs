//! Each shape once, and what must not happen.

use std::fs;

use serde_json::json;
use uwf_store::Hash;

use super::command_line::CommandLine;
use uwf_engine::builtin::WORKFLOW;
use uwf_engine::fixture::Place;
use uwf_engine::legacy::{is_there, migrate};
use uwf_engine::thread::{self, Status};

const IDS: [&str; 4] = [
    "01JC0000000000000000000001",
    "01JC0000000000000000000002",
    "01JC0000000000000000000003",
    "01JC0000000000000000000004",
];

/// A store with a workflow, the start of a thread and a step, but no thread of these ids.
fn place() -> (Place, Hash, Hash, Hash) {
    let place = Place::new();
    let thread = place.flow_thread();
    let start = thread::head(&place.store(), &thread).unwrap().hash;
    let step = place.step(&thread, None, "writer", &json!({"$status": "checked"}));
    let workflow = place.store().get(&start).unwrap().payload["workflow"].as_str().unwrap().parse().unwrap();
    fs::create_dir_all(place.homes().uwf).unwrap();
    (place, workflow, start, step)
}

fn write(place: &Place, name: &str, text: &str) {
    fs::write(place.homes().uwf.join(name), text).unwrap();
}

fn status(place: &Place, id: &str) -> Status {
    thread::head(&place.store(), &id.parse().unwrap()).unwrap().status
}

#[test]
fn threads_workflows_and_history_become_variables_at_the_next_command() {
    let (place, workflow, start, step) = place();
    write(
        &place,
        "threads.yaml",
        &format!(
            "{}: {start}\n{}:\n  head: {step}\n  status: suspended\n  suspendedRole: writer\n  suspendMessage: Which?\n",
            IDS[0], IDS[1]
        ),
    );
    write(
        &place,
        "registry.yaml",
        &format!("workflows:\n  flow: {{ hash: {workflow} }}\n  old: {workflow}\n"),
    );
    let lines = [
        json!({"thread": IDS[2], "head": step, "status": "completed", "completedAt": 7}),
        json!({"id": IDS[3], "hash": step, "status": "cancelled", "completedAt": "2026-01-02T03:04:05Z"}),
    ];
    write(&place, "history.jsonl", &format!("{}\n\n{}\n", lines[0], lines[1]));

    let ran = place.uwf(&["-v", "thread", "list", "--all"]);
    assert_eq!((ran.exit, ran.json().as_array().unwrap().len()), (0, 5));
    let home = place.homes().uwf.display().to_string();
    let expected = format!(
        "took over 2 entries of {home}/threads.yaml, now threads.yaml.migrated\n\
         took over 2 entries of {home}/registry.yaml, now registry.yaml.migrated\n\
         took over 2 entries of {home}/history.jsonl, now history.jsonl.migrated\n"
    );
    assert_eq!(ran.err, expected);
    assert_eq!(status(&place, IDS[0]), Status::Idle);
    assert_eq!(status(&place, IDS[1]), Status::Suspended { role: "writer".into(), message: "Which?".into() });
    assert_eq!(status(&place, IDS[2]), Status::Ended { completed_at: 7 });
    assert_eq!(status(&place, IDS[3]), Status::Cancelled { completed_at: 1_767_323_045_000 });
    for name in ["flow", "old"] {
        let variable = place.store().vars().get(&format!("@uwf/registry/{name}")).unwrap();
        assert_eq!(variable.unwrap().value, workflow);
    }
    assert!(!is_there(&place.homes().uwf) && place.homes().uwf.join("threads.yaml.migrated").exists());
    assert_eq!(place.uwf(&["thread", "list"]).err, "", "once");
}

#[test]
fn what_cannot_be_used_is_passed_over_and_nothing_is_overwritten() {
    let (place, workflow, start, step) = place();
    write(&place, "threads.yaml", &format!("{}: {start}\n", IDS[0]));
    migrate(&place.store(), &place.homes().uwf);
    let missing = "0000000000000";
    write(
        &place,
        "threads.yaml",
        &format!(
            "threads:\n  {}: {step}\n  {}: '{missing}'\n  {}: {workflow}\n  short: {step}\n  {}: {{ head: {step}, status: odd }}\n",
            IDS[0], IDS[1], IDS[2], IDS[3]
        ),
    );
    write(
        &place,
        "workflows.yaml",
        &format!("- {{ name: a b, hash: {workflow} }}\n- {{ name: flow, hash: {step} }}\n- 5\n"),
    );
    write(&place, "history.jsonl", &format!("no json\n{{\"thread\": \"{}\"}}\n", IDS[1]));
    let reports = migrate(&place.store(), &place.homes().uwf);
    let told = &reports[0].as_ref().unwrap().skipped;
    let expected = [
        format!("{}: no node {missing} in the store", IDS[1]),
        format!("{}: {workflow} is not a step of a thread: it is of type {WORKFLOW}", IDS[2]),
        format!("{}: its status is `odd`, which this uwf does not know", IDS[3]),
        "short: `short` is not a thread id: expected 26 characters of 0-9 A-Z without I, L, O, U".to_owned(),
        format!("@uwf/thread/{}: it is {start} already", IDS[0]),
    ];
    assert_eq!(told, &expected);
    assert_eq!(reports[0].as_ref().unwrap().taken, 0);
    assert!(place.homes().uwf.join("threads.yaml.2.migrated").exists(), "the earlier one stays");
    let left: Vec<String> = reports[1..].iter().map(|left| left.as_ref().unwrap_err().to_string()).collect();
    assert!(
        left[0].contains("workflows.yaml is left") && left[0].contains("entry 3: it has no id"),
        "{left:?}"
    );
    assert!(
        left[1].contains("history.jsonl is left") && left[1].contains("line 1: it has no id"),
        "{left:?}"
    );
    assert!(place.homes().uwf.join("workflows.yaml").exists(), "nothing of it was used");
}

#[test]
fn files_of_another_store_stay_until_it_is_there() {
    let (place, _, start, _) = place();
    write(&place, "threads.yaml", &format!("{}: '0000000000000'\n", IDS[0]));
    let ran = place.uwf(&["thread", "list"]);
    assert!(ran.err.contains("none of its entries can be used with this store"), "{}", ran.err);
    write(&place, "threads.yaml", &format!("{}: {start}\n", IDS[0]));
    for only_looks in [&["doctor"][..], &["completions", "bash"], &["prompt", "usage"], &["log", "list"]] {
        place.uwf(only_looks);
    }
    assert!(place.homes().uwf.join("threads.yaml").exists(), "the doctor changes nothing");
    place.uwf(&["thread", "list"]);
    assert_eq!(status(&place, IDS[0]), Status::Idle);
}

#[test]
fn of_two_lines_of_one_thread_the_last_one_counts() {
    let (place, _, _, step) = place();
    let line = |status: &str| json!({"thread": IDS[0], "head": step, "status": status}).to_string();
    write(&place, "history.jsonl", &format!("{}\n{}\n", line("completed"), line("cancelled")));
    let ran = place.uwf(&["-v", "thread", "list"]);
    assert!(ran.err.contains("took over 1 entry"), "{}", ran.err);
    assert!(matches!(status(&place, IDS[0]), Status::Cancelled { .. }));
}

#[test]
fn a_store_that_does_not_open_fails_no_command_that_needs_none() {
    let place = Place::new();
    fs::create_dir_all(place.homes().uwf).unwrap();
    fs::write(place.homes().ocas, "in the way").unwrap();
    write(&place, "threads.yaml", "a: b\n");
    let ran = place.uwf(&["config", "list"]);
    assert!(ran.exit == 0 && ran.err.contains("are not taken over"), "{ran:?}");
}

#[test]
fn a_file_that_is_none_is_left_and_said_so() {
    let (place, ..) = place();
    write(&place, "threads.yaml", "a: [");
    write(&place, "workflows.yaml", "just words");
    let ran = place.uwf(&["workflow", "list"]);
    assert_eq!(ran.exit, 0);
    assert!(
        ran.err.contains("warning: ") && ran.err.contains("threads.yaml cannot be taken over: "),
        "{}",
        ran.err
    );
    assert!(ran.err.contains("neither a mapping nor a list"), "{}", ran.err);
    assert!(place.homes().uwf.join("threads.yaml").exists());
}

#[test]
fn without_old_files_nothing_is_made() {
    let place = Place::new();
    assert_eq!(place.uwf(&["config", "list"]).exit, 0);
    assert!(!place.homes().ocas.exists());
}
