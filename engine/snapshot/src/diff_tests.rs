//! What differs between two states of a workspace.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};

use super::*;
use crate::change::ChangeKind::{self, Added, Modified, Removed, Renamed, Retyped};
use crate::fixture::Fixture;

/// What changes a workspace, in short.
fn changes(f: &mut Fixture, act: impl FnOnce(&Fixture)) -> Vec<(String, ChangeKind)> {
    let before = f.tree();
    act(f);
    let after = f.tree();
    let shown = |change: &TreeChange| {
        let path = change.path.display();
        match &change.renamed_from {
            Some(from) => (format!("{} -> {path}", from.display()), change.kind()),
            None => (path.to_string(), change.kind()),
        }
    };
    diff(&f.store, &before, &after).unwrap().iter().map(shown).collect()
}

fn told(expected: &[(&str, ChangeKind)]) -> Vec<(String, ChangeKind)> {
    expected.iter().map(|(path, kind)| ((*path).to_owned(), *kind)).collect()
}

#[test]
fn every_kind_is_told_sorted_by_path() {
    let mut f = Fixture::new();
    for path in ["a.txt", "a/x", "gone", "mode", "text", "to_dir", "to_link", "moved/deep/one"] {
        f.write(path, path);
    }
    let found = changes(&mut f, |f| {
        f.write("a/new/y", "new");
        f.write("a-b", "also new");
        fs::remove_file(f.path("gone")).unwrap();
        fs::set_permissions(f.path("mode"), Permissions::from_mode(0o755)).unwrap();
        f.write("text", "TEXT");
        fs::remove_file(f.path("to_dir")).unwrap();
        f.write("to_dir/z", "z");
        fs::remove_file(f.path("to_link")).unwrap();
        symlink("text", f.path("to_link")).unwrap();
        fs::rename(f.path("moved/deep/one"), f.path("one")).unwrap();
        fs::set_permissions(f.path("moved"), Permissions::from_mode(0o700)).unwrap();
    });
    let expected = [
        ("a-b", Added),
        ("a/new", Added),
        ("a/new/y", Added),
        ("gone", Removed),
        ("mode", Modified),
        ("moved", Modified),
        ("moved/deep/one -> one", Renamed),
        ("text", Modified),
        ("to_dir", Retyped),
        ("to_dir/z", Added),
        ("to_link", Retyped),
    ];
    assert_eq!(found, told(&expected));
}

#[test]
fn renames_are_exact_prefer_the_same_name_and_pass_over_empty_files() {
    let mut f = Fixture::new();
    for (path, content) in [("a/1", "same"), ("a/2", "same"), ("empty", ""), ("edited", "text")] {
        f.write(path, content);
    }
    let found = changes(&mut f, |f| {
        fs::create_dir(f.path("b")).unwrap();
        fs::rename(f.path("a/1"), f.path("c")).unwrap();
        fs::rename(f.path("a/2"), f.path("b/2")).unwrap();
        f.write("copy", "same");
        fs::rename(f.path("empty"), f.path("empty2")).unwrap();
        fs::remove_file(f.path("edited")).unwrap();
        f.write("edited2", "text!");
    });
    let expected = [
        ("b", Added),
        ("a/2 -> b/2", Renamed),
        ("a/1 -> c", Renamed),
        ("copy", Added),
        ("edited", Removed),
        ("edited2", Added),
        ("empty", Removed),
        ("empty2", Added),
    ];
    assert_eq!(found, told(&expected));
}

#[test]
fn a_directory_that_goes_is_told_with_all_that_was_in_it() {
    let mut f = Fixture::new();
    f.write("d/e/f", "x");
    let found = changes(&mut f, |f| fs::remove_dir_all(f.path("d")).unwrap());
    assert_eq!(found, told(&[("d", Removed), ("d/e", Removed), ("d/e/f", Removed)]));
    assert_eq!(changes(&mut f, |_| ()), []);
}

#[test]
fn of_a_move_of_which_one_end_is_wanted_that_end_is_told() {
    let mut f = Fixture::new();
    f.write("from", "x");
    f.write("both", "y");
    let before = f.tree();
    fs::rename(f.path("from"), f.path("to")).unwrap();
    fs::rename(f.path("both"), f.path("other")).unwrap();
    let after = f.tree();
    let all = diff(&f.store, &before, &after).unwrap();
    let found = only(&all, |path| path != Path::new("to"));
    let found: Vec<_> = found.iter().map(|change| (change.path.to_str().unwrap(), change.kind())).collect();
    assert_eq!(found, [("from", Removed), ("other", Renamed)]);
    assert_eq!(only(&all, |_| true), all);
}

/// The trees of what has not changed are not there to be read.
#[test]
fn unchanged_directories_are_not_read() {
    let f = Fixture::new();
    let nowhere = |text| SnapshotEntry::Directory { tree: Hash::from_static(text), mode: 0o755 };
    let root = |file: &[u8]| {
        let mut batch = f.store.batch();
        let content = batch.put_blob(&mut &*file).unwrap();
        let file = SnapshotEntry::File { content: content.hash, size: content.size, mode: 0o644 };
        let lost = nowhere("0000000000000");
        let entries = [("f", &file), ("lost", &lost)].map(|(name, entry)| (name.as_ref(), entry));
        let tree = tree::put(&mut batch, entries.into_iter()).unwrap();
        batch.commit().unwrap();
        tree
    };
    let (a, b) = (root(b"a"), root(b"b"));
    let found = diff(&f.store, &a, &b).unwrap();
    assert_eq!(found.iter().map(|change| change.path.to_str().unwrap()).collect::<Vec<_>>(), ["f"]);
    assert_eq!(
        diff(&f.store, &Hash::from_static("0000000000000"), &Hash::from_static("0000000000000")).unwrap(),
        []
    );
    assert!(everything(&f.store, &a).is_err());
}
