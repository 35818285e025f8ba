use std::fs::{self, File};
use std::io::Write;
use std::os::fd::AsFd;
use std::time::Duration;

use serde_json::json;
use uwf_engine::lock::ThreadLock;
use uwf_engine::{Homes, home, journals::JournalName};

use super::*;
use crate::journal::Entry;
use crate::journal::tests::run as first_line;
use crate::provider::any_order::RunFixture;
use crate::provider::message::{Message, MessageKind, Speaker, TokenUsage, ToolCall};
use crate::react::Notice;

/// A store with a thread that plays `worker` next, and a home.
struct Place {
    fixture: RunFixture,
    home: PathBuf,
    thread: ThreadId,
    head: Hash,
}

impl Place {
    fn new() -> Place {
        let fixture = RunFixture::new();
        let home = fixture.journals().parent().unwrap().to_owned();
        let thread = fixture.start();
        let head = thread::stands_at(&fixture.store, &thread).unwrap().unwrap();
        Place { fixture, home, thread, head }
    }

    fn store(&self) -> &Store {
        &self.fixture.store
    }

    fn homes(&self) -> Homes {
        Homes { uwf: self.home.clone(), ocas: self.home.with_file_name("ocas") }
    }

    /// Says that it runs since the beginning of time: the fixture's clock is not that of the files.
    fn lock(&self, thread: &ThreadId) -> ThreadLock {
        ThreadLock::acquire(&self.home, thread, &self.head, 0).unwrap()
    }

    fn journal(&self, session: u64) -> (File, JournalName) {
        let name = JournalName { thread: self.thread, head: self.head, session: ThreadId::new(session) };
        let dir = journals_dir(&self.home);
        home::make_private(&dir).unwrap();
        (File::options().append(true).create(true).open(dir.join(name.to_string())).unwrap(), name)
    }
}

fn line(entry: &Entry) -> Vec<u8> {
    let mut line = serde_json::to_vec(entry).unwrap();
    line.push(b'\n');
    line
}

fn answered(usage: Option<TokenUsage>, calls: &[(&str, &str)]) -> Entry {
    let call = |(id, arguments): &(&str, &str)| ToolCall {
        id: (*id).into(),
        name: "run_command".into(),
        arguments: (*arguments).into(),
    };
    let tool_calls = calls.iter().map(call).collect();
    let message = Message { tool_calls, ..Message::text(Speaker::Assistant, MessageKind::Turn, "x") };
    Entry::Answered { message, at: 30, duration_ms: 1500, usage, finish_reason: None, raw: json!("long") }
}

#[test]
fn a_run_is_seen_turn_by_turn_and_gone_when_it_is_over() {
    let place = Place::new();
    let calls = json!([{"id": "a", "name": "list_dir", "arguments": {"path": "."}}]);
    let turns =
        [json!({"content": "", "tool_calls": calls}), json!({"content": "---\n$status: done\n---\nFine."})];
    let (mut reader, mut seen, mut lock) = (LiveReader::new(&place.home), Vec::new(), None);
    let mut tell = |notice: Notice<'_>| match notice {
        Notice::Opened { thread, .. } => lock = Some(place.lock(&thread.parse().unwrap())),
        Notice::Entry(Entry::Asked { .. } | Entry::Started { .. } | Entry::Finished { .. }, _) => {
            let run = reader.run(place.store(), lock.as_ref().unwrap().thread()).unwrap();
            let tool = run.tool.map_or(String::new(), |tool| tool.title);
            seen.push(format!(
                "{} {} of {} {:?} {tool}",
                run.role.unwrap(),
                run.turn.unwrap(),
                run.max_turns.unwrap(),
                run.phase,
            ));
        }
        Notice::Entry(Entry::Replied { .. }, _) => {
            let run = reader.run(place.store(), lock.as_ref().unwrap().thread()).unwrap();
            assert_eq!((run.turn, run.role.as_deref()), (None, Some("worker")), "the rest is the engine's");
        }
        _ => {}
    };
    place.fixture.run_with(&turns, &|_| (), &mut tell).unwrap();
    assert_eq!(
        seen,
        [
            "worker 1 of 8 Thinking ",
            "worker 1 of 8 Tool list_dir .",
            "worker 1 of 8 Waiting ",
            "worker 2 of 8 Thinking ",
        ]
    );
    let thread = *lock.as_ref().unwrap().thread();
    drop(lock);
    assert_eq!(reader.run(place.store(), &thread), None);
}

#[test]
fn only_what_is_new_is_read_and_a_torn_line_is_left_for_later() {
    let place = Place::new();
    let (mut file, name) = place.journal(7);
    let _lock = place.lock(&place.thread);
    let mut reader = LiveReader::new(&place.home);
    let none = reader.run(place.store(), &place.thread).unwrap();
    assert_eq!((none.role.as_deref(), none.turn, none.phase), (Some("worker"), None, LivePhase::Waiting));
    assert_eq!(none.pid, Some(std::process::id()));

    let mut run = first_line(&name, "worker", "Work.");
    if let Entry::Run { settings, at, .. } = &mut run {
        *settings = json!({"model": "m", "budget": {"turns": 9}, "prices": {"input": 2.0, "output": 10.0}});
        *at = place.store().now() - 5000;
    }
    file.write_all(&line(&run)).unwrap();
    let usage = TokenUsage { input_tokens: 1_000_000, output_tokens: 50_000, ..TokenUsage::default() };
    let tests = r#"{"command":"cargo test","description":"Run the tests"}"#;
    let turn = line(&answered(Some(usage), &[("a", tests)]));
    let (one, other) = turn.split_at(turn.len() / 2);
    file.write_all(one).unwrap();
    let begun = reader.run(place.store(), &place.thread).unwrap();
    assert_eq!((begun.turn, begun.model.as_deref(), begun.elapsed_ms), (Some(0), Some("m"), 5000));
    file.write_all(other).unwrap();
    file.write_all(&line(&Entry::Started { call_id: "a".into(), shown: None, at: 40 })).unwrap();
    let run = reader.run(place.store(), &place.thread).unwrap();
    assert_eq!((run.turn, run.max_turns, run.phase), (Some(1), Some(9), LivePhase::Tool));
    assert_eq!((run.usage.tokens(), run.cost_usd), (1_050_000, Some(2.5)));
    let tool = run.tool.unwrap();
    assert_eq!((tool.name.as_str(), tool.title.as_str(), tool.since), ("run_command", "Run the tests", 40));
    assert_eq!(run.last_line.as_deref(), Some("turn 1: run_command (1.5 s)"));
    assert!(run.revision > begun.revision);

    // The bytes that were read are not read again: nobody would notice that they are others.
    let path = journals_dir(&place.home).join(name.to_string());
    let size = fs::metadata(&path).unwrap().len();
    fs::write(&path, vec![b'x'; usize::try_from(size).unwrap()]).unwrap();
    assert_eq!(reader.run(place.store(), &place.thread).unwrap().turn, Some(1));
}

#[test]
fn runs_that_are_over_are_not_remembered() {
    let place = Place::new();
    let mut reader = LiveReader::new(&place.home);
    let _lock = place.lock(&place.thread);
    for _ in 0..2 * MOST {
        let thread = place.fixture.start();
        let lock = place.lock(&thread);
        assert!(reader.run(place.store(), &thread).is_some());
        assert!(reader.run(place.store(), &place.thread).is_some());
        drop(lock);
    }
    assert!(reader.followed.len() + reader.routed.len() <= MOST + 1, "{:?}", reader.routed);
    assert!(reader.routed.contains_key(&place.thread), "what runs is");
}

#[test]
fn a_run_that_was_cut_off_says_after_how_many_turns() {
    let place = Place::new();
    let mut reader = LiveReader::new(&place.home);
    let now = place.store().now();
    assert_eq!(reader.interrupted(&place.thread, &place.head, now), None);
    let (mut file, name) = place.journal(7);
    let turns = [first_line(&name, "worker", "Work."), answered(None, &[]), answered(None, &[])];
    turns.iter().for_each(|entry| file.write_all(&line(entry)).unwrap());
    file.write_all(b"{\"entry\":\"ans").unwrap();
    let interrupted = LiveReader::new(&place.home).interrupted(&place.thread, &place.head, now).unwrap();
    assert_eq!(
        (interrupted.role.as_str(), interrupted.reason().as_str()),
        ("worker", "interrupted after 2 turns")
    );
    let elsewhere = "0123456789ABC".parse().unwrap();
    assert_eq!(reader.interrupted(&place.thread, &elsewhere, now), None, "it has moved on");
    let (mut later, name) = place.journal(8);
    std::thread::sleep(Duration::from_millis(20));
    let over = [first_line(&name, "worker", "Work."), Entry::Replied { reply: json!({}), at: 50 }];
    over.iter().for_each(|entry| later.write_all(&line(entry)).unwrap());
    assert_eq!(LiveReader::new(&place.home).interrupted(&place.thread, &place.head, now), None);
}

#[test]
fn what_is_new_of_a_thread_is_told_once() {
    let place = Place::new();
    let (store, thread) = (place.store(), &place.thread);
    let mut reader = LiveReader::new(&place.home);
    let mut watch = ThreadWatch::of(store, &mut reader, thread).unwrap();
    assert_eq!(watch.look(store, &mut reader).unwrap(), []);
    let lock = place.lock(thread);
    assert_eq!(watch.look(store, &mut reader).unwrap(), [ThreadEvent::Live]);
    let (mut file, name) = place.journal(7);
    file.write_all(&line(&first_line(&name, "worker", "Work."))).unwrap();
    assert_eq!(watch.look(store, &mut reader).unwrap(), [ThreadEvent::Live]);
    assert_eq!(watch.look(store, &mut reader).unwrap(), []);
    let ended = Status::Ended { completed_at: 5 };
    thread::advance(store, thread, &place.head, &place.head, &ended).unwrap();
    drop(lock);
    assert_eq!(watch.look(store, &mut reader).unwrap(), [ThreadEvent::Status(ended), ThreadEvent::Live]);
    assert_eq!((watch.run(), watch.status().as_str()), (None, "end"));
    thread::remove(store, thread).unwrap();
    assert!(watch.look(store, &mut reader).is_err());
}

#[test]
fn the_kernel_tells_what_changes_and_nothing_else_ends_a_wait() {
    let place = Place::new();
    let store = place.store();
    let mut changes = HomeChanges::of(&place.homes());
    let long = Duration::from_secs(60);
    let blind = changes.wait(Duration::from_millis(1), &[]).unwrap();
    assert!(blind.unknown && blind.concerns(&place.thread), "the directories are not there yet");
    let (mut file, _) = place.journal(7);
    drop(place.lock(&place.thread));
    changes.now();
    let quiet = changes.wait(Duration::from_millis(50), &[]).unwrap();
    assert_eq!(quiet, Changed::default());
    file.write_all(b"x").unwrap();
    let changed = changes.wait(long, &[]).unwrap();
    assert_eq!((changed.threads.iter().collect::<Vec<_>>(), changed.store), (vec![&place.thread], false));
    let lock = place.lock(&place.thread);
    assert!(changes.wait(long, &[]).unwrap().threads.contains(&place.thread));
    drop(lock);
    changes.now();
    thread::remove(store, &place.thread).unwrap();
    assert!(changes.wait(long, &[]).unwrap().store);
    let (reader, mut writer) = std::io::pipe().unwrap();
    writer.write_all(b"q").unwrap();
    changes.now();
    assert_eq!(changes.wait(long, &[reader.as_fd()]).unwrap().readable, [0]);
}
