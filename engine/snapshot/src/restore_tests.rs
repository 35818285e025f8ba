//! Single cases of restoring: what is a conflict, what is kept, and what a run that was cut off leaves.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use super::ConflictReason::{Content, Missing, Mode, NotEmpty, Parent, Type};
use super::*;
use crate::diff::diff;
use crate::fixture::{Fixture, listing};

/// What undoes a change of the workspace.
fn undoing(f: &mut Fixture, act: impl FnOnce(&Fixture)) -> Vec<TreeChange> {
    let before = f.tree();
    act(f);
    let after = f.tree();
    diff(&f.store, &after, &before).unwrap()
}

fn all(f: &Fixture, changes: &[TreeChange]) -> Restored {
    restore(&f.store, changes, &f.dir(), false).unwrap()
}

fn remove(f: &Fixture, path: &str) {
    fs::remove_file(f.path(path)).unwrap();
}

fn conflict(path: &str, why: ConflictReason) -> Conflict {
    Conflict { path: path.into(), why }
}

#[test]
fn what_is_neither_is_a_conflict_and_nothing_is_changed() {
    let mut f = Fixture::new();
    for path in ["content", "gone", "mode", "type", "added", "rest", "d/parent"] {
        f.write(path, path);
    }
    remove(&f, "added");
    let undo = undoing(&mut f, |f| {
        for path in ["content", "gone", "mode", "type", "added", "rest"] {
            f.write(path, "changed");
        }
        remove(f, "d/parent");
    });
    f.write("content", "by somebody else");
    remove(&f, "gone");
    fs::set_permissions(f.path("mode"), Permissions::from_mode(0o600)).unwrap();
    remove(&f, "type");
    fs::create_dir(f.path("type")).unwrap();
    f.write("added", "CHANGED");
    fs::remove_dir(f.path("d")).unwrap();
    symlink("elsewhere", f.path("d")).unwrap();
    let there = listing(&f.dir());
    let restored = all(&f, &undo);
    let conflicts = [
        conflict("added", Content),
        conflict("content", Content),
        conflict("d/parent", Parent),
        conflict("gone", Missing),
        conflict("mode", Mode),
        conflict("type", Type),
    ];
    assert_eq!(restored, Restored { conflicts: conflicts.to_vec(), ..Restored::default() });
    assert_eq!(listing(&f.dir()), there);

    let partly = restore(&f.store, &undo, &f.dir(), true).unwrap();
    assert_eq!((partly.restored, partly.conflicts), (1, conflicts.to_vec()));
    let mut expected = there;
    expected.insert("rest".into(), b"file 644 rest".to_vec());
    assert_eq!(listing(&f.dir()), expected);
}

#[test]
fn again_changes_nothing() {
    let mut f = Fixture::new();
    f.write("a", "a");
    f.write("b/c", "c");
    let undo = undoing(&mut f, |f| {
        f.write("a", "A");
        fs::remove_dir_all(f.path("b")).unwrap();
        f.write("new/x", "x");
    });
    let restored = all(&f, &undo);
    assert_eq!((restored.restored, restored.already), (5, 0));
    let inode = fs::metadata(f.path("a")).unwrap().ino();
    let again = all(&f, &undo);
    assert_eq!(again, Restored { already: 5, ..Restored::default() });
    assert_eq!(fs::metadata(f.path("a")).unwrap().ino(), inode);
}

#[test]
fn directories_with_something_of_somebodys_are_kept() {
    let mut f = Fixture::new();
    f.write(".gitignore", "*.log\n");
    let undo = undoing(&mut f, |f| f.write("d/e/x", "x"));
    f.write("d/e/y.log", "in no snapshot");
    let restored = all(&f, &undo);
    assert_eq!(restored.conflicts, []);
    assert_eq!(restored.kept, [PathBuf::from("d/e"), "d".into()]);
    assert!(f.path("d/e/y.log").exists() && !f.path("d/e/x").exists());
}

#[test]
fn a_directory_is_not_replaced_with_something_of_somebodys_in_it() {
    let mut f = Fixture::new();
    f.write("x", "file");
    let undo = undoing(&mut f, |f| {
        remove(f, "x");
        f.write("x/y", "y");
    });
    f.write("x/z", "in no snapshot");
    assert_eq!(all(&f, &undo).conflicts, [conflict("x", NotEmpty)]);
    assert!(f.path("x/y").exists());
    remove(&f, "x/z");
    assert_eq!(all(&f, &undo).restored, 2);
    assert_eq!(fs::read(f.path("x")).unwrap(), b"file");
}

/// A directory, a file and a symlink in each other's place, both ways, with things below.
#[test]
fn types_change_both_ways() {
    let mut f = Fixture::new();
    f.write("a/b/c", "c");
    f.write("f", "f");
    symlink("f", f.path("l")).unwrap();
    let before = listing(&f.dir());
    let first = f.tree();
    let undo = undoing(&mut f, |f| {
        fs::remove_dir_all(f.path("a")).unwrap();
        symlink("f", f.path("a")).unwrap();
        for path in ["f", "l"] {
            remove(f, path);
            f.write(&format!("{path}/x/y"), path);
        }
    });
    let second = f.tree();
    let after = listing(&f.dir());
    assert_eq!(all(&f, &undo).conflicts, []);
    assert_eq!(listing(&f.dir()), before);
    assert_eq!(all(&f, &diff(&f.store, &first, &second).unwrap()).conflicts, []);
    assert_eq!(listing(&f.dir()), after);
}

#[test]
fn permissions_of_directories_come_back() {
    let mut f = Fixture::new();
    f.write("closed/x", "x");
    let mode = |mode| Permissions::from_mode(mode);
    fs::set_permissions(f.path("closed"), mode(0o500)).unwrap();
    let undo = undoing(&mut f, |f| {
        fs::set_permissions(f.path("closed"), mode(0o755)).unwrap();
        f.write("closed/x", "y");
        f.write("open/z", "z");
        fs::set_permissions(f.path("open"), mode(0o777)).unwrap();
    });
    let after = f.tree();
    let redo: Vec<TreeChange> = undo
        .iter()
        .cloned()
        .map(|change| TreeChange { before: change.after, after: change.before, ..change })
        .collect();
    all(&f, &undo);
    assert_eq!(fs::metadata(f.path("closed")).unwrap().mode() & 0o777, 0o500);
    assert_eq!(fs::read(f.path("closed/x")).unwrap(), b"x");
    assert_eq!(all(&f, &redo).conflicts, []);
    assert_eq!(f.tree(), after);
}

/// One path of many, in a directory that is gone.
#[test]
fn some_of_the_paths_can_be_restored_alone() {
    let mut f = Fixture::new();
    f.write("d/e/one", "1");
    f.write("d/e/two", "2");
    let mut undo = undoing(&mut f, |f| fs::remove_dir_all(f.path("d")).unwrap());
    undo.retain(|change| change.path.ends_with("one"));
    assert_eq!(all(&f, &undo).restored, 1);
    assert_eq!(fs::read(f.path("d/e/one")).unwrap(), b"1");
    assert!(!f.path("d/e/two").exists());
}

/// A content that is not there is found before anything is changed, and nothing is left of what was written.
#[test]
fn a_lost_content_changes_nothing() {
    let mut f = Fixture::new();
    f.write("a", "a");
    f.write("b", "b");
    let mut undo = undoing(&mut f, |f| {
        f.write("a", "A");
        f.write("b", "B");
    });
    let there = listing(&f.dir());
    let lost = Hash::from_static("0000000000000");
    if let Some(crate::SnapshotEntry::File { content, .. }) = &mut undo[1].after {
        *content = lost;
    }
    assert!(restore(&f.store, &undo, &f.dir(), false).is_err());
    assert_eq!(listing(&f.dir()), there);
}

/// What a run left that was cut off while it wrote is replaced.
#[test]
fn leftovers_are_taken_away() {
    let mut f = Fixture::new();
    f.write("a", "a");
    f.write("d/x", "x");
    let undo = undoing(&mut f, |f| {
        f.write("a", "A");
        fs::remove_dir_all(f.path("d")).unwrap();
    });
    let restored = |f: &Fixture| {
        all(f, &undo);
        listing(&f.dir())
    };
    let whole = restored(&f);
    for path in ["a", "d", "d/x"] {
        let sum = xxhash_rust::xxh64::xxh64(path.as_bytes(), 0);
        let leftover = format!(".uwf-restore-{sum:016x}");
        f.write("a", "A");
        fs::remove_dir_all(f.path("d")).unwrap();
        match path {
            "d" => fs::create_dir(f.path(&leftover)).unwrap(),
            _ => f.write(&leftover, "half"),
        }
        assert_eq!(restored(&f), whole, "{path}");
    }
}

/// A directory that was not there when a run was cut off may be there for the next one, and a path may be done by then.
#[test]
fn what_a_run_left_that_was_cut_off_is_removed_wherever_it_lies() {
    let mut f = Fixture::new();
    f.write("done", "before");
    f.write("d/e/x", "gone");
    let undo = undoing(&mut f, |f| {
        f.write("done", "after");
        fs::remove_dir_all(f.path("d")).unwrap();
    });
    f.write("done", "before");
    fs::create_dir_all(f.path("d")).unwrap();
    for (directory, path) in [("", "done"), ("", "d/e/x"), ("d/", "d/e/x"), ("d/", "d/e")] {
        let sum = xxhash_rust::xxh64::xxh64(path.as_bytes(), 0);
        f.write(&format!("{directory}.uwf-restore-{sum:016x}"), "half");
    }
    f.write(".uwf-restore-0123456789abcdef", "of somebody else");
    all(&f, &undo);
    let paths: Vec<_> = listing(&f.dir()).into_keys().map(|path| path.display().to_string()).collect();
    assert_eq!(paths, [".uwf-restore-0123456789abcdef", "d", "d/e", "d/e/x", "done"]);
}

#[test]
fn paths_that_leave_the_workspace_are_refused() {
    let f = Fixture::new();
    for path in ["", "/etc/passwd", "../x", "a/../../x"] {
        let file = crate::SnapshotEntry::Symlink { target: "x".into() };
        let change = TreeChange { path: path.into(), renamed_from: None, before: None, after: Some(file) };
        let error = restore(&f.store, &[change], &f.dir(), false).unwrap_err();
        assert!(matches!(error, SnapshotError::BadPath { .. }), "{path}: {error}");
    }
}

#[test]
fn a_snapshot_is_checked_out_where_nothing_is() {
    let mut f = Fixture::new();
    f.write("run", "#!/bin/sh\n");
    fs::set_permissions(f.path("run"), Permissions::from_mode(0o755)).unwrap();
    f.write("large", vec![0xfe; (3 << 20) + 5]);
    f.write("d/e/f", "");
    fs::create_dir(f.path("empty")).unwrap();
    symlink("run", f.path("link")).unwrap();
    let tree = f.tree();
    let out = f.place.path().join("out");
    fs::create_dir(&out).unwrap();
    let restored = checkout(&f.store, &tree, &out).unwrap();
    assert_eq!(restored, Restored { restored: 7, ..Restored::default() });
    assert_eq!(listing(&out), listing(&f.dir()));
    let error = checkout(&f.store, &tree, &out).unwrap_err();
    assert!(matches!(error, SnapshotError::NotEmpty { .. }), "{error}");
}

/// A run that was cut off after what was there had to go, and before what shall be there came.
#[test]
fn nothing_is_no_conflict_between_a_directory_and_a_file() {
    let mut f = Fixture::new();
    f.write("x", "file");
    f.write("d/y", "y");
    let before = listing(&f.dir());
    let undo = undoing(&mut f, |f| {
        remove(f, "x");
        f.write("x/z", "z");
        fs::remove_dir_all(f.path("d")).unwrap();
        f.write("d", "file");
    });
    fs::remove_dir_all(f.path("x")).unwrap();
    remove(&f, "d");
    assert_eq!(all(&f, &undo).conflicts, []);
    assert_eq!(listing(&f.dir()), before);
}
