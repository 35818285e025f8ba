//! Tests of `write_file`.

use serde_json::json;

use super::*;
use crate::scratch::Scratch;
use crate::{Cancel, ReadState};

#[test]
fn a_new_file_is_created_with_its_directories() {
    let scratch = Scratch::new();
    let output = scratch.call("write_file", json!({"path": "a/b/c.txt", "content": "one\ntwo"}));
    assert_eq!(output.text, "created a/b/c.txt (7 bytes, 2 lines)");
    assert_eq!(scratch.get("a/b/c.txt"), b"one\ntwo");
    let change = &output.facts.changes[0];
    assert_eq!(
        (change.path.as_str(), &change.before, &change.after[..]),
        ("a/b/c.txt", &None, &b"one\ntwo"[..])
    );
    assert!(output.facts.read_state.unwrap().whole);
}

#[test]
fn an_unread_file_is_shown_and_only_then_replaced() {
    let scratch = Scratch::new();
    scratch.put("f", "precious\n");
    let call = json!({"path": "f", "content": "new\n"});
    insta::assert_snapshot!(scratch.refused("write_file", call.clone()), @"
    nothing was written: f exists with content that was not read whole in this run. It is shown here; call write_file again to replace it, or edit_file to change parts.
        1	precious
    (end of file, 1 line)
    ");
    assert_eq!(scratch.get("f"), b"precious\n");
    let output = scratch.call("write_file", call);
    assert_eq!(output.text, "replaced f (4 bytes, 1 line)");
    assert_eq!(output.facts.changes[0].before.as_deref(), Some(&b"precious\n"[..]));
}

#[test]
fn what_a_command_changed_counts_as_unseen() {
    let scratch = Scratch::new();
    scratch.put("f", "one\n");
    scratch.ok("read_file", json!({"path": "f"}));
    scratch.ok("run_command", json!({"command": "echo two >> f"}));
    assert!(scratch.refused("write_file", json!({"path": "f", "content": "x"})).contains("two"));
    // A touch alone changes the time, not the content.
    scratch.ok("run_command", json!({"command": "touch f"}));
    scratch.ok("write_file", json!({"path": "f", "content": "x"}));
}

#[test]
fn a_part_of_a_file_is_not_the_whole_and_two_parts_may_be() {
    let scratch = Scratch::new();
    scratch.put("f", "one\ntwo\n");
    scratch.ok("read_file", json!({"path": "f", "limit": 1}));
    scratch.refused("write_file", json!({"path": "f", "content": "x"}));
    scratch.put("f", "three\nfour\n");
    scratch.ok("read_file", json!({"path": "f", "offset": 2}));
    scratch.ok("read_file", json!({"path": "f", "limit": 1}));
    scratch.ok("write_file", json!({"path": "f", "content": "x"}));
}

#[test]
fn a_run_that_continues_knows_what_it_was_told() {
    let scratch = Scratch::new();
    scratch.put("f", "one\n");
    let read_state = scratch.call("read_file", json!({"path": "f"})).facts.read_state.unwrap();
    let later = Scratch::new();
    later.put("f", "one\n");
    let json = serde_json::to_string(&read_state).unwrap();
    later.toolbox.remember(&serde_json::from_str::<ReadState>(&json).unwrap());
    later.ok("write_file", json!({"path": "f", "content": "x"}));
}

#[test]
fn the_same_content_is_no_change() {
    let scratch = Scratch::new();
    scratch.put("f", "one\n");
    let output = scratch.call("write_file", json!({"path": "f", "content": "one\n"}));
    assert!(!output.is_error && output.facts.changes.is_empty());
}

#[test]
fn byte_order_mark_and_line_ends_of_the_old_content_are_kept() {
    let scratch = Scratch::new();
    scratch.put("f", "\u{FEFF}one\r\ntwo\nthree\r\n");
    scratch.ok("read_file", json!({"path": "f"}));
    let text = scratch.ok("write_file", json!({"path": "f", "content": "one\ntwo\nnew\nthree\n"}));
    assert!(text.ends_with("CR LF line ends and byte order mark kept"), "{text}");
    assert_eq!(scratch.get("f"), "\u{FEFF}one\r\ntwo\nnew\r\nthree\r\n".as_bytes());
}

#[test]
fn a_binary_file_is_named_not_shown() {
    let scratch = Scratch::new();
    scratch.put("f", b"\x7FELF\0\0");
    let refused = scratch.refused("write_file", json!({"path": "f", "content": "x"}));
    assert!(refused.contains("an ELF program") && !refused.contains("edit_file"), "{refused}");
    scratch.ok("write_file", json!({"path": "f", "content": "x"}));
}

#[test]
fn lines_that_stand_for_left_out_content_are_known() {
    let placeholders = [
        "// ... rest of the code",
        "    // … existing code …",
        "# ... (remaining methods unchanged)",
        "/* ... existing styles ... */",
        "<!-- ... rest of the page ... -->",
        "-- rest of the query stays the same ...",
        "// existing code...",
        "... rest of file unchanged ...",
        "// [... previous functions ...]",
    ];
    for line in placeholders {
        assert!(stands_for_more(line.trim()), "{line}");
    }
    let innocent = [
        "// handle the remaining cases...",
        "let rest = all[1..].iter();",
        "...existing,",
        "# Existing users keep their password",
        "...",
        "print('... and the rest of it')",
        "// ...",
    ];
    for line in innocent.iter().filter(|line| **line != "...existing,") {
        assert!(!stands_for_more(line), "{line}");
    }
}

#[test]
fn a_placeholder_is_refused_where_lines_would_be_lost() {
    let scratch = Scratch::new();
    scratch.put("f", "fn a() {}\nfn b() {}\n");
    scratch.ok("read_file", json!({"path": "f"}));
    let text = scratch
        .refused("write_file", json!({"path": "f", "content": "fn a() {}\n// ... rest of the code\n"}));
    assert!(text.contains("line 2 (`// ... rest of the code`)"), "{text}");
    // Nothing is lost, or the line was there before.
    scratch
        .ok("write_file", json!({"path": "f", "content": "fn a() {}\nfn b() {}\n// ... rest of the code\n"}));
    scratch.ok("write_file", json!({"path": "f", "content": "fn a() {}\n// ... rest of the code\n"}));
    scratch.ok("write_file", json!({"path": "new", "content": "// ... rest of the code\n"}));
}

#[test]
fn parallel_calls_lose_no_update() {
    let scratch = Scratch::new();
    let lines: String = (0..20).map(|n| format!("line {n}.\n")).collect();
    scratch.put("f", &lines);
    scratch.link("f", "alias");
    std::thread::scope(|scope| {
        for n in 0..20 {
            let toolbox = &scratch.toolbox;
            scope.spawn(move || {
                let path = if n % 2 == 0 { "f" } else { "alias" };
                let call = json!({"path": path, "old_string": format!("line {n}."), "new_string": format!("done {n}.")});
                assert!(!toolbox.call("edit_file", &call.to_string(), &Cancel::default()).is_error);
            });
        }
    });
    assert_eq!(String::from_utf8(scratch.get("f")).unwrap(), lines.replace("line", "done"));
}

/// Each of the new file's lines was looked for among all of the old one's.
#[test]
fn lines_that_stand_for_others_are_looked_up_and_not_searched_for() {
    let lines = |n: usize| (0..n).map(|n| format!("// ... rest of part {n}\n")).collect::<String>();
    let old = format!("{}lost\n", lines(100_000));
    assert_eq!(placeholder(&old, &lines(100_000)), None);
    assert_eq!(placeholder(&old, &lines(100_001)).unwrap().0, 100_001);
}
