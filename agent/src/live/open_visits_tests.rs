use std::fs;
use std::io::Write;

use serde_json::json;
use uwf_engine::home;
use uwf_engine::journals::JournalName;

use super::*;
use crate::journal::ToolFacts;
use crate::journal::tests::run as first_line;
use crate::provider::message::{Message, MessageKind, Speaker, ToolCall};

fn calls(tool: &str) -> Entry {
    let call = ToolCall { id: "a".into(), name: tool.into(), arguments: "{}".into() };
    let message =
        Message { tool_calls: vec![call], ..Message::text(Speaker::Assistant, MessageKind::Turn, "x") };
    Entry::Answered { message, at: 2000, duration_ms: 1, usage: None, finish_reason: None, raw: json!(null) }
}

fn started() -> Entry {
    Entry::Started { call_id: "a".into(), shown: None, at: 3000 }
}

fn finished(text: &str, cancelled: bool) -> Entry {
    let facts = ToolFacts { cancelled, ..ToolFacts::default() };
    Entry::Finished { message: Message::result("a", text), at: 4000, duration_ms: 1, facts }
}

fn replied(is_error: bool) -> Entry {
    Entry::Replied { reply: json!({"isError": is_error}), at: 5000 }
}

/// What a journal of these entries, behind the first, tells of a thread.
fn told(entries: &[Entry]) -> OpenVisits {
    let home = tempfile::tempdir().unwrap();
    let head = "0123456789ABC".parse().unwrap();
    let name = JournalName { thread: ThreadId::new(1), head, session: ThreadId::new(2) };
    let mut run = first_line(&name, "worker", "Work.");
    if let Entry::Run { at, .. } = &mut run {
        *at = 1000;
    }
    let dir = journals_dir(home.path());
    home::make_private(&dir).unwrap();
    let mut file = fs::File::create(dir.join(name.to_string())).unwrap();
    for entry in [run].iter().chain(entries) {
        file.write_all(serde_json::to_string(entry).unwrap().as_bytes()).unwrap();
        file.write_all(b"\n").unwrap();
    }
    file.write_all(b"{\"entry\":\"torn").unwrap();
    let other = open_visits(home.path(), (&ThreadId::new(9), &head)).unwrap();
    assert_eq!(other, OpenVisits::default(), "another thread has none");
    open_visits(home.path(), (&name.thread, &head)).unwrap()
}

fn disturbed(entries: &[Entry]) -> Option<String> {
    told(entries).disturbed
}

#[test]
fn what_is_all_in_journal_and_workspace_goes_on_undisturbed() {
    assert_eq!(disturbed(&[]), None);
    assert_eq!(disturbed(&[calls("run_command")]), None, "it has not begun, and runs now");
    for tool in ["read_file", "write_file", "edit_file", "grep", "fetch_url"] {
        assert_eq!(disturbed(&[calls(tool), started(), finished("done", false)]), None, "{tool}");
    }
    // What is answered is only to be recorded.
    let ended = Entry::Ended { failure: None, at: 5000 };
    assert_eq!(disturbed(&[calls("run_command"), started(), finished("done", false), ended]), None);
    assert_eq!(disturbed(&[calls("run_command"), started(), finished("done", false), replied(false)]), None);
}

#[test]
fn a_call_that_was_cut_off_disturbs_whatever_it_was() {
    for tool in ["read_file", "write_file", "run_command"] {
        let expected = Some(format!("a call of {tool} was cut off"));
        assert_eq!(disturbed(&[calls(tool), started()]), expected);
        let told = finished(&format!("cancelled\n{INTERRUPTED}"), true);
        assert_eq!(disturbed(&[calls(tool), started(), told]), expected);
    }
    // The time of the run was over, which is the workflow's own.
    assert_eq!(disturbed(&[calls("read_file"), started(), finished("cancelled", true)]), None);
}

#[test]
fn what_was_left_elsewhere_is_gone() {
    for tool in ["run_command", "server__tool"] {
        let expected = Some(format!("what {tool} left outside of the workspace is gone"));
        assert_eq!(disturbed(&[calls(tool), started(), finished("done", false)]), expected);
    }
}

#[test]
fn an_attempt_that_failed_disturbs_the_next_if_it_changed_something() {
    assert_eq!(disturbed(&[calls("read_file"), started(), finished("x", false), replied(true)]), None);
    let expected = "an attempt failed that had changed something by write_file";
    let changed = [calls("write_file"), started(), finished("x", false), replied(true)];
    assert_eq!(disturbed(&changed).as_deref(), Some(expected));
    assert_eq!((told(&changed).turns, told(&changed).seconds), (0, 0.0), "it is on record");
}

#[test]
fn work_is_told_without_the_pauses() {
    let on: Entry = serde_json::from_value(json!({
        "entry": "continued", "at": 900_000, "settings": null, "sandbox": first_sandbox(),
    }))
    .unwrap();
    let found =
        told(&[calls("read_file"), started(), finished("x", false), on, Entry::Asked { at: 901_500 }]);
    assert_eq!((found.turns, found.seconds, found.journals), (1, 4.5, 1));
}

fn first_sandbox() -> serde_json::Value {
    let head = "0123456789ABC".parse().unwrap();
    let name = JournalName { thread: ThreadId::new(1), head, session: ThreadId::new(2) };
    serde_json::to_value(first_line(&name, "w", "W.")).unwrap()["sandbox"].clone()
}
