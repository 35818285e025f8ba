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
fn nearest_directory_first_then_the_order_of_the_forms() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    for name in [
        ".workflows/a.yaml",
        "sub/.workflow/a.yml",
        "sub/.workflow/a/index.yaml",
        ".workflow/b.yaml",
        ".workflows/b/index.yml",
        ".workflows/c.yml",
        ".workflows/c.yaml",
    ] {
        touch(root, name);
    }
    fs::create_dir_all(root.join("sub/deep")).unwrap();
    assert_eq!(found("a", root, "sub/deep").as_deref(), Some("sub/.workflow/a.yml"));
    assert_eq!(found("a", root, "").as_deref(), Some(".workflows/a.yaml"));
    assert_eq!(found("b", root, "sub").as_deref(), Some(".workflows/b/index.yml"));
    assert_eq!(found("c", root, "").as_deref(), Some(".workflows/c.yaml"));
    assert_eq!(found("d", root, "sub"), None);
}

#[test]
fn a_repository_is_not_left() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    touch(root, ".workflows/outer.yaml");
    touch(root, "repo/.git");
    touch(root, "repo/.workflows/inner.yaml");
    fs::create_dir_all(root.join("repo/src")).unwrap();
    assert_eq!(found("inner", root, "repo/src").as_deref(), Some("repo/.workflows/inner.yaml"));
    assert_eq!(found("outer", root, "repo/src"), None);
    assert_eq!(found("outer", root, "").as_deref(), Some(".workflows/outer.yaml"));
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
        ".workflows/empty/x.yaml",
        ".workflows/not a name.yaml",
        ".workflow/a.yml",
        ".workflow/c.yml",
    ] {
        touch(root, name);
    }
    let all = all(root);
    let told: Vec<_> =
        all.iter().map(|(name, path)| (name.as_str(), path.strip_prefix(root).unwrap())).collect();
    assert_eq!(
        told,
        [
            ("a", Path::new(".workflows/a.yaml")),
            ("b", Path::new(".workflows/b/index.yml")),
            ("c", Path::new(".workflow/c.yml")),
        ]
    );
}
