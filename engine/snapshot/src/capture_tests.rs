//! What is in a snapshot and what is not.

use std::fs::{self, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::sync::atomic::{AtomicBool, Ordering};

use super::*;
use crate::Limit;
use crate::fixture::Fixture;
use crate::tree::{self, MAX_LEVELS, SnapshotEntry};
use crate::withheld::Withheld;

/// The paths in a tree, directories with a `/` at the end.
fn paths(store: &Store, tree: &Hash) -> Vec<String> {
    let mut all = Vec::new();
    for (name, entry) in tree::read(store, tree).unwrap() {
        let name = name.to_string_lossy().into_owned();
        match entry {
            SnapshotEntry::Directory { tree, .. } => {
                all.push(format!("{name}/"));
                all.extend(paths(store, &tree).into_iter().map(|below| format!("{name}/{below}")));
            }
            _ => all.push(name),
        }
    }
    all
}

fn captured(f: &mut Fixture) -> Vec<String> {
    let tree = f.tree();
    paths(&f.store, &tree)
}

#[test]
fn files_symlinks_and_directories_are_kept_with_their_modes() {
    let mut f = Fixture::new();
    f.write("run.sh", "#!/bin/sh\n");
    fs::set_permissions(f.path("run.sh"), Permissions::from_mode(0o4750)).unwrap();
    symlink("no/such/place", f.path("link")).unwrap();
    fs::create_dir(f.path("empty")).unwrap();
    fs::set_permissions(f.path("empty"), Permissions::from_mode(0o700)).unwrap();
    f.write("a/b/c.bin", [0, 255]);
    let odd = f.dir().join(std::ffi::OsStr::from_bytes(b"n\xff\\"));
    fs::write(&odd, "").unwrap();
    let snapshot = f.capture();
    let root = tree::read(&f.store, &snapshot.tree).unwrap();
    let file = |mode, bytes: &[u8]| SnapshotEntry::File {
        content: f.store.batch().put_blob(&mut &*bytes).unwrap().hash,
        size: bytes.len() as u64,
        mode,
    };
    assert_eq!(root["run.sh".as_ref() as &std::ffi::OsStr], file(0o750, b"#!/bin/sh\n"));
    assert_eq!(
        root["link".as_ref() as &std::ffi::OsStr],
        SnapshotEntry::Symlink { target: "no/such/place".into() }
    );
    assert!(matches!(
        root["empty".as_ref() as &std::ffi::OsStr],
        SnapshotEntry::Directory { mode: 0o700, .. }
    ));
    assert!(root.contains_key(odd.file_name().unwrap()));
    assert_eq!((snapshot.entries, snapshot.bytes, snapshot.left_out, snapshot.special), (7, 12, 0, 0));
    assert_eq!(snapshot.notices, []);
    assert_eq!(paths(&f.store, &snapshot.tree)[..3], ["a/", "a/b/", "a/b/c.bin"]);
}

#[test]
fn equal_workspaces_are_one_tree() {
    let (mut one, mut other) = (Fixture::new(), Fixture::new());
    for path in ["a", "b/c", "b/d"] {
        one.write(path, path);
    }
    for path in ["b/d", "b/c", "a"] {
        other.write(path, path);
    }
    assert_eq!(one.tree(), other.tree());
}

#[test]
fn symlinks_are_not_followed_and_special_files_are_counted() {
    let mut f = Fixture::new();
    let outside = f.place.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("secret"), "s").unwrap();
    symlink(&outside, f.path("way")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(f.path("socket")).unwrap();
    let fifo =
        rustix::fs::mknodat(CWD, f.path("fifo"), rustix::fs::FileType::Fifo, Mode::from_raw_mode(0o600), 0);
    fifo.unwrap();
    let snapshot = f.capture();
    assert_eq!(paths(&f.store, &snapshot.tree), ["way"]);
    assert_eq!(snapshot.special, 2);
}

#[test]
fn ignored_and_made_files_are_left_out_and_counted() {
    let mut f = Fixture::new();
    for path in [
        ".git/config",
        "a.log",
        "keep.log",
        "src/b.log",
        "src/keep.log",
        "src/x.tmp",
        "target/debug/x",
        "sub/target/y",
        "build/z",
        "src/build/z",
        "excluded",
    ] {
        f.write(path, path);
    }
    f.write(".gitignore", "*.log\n!keep.log\n/build/\n\\");
    f.write("src/.gitignore", "\u{feff}*.tmp\n!b.log\nkeep.log\n");
    f.write(".git/info/exclude", "/excluded\nsrc/b.log\n");
    let kept = captured(&mut f);
    let left = [
        ".gitignore",
        "keep.log",
        "src/",
        "src/.gitignore",
        "src/b.log",
        "src/build/",
        "src/build/z",
        "sub/",
    ];
    assert_eq!(kept, left);
    assert_eq!(f.capture().left_out, 7);
    f.options.ignored = true;
    assert_eq!(f.capture().left_out, 2);
    f.options.leave_out.clear();
    let all = captured(&mut f);
    assert!(all.contains(&"target/debug/x".to_owned()) && all.contains(&"build/z".to_owned()));
    assert!(!all.iter().any(|path| path.contains(".git/")), "{all:?}");
}

#[test]
fn a_repository_within_has_rules_of_its_own() {
    let mut f = Fixture::new();
    f.write(".gitignore", "*.log\n");
    f.write("inner/.git/info/exclude", "*.o\n");
    f.write("inner/x.o", "");
    f.write("inner/x.log", "");
    f.write("module/.git", "gitdir: ../.git/modules/module\n");
    f.write("module/y.log", "");
    f.write("z.log", "");
    let kept = captured(&mut f);
    assert_eq!(kept, [".gitignore", "inner/", "inner/x.log", "module/", "module/.git", "module/y.log"]);
}

/// An ignore file that leads elsewhere is no rule.
#[test]
fn an_ignore_file_that_is_a_symlink_is_not_read() {
    let mut f = Fixture::new();
    fs::write(f.place.path().join("rules"), "*\n").unwrap();
    symlink("../rules", f.path(".gitignore")).unwrap();
    f.write("x", "");
    assert_eq!(captured(&mut f), [".gitignore", "x"]);
}

#[test]
fn limits_name_themselves() {
    let mut f = Fixture::new();
    f.write("large", vec![b'x'; 1000]);
    f.write("small", "x");
    f.options.max_file_bytes = 999;
    let snapshot = f.capture();
    assert_eq!(paths(&f.store, &snapshot.tree), ["small"]);
    let why = Why::TooLarge { size: 1000, allowed: 999 };
    assert!(why.to_string().contains("999 of `max_file_bytes`"));
    assert_eq!(snapshot.notices, [CaptureNotice { path: "large".into(), why }]);

    f.options = Options { max_bytes: 1000, ..Options::default() };
    let error = capture(&f.dir(), &f.options, &mut f.cache, &f.store).unwrap_err().to_string();
    assert!(error.contains("more than 1000 bytes") && error.contains("raise `max_bytes`"), "{error}");
    f.options = Options { max_entries: 1, ..Options::default() };
    let error = capture(&f.dir(), &f.options, &mut f.cache, &f.store).unwrap_err();
    assert!(matches!(error, SnapshotError::TooLarge { limit: Limit::Entries, allowed: 1, .. }), "{error}");
    f.options = Options { max_bytes: 1001, max_entries: 2, ..Options::default() };
    assert_eq!(f.capture().entries, 2);
}

/// A hole costs no time worth naming, but counts as what it says it is.
#[test]
fn sparse_files_are_limited_by_their_size() {
    let mut f = Fixture::new();
    let file = fs::File::create(f.path("hole")).unwrap();
    file.set_len(1 << 40).unwrap();
    let snapshot = f.capture();
    assert_eq!(snapshot.work.files_read, 0);
    assert!(matches!(snapshot.notices[0].why, Why::TooLarge { .. }));
    file.set_len(3 << 20).unwrap();
    assert_eq!(f.capture().bytes, 3 << 20);
}

#[test]
fn directories_too_deep_are_refused() {
    let mut f = Fixture::new();
    let path = "d/".repeat(MAX_LEVELS);
    fs::create_dir_all(f.path(&path)).unwrap();
    assert_eq!(f.capture().entries, MAX_LEVELS as u64);
    fs::create_dir(f.path(&path).join("d")).unwrap();
    let error = capture(&f.dir(), &f.options, &mut f.cache, &f.store).unwrap_err();
    assert!(matches!(error, SnapshotError::TooDeep { .. }), "{error}");
}

#[test]
fn a_pattern_that_is_none_and_a_workspace_that_is_missing_are_refused() {
    let mut f = Fixture::new();
    f.options.leave_out = vec!["a{b".to_owned()];
    let error = capture(&f.dir(), &f.options, &mut f.cache, &f.store).unwrap_err().to_string();
    assert!(error.starts_with("\"a{b\" in `leave_out` is no pattern: "), "{error}");
    f.options = Options::default();
    let missing = f.path("missing");
    let error = capture(&missing, &f.options, &mut f.cache, &f.store).unwrap_err().to_string();
    assert!(error.contains("could not open the directory"), "{error}");
}

/// Somebody writes, renames and removes all the while; whatever is caught is whole, and nothing fails.
#[test]
fn a_workspace_that_changes_meanwhile_is_captured() {
    let mut f = Fixture::new();
    for n in 0..50 {
        f.write(&format!("d{n}/f"), "x");
    }
    let (dir, stop) = (f.dir(), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for turn in 0.. {
                let n = turn % 50;
                let _ = fs::write(dir.join(format!("d{n}/f")), vec![b'y'; turn % 3000]);
                let _ = fs::rename(dir.join(format!("d{n}/f")), dir.join(format!("d{n}/g")));
                let _ = fs::remove_file(dir.join(format!("d{n}/f")));
                let _ = fs::remove_dir_all(dir.join(format!("d{}", (n + 7) % 50)));
                let _ = fs::create_dir(dir.join(format!("d{}", (n + 9) % 50)));
                let _ = symlink("..", dir.join(format!("d{}/f", (n + 9) % 50)));
                if stop.load(Ordering::Relaxed) {
                    break;
                }
            }
        });
        for _ in 0..40 {
            let snapshot = capture(&dir, &f.options, &mut f.cache, &f.store);
            let snapshot = snapshot.inspect_err(|_| stop.store(true, Ordering::Relaxed)).unwrap();
            f.store.closure(&[snapshot.tree]).inspect_err(|_| stop.store(true, Ordering::Relaxed)).unwrap();
        }
        stop.store(true, Ordering::Relaxed);
    });
}

#[test]
fn a_file_that_holds_a_secret_is_left_out_and_never_stored() {
    let mut fixture = Fixture::new();
    fixture.options.withheld = Withheld::new(["sk-hush"]);
    fixture.write("kept", "nothing of note\n");
    fixture.write("keys", "KEY=sk-hush\n");
    let snapshot = fixture.capture();
    assert_eq!(snapshot.entries, 1);
    let notice = CaptureNotice { path: "keys".into(), why: Why::Secret };
    assert_eq!(snapshot.notices, [notice]);
    let text = fixture.store.batch().put_blob(&mut &b"KEY=sk-hush\n"[..]).unwrap();
    assert!(!fixture.store.has(&text.hash), "a batch that is not committed stores nothing");
    fixture.write("keys", "KEY=\n");
    assert_eq!(fixture.capture().entries, 2);
}

#[test]
fn so_is_a_name_or_a_target_that_holds_one() {
    let mut fixture = Fixture::new();
    fixture.options.withheld = Withheld::new(["sk-hush"]);
    fixture.write("kept", "nothing of note\n");
    fixture.write("of sk-hush/file", "a\n");
    std::os::unix::fs::symlink("../sk-hush", fixture.dir().join("link")).unwrap();
    let snapshot = fixture.capture();
    let left_out = |path: &str| CaptureNotice { path: path.into(), why: Why::Secret };
    assert_eq!((snapshot.entries, snapshot.notices), (1, vec![left_out("link"), left_out("of sk-hush")]));
}
