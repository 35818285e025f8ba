//! There and back, and every way in which a file can be wrong.

use std::sync::OnceLock;

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::fixture::Place;
use crate::record::{UndoKind, UndoRecord};
use crate::thread::{Status, record_failure};
use crate::undo_log::{self, UndoLog};

/// A thread with a step, a failed attempt, and a person it waits for.
fn place() -> (Place, ThreadId) {
    let place = Place::new();
    let (store, thread) = (place.store(), place.flow_thread());
    let start = thread::head(&store, &thread).unwrap().hash;
    let step = place.step(&thread, None, "writer", &json!({"$status": "checked"}));
    let error = json!({"$status": "error", "error": "no", "phase": "answer"});
    let failed = place.step(&thread, Some(step), "checker", &error);
    record_failure(&store, &thread, "checker", &failed).unwrap();
    let status = Status::Suspended { role: "checker".into(), message: "Which?".into() };
    thread::advance(&store, &thread, &start, &step, &status).unwrap();
    (place, thread)
}

fn exported(place: &Place, thread: &ThreadId) -> String {
    let mut out = Vec::new();
    export(&place.store(), thread, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn read(place: &Place, text: &str) -> Result<ExportedThread, ExportError> {
    import(&place.store(), &place.homes().uwf, &mut text.as_bytes())
}

#[test]
fn a_thread_is_the_same_in_another_store() {
    let (here, thread) = place();
    let text = exported(&here, &thread);
    let there = Place::new();
    let imported = read(&there, &text).unwrap();
    assert!(imported.new);
    assert_eq!(imported.nodes as usize, text.lines().count() - 3);
    let (a, b) = (here.store(), there.store());
    let head = thread::head(&b, &thread).unwrap();
    assert_eq!(thread::head(&a, &thread).unwrap().status, head.status);
    assert_eq!(thread::chain(&a, &head.hash).unwrap(), thread::chain(&b, &head.hash).unwrap());
    assert_eq!(
        thread::failed_attempts(&a, &thread, "checker").unwrap(),
        thread::failed_attempts(&b, &thread, "checker").unwrap()
    );
    b.verify(&mut |finding| panic!("{finding}")).unwrap();
    assert!(exported(&there, &thread) == text, "the same thread makes the same bytes");
}

#[test]
fn what_was_undone_goes_with_the_thread() {
    let (here, thread) = place();
    let store = here.store();
    let step = thread::head(&store, &thread).unwrap().hash;
    let undone = UndoRecord {
        thread: thread.to_string(),
        step,
        kind: UndoKind::Undo,
        dir: "/work".to_owned(),
        before: store.put_text("before").unwrap(),
        after: store.put_text("after").unwrap(),
        paths: vec!["a".to_owned()],
        left: Vec::new(),
        takes_back: None,
        previous: None,
        at: 1,
    };
    undo_log::append(&store, &thread, &undone).unwrap();
    let (text, there) = (exported(&here, &thread), Place::new());
    read(&there, &text).unwrap();
    let log = UndoLog::of(&there.store(), &thread).unwrap();
    assert_eq!(log.last().unwrap().1, undone);
    assert!(exported(&there, &thread) == text);
    let line = text.lines().last().unwrap();
    let entry = log.last().unwrap().0;
    let other = text.replace(line, &line.replace(entry.as_str(), step.as_str()));
    assert!(refused(&other).contains(&format!("{step} is not a step of a thread")));
}

#[test]
fn importing_again_changes_nothing_and_another_head_is_refused() {
    let (here, thread) = place();
    let text = exported(&here, &thread);
    let there = Place::new();
    read(&there, &text).unwrap();
    let before = there.store().vars().rows("").unwrap();
    assert!(!read(&there, &text).unwrap().new);
    assert_eq!(there.store().vars().rows("").unwrap(), before);

    let store = there.store();
    let head = thread::head(&store, &thread).unwrap();
    let start = head.start_hash();
    let other = there.step(&thread, None, "writer", &json!({"$status": "again"}));
    thread::advance(&store, &thread, &head.hash, &other, &Status::Idle).unwrap();
    let error = read(&there, &text).unwrap_err();
    assert!(matches!(error, ExportError::Exists { found, .. } if found == other), "{error}");
    assert!(error.hint().is_some());

    // What is before the file's head moves on, unless a step runs.
    thread::advance(&store, &thread, &other, &start, &Status::Idle).unwrap();
    let home = there.homes().uwf;
    let running = ThreadLock::acquire(&home, &thread, &start, 7).unwrap();
    let error = read(&there, &text).unwrap_err();
    assert!(matches!(error, ExportError::Lock(_)), "{error}");
    assert_eq!(thread::stands_at(&store, &thread).unwrap(), Some(start));
    drop(running);
    let moved = read(&there, &text).unwrap();
    assert_eq!((moved.new, moved.forwarded, moved.head), (false, true, head.hash));
    assert_eq!(thread::head(&store, &thread).unwrap().status, head.status);
    assert!(exported(&there, &thread) == text);
}

#[test]
fn a_thread_that_was_summed_up_elsewhere_moves_on() {
    let (here, there) = (Place::new(), Place::new());
    let (store, thread) = (here.store(), here.flow_thread());
    let mut head = thread::stands_at(&store, &thread).unwrap().unwrap();
    for text in ["one", "two"] {
        let prev = thread::head(&store, &thread).unwrap().step().map(|_| head);
        let step = here.step(&thread, prev, "writer", &json!({"$status": "again", "dir": text}));
        thread::advance(&store, &thread, &head, &step, &Status::Idle).unwrap();
        head = step;
    }
    assert!(read(&there, &exported(&here, &thread)).unwrap().new);
    let by = here.step(&thread, Some(head), "writer", &json!({"$status": "done", "dir": "a summary"}));
    let kept = thread::kept_steps(&store, &thread, &head, 1).unwrap();
    let (_, again) = thread::stored_again(&store, kept, (store.put_text("so far").unwrap(), by)).unwrap();
    thread::advance(&store, &thread, &head, &again, &Status::Idle).unwrap();
    let moved = read(&there, &exported(&here, &thread)).unwrap();
    assert_eq!((moved.forwarded, moved.head), (true, again));
}

/// What is said of this text; nothing may have changed.
fn refused(text: &str) -> String {
    let there = Place::new();
    let (nodes, rows) = (there.store().stats().unwrap().nodes, there.store().vars().rows("").unwrap());
    let error = read(&there, text).unwrap_err();
    assert_eq!(there.store().stats().unwrap().nodes, nodes, "{error}");
    assert_eq!(there.store().vars().rows("").unwrap(), rows, "{error}");
    let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}")).unwrap_or_default();
    format!("{error}{cause}")
}

#[test]
fn a_file_that_is_wrong_anywhere_changes_nothing() {
    let (here, thread) = place();
    let text = exported(&here, &thread);
    let lines: Vec<&str> = text.lines().collect();
    let joined = |lines: &[&str]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
    let last = lines.len() - 1;

    assert_eq!(refused(""), "this is no thread that was exported: it is empty");
    assert!(refused("name: x\n").starts_with("this is no thread that was exported: "));
    assert!(refused(&text.replacen("\"version\":1", "\"version\":2", 1)).contains("version 2"));
    let headless = text.replacen("\"variables\":2", "\"variables\":0", 1);
    assert_eq!(refused(&headless), "this is no thread that was exported: it tells no thread's head");
    let expected = format!("the file is not whole: it ends after {} lines of {last}", last - 1);
    assert_eq!(refused(&joined(&lines[..last])), expected);
    let twice = joined(&[&lines[..], &lines[last..]].concat());
    assert_eq!(refused(&twice), format!("line {} is damaged: it is one too many", last + 2));

    let other_text = refused(&text.replacen("A text, please.", "A text, pleasf.", 1));
    assert!(other_text.contains("is damaged: node ") && other_text.contains(" hashes to "), "{other_text}");
    let mut swapped = lines.clone();
    let step = lines.iter().position(|line| line.contains("\"edgePrompt\":\"")).unwrap();
    swapped.swap(1, step);
    assert!(refused(&joined(&swapped)).contains("line 2 holds a node that cannot be stored"));
    let theft = text.replacen("\"variable\":\"@uwf/thread-failed/", "\"variable\":\"@uwf/registry/", 1);
    assert!(refused(&theft).contains("it sets @uwf/registry/"));
    let other = text.replacen(&format!("\"variable\":\"@uwf/thread/{thread}\""), "\"variable\":\"@me/x\"", 1);
    assert!(refused(&other).contains("it sets @me/x"));
    assert!(refused(&text.replacen("\"suspended\"", "\"frozen\"", 1)).contains("the status `frozen`"));
    assert!(refused(&text.replacen("/checker\"", "/a role\"", 1)).contains("is not a variable name"));
    let list = thread::all_failures(&here.store(), Some(&thread)).unwrap().remove(0);
    let line = |value: &Hash| lines[last].replacen(list.variable.value.as_str(), value.as_str(), 1);
    let pointing_at = |value: &Hash| refused(&joined(&[&lines[..last], &[line(value).as_str()]].concat()));
    let head = thread::head(&here.store(), &thread).unwrap();
    assert!(pointing_at(&head.hash).contains("does not read as a node of its type"));
    assert!(pointing_at(&Hash::from_static("0000000000001")).contains("no node 0000000000001"));
}

#[test]
fn a_damaged_thread_is_not_exported() {
    let (here, thread) = place();
    let head = thread::head(&here.store(), &thread).unwrap();
    let output = head.step().unwrap().output;
    std::fs::remove_file(here.homes().ocas.join(format!("nodes/{output}.bin"))).unwrap();
    let error = export(&here.store(), &thread, &mut Vec::new()).unwrap_err().to_string();
    assert!(error.contains(&format!("node {output} is missing")), "{error}");
    let unknown = export(&here.store(), &ThreadId::new(5), &mut Vec::new()).unwrap_err();
    assert!(matches!(unknown, ExportError::Thread(ThreadError::Unknown { .. })));
}

#[test]
fn every_thread_of_another_implementation_can_be_taken_along() {
    let (here, there) = (Place::reference(), Place::new());
    for entry in thread::entries(&here.store()) {
        let thread = entry.unwrap().thread;
        assert!(read(&there, &exported(&here, &thread)).unwrap().new);
        let told = |place: &Place| {
            let store = place.store();
            let head = thread::head(&store, &thread).unwrap();
            (head.status, thread::chain(&store, &head.hash).unwrap())
        };
        assert_eq!(told(&here), told(&there));
    }
    there.store().verify(&mut |finding| panic!("{finding}")).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_flipped_byte_never_makes_a_store_that_does_not_verify(at in any::<prop::sample::Index>(), bit in 0..8_u8) {
        static EXPORTED: OnceLock<String> = OnceLock::new();
        let text = EXPORTED.get_or_init(|| {
            let (here, thread) = place();
            exported(&here, &thread)
        });
        let mut bytes = text.clone().into_bytes();
        let at = at.index(bytes.len());
        bytes[at] ^= 1 << bit;
        let there = Place::new();
        if import(&there.store(), &there.homes().uwf, &mut bytes.as_slice()).is_ok() {
            there.store().verify(&mut |finding| panic!("{finding}")).unwrap();
        }
    }
}
