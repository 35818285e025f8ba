//! Where names are looked for, and where not.

use std::fs;
use std::path::Path;

use super::{all, find};

fn touch(root: &Path, name: &str) {
    let path = root.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, "").unwrap();
}

fn found(name: &str, root: &Path, cwd: &str) -> Option<String> {
    let path = find(name, &root.join(cwd))?;
    Some(path.strip_prefix(root).unwrap().to_str().unwrap().to_owned())
}

#[test]
fn the_order_of_the_directories_and_of_the_forms() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    for name in [
        ".workflow/a.yml",
        ".workflow/a/index.yaml",
        ".workflows/a.yaml",
        ".workflows/b/index.yml",
        ".workflows/c.yml",
        ".workflows/c.yaml",
    ] {
        touch(root, name);
    }
    assert_eq!(found("a", root, "").as_deref(), Some(".workflow/a.yml"));
    assert_eq!(found("b", root, "").as_deref(), Some(".workflows/b/index.yml"));
    assert_eq!(found("c", root, "").as_deref(), Some(".workflows/c.yaml"));
    assert_eq!(found("d", root, ""), None);
}

#[test]
fn only_the_nearest_place_counts() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    touch(root, ".workflow/a.yaml");
    touch(root, ".workflow/b.yaml");
    touch(root, "sub/.workflows/a.yaml");
    // A file is no directory of workflows.
    touch(root, "sub/deep/.workflow");
    fs::create_dir_all(root.join("sub/deep/er")).unwrap();
    assert_eq!(found("a", root, "sub/deep/er").as_deref(), Some("sub/.workflows/a.yaml"));
    assert_eq!(found("b", root, "sub/deep/er"), None);
    let names: Vec<_> = all(&root.join("sub")).into_keys().collect();
    assert_eq!(names, ["a"]);
    assert_eq!(found("b", root, "").as_deref(), Some(".workflow/b.yaml"));
    fs::create_dir(root.join("sub/deep/er/.workflows")).unwrap();
    assert_eq!(found("a", root, "sub/deep/er"), None, "an empty one is one, too");
}

#[test]
fn the_walk_goes_on_above_a_repository() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    touch(root, ".workflows/outer.yaml");
    touch(root, "repo/.git");
    fs::create_dir_all(root.join("repo/src")).unwrap();
    assert_eq!(found("outer", root, "repo/src").as_deref(), Some(".workflows/outer.yaml"));
}

#[test]
fn names_cannot_be_paths() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    touch(root, "index.yaml");
    touch(root, ".workflows/index.yaml");
    for name in ["..", ".", "", "a/b", "../x"] {
        assert_eq!(found(name, root, ""), None, "{name}");
    }
}

#[test]
fn all_are_the_ones_that_can_be_found() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    for name in [
        ".workflows/a.yaml",
        ".workflows/b/index.yml",
        ".workflows/notes.md",
        ".workflows/a.mock.yaml",
        ".workflows/empty/x.yaml",
        ".workflows/not a name.yaml",
        ".workflow/a.yml",
        ".workflow/c.yml",
    ] {
        touch(root, name);
    }
    assert_eq!(found("a.mock", root, ""), None);
    let all = all(root);
    let told: Vec<_> =
        all.iter().map(|(name, path)| (name.as_str(), path.strip_prefix(root).unwrap())).collect();
    assert_eq!(
        told,
        [
            ("a", Path::new(".workflow/a.yml")),
            ("b", Path::new(".workflows/b/index.yml")),
            ("c", Path::new(".workflow/c.yml")),
        ]
    );
}

/// Only root can give a directory away.
#[test]
fn what_somebody_else_made_farther_up_is_passed_over() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    touch(root, ".workflow/a.yaml");
    touch(root, "work/file");
    assert_eq!(found("a", root, "work").unwrap(), ".workflow/a.yaml");
    if std::os::unix::fs::chown(root.join(".workflow"), Some(4242), None).is_ok() {
        assert_eq!(found("a", root, "work"), None);
        std::os::unix::fs::chown(root.join("work"), Some(4242), None).unwrap();
        assert_eq!(found("a", root, "work").unwrap(), ".workflow/a.yaml", "the work is theirs as well");
    }
}
