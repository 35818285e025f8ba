//! Tests of `dir`.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::process::Command;

use super::*;

const NAME_OF_IT: &str = "config";

fn put(dir: &Path, text: &str) -> io::Result<()> {
    Dir::open(dir).unwrap().put(NAME_OF_IT.as_ref(), &Content::File(text.into(), 0o640))
}

fn names(dir: &Path) -> Vec<String> {
    let names = Dir::open(dir).unwrap().names();
    names.iter().map(|name| name.to_string_lossy().into_owned()).collect()
}

fn scratch() -> (tempfile::TempDir, std::path::PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().canonicalize().unwrap();
    (dir, path)
}

#[test]
fn names_that_are_taken_are_no_hindrance() {
    let (_dir, path) = scratch();
    fs::create_dir(path.join(format!(".uwf-{}.tmp", std::process::id()))).unwrap();
    fs::create_dir_all(path.join("config/full")).unwrap();
    put(&path, "mine").unwrap();
    assert_eq!(fs::read_to_string(path.join("config")).unwrap(), "mine");
    assert_eq!(fs::metadata(path.join("config")).unwrap().mode() & 0o777, 0o640);
    let aside = names(&path).into_iter().find(|name| name.ends_with(".sample")).unwrap();
    assert!(path.join(aside).join("full").is_dir(), "the files of a directory in the place stay");
}

#[test]
fn nothing_goes_through_a_symlink() {
    let (_dir, path) = scratch();
    fs::write(path.join("other"), "theirs").unwrap();
    std::os::unix::fs::symlink("other", path.join("config")).unwrap();
    put(&path, "mine").unwrap();
    assert_eq!(fs::read_to_string(path.join("other")).unwrap(), "theirs");
    assert!(!path.join("config").is_symlink());
    std::os::unix::fs::symlink(".", path.join("here")).unwrap();
    assert!(Dir::open(&path.join("here")).is_none());
}

#[test]
fn what_was_not_kept_is_not_left_to_run() {
    let (_dir, path) = scratch();
    fs::write(path.join("config"), "evil").unwrap();
    let content = Dir::open(&path).unwrap().unread("config".as_ref());
    let error = Dir::open(&path).unwrap().put("config".as_ref(), &content).unwrap_err().to_string();
    assert!(
        error.starts_with("what was there before could not be kept; what was there is config.uwf-"),
        "{error}"
    );
    assert!(!path.join("config").exists());
}

/// A file system of its own without room, where one can be mounted.
#[test]
fn a_full_disk_keeps_no_program() {
    let (_dir, path) = scratch();
    let size = ["-t", "tmpfs", "-o", "size=64k", "uwf"];
    if !Command::new("mount").args(size).arg(&path).output().is_ok_and(|output| output.status.success()) {
        return;
    }
    fs::write(path.join("config"), "evil ".repeat(100)).unwrap();
    let _ = fs::write(path.join("full"), vec![0; 1 << 20]);
    let shorter = put(&path, "mine");
    let read = fs::read_to_string(path.join("config"));
    fs::write(path.join("config"), "evil").unwrap();
    let longer = put(&path, &"mine".repeat(10_000));
    let left = names(&path);
    assert!(Command::new("umount").arg(&path).status().unwrap().success());
    assert!(shorter.is_ok() && read.unwrap() == "mine", "{shorter:?}");
    assert!(longer.is_err() && !left.contains(&"config".to_owned()), "{longer:?} {left:?}");
    assert!(!left.iter().any(|name| name.ends_with(".tmp")), "{left:?}");
}

/// As root sees it: what is closed is opened and closed again.
#[test]
fn a_closed_directory_is_as_closed_afterwards() {
    let (_dir, path) = scratch();
    let closed = path.join("closed");
    fs::create_dir(&closed).unwrap();
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o111)).unwrap();
    put(&closed, "mine").unwrap();
    assert_eq!(fs::metadata(&closed).unwrap().mode() & 0o7777, 0o111);
    assert_eq!(fs::read_to_string(closed.join("config")).unwrap(), "mine");
}
