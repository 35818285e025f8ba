//! What the tests of steps that changed files share: a workspace that is captured, and steps with these snapshots.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use uwf_engine::fixture::Place;
use uwf_engine::record::{Change, Detail, RecordedSnapshot, RunSnapshots, Turn};
use uwf_engine::thread::{self, Status, head};
use uwf_engine::{ThreadId, builtin};
use uwf_snapshot::{CaptureCache, Options, capture};
use uwf_store::{Hash, Store};

/// A workspace whose states are captured one after the other.
pub(super) struct Workspace {
    pub(super) place: Place,
    pub(super) store: Store,
    cache: CaptureCache,
}

impl Workspace {
    pub(super) fn new() -> Workspace {
        let place = Place::in_memory();
        fs::create_dir(place.path().join("w")).unwrap();
        let store = place.store();
        Workspace { place, store, cache: CaptureCache::in_memory() }
    }

    pub(super) fn dir(&self) -> PathBuf {
        self.place.path().join("w")
    }

    pub(super) fn write(&self, path: &str, content: &[u8]) {
        fs::write(self.dir().join(path), content).unwrap();
    }

    pub(super) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.dir().join(path)).unwrap()
    }

    pub(super) fn now(&mut self) -> RecordedSnapshot {
        let snapshot = capture(&self.dir(), &Options::default(), &mut self.cache, &self.store).unwrap();
        RecordedSnapshot { tree: snapshot.tree, files: snapshot.entries, bytes: snapshot.bytes, left_out: 0 }
    }

    /// What a tool did to a file.
    pub(super) fn tool(&self, path: &str, before: Option<&str>, after: &str) -> Change {
        let text = |text: &str| {
            let mut batch = self.store.batch();
            let content = batch.put_blob(&mut text.as_bytes()).unwrap();
            batch.commit().unwrap();
            content.hash
        };
        Change { path: path.to_owned(), before: before.map(text), after: Some(text(after)) }
    }

    /// A thread that works in this workspace.
    pub(super) fn thread(&self) -> ThreadId {
        let start = head(&self.store, &self.place.flow_thread()).unwrap().start(&self.store).unwrap();
        thread::start(&self.store, &start.workflow, "A text.", self.dir().to_str().unwrap()).unwrap()
    }

    /// A step of the thread with this record, of which it is the head then.
    pub(super) fn step(&self, thread: &ThreadId, detail: &Detail) -> Hash {
        let at = head(&self.store, thread).unwrap();
        let step = self.step_on(thread, &json!({"$status": "checked"}), detail);
        thread::advance(&self.store, thread, &at.hash, &step, &Status::Idle).unwrap();
        step
    }

    /// A failed attempt at the next step, with this record.
    pub(super) fn failed_step(&self, thread: &ThreadId, detail: &Detail) -> Hash {
        let output = json!({"$status": "error", "error": "no", "phase": "answer"});
        let step = self.step_on(thread, &output, detail);
        thread::record_failure(&self.store, thread, "writer", &step).unwrap();
        step
    }

    fn step_on(&self, thread: &ThreadId, output: &Value, detail: &Detail) -> Hash {
        let mut batch = self.store.batch();
        let detail = detail.put(&mut batch).unwrap();
        batch.commit().unwrap();
        let at = head(&self.store, thread).unwrap();
        let step = self.place.step(thread, at.step().map(|_| at.hash), "writer", output);
        let mut node = self.store.get(&step).unwrap().payload;
        node["detail"] = json!(detail);
        node["cwd"] = json!(self.dir());
        self.store.put(&builtin::STEP_NODE, &node).unwrap()
    }

    /// The turns of a command, after which the workspace was that.
    pub(super) fn command(&self, id: &str, command: &str, snapshot: Option<Hash>) -> [Hash; 2] {
        let arguments = json!({ "command": command }).to_string();
        let calls = json!([{"id": id, "name": "run_command", "args": arguments}]);
        let asked = json!({"role": "assistant", "content": "", "kind": "turn", "at": 1, "toolCalls": calls});
        let result =
            json!({"role": "tool", "content": "", "kind": "result", "at": 2, "callId": id, "exitCode": 0});
        [Turn::of(asked), Turn { snapshot, ..Turn::of(result) }].map(|turn| {
            let mut batch = self.store.batch();
            let hash = turn.put(&mut batch).unwrap();
            batch.commit().unwrap();
            hash
        })
    }
}

pub(super) fn detail(turns: &[Hash], changes: Vec<Change>, [before, after]: [RecordedSnapshot; 2]) -> Detail {
    let snapshots = RunSnapshots { before: Some(before), after: Some(after), failed: None };
    Detail {
        messages: Some(turns.iter().map(|hash| (*hash).into()).collect()),
        changes: Some(changes),
        snapshots: Some(snapshots),
        ..Detail::empty("s", "m")
    }
}
