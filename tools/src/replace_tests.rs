//! Tests of `replace`, through the tools that write.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use serde_json::json;

use crate::scratch::Scratch;

fn names(scratch: &Scratch) -> Vec<String> {
    let entries = fs::read_dir(scratch.root()).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_replaced_file_is_another_one_with_the_same_mode_and_owner() {
    let scratch = Scratch::new();
    scratch.put("f", "old");
    let path = scratch.root().join("f");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o751)).unwrap();
    if rustix::process::geteuid().is_root() {
        std::os::unix::fs::chown(&path, Some(1234), Some(4321)).unwrap();
    }
    let before = fs::metadata(&path).unwrap();
    scratch.ok("edit_file", json!({"path": "f", "old_string": "old", "new_string": "new"}));
    let after = fs::metadata(&path).unwrap();
    assert_ne!(before.ino(), after.ino());
    assert_eq!((before.mode(), before.uid(), before.gid()), (after.mode(), after.uid(), after.gid()));
    assert_eq!(names(&scratch), ["f"]);
}

#[test]
fn what_a_killed_process_left_is_removed_and_nothing_else() {
    let scratch = Scratch::new();
    let living = format!("d/.uwf-{}-0.tmp", std::process::id());
    // No process has so large a number.
    let left = "d/.uwf-2147483647-3.tmp";
    let others = ["d/f", "d/.uwf-2147483647.tmp", "d/.uwf-x-1.tmp", ".uwf-2147483647-3.tmp", &living];
    others.iter().chain([&left]).for_each(|name| scratch.put(name, "x"));
    scratch.toolbox.tidy_after("read_file", r#"{"path": "d/f"}"#);
    assert_eq!(scratch.get(left), b"x");
    scratch.toolbox.tidy_after("write_file", r#"{"path": "d/f", "content": "y"}"#);
    assert!(!scratch.root().join(left).exists());
    others.iter().for_each(|name| assert_eq!(scratch.get(name), b"x", "{name}"));
    for odd in ["{", "{}", r#"{"path": "../f"}"#, r#"{"path": "none/f"}"#] {
        scratch.toolbox.tidy_after("edit_file", odd);
    }
}

#[test]
fn a_file_with_hard_links_is_written_in_place_and_says_so() {
    let scratch = Scratch::new();
    scratch.put("a", "old and long");
    fs::hard_link(scratch.root().join("a"), scratch.root().join("b")).unwrap();
    let text =
        scratch.ok("edit_file", json!({"path": "a", "old_string": "old and long", "new_string": "new"}));
    assert!(text.contains("written in place: the file has 2 hard links"), "{text}");
    assert_eq!(scratch.get("b"), b"new");
}

#[test]
fn rights_that_a_program_gives_do_not_pass_to_other_content() {
    let scratch = Scratch::new();
    let path = scratch.root().join("f");
    let mode = || fs::metadata(&path).unwrap().mode() & 0o7777;
    let edit = || scratch.ok("edit_file", json!({"path": "f", "old_string": "o", "new_string": "oo"}));
    scratch.put("f", "o");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o6755)).unwrap();
    edit();
    assert_eq!(mode(), 0o755);
    scratch.put("f", "o");
    fs::hard_link(&path, scratch.root().join("other")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o4755)).unwrap();
    edit();
    assert_eq!(mode(), 0o755, "in place too");
}

/// Its mode shows what the list allows at most, to the group too: a new file of that mode would let the group in.
#[test]
fn a_file_with_an_access_list_keeps_it() {
    let scratch = Scratch::new();
    scratch.put("f", "old");
    let path = scratch.root().join("f");
    let name = "system.posix_acl_access";
    // Version 2; the owner rw, the user 1234 rw, the group nothing, at most rw, others nothing.
    let entries: [(u16, u16, u32); 5] = [(1, 6, !0), (2, 6, 1234), (4, 0, !0), (0x10, 6, !0), (0x20, 0, !0)];
    let entry = |(tag, rights, id): (u16, u16, u32)| {
        [&tag.to_le_bytes()[..], &rights.to_le_bytes(), &id.to_le_bytes()].concat()
    };
    let list = [2_u32.to_le_bytes().to_vec(), entries.map(entry).concat()].concat();
    if rustix::fs::setxattr(&path, name, &list, rustix::fs::XattrFlags::empty()).is_err() {
        return; // This file system has none.
    }
    let text = scratch.ok("edit_file", json!({"path": "f", "old_string": "old", "new_string": "new"}));
    assert!(text.contains("written in place: the file has an access list"), "{text}");
    let mut now = vec![0; 100];
    let length = rustix::fs::getxattr(&path, name, &mut now).unwrap();
    assert_eq!((&now[..length], scratch.get("f").as_slice()), (&list[..], &b"new"[..]));
}

#[test]
fn what_cannot_be_written_leaves_nothing_behind() {
    let scratch = Scratch::new();
    scratch.put("file", "x");
    let text = scratch.refused("write_file", json!({"path": "file/below", "content": "x"}));
    assert!(text.contains("`file` is not a directory"), "{text}");
    let long = "n".repeat(300);
    let text = scratch.refused("write_file", json!({"path": long, "content": "x"}));
    assert!(text.contains("name too long"), "{text}");
    let text = scratch.refused("write_file", json!({"path": format!("new/{long}"), "content": "x"}));
    assert!(text.contains("name too long"), "{text}");
    assert_eq!(scratch.refused("write_file", json!({"path": "dir/", "content": "x"})).lines().count(), 1);
    assert!(names(&scratch).iter().all(|name| !name.ends_with(".tmp")));
}

#[test]
fn a_reader_sees_the_old_or_the_new_content_and_nothing_else() {
    let scratch = Scratch::new();
    let [old, new] = ["old\n", "new\n"].map(|line| line.repeat(20_000));
    scratch.put("f", &old);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut seen = std::collections::BTreeSet::new();
            while !seen.contains(&new) {
                seen.insert(String::from_utf8(scratch.get("f")).unwrap());
            }
            seen
        });
        scratch.ok(
            "edit_file",
            json!({"path": "f", "old_string": "old", "new_string": "new", "replace_all": true}),
        );
        assert!(reader.join().unwrap().iter().all(|seen| *seen == old || *seen == new));
    });
}
