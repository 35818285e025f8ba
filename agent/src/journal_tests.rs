use super::*;
use crate::provider::message::{Message, MessageKind, Speaker};
use serde_json::json;
use uwf_engine::ThreadId;
use uwf_tools::sandbox::{Level, Network};

fn name() -> JournalName {
    JournalName {
        thread: ThreadId::new(1),
        head: "0123456789ABC".parse().unwrap(),
        session: ThreadId::new(2),
    }
}

/// A first line of that run.
pub(crate) fn run(name: &JournalName, role: &str, prompt: &str) -> Entry {
    Entry::Run {
        version: VERSION,
        session: name.session.to_string(),
        thread: name.thread.to_string(),
        role: role.into(),
        head: name.head,
        prompt: prompt.into(),
        stand_alone: false,
        workspace: "/w".into(),
        at: 10,
        settings: json!({"model": "m"}),
        sandbox: enforced(),
        tools: Vec::new(),
        opening: 1,
        surroundings: Surroundings::default(),
        project: Default::default(),
    }
}

pub(crate) fn enforced() -> Enforced {
    Enforced {
        level: Level::Strict,
        landlock: None,
        seccomp: true,
        network: Network::Open,
        mounts: false,
        processes: uwf_tools::sandbox::Processes::Found,
        missing: vec![],
    }
}

#[test]
fn lines_read_back_as_they_were_said() {
    let dir = tempfile::tempdir().unwrap();
    let mut journal = Journal::create(dir.path(), name()).unwrap();
    let message = Message::text(Speaker::User, MessageKind::Opening, "line\nbreak ☂");
    journal.append(Entry::Said { message: message.clone(), near: None, at: 7 }).unwrap();
    journal.append(Entry::Started { call_id: "a".into(), shown: None, at: 8 }).unwrap();
    journal.sync().unwrap();
    let (entries, _) = read::entries(&std::fs::read(journal.path()).unwrap()).unwrap();
    assert!(matches!(&entries[0], Entry::Said { message: read, at: 7, .. } if *read == message));
    assert!(matches!(&entries[1], Entry::Started { call_id, .. } if call_id == "a"));
    assert_eq!(entries.len(), journal.entries().len());
}

#[test]
fn the_raw_reply_is_on_disk_and_not_in_memory() {
    let dir = tempfile::tempdir().unwrap();
    let mut journal = Journal::create(dir.path(), name()).unwrap();
    let message = Message::text(Speaker::Assistant, MessageKind::Turn, "x");
    let raw = Value::from("as it came");
    let (usage, finish_reason) = (None, None);
    journal.append(Entry::Answered { message, at: 1, duration_ms: 2, usage, finish_reason, raw }).unwrap();
    let bytes = std::fs::read(journal.path()).unwrap();
    assert!(String::from_utf8_lossy(&bytes).contains("as it came"));
    assert!(matches!(&journal.entries()[0], Entry::Answered { raw: Value::Null, .. }));
    let (read, _) = read::entries(&bytes).unwrap();
    assert!(matches!(&read[0], Entry::Answered { raw: Value::Null, .. }));
}

#[test]
fn a_second_run_never_writes_into_the_first_ones_file() {
    let dir = tempfile::tempdir().unwrap();
    let name = name();
    let _first = Journal::create(dir.path(), name.clone()).unwrap();
    assert_eq!(Journal::create(dir.path(), name).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
}

#[test]
fn the_pauses_between_stretches_are_no_work() {
    let continued = |at| Entry::Continued {
        at,
        settings: json!({}),
        sandbox: enforced(),
        surroundings: Surroundings::default(),
    };
    let started = |at| Entry::Started { call_id: "a".into(), shown: None, at };
    let entries = [run(&name(), "r", "p"), started(40), continued(1000), started(1005), continued(2000)];
    let worked: Vec<u64> = stretches(&entries).iter().map(Stretch::worked).collect();
    assert_eq!(worked, [30, 5, 0]);
}
