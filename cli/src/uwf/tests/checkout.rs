//! `thread checkout` and `step fork --worktree`: the workspace of a step in a directory of its own.

use std::fs;

use serde_json::json;
use uwf_engine::record::{Detail, RecordedSnapshot};
use uwf_engine::thread;

use super::command_line::CommandLine;
use super::played::{Played, files, files_in, ok, refused};
use super::workspace::{Workspace, detail};

#[test]
fn the_workspace_before_and_after_a_step_is_written_elsewhere() {
    let at = Played::new();
    let (there, project) = (at.files(), at.at.place.project());
    let told = ok(at.uwf(&["thread", "checkout", &at.nth(1), "after"])).json();
    assert_eq!(files_in(&project.join("after")), files(&[("a", "a"), ("both", "1"), ("gone", "gone")]));
    assert_eq!(
        (&told["step"], &told["files"], &told["dir"]),
        (&json!(at.steps[0]), &json!(3), &json!(project.join("after").canonicalize().unwrap()))
    );
    fs::create_dir(project.join("empty")).unwrap();
    ok(at.uwf(&["thread", "checkout", at.steps[0].as_str(), "empty", "--before"]));
    assert_eq!(files_in(&project.join("empty")), files(&[("both", "0"), ("gone", "gone")]));
    let text = at.at.place.on_terminal(&["thread", "checkout", &at.nth(2), "last"]).out;
    assert!(
        text.starts_with(&format!(
            "wrote the workspace as after step 2 of thread {}: 2 paths in ",
            at.thread
        ))
    );
    assert_eq!(files_in(&project.join("last")), there);
    // Neither is a link to the other.
    fs::write(project.join("last/both"), "mine\n").unwrap();
    assert_eq!(at.files(), there);
}

#[test]
fn a_directory_with_something_in_it_is_left_as_it_is() {
    let at = Played::new();
    let project = at.at.place.project();
    fs::create_dir(project.join("full")).unwrap();
    fs::write(project.join("full/a"), "mine\n").unwrap();
    for command in [
        vec!["thread", "checkout", &at.nth(1), "full"],
        vec!["step", "fork", &at.nth(1), "--worktree", "full"],
    ] {
        let said = refused(at.uwf(&command));
        assert!(said.contains("/full' is not empty: check a snapshot out into a new one\n"), "{said}");
    }
    assert_eq!(files_in(&project.join("full")), files(&[("a", "mine")]));
    let said = refused(at.uwf(&["thread", "checkout", &at.nth(1), "no/such"]));
    assert!(said.contains("cannot make the directory ") && said.contains("\n  hint: "), "{said}");
    // One that cannot be written whole is not left behind.
    let detail = thread::step_node(&at.at.store, &at.steps[0]).unwrap().detail;
    let tree = Detail::read(&at.at.store, &detail).unwrap().snapshots.unwrap().after.unwrap().tree;
    let content = at.at.store.refs(&tree).unwrap()[0];
    fs::remove_file(at.at.place.homes().ocas.join(format!("nodes/{content}.bin"))).unwrap();
    refused(at.uwf(&["thread", "checkout", &at.nth(1), "torn"]));
    assert!(!project.join("torn").exists());
}

#[test]
fn what_is_not_in_it_is_told_and_why_there_is_none() {
    let mut at = Workspace::new();
    let before = at.now();
    at.write("a", b"a\n");
    let after = RecordedSnapshot { left_out: 3, ..at.now() };
    let thread = at.place.flow_thread();
    at.step(&thread, &detail(&[], Vec::new(), [before, after]));
    at.step(
        &thread,
        &Detail { settings: json!({"snapshots": {"enabled": false}}), ..Detail::empty("s", "m") },
    );
    let ran = ok(at.place.uwf(&["thread", "checkout", &format!("{thread}:1"), "out", "-v"]));
    assert!(
        ran.err.contains("not in it: what snapshots leave out (3 there), such as what git ignores"),
        "{ran:?}"
    );
    let said = refused(at.place.uwf(&["thread", "checkout", &format!("{thread}:2"), "none"]));
    assert!(said.contains("cannot be checked out: its run was to keep no snapshots"), "{said}");
    assert!(!at.place.project().join("none").exists());
}

#[test]
fn a_fork_with_files_works_in_a_directory_of_its_own() {
    let at = Played::new();
    let there = at.files();
    let forked = ok(at.uwf(&["step", "fork", &at.nth(1), "--worktree", "other"])).json();
    let dir = at.at.place.project().join("other").canonicalize().unwrap();
    assert_eq!((&forked["cwd"], &forked["forkedFrom"]["step"]), (&json!(dir), &json!(at.steps[0])));
    let thread = forked["thread"].as_str().unwrap().parse().unwrap();
    let head = thread::head(&at.at.store, &thread).unwrap();
    assert_eq!(head.start(&at.at.store).unwrap().cwd, dir.to_str().unwrap());
    assert_eq!(files_in(&dir), files(&[("a", "a"), ("both", "1"), ("gone", "gone")]));
    // What is undone there is undone there alone.
    ok(at.uwf(&["undo", &format!("{thread}:1")]));
    assert_eq!(files_in(&dir), files(&[("both", "0"), ("gone", "gone")]));
    assert_eq!((at.files(), at.marks()), (there, vec![json!(null), json!(null)]));
    let plain = ok(at.uwf(&["step", "fork", &at.nth(1)])).json();
    assert!(plain.get("cwd").is_none(), "{plain}");

    let elsewhere = at.at.place.flow_thread();
    let [before, after] = [at.steps[0], at.steps[1]].map(|step| {
        let detail = thread::step_node(&at.at.store, &step).unwrap().detail;
        Detail::read(&at.at.store, &detail).unwrap().snapshots.unwrap().after.unwrap()
    });
    at.at.step(&elsewhere, &detail(&[], Vec::new(), [before, after]));
    let said = refused(at.uwf(&["step", "fork", &format!("{elsewhere}:1"), "--worktree", "third"]));
    assert!(said.contains(" worked in ") && said.contains(", and its thread works in "), "{said}");
    assert!(!at.at.place.project().join("third").exists());
}
