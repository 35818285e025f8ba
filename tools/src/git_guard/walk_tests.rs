//! Tests of `walk`.

use std::fs;
use std::time::Duration;

use rustix::fs::CWD;

use super::*;
use crate::cancel::Cancel;

fn found(root: &Path, limit: Duration) -> FoundRepositories {
    let (cancel, mut found) = (Cancel::default(), FoundRepositories::default());
    found.add(root, &CheckDeadline::new(limit, &cancel));
    found
}

fn below(root: &Path, found: &FoundRepositories) -> Vec<String> {
    let shown = |path: &PathBuf| path.strip_prefix(root).unwrap().display().to_string();
    found.candidates.iter().map(shown).collect()
}

const LONG: Duration = Duration::from_secs(600);

#[test]
fn repositories_are_found_by_name_and_by_what_is_in_them() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    for path in
        ["a/.git", "b/objects", "b/refs", "b/modules/c/objects", "b/modules/c/refs", "no/objects", "no/refs"]
    {
        fs::create_dir_all(root.join(path)).unwrap();
    }
    fs::create_dir_all(root.join("b/objects/ab/.git")).unwrap();
    fs::create_dir_all(root.join("b/objects/cd")).unwrap();
    fs::create_dir_all(root.join("b/refs/heads")).unwrap();
    fs::create_dir_all(root.join("w")).unwrap();
    for path in [
        "b/HEAD",
        "b/modules/c/HEAD",
        "w/HEAD",
        "w/commondir",
        "no/objects/.git",
        "b/objects/cd/HEAD",
        "b/objects/cd/commondir",
        "b/refs/heads/.git",
    ] {
        fs::write(root.join(path), "x").unwrap();
    }
    std::os::unix::fs::symlink(root.join("a"), root.join("link")).unwrap();
    let found = found(&root, LONG);
    assert_eq!(
        below(&root, &found),
        [
            "a/.git",
            "b",
            "b/modules/c",
            "b/objects/ab/.git",
            "b/objects/cd",
            "b/refs/heads/.git",
            "no/objects/.git",
            "w"
        ]
    );
    assert!(found.missed.is_none() && found.opened.is_empty());
}

/// Deeper than a path may be long, than a thread's stack and than descriptors reach.
#[test]
fn depth_is_no_hiding_place() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().canonicalize().unwrap();
    let mut here = rustix::fs::openat(CWD, &root, dir::LOOK, Mode::empty()).unwrap();
    for _ in 0..5_000 {
        rustix::fs::mkdirat(&here, "d", Mode::RWXU).unwrap();
        here = rustix::fs::openat(&here, "d", dir::LOOK, Mode::empty()).unwrap();
    }
    rustix::fs::mkdirat(&here, ".git", Mode::RWXU).unwrap();
    fs::create_dir_all(root.join("z/.git")).unwrap();
    let found = found(&root, LONG);
    assert_eq!(found.candidates.len(), 2);
    assert!(
        found.candidates.iter().any(|candidate| candidate.as_os_str().len() > 10_000),
        "{:?}",
        found.missed
    );
    assert!(std::process::Command::new("rm").arg("-rf").arg(&root).status().unwrap().success());
}

#[test]
fn a_walk_without_time_says_what_it_did_not_reach() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir_all(dir.path().join("a/.git")).unwrap();
    let found = found(&dir.path().canonicalize().unwrap(), Duration::ZERO);
    assert!(found.candidates.is_empty());
    let missed = found.missed.unwrap();
    assert!(missed.starts_with("what is below /") && missed.ends_with("0 s were not enough"), "{missed}");
}

#[test]
fn a_walk_ends_soon_when_the_run_is_to_end() {
    let cancel = Cancel::default();
    let deadline = CheckDeadline::new(LONG, &cancel);
    assert!(!deadline.is_over());
    cancel.cancel();
    std::thread::sleep(Duration::from_millis(2100));
    assert!(deadline.is_over());
    assert_eq!(deadline.why(), "the run was cancelled");
}
