//! Tests of `workspace`: what a path reaches, through every tool that takes one.

use std::os::unix::fs as unix;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use std::{fs, thread};

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::scratch::Scratch;

const SECRET: &str = "outside-the-workspace";

fn with_secret() -> Scratch {
    let scratch = Scratch::new();
    fs::write(scratch.outside().join("secret"), SECRET).unwrap();
    fs::create_dir(scratch.outside().join("other")).unwrap();
    fs::write(scratch.outside().join("other/secret"), SECRET).unwrap();
    scratch
}

/// Every tool that takes a path refuses this one, and nothing outside is shown or changed.
#[track_caller]
fn stays_inside(scratch: &Scratch, path: &str) {
    let calls = [
        ("read_file", json!({"path": path})),
        ("write_file", json!({"path": path, "content": "changed"})),
        ("edit_file", json!({"path": path, "old_string": SECRET, "new_string": "changed"})),
        ("edit_file", json!({"path": path, "old_string": "", "new_string": "changed"})),
        ("list_dir", json!({"path": path})),
        ("grep", json!({"pattern": "outside", "path": path})),
        ("glob", json!({"pattern": "*", "path": path})),
        ("run_command", json!({"command": "cat secret", "cwd": path})),
    ];
    for (tool, arguments) in calls {
        let text = scratch.refused(tool, arguments);
        assert!(!text.contains(SECRET), "{tool}: {text}");
        assert!(text.contains("outside the workspace"), "{tool}: {text}");
    }
    assert_eq!(fs::read_to_string(scratch.outside().join("secret")).unwrap(), SECRET);
    assert_eq!(fs::read_to_string(scratch.outside().join("other/secret")).unwrap(), SECRET);
    assert_eq!(fs::read_dir(scratch.outside().join("other")).unwrap().count(), 1);
}

#[test]
fn dots_and_absolute_paths_do_not_leave() {
    let scratch = with_secret();
    scratch.put("dir/a", "");
    for path in ["../secret", "dir/../../secret", "../ws/../secret", "..", "/", "/etc/passwd", "../other"] {
        stays_inside(&scratch, path);
    }
    stays_inside(&scratch, scratch.outside().join("secret").to_str().unwrap());
    stays_inside(&scratch, &format!("{}/../secret", scratch.root().display()));
    // A sibling whose name begins as the root's does.
    fs::create_dir(scratch.outside().join("ws-2")).unwrap();
    stays_inside(&scratch, &format!("{}-2", scratch.root().display()));
}

#[test]
fn symlinks_that_leave_are_refused() {
    let scratch = with_secret();
    scratch.link("../secret", "file");
    scratch.link(scratch.outside().join("secret"), "absolute");
    scratch.link("../other", "dir");
    scratch.link("file", "chain");
    scratch.link("../missing", "dangling");
    scratch.link("/proc/self/root/etc/passwd", "magic");
    scratch.link("/proc/self/cwd", "magic-cwd");
    for path in
        ["file", "absolute", "dir", "dir/secret", "dir/new", "chain", "dangling", "magic", "magic-cwd"]
    {
        stays_inside(&scratch, path);
    }
    assert!(!scratch.outside().join("missing").exists());
}

#[test]
fn symlinks_within_the_tree_work() {
    let scratch = Scratch::new();
    scratch.put("real/file", "content\n");
    scratch.link("real/file", "file");
    scratch.link("real", "dir");
    scratch.link(scratch.root().join("real"), "absolute");
    scratch.link("absolute", "chain");
    scratch.link("../real/file", "real/up");
    scratch.link("dir/new", "dangling");
    for path in
        ["file", "dir/file", "absolute/file", "chain/file", "real/up", "dir/../real/file", "./real//file"]
    {
        assert!(scratch.ok("read_file", json!({"path": path})).contains("content"), "{path}");
    }
    scratch.ok("edit_file", json!({"path": "file", "old_string": "content", "new_string": "edited"}));
    assert_eq!(scratch.get("real/file"), b"edited\n");
    assert!(scratch.root().join("file").is_symlink());
    scratch.ok("write_file", json!({"path": "dangling", "content": "new"}));
    assert_eq!(scratch.get("real/new"), b"new");
    assert!(scratch.root().join("dangling").is_symlink());
}

#[test]
fn a_circle_of_symlinks_ends() {
    let scratch = Scratch::new();
    scratch.link("b", "a");
    scratch.link("a", "b");
    for tool in ["read_file", "list_dir"] {
        assert!(scratch.refused(tool, json!({"path": "a"})).contains("too many symbolic links"));
    }
    assert!(scratch.refused("write_file", json!({"path": "a", "content": ""})).contains("too many"));
}

#[test]
fn absolute_paths_below_the_root_work_by_either_name() {
    let scratch = Scratch::new();
    scratch.put("a b/file", "content\n");
    let alias = scratch.outside().join("alias");
    unix::symlink(scratch.root(), &alias).unwrap();
    let workspace = WorkspaceDir::open(&alias, &[]).unwrap();
    for root in [alias, scratch.root().canonicalize().unwrap()] {
        let file = workspace.open_file(root.join("a b/file").to_str().unwrap()).unwrap();
        assert_eq!(file.real, Path::new("a b/file"));
        assert_eq!(workspace.open_dir(root.to_str().unwrap()).unwrap().1, Path::new(""));
    }
}

#[test]
fn what_is_no_regular_file_is_not_opened() {
    let scratch = Scratch::new();
    let fifo = scratch.root().join("fifo");
    rustix::fs::mknodat(CWD, &fifo, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(scratch.root().join("socket")).unwrap();
    for (path, kind) in [("fifo", "a FIFO"), ("socket", "a socket")] {
        assert!(scratch.refused("read_file", json!({"path": path})).contains(kind));
        assert!(scratch.refused("write_file", json!({"path": path, "content": "x"})).contains(kind));
        assert!(scratch.refused("grep", json!({"path": path, "pattern": "x"})).contains(kind));
    }
    scratch.ok("grep", json!({"pattern": "x"}));
    assert!(scratch.ok("list_dir", json!({})).contains("fifo  (a FIFO)"));
    // As root, devices can be made too.
    let null = scratch.root().join("null");
    if rustix::fs::mknodat(CWD, &null, FileType::CharacterDevice, Mode::from_raw_mode(0o600), 0x103).is_ok() {
        assert!(scratch.refused("read_file", json!({"path": "null"})).contains("a character device"));
    }
}

#[test]
fn directories_and_missing_files_are_said_to_be_so() {
    let scratch = Scratch::new();
    scratch.put("src/main.rs", "");
    scratch.put("src/mian.rs", "");
    scratch.put("deep/down/config.toml", "");
    assert!(scratch.refused("read_file", json!({"path": "src"})).contains("list_dir"));
    assert!(scratch.refused("list_dir", json!({"path": "src/main.rs"})).contains("not a directory"));
    insta::assert_snapshot!(scratch.refused("read_file", json!({"path": "src/maim.rs"})), @r"
    `src/maim.rs` does not exist
      did you mean src/main.rs?
      did you mean src/mian.rs?
    ");
    let elsewhere = scratch.refused("read_file", json!({"path": "config.toml"}));
    assert!(elsewhere.contains("did you mean deep/down/config.toml?"), "{elsewhere}");
    assert_eq!(scratch.refused("read_file", json!({"path": "zzzz"})), "`zzzz` does not exist");
    assert!(scratch.refused("read_file", json!({"path": ""})).contains("empty"));
    assert!(scratch.refused("read_file", json!({"path": "a\0b"})).contains("NUL"));
    assert!(scratch.refused("read_file", json!({"path": "src/main.rs/x"})).contains("not a directory"));
}

#[test]
fn odd_names_are_usable_and_shown_on_one_line() {
    let scratch = Scratch::new();
    scratch.put("new\nline", "here\n");
    fs::write(scratch.root().join(OsString::from_vec(b"\xFFbad".to_vec())), "here\n").unwrap();
    assert!(scratch.ok("read_file", json!({"path": "new\nline"})).contains("here"));
    let listed = scratch.ok("list_dir", json!({}));
    assert!(listed.contains(r#""new\nline""#) && listed.contains(r#""\xFFbad""#), "{listed}");
    let found = scratch.ok("grep", json!({"pattern": "here"}));
    assert!(found.contains(r#""new\nline""#) && found.contains(r#""\xFFbad""#), "{found}");
}

#[test]
fn git_data_is_read_but_not_written() {
    let scratch = Scratch::new();
    scratch.put(".git/config", "[core]\n");
    scratch.put("sub/.git", "gitdir: ../.git\n");
    scratch.link(".git", "alias");
    scratch.ok("read_file", json!({"path": ".git/config"}));
    for path in [
        ".git/config",
        ".git/hooks/new",
        ".git",
        "sub/.git",
        "alias/config",
        "x/../.git/config",
        ".GIT/config",
    ] {
        let text = scratch.refused("write_file", json!({"path": path, "content": "x"}));
        assert!(text.contains("git's own data"), "{path}: {text}");
        let text =
            scratch.refused("edit_file", json!({"path": path, "old_string": "core", "new_string": "x"}));
        assert!(text.contains("git's own data"), "{path}: {text}");
    }
    assert_eq!(scratch.get(".git/config"), b"[core]\n");
    scratch.ok("write_file", json!({"path": ".gitignore", "content": "x\n"}));
}

/// A thread exchanges a directory with a symlink that leads outside, over and over: no call may ever see or change what
/// is there.
#[test]
fn a_race_with_a_symlink_never_leaves() {
    let scratch = with_secret();
    scratch.put("dir/secret", "inside");
    scratch.link(scratch.outside().join("other"), "link");
    let (dir, link) = (scratch.root().join("dir"), scratch.root().join("link"));
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                rustix::fs::renameat_with(CWD, &dir, CWD, &link, rustix::fs::RenameFlags::EXCHANGE).unwrap();
            }
        });
        let until = Instant::now() + Duration::from_millis(400);
        while Instant::now() < until {
            let calls = [
                ("read_file", json!({"path": "dir/secret"})),
                ("write_file", json!({"path": "dir/new", "content": "new"})),
                ("edit_file", json!({"path": "dir/secret", "old_string": SECRET, "new_string": "changed"})),
                ("grep", json!({"pattern": "side"})),
                ("list_dir", json!({})),
            ];
            for (tool, arguments) in calls {
                let text = scratch.call(tool, arguments).text;
                assert!(!text.contains("outside-the"), "{tool}: {text}");
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert_eq!(fs::read_to_string(scratch.outside().join("other/secret")).unwrap(), SECRET);
    assert_eq!(fs::read_dir(scratch.outside().join("other")).unwrap().count(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever a path is made of, what it opens is beneath the root.
    #[test]
    fn no_path_reaches_outside(parts in prop::collection::vec(
        prop::sample::select(vec!["..", ".", "", "/", "dir", "file", "up", "out", "abs", "etc", "passwd", "secret", "~"]),
        0..8,
    )) {
        let scratch = with_secret();
        scratch.put("dir/file", "inside");
        scratch.link("..", "up");
        scratch.link("dir/../../other", "out");
        scratch.link("/etc", "abs");
        let path = parts.join("/");
        let text = scratch.call("read_file", json!({"path": path})).text;
        prop_assert!(!text.contains(SECRET) && !text.contains("root:"), "{path}: {text}");
        let workspace = WorkspaceDir::open(&scratch.root(), &[]).unwrap();
        if let Ok(file) = workspace.open_file(&path) {
            prop_assert_eq!(file.real, Path::new("dir/file"));
        }
        scratch.call("write_file", json!({"path": path, "content": "changed"}));
        prop_assert_eq!(fs::read_to_string(scratch.outside().join("secret")).unwrap(), SECRET);
        prop_assert_eq!(fs::read_dir(scratch.outside()).unwrap().count(), 4);
    }
}
