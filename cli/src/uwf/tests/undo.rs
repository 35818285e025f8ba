//! `undo` and `redo`: what is refused and how that is told, what is left alone, what is marked.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};
use uwf_engine::lock::ThreadLock;
use uwf_engine::record::{Detail, RecordedSnapshot, UndoKind, UndoRecord};
use uwf_engine::thread;
use uwf_engine::undo_log::{self, UndoLog};

use super::command_line::CommandLine;
use super::played::{Played, files, ok, refused};
use super::workspace::{Workspace, detail};

#[test]
fn steps_are_undone_from_the_last_to_the_first_and_done_again() {
    let at = Played::new();
    let last = at.files();
    let told = ok(at.uwf(&["undo", &at.nth(2)])).json();
    assert_eq!(at.files(), files(&[("a", "a"), ("both", "1"), ("gone", "gone")]));
    assert_eq!((&told["paths"], &told["left"]), (&json!(["both", "gone"]), &json!([])));
    assert_eq!((&told["kind"], &told["step"]), (&json!("undo"), &json!(at.steps[1])));
    ok(at.uwf(&["undo", at.steps[0].as_str()]));
    assert_eq!(at.files(), files(&[("both", "0"), ("gone", "gone")]));
    assert_eq!(at.marks(), [json!("whole"), json!("whole")]);
    let text = at.at.place.on_terminal(&["step", "list", at.thread.as_str()]).out;
    assert_eq!(text.matches("checked (undone)").count(), 2, "{text}");

    let told = ok(at.uwf(&["redo", at.thread.as_str()])).json();
    assert_eq!(told["step"], json!(at.steps[0]), "the last undo first");
    assert_eq!(at.marks(), [Value::Null, json!("whole")]);
    let dir = at.at.dir();
    ok(at.uwf(&["redo", "--cwd", dir.to_str().unwrap()]));
    assert_eq!(at.files(), last);
    assert_eq!(at.marks(), [Value::Null, Value::Null]);
    let none = refused(at.uwf(&["redo", at.thread.as_str()]));
    assert!(none.contains(&format!("nothing of thread {} is undone\n  hint: ", at.thread)), "{none}");
    let none = refused(at.uwf(&["redo"]));
    assert!(none.contains("nothing is undone in "), "{none}");

    // What was done again is undone like anything else.
    ok(at.uwf(&["undo", &at.nth(2)]));
    let again = refused(at.uwf(&["undo", &at.nth(2)]));
    assert!(again.contains("is undone already\n  hint: `uwf redo "), "{again}");
    ok(at.uwf(&["redo", &at.nth(2)]));
    assert_eq!(at.files(), last);
}

/// A redo that was killed: it is in the log, and some of it is done, or nothing.
#[test]
fn a_redo_that_was_cut_off_is_undone_wholly() {
    for is_begun in [false, true] {
        let at = Played::new();
        let last = at.files();
        ok(at.uwf(&["undo", &at.nth(2)]));
        let undone = at.files();
        let (undo, record) = UndoLog::of(&at.at.store, &at.thread).unwrap().last().unwrap().clone();
        let redo = UndoRecord {
            kind: UndoKind::Redo,
            before: record.after,
            after: record.before,
            takes_back: Some(undo),
            previous: Some(undo),
            ..record
        };
        undo_log::append(&at.at.store, &at.thread, &redo).unwrap();
        if is_begun {
            at.at.write("both", b"2\n");
        }
        ok(at.uwf(&["undo", &at.nth(2)]));
        assert_eq!((at.files(), at.marks()), (undone, vec![Value::Null, json!("whole")]));
        ok(at.uwf(&["redo", &at.nth(2)]));
        assert_eq!((at.files(), at.marks()), (last, vec![Value::Null, Value::Null]));
    }
}

#[test]
fn each_path_that_is_not_as_the_step_left_it_is_named_and_nothing_is_changed() {
    let at = Played::new();
    at.at.write("a", b"mine\n");
    let there = at.files();
    let said = refused(at.uwf(&["undo", &at.nth(1)]));
    for part in [
        &format!(
            "error: step 1 of thread {} cannot be undone: 2 of its 2 paths are not as expected",
            at.thread
        ),
        "  caused by: 'a': its content has changed\n",
        "  caused by: 'both': its content has changed\n",
        &format!("  hint: step 2 changed some of these later: `uwf undo {}` first; --partial", at.nth(2)),
    ] {
        assert!(said.contains(part), "{part:?}: {said}");
    }
    assert_eq!((at.files(), at.marks()), (there, vec![Value::Null, Value::Null]));
    ok(at.uwf(&["undo", &at.nth(2)]));
    fs::set_permissions(at.at.dir().join("a"), Permissions::from_mode(0o600)).unwrap();
    at.at.write("a", b"a\n");
    let said = refused(at.uwf(&["undo", &at.nth(1)]));
    assert!(said.contains("1 of its 2 paths is not") && said.contains("'a': its permissions have changed\n"));
    assert!(!said.contains("changed some of these later"), "{said}");
}

#[test]
fn the_rest_is_undone_and_done_again_where_that_is_wanted() {
    let at = Played::new();
    at.at.write("gone", b"mine\n");
    let there = at.files();
    let ran = ok(at.uwf(&["undo", &at.nth(2), "--partial"]));
    assert_eq!(ran.json()["left"], json!([{"path": "gone", "why": "something is there"}]));
    assert_eq!(ran.err, "warning: 'gone' stays as it is: something is there\n");
    assert_eq!(at.files(), files(&[("a", "a"), ("both", "1"), ("gone", "mine")]));
    assert_eq!(at.marks(), [Value::Null, json!("part")]);
    let said = refused(at.uwf(&["undo", &at.nth(2), "--partial"]));
    assert!(said.contains("is undone already"), "{said}");
    // What was left becomes free to be undone.
    fs::remove_file(at.at.dir().join("gone")).unwrap();
    let told = ok(at.uwf(&["undo", &at.nth(2)])).json();
    assert_eq!(told["paths"], json!(["gone"]));
    assert_eq!(at.marks(), [Value::Null, json!("whole")]);

    at.at.write("both", b"mine\n");
    ok(at.uwf(&["redo", &at.nth(2)]));
    let said = refused(at.uwf(&["redo", &at.nth(2)]));
    assert!(said.contains("cannot be redone: 1 of its 1 paths is not as expected"), "{said}");
    let said = refused(at.uwf(&["redo", &at.nth(2), "--partial"]));
    assert!(said.contains("nothing of step 2 of thread") && said.contains("'both': its content"), "{said}");
    at.at.write("both", b"1\n");
    ok(at.uwf(&["redo", &at.nth(2)]));
    at.at.write("gone", b"mine\n");
    assert_eq!(at.files(), there);
}

#[test]
fn what_would_be_done_is_told_as_changes_are() {
    let at = Played::new();
    let there = at.files();
    let told = ok(at.uwf(&["undo", &at.nth(2), "--dry-run"])).json();
    assert_eq!((&told["dryRun"], &told["operation"]), (&json!(true), &Value::Null));
    let names = ok(at.uwf(&["undo", &at.nth(2), "--dry-run", "--name-only"])).out;
    assert_eq!(names, "both\ngone\n");
    let stat = ok(at.uwf(&["undo", &at.nth(2), "--dry-run", "--stat"])).out;
    assert!(stat.contains("2 files changed, 2 insertions(+), 1 deletion(-)"), "{stat}");
    let text = ok(at.at.place.on_terminal(&["undo", &at.nth(2), "--dry-run"])).out;
    let sentence =
        format!("would undo step 2 of thread {}: 2 paths in {}\n", at.thread, at.at.dir().display());
    assert!(text.starts_with(&stat) && text.ends_with(&sentence), "{text}");
    assert_eq!((at.files(), at.marks()), (there, vec![Value::Null, Value::Null]));
    let none = refused(at.uwf(&["redo", &at.nth(2)]));
    assert!(none.contains(&format!("nothing of step 2 of thread {} is undone", at.thread)), "{none}");
}

#[test]
fn a_step_may_be_named_by_its_number_wherever_a_step_is() {
    let at = Played::new();
    for command in ["show", "read", "diff"] {
        for (number, hash) in at.steps.iter().enumerate() {
            let [by_number, by_hash] =
                [&at.nth(number + 1), hash.as_str()].map(|step| ok(at.uwf(&["step", command, step])).out);
            assert_eq!(by_number, by_hash);
        }
    }
    let forked = ok(at.uwf(&["step", "fork", &at.nth(1)])).json();
    assert_eq!(forked["forkedFrom"]["step"], json!(at.steps[0]));
    let none = refused(at.uwf(&["step", "show", &at.nth(3)]));
    assert!(none.contains(&format!("thread {} has no step 3: it has 2\n", at.thread)), "{none}");
    let none = refused(at.uwf(&["undo", &format!("{}:-3", at.thread)]));
    assert!(none.contains(&format!("thread {} has no step -3: it has 2\n", at.thread)), "{none}");
    for bad in ["0", "", "-0", "--1"] {
        let none = refused(at.uwf(&["undo", &format!("{}:{bad}", at.thread)]));
        let told = format!(
            "`{}:{bad}` names no step\n  hint: behind the colon expected a number from 1 on",
            at.thread
        );
        assert!(none.contains(&told), "{none}");
    }
}

#[test]
fn a_thread_that_runs_is_left_alone() {
    let at = Played::new();
    let there = at.files();
    let workflow = at.at.store.put_text("w").unwrap();
    let home = at.at.place.homes().uwf;
    let lock = ThreadLock::acquire(&home, &at.thread, &workflow, 1).unwrap();
    for args in [["undo", &at.nth(2)], ["redo", at.thread.as_str()]] {
        let said = refused(at.uwf(&args));
        assert!(said.contains("is already running, in process"), "{said}");
    }
    drop(lock);
    assert_eq!(at.files(), there);
    ok(at.uwf(&["undo", &at.nth(2)]));
}

#[test]
fn a_step_without_snapshots_says_why_and_what_to_do() {
    let mut at = Workspace::new();
    let thread = at.place.flow_thread();
    let off = Detail { settings: json!({"snapshots": {"enabled": false}}), ..Detail::empty("s", "m") };
    at.step(&thread, &off);
    let same = at.now();
    at.step(&thread, &detail(&[], Vec::new(), [same, same]));
    let said = refused(at.place.uwf(&["undo", &format!("{thread}:1")]));
    assert!(said.contains("cannot be undone: its run was to keep no snapshots"), "{said}");
    assert!(
        said.contains("\n  hint: `uwf step diff ") && said.contains(" --patch | git apply -R`"),
        "{said}"
    );
    let said = refused(at.place.uwf(&["undo", &format!("{thread}:2")]));
    assert!(said.contains("changed nothing in the workspace to be undone"), "{said}");
    let gone = at.dir().join("gone");
    let said = refused(at.place.uwf(&["undo", &format!("{thread}:2"), "--cwd", gone.to_str().unwrap()]));
    assert!(said.contains("cannot use the directory") && said.contains("--cwd DIR"), "{said}");
}

#[test]
fn what_is_in_no_snapshot_is_said_not_to_be_undone() {
    let mut at = Workspace::new();
    let before = at.now();
    at.write("seen", b"x\n");
    let after = RecordedSnapshot { left_out: 1, ..at.now() };
    at.write(".env", b"KEY\n");
    let changes = vec![at.tool("seen", None, "x\n"), at.tool(".env", None, "KEY\n")];
    let mut detail = detail(&[], changes, [before, after]);
    detail.snapshots.as_mut().unwrap().failed = Some("not all of it is in its snapshots".to_owned());
    let thread = at.place.flow_thread();
    at.step(&thread, &detail);
    let ran = ok(at.place.uwf(&["undo", &format!("{thread}:1")]));
    assert!(ran.err.contains("warning: not all of it is in its snapshots\n"), "{ran:?}");
    assert!(ran.err.contains("though editing tools worked on it: '.env'\n"), "{ran:?}");
    assert!(!at.dir().join("seen").exists() && at.dir().join(".env").exists());
}

#[test]
fn a_failed_attempt_is_undone_by_its_hash() {
    let mut at = Workspace::new();
    let before = at.now();
    at.write("half", b"x\n");
    let after = at.now();
    let thread = at.place.flow_thread();
    let step = at.failed_step(&thread, &detail(&[], Vec::new(), [before, after]));
    assert_eq!(thread::owner(&at.store, &step).unwrap(), Some(thread));
    let told = ok(at.place.uwf(&["undo", step.as_str()])).json();
    assert_eq!((&told["thread"], &told["paths"]), (&json!(thread), &json!(["half"])));
    let listed = at.place.uwf(&["step", "list", thread.as_str()]).json();
    assert_eq!(listed["failed"][0]["undone"], "whole");
    ok(at.place.uwf(&["redo", step.as_str()]));
    assert!(at.dir().join("half").exists());
}

#[test]
fn a_directory_with_something_of_somebodys_in_it_stays() {
    let mut at = Workspace::new();
    let before = at.now();
    fs::create_dir(at.dir().join("d")).unwrap();
    at.write("d/made", b"x\n");
    let after = at.now();
    let thread = at.place.flow_thread();
    at.step(&thread, &detail(&[], Vec::new(), [before, after]));
    at.write("d/mine", b"mine\n");
    let ran = ok(at.place.uwf(&["undo", &format!("{thread}:1")]));
    assert_eq!(ran.json()["kept"], json!(["d"]));
    assert!(ran.err.contains("the directory 'd' stays: there is something in it"), "{ran:?}");
    assert_eq!(at.read("d/mine"), "mine\n");
    ok(at.place.uwf(&["redo"].iter().chain(&[thread.as_str()]).copied().collect::<Vec<_>>()));
    assert_eq!(at.read("d/made"), "x\n");
}
