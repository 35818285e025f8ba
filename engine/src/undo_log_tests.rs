//! The log as a value: what stands, what was taken back, and what keeps it.

use super::*;
use crate::fixture::Place;
use crate::thread;
use uwf_store::Collect;

struct Log {
    place: Place,
    store: Store,
    thread: ThreadId,
}

impl Log {
    fn new() -> Log {
        let place = Place::new();
        let (store, thread) = (place.store(), place.flow_thread());
        Log { place, store, thread }
    }

    fn read(&self) -> UndoLog {
        UndoLog::of(&self.store, &self.thread).unwrap()
    }

    fn record(
        &self,
        step: &str,
        kind: UndoKind,
        paths: [&[&str]; 2],
        takes_back: Option<Hash>,
    ) -> UndoRecord {
        let [paths, left] = paths.map(|paths| paths.iter().map(|path| (*path).to_owned()).collect());
        let node = |text: &str| self.store.put_text(text).unwrap();
        UndoRecord {
            thread: self.thread.to_string(),
            step: node(step),
            kind,
            dir: "/work".to_owned(),
            before: node("before"),
            after: node("after"),
            paths,
            left,
            takes_back,
            previous: self.read().last().map(|(hash, _)| *hash),
            at: self.store.now(),
        }
    }

    fn undo(&self, step: &str, paths: &[&str], left: &[&str]) -> Hash {
        append(&self.store, &self.thread, &self.record(step, UndoKind::Undo, [paths, left], None)).unwrap()
    }

    fn redo(&self, step: &str, paths: &[&str], undo: Hash) -> Hash {
        let record = self.record(step, UndoKind::Redo, [paths, &[]], Some(undo));
        append(&self.store, &self.thread, &record).unwrap()
    }

    fn state(&self, step: &str) -> Option<UndoneExtent> {
        let step = self.store.put_text(step).unwrap();
        self.read().undone_runs().get(&step).copied()
    }
}

#[test]
fn what_was_taken_back_does_not_stand() {
    let log = Log::new();
    assert_eq!((log.read().last(), log.state("one")), (None, None));
    let one = log.undo("one", &["a", "b"], &[]);
    let two = log.undo("two", &["c"], &["d"]);
    assert_eq!((log.state("one"), log.state("two")), (Some(UndoneExtent::Whole), Some(UndoneExtent::Part)));
    log.redo("one", &["a"], one);
    let read = log.read();
    let standing: Vec<_> = read
        .standing()
        .into_iter()
        .map(|undo| (undo.hash, undo.paths.into_iter().collect::<Vec<_>>()))
        .collect();
    assert_eq!(standing, [(two, vec!["c"]), (one, vec!["b"])]);
    assert_eq!(log.state("one"), Some(UndoneExtent::Part));
    log.redo("one", &["b"], one);
    assert_eq!(log.state("one"), None);
    // What was left before is undone as well.
    log.undo("two", &["d"], &[]);
    assert_eq!(log.state("two"), Some(UndoneExtent::Whole));
}

#[test]
fn an_entry_is_replaced_or_taken_out_only_while_it_is_the_youngest() {
    let log = Log::new();
    let first = log.undo("one", &["a"], &[]);
    let record = log.record("one", UndoKind::Undo, [&["b"], &["c"]], None);
    let second = append(&log.store, &log.thread, &record).unwrap();
    let other = UndoRecord { paths: vec!["x".to_owned()], ..record.clone() };
    assert!(amend(&log.store, &log.thread, &first, &other).is_err());
    let third = amend(&log.store, &log.thread, &second, &other).unwrap();
    assert_eq!(log.read().last().map(|(hash, record)| (*hash, record.previous)), Some((third, Some(first))));
    withdraw(&log.store, &log.thread, &third, &other).unwrap();
    assert_eq!(log.read().last().map(|(hash, _)| *hash), Some(first));
    let record = log.read().last().unwrap().1.clone();
    withdraw(&log.store, &log.thread, &first, &record).unwrap();
    assert_eq!(log.read(), UndoLog::default());
}

#[test]
fn collecting_keeps_the_log_with_what_it_needs_and_removing_the_thread_forgets_it() {
    let log = Log::new();
    log.undo("one", &["a"], &[]);
    let undo = log.undo("two", &["b"], &[]);
    log.redo("two", &["b"], undo);
    let read = log.read();
    let later = || crate::fixture::clock() + 10 * 3_600_000;
    let store = Store::open(&log.place.homes().ocas, builtin::PROFILE, later).unwrap();
    store.gc(&Collect::default()).unwrap();
    assert_eq!(UndoLog::of(&store, &log.thread).unwrap(), read);
    for (_, record) in &read.entries {
        assert!([record.step, record.before, record.after].iter().all(|hash| store.has(hash)));
    }
    thread::remove(&store, &log.thread).unwrap();
    assert_eq!(UndoLog::of(&store, &log.thread).unwrap(), UndoLog::default());
    store.gc(&Collect::default()).unwrap();
    assert!(!store.has(&undo));
}
