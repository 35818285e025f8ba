use serde_json::json;
use uwf_engine::ThreadId;
use uwf_engine::journals::JournalName;
use uwf_store::Clock;

use super::*;
use crate::context_window::Elided;
use crate::failure::FailedAt;
use crate::journal::Surroundings;
use crate::journal::tests::{enforced, run};
use crate::provider::Learnt;
use crate::provider::message::{ModelOrigin, Native, TokenUsage, ToolCall};
use crate::provider::wire::Wire;

/// Each count another one.
fn usage() -> TokenUsage {
    TokenUsage {
        input_tokens: 10,
        output_tokens: 20,
        cached_tokens: 3,
        written_tokens: 4,
        reasoning_tokens: 5,
        cost_usd: Some(0.125),
    }
}

/// One entry of every kind that is recorded, in a run that was interrupted once.
fn entries(spool: &Path) -> Vec<Entry> {
    let id = |text: &str| text.parse::<ThreadId>().unwrap();
    let (thread, session) = (id("01K00000000000000000000001"), id("01K00000000000000000000002"));
    let name = JournalName { thread, head: "0123456789ABC".parse().unwrap(), session };
    let call =
        |id: &str, name: &str| ToolCall { id: id.into(), name: name.into(), arguments: "{\"a\": 1}".into() };
    let origin = ModelOrigin { wire: Wire::Messages, host: "h.example".into(), model: "m".into() };
    let said = |kind, text: &str, at| Entry::Said {
        message: Message::text(Speaker::User, kind, text),
        at,
        near: None,
    };
    let answered = |message, at, usage| Entry::Answered {
        message,
        at,
        duration_ms: 7,
        usage,
        finish_reason: Some("stop".into()),
        raw: Value::Null,
    };
    let calls = Message {
        tool_calls: vec![call("a", "run_command"), call("b", "edit_file")],
        reasoning: Some("I must look.".into()),
        native: Some(Native { origin, value: "[]".into(), prefix_changed: false }),
        ..Message::text(Speaker::Assistant, MessageKind::Turn, "")
    };
    let change = |before: Option<&str>, after: &str| FileChange {
        path: "src/a.rs".into(),
        before: before.map(Into::into),
        after: after.into(),
    };
    let ran = ToolFacts { exit_code: Some(3), spool: Some(spool.to_owned()), ..ToolFacts::default() };
    let edited =
        ToolFacts { changes: vec![change(None, "x"), change(Some("x"), "y")], ..ToolFacts::default() };
    let finished = |id: &str, text: &str, at, facts| Entry::Finished {
        message: Message::result(id, text),
        at,
        duration_ms: 9,
        facts,
    };
    let learnt = Learnt { host: "h.example".into(), model: "m".into(), quirks: vec!["whole".into()] };
    let settings = json!({"model": "m", "later": {"kept": null}});
    let rules = Message::text(Speaker::System, MessageKind::Opening, "rules");
    let recap = Message::text(Speaker::User, MessageKind::Recap, "so far");
    vec![
        run(&name, "writer", "Write it."),
        Entry::Said { message: rules, at: 1, near: None },
        said(MessageKind::Opening, "task", 2),
        answered(calls, 3, Some(usage())),
        Entry::Learnt { learnt, at: 4 },
        Entry::Started { call_id: "a".into(), at: 5, shown: None },
        finished("a", "short", 6, ran),
        finished("b", "edited", 7, edited),
        Entry::Elided { marks: vec![Elided { call_id: "a".into(), text: "[left out]".into() }], at: 8 },
        Entry::Continued { at: 100, settings, sandbox: enforced(), surroundings: Surroundings::default() },
        Entry::Summarised { message: recap, kept: 2, at: 101 },
        said(MessageKind::Closing, "undone", 102),
        answered(Message::text(Speaker::Assistant, MessageKind::Turn, "Done."), 103, None),
        Entry::Ended { failure: None, at: 104 },
    ]
}

/// Content decides the hash: a step of today is the same node as before only if each of these stays byte for byte.
#[test]
fn the_nodes_of_a_run_are_what_they_always_were() {
    let dir = tempfile::tempdir().unwrap();
    let spool = dir.path().join("spool");
    std::fs::write(&spool, "the full output\n").unwrap();
    let clock: Clock = || 1;
    let store = uwf_engine::open_store(&dir.path().join("store"), clock).unwrap();
    let failure = Failure { phase: FailedAt::Budget, error: "60 turns are used up".into() };
    let run = FinishedRun {
        agent: AGENT,
        model: None,
        is_replayable: true,
        session: "01K00000000000000000000001",
        assembled: "## system\n\nrules".into(),
        cost: Some(Usd::dollars(0.125)),
        trace: Some("0af7651916cd43dd8448eb211c80319c"),
        entries: &entries(&spool),
        journal: dir.path(),
        workspace: "/srv",
        outcome: &Err(failure),
        completed_at: 104,
    };
    let mut batch = store.batch();
    let hash = detail(&store, &mut batch, &run).unwrap();
    let (failed, type_, _) = output(run.outcome);
    let failed = batch.put(&type_, &failed).unwrap();
    batch.commit().unwrap();
    let payload = store.get(&hash).unwrap().payload;
    let turns =
        payload["messages"].as_array().unwrap().iter().map(|turn| turn.as_str().unwrap().parse().unwrap());
    let nodes: Vec<Hash> = [hash, failed].into_iter().chain(turns).collect();
    let lines = nodes.iter().map(|hash| format!("{hash} {}\n", store.get(hash).unwrap().payload));
    insta::assert_snapshot!("nodes", lines.collect::<String>());
}

/// What commands print is recorded as it was, under the name that the model was told.
#[test]
fn a_full_output_is_the_node_that_it_was_called_by() {
    let (dir, store) = (tempfile::tempdir().unwrap(), Store::in_memory(builtin::PROFILE, || 1).unwrap());
    let blobs = crate::blobs::BlobStore { store: store.clone() };
    let piece = uwf_store::PIECE;
    let long = "a line of output\n".repeat(3 * piece / 17);
    let torn = [long.as_bytes(), b"\xff\xfe\n"].concat();
    for (bytes, type_) in [
        (&b"short"[..], builtin::TEXT),
        (&long.as_bytes()[..piece], builtin::TEXT),
        (&long.as_bytes()[..=piece], uwf_store::BLOB),
        (&torn, uwf_store::BLOB),
        (b"\xff", uwf_store::BYTES),
    ] {
        let spool = dir.path().join("spool");
        std::fs::write(&spool, bytes).unwrap();
        let mut batch = store.batch();
        let hash = full_output(&mut batch, &spool, (&store, false)).unwrap().unwrap();
        batch.commit().unwrap();
        assert_eq!(hash.to_string(), uwf_tools::Outputs::name(&blobs, &mut &*bytes).unwrap());
        assert_eq!(store.get(&hash).unwrap().type_, type_);
        let mut kept = Vec::new();
        std::io::Read::read_to_end(&mut store.blob(&hash).unwrap(), &mut kept).unwrap();
        assert!(kept == bytes, "{hash}");
        // Where another machine had the file, the store has what it was called by.
        let elsewhere = Path::new("/nowhere").join(format!("output-{hash}.txt"));
        let mut batch = store.batch();
        assert_eq!(full_output(&mut batch, &elsewhere, (&store, false)).unwrap(), Some(hash));
        assert!(full_output(&mut batch, Path::new("/nowhere/output-x.txt"), (&store, false)).is_err());
    }
}

/// The content of a file is the node that a snapshot of the workspace has for it.
#[test]
fn long_contents_of_changed_files_are_in_pieces() {
    let store = Store::in_memory(builtin::PROFILE, || 1).unwrap();
    let (long, short) = ("a line\n".repeat(uwf_store::PIECE / 6), "short");
    let change = FileChange { path: "a".into(), before: Some(short.into()), after: long.clone() };
    let facts = ToolFacts { changes: vec![change], ..ToolFacts::default() };
    let entry = Entry::Finished { message: Message::result("a", "done"), at: 1, duration_ms: 1, facts };
    let mut batch = store.batch();
    let changes = changes::put(&mut batch, (&store, "/w"), &[entry]).unwrap();
    let file = batch.put_blob(&mut long.as_bytes()).unwrap().hash;
    batch.commit().unwrap();
    assert_eq!((changes[0].before, changes[0].after), (Some(store.put_text(short).unwrap()), Some(file)));
    assert_eq!(store.get(&file).unwrap().type_, uwf_store::BLOB);
}

/// Nobody knows from a call that was cut off what it did: of the file that it names the snapshots tell.
#[test]
fn what_a_call_that_was_cut_off_changed_is_told_by_the_snapshots() {
    let store = Store::in_memory(builtin::PROFILE, || 1).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let captured = |point| {
        let mut cache = uwf_snapshot::CaptureCache::in_memory();
        let found = uwf_snapshot::capture(dir.path(), &uwf_snapshot::Options::default(), &mut cache, &store);
        let snapshot = json!({"tree": found.unwrap().tree, "files": 0, "bytes": 0, "leftOut": 0});
        Entry::Snapshot { snapshot: serde_json::from_value(snapshot).unwrap(), point, call_id: None, at: 1 }
    };
    let call = |id: &str, name: &str, path: &str| ToolCall {
        id: id.into(),
        name: name.into(),
        arguments: json!({ "path": path }).to_string(),
    };
    let mut said = Message::text(Speaker::Assistant, MessageKind::Turn, "");
    said.tool_calls = vec![
        call("a", "write_file", "./new"),
        call("b", "edit_file", &dir.path().join("same").display().to_string()),
        call("c", "read_file", "other"),
        call("d", "write_file", "../outside"),
        call("e", "write_file", "finished"),
    ];
    let finished = |id: &str, text: &str| Entry::Finished {
        message: Message::result(id, text),
        at: 1,
        duration_ms: 1,
        facts: ToolFacts::default(),
    };
    std::fs::write(dir.path().join("same"), "same").unwrap();
    let mut entries = vec![captured(CapturePoint::Start)];
    for name in ["new", "other", "finished"] {
        std::fs::write(dir.path().join(name), name).unwrap();
    }
    let (raw, usage, finish_reason) = (Value::Null, None, None);
    entries.push(Entry::Answered { message: said, at: 1, duration_ms: 1, usage, finish_reason, raw });
    entries.extend(["a", "b", "c", "d"].map(|id| finished(id, uwf_prompts::INTERRUPTED)));
    entries.extend([finished("e", "done"), captured(CapturePoint::End)]);
    let workspace = dir.path().display().to_string();
    let changes = changes::put(&mut store.batch(), (&store, &workspace), &entries).unwrap();
    let content = Some(store.put_text("new").unwrap());
    assert_eq!(changes, [uwf_engine::record::Change { path: "new".into(), before: None, after: content }]);
}
