//! What a run keeps of its workspace: before it, after what changed it unseen, and at its end.

use std::fs;

use serde_json::{Value, json};
use uwf_engine::record::{Detail, RunSnapshots};
use uwf_snapshot::{ChangeKind, diff};

use super::*;
use crate::journal::{CapturePoint, Concern, Entry};
use crate::provider::any_order::RunFixture;
use crate::react::Notice;
use crate::settings::Settings;

const FINE: &str = "---\n$status: done\n---\nFine.";

fn call(name: &str, arguments: Value) -> Value {
    json!({"tool_calls": [{"name": name, "arguments": arguments}]})
}

fn write(path: &str) -> Value {
    call("write_file", json!({"path": path, "content": "written\n"}))
}

fn command(command: &str) -> Value {
    call("run_command", json!({"command": command}))
}

/// A run that was played: its fixture, its record and what was told on the way.
struct Played {
    fixture: RunFixture,
    detail: Detail,
    points: Vec<(CapturePoint, Option<String>)>,
    warnings: Vec<(Concern, String)>,
}

fn play(fixture: RunFixture, turns: Vec<Value>, change: fn(&mut Settings)) -> Played {
    let turns = [turns, vec![json!({"content": FINE})]].concat();
    let (mut points, mut warnings) = (Vec::new(), Vec::new());
    let mut listen = |notice: Notice<'_>| match notice {
        Notice::Entry(Entry::Snapshot { point, call_id, .. }, _) => points.push((*point, call_id.clone())),
        Notice::Entry(Entry::Warned { about, message, .. }, _) => warnings.push((*about, message.clone())),
        _ => {}
    };
    let reply = fixture.run_with(&turns, &change, &mut listen).unwrap();
    assert!(!reply.is_error, "{reply:?}");
    let detail = Detail::read(&fixture.store, &reply.detail_hash).unwrap();
    Played { fixture, detail, points, warnings }
}

impl Played {
    fn snapshots(&self) -> RunSnapshots {
        self.detail.snapshots.clone().unwrap()
    }

    fn kinds(&self) -> Vec<CapturePoint> {
        self.points.iter().map(|(point, _)| *point).collect()
    }

    /// What happened to each path from the beginning to the end.
    fn changes(&self) -> Vec<(String, ChangeKind)> {
        let RunSnapshots { before, after, .. } = self.snapshots();
        let changes = diff(&self.fixture.store, &before.unwrap().tree, &after.unwrap().tree).unwrap();
        changes.iter().map(|change| (change.path.display().to_string(), change.kind())).collect()
    }
}

#[test]
fn a_run_keeps_what_was_before_and_what_is_after() {
    let fixture = RunFixture::new();
    fs::write(fixture.workspace().join("old"), "before\n").unwrap();
    let played = play(fixture, vec![write("new"), command("echo more >> old")], |_| ());
    assert_eq!(played.kinds(), [CapturePoint::Start, CapturePoint::Call, CapturePoint::End]);
    assert_eq!(
        played.changes(),
        [("new".to_owned(), ChangeKind::Added), ("old".to_owned(), ChangeKind::Modified)]
    );
    let RunSnapshots { before, after, failed } = played.snapshots();
    assert_eq!((before.unwrap().files, after.unwrap().files, failed), (1, 2, None));
    assert!(played.warnings.is_empty(), "{:?}", played.warnings);
}

#[test]
fn the_turn_of_a_command_has_the_workspace_after_it_where_that_is_another_one() {
    let turns = vec![command("true"), command("echo x > made"), command("cat made"), write("own")];
    let played = play(RunFixture::new(), turns, |_| ());
    let turns = played.detail.conversation(&played.fixture.store).unwrap();
    let results: Vec<_> = turns.iter().filter(|turn| turn.role.as_deref() == Some("tool")).collect();
    let trees: Vec<bool> = results.iter().map(|turn| turn.snapshot.is_some()).collect();
    assert_eq!(trees, [false, true, false, false]);
    assert_eq!(played.points[1], (CapturePoint::Call, results[1].call_id.clone()));
    let before = played.snapshots().before.unwrap().tree;
    let made = diff(&played.fixture.store, &before, &results[1].snapshot.unwrap()).unwrap();
    assert_eq!(made[0].path.to_str(), Some("made"));
}

#[test]
fn a_run_that_can_change_nothing_or_shall_keep_nothing_has_none() {
    let cases: [fn(&mut Settings); 2] = [
        |settings| settings.tools = Some(vec!["list_dir".into()]),
        |settings| settings.snapshots.enabled = false,
    ];
    for change in cases {
        let played = play(RunFixture::new(), vec![call("list_dir", json!({}))], change);
        assert_eq!((played.points.len(), played.detail.snapshots), (0, None));
    }
}

#[test]
fn what_is_too_large_is_told_once_with_its_setting_and_fails_nothing() {
    let few = |settings: &mut Settings| settings.snapshots.options.max_entries = 1;
    let played =
        play(RunFixture::new(), vec![command("touch a b"), command("touch c"), command("touch d")], few);
    assert_eq!(played.kinds(), [CapturePoint::Start]);
    let [(Concern::NoSnapshot, message)] = &played.warnings[..] else { panic!("{:?}", played.warnings) };
    assert!(message.contains("more than 1 files and directories; raise `snapshots.maxFiles`"), "{message}");
    let RunSnapshots { before, after, failed } = played.snapshots();
    assert_eq!((before.is_some(), after, failed.as_ref()), (true, None, Some(message)));
}

#[test]
fn a_file_that_is_left_out_is_named_with_its_setting() {
    let small = |settings: &mut Settings| settings.snapshots.options.max_file_bytes = 4;
    let played =
        play(RunFixture::new(), vec![command("echo 123456789 > large; echo 1 > small"), write("x")], small);
    let [(Concern::PartialSnapshot, message)] = &played.warnings[..] else { panic!("{:?}", played.warnings) };
    assert!(
        message.ends_with("'large': it has 10 bytes, and `snapshots.maxFileBytes` allows 4"),
        "{message}"
    );
    let after = played.snapshots().after.unwrap();
    assert_eq!((after.files, after.left_out), (1, 2), "the file of the tool is left out as well");
}

#[test]
fn a_workspace_has_one_cache_for_all_runs() {
    let mut fixture = RunFixture::new();
    for _ in 0..2 {
        fixture = play(fixture, vec![write("a")], |_| ()).fixture;
    }
    let home = fixture.journals().parent().unwrap().to_owned();
    assert_eq!(fs::read_dir(home.join("cache/snapshots")).unwrap().count(), 1);
}

#[test]
fn directories_of_ours_are_left_out_whatever_they_are_called() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    let own = root.join("#a {b}/[c]*");
    fs::create_dir_all(&own).unwrap();
    assert_eq!(pattern(root, &own).unwrap(), "/\\#a\\ \\{b\\}/\\[c\\]\\*/");
    fs::write(own.join("node"), "x").unwrap();
    fs::write(root.join("#a {b}/kept"), "x").unwrap();
    let store = Store::in_memory(builtin::PROFILE, || 1).unwrap();
    let leave_out = vec![pattern(root, &own).unwrap()];
    let options = Options { leave_out, ..Options::default() };
    let snapshot = capture(root, &options, &mut CaptureCache::in_memory(), &store).unwrap();
    assert_eq!((snapshot.entries, snapshot.left_out), (2, 1));
    assert_eq!((pattern(root, root), pattern(&own, root)), (None, None));
}

#[test]
fn who_goes_on_does_not_begin() {
    let started = Entry::Started { call_id: "a".into(), shown: None, at: 1 };
    assert_eq!(CapturePoint::of(&[]), CapturePoint::Start);
    assert_eq!(CapturePoint::of(&[Entry::Asked { at: 1 }]), CapturePoint::Start, "nothing has changed yet");
    assert_eq!(CapturePoint::of(&[started]), CapturePoint::Resume);
}
