//! Tests of `read_file`.

use std::io::{Seek, SeekFrom, Write};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::Cancel;
use crate::scratch::Scratch;

#[test]
fn a_page_says_where_it_stands() {
    let scratch = Scratch::new();
    scratch.put("f", "one\ntwo\nthree\n");
    insta::assert_snapshot!(scratch.ok("read_file", json!({"path": "f", "offset": 2, "limit": 1})), @"
        2	two
    (lines 2–2 of 3; continue with offset=3)
    ");
    insta::assert_snapshot!(scratch.ok("read_file", json!({"path": "f", "offset": 3})), @"
        3	three
    (end of file, 3 lines)
    ");
    let output = scratch.call("read_file", json!({"path": "f"}));
    assert_eq!(output.title, "read f (3 lines)");
    assert!(!output.facts.truncated && output.facts.seen.unwrap().whole);
}

#[test]
fn past_the_end_is_an_error_and_an_empty_file_is_not() {
    let scratch = Scratch::new();
    scratch.put("f", "one\n");
    scratch.put("empty", "");
    assert_eq!(
        scratch.refused("read_file", json!({"path": "f", "offset": 2})),
        "line 2 is past the end: `f` has 1 line"
    );
    assert_eq!(scratch.ok("read_file", json!({"path": "empty"})), "(end of file, 0 lines)");
}

#[test]
fn the_caps_hold_and_are_said() {
    let scratch = Scratch::new();
    scratch.put("many", "x\n".repeat(2_500));
    let output = scratch.call("read_file", json!({"path": "many", "limit": 9999}));
    assert!(output.text.ends_with("(lines 1–2000 of 2,500; continue with offset=2001)"));
    assert!(output.facts.truncated && !output.facts.seen.unwrap().whole);
}

#[test]
fn binary_files_are_refused_with_kind_and_size() {
    let scratch = Scratch::new();
    scratch.put("a.png", b"\x89PNG\r\n\x1A\n\0\0\0");
    scratch.put("nul", b"text\0more");
    scratch.put("late", [vec![b'x'; 5_000], vec![0]].concat());
    insta::assert_snapshot!(scratch.refused("read_file", json!({"path": "a.png"})), @"`a.png` is binary (a PNG image, 11 bytes) and cannot be shown as text");
    assert!(scratch.refused("read_file", json!({"path": "nul"})).contains("NUL bytes, 9 bytes"));
    scratch.refused("read_file", json!({"path": "late"}));
    scratch.put("like", "GIF89 is a format\n");
    scratch.ok("read_file", json!({"path": "like"}));
}

#[test]
fn other_encodings_are_shown_with_a_note() {
    let scratch = Scratch::new();
    scratch.put("latin1", b"caf\xE9\n");
    scratch.put("crlf", "a\r\nb\r\n");
    let text = scratch.ok("read_file", json!({"path": "latin1"}));
    assert!(
        text.contains("caf\u{FFFD}") && text.contains("not valid UTF-8") && text.contains("edit_file"),
        "{text}"
    );
    insta::assert_snapshot!(scratch.ok("read_file", json!({"path": "crlf"})), @"
        1	a
        2	b
    (end of file, 2 lines; line ends are CR LF)
    ");
}

/// A sparse file of 4 GB: its first page costs neither time nor memory, and its length stays unknown.
#[test]
fn a_huge_file_is_not_read_to_its_end() {
    let scratch = Scratch::new();
    let mut file = std::fs::File::create(scratch.root().join("huge")).unwrap();
    file.write_all("line\n".repeat(10_000).as_bytes()).unwrap();
    file.seek(SeekFrom::Start(1 << 40)).unwrap();
    file.write_all(b"end\n").unwrap();
    let started = Instant::now();
    let output = scratch.call("read_file", json!({"path": "huge", "offset": 5, "limit": 2}));
    assert_eq!(output.text, "    5\tline\n    6\tline\n(lines 5–6; continue with offset=7)");
    assert!(output.facts.seen.is_none());
    assert!(started.elapsed() < Duration::from_secs(60));
    assert!(scratch.refused("write_file", json!({"path": "huge", "content": "x"})).contains("64.0 MB"));
}

#[test]
fn a_cancel_ends_the_reading() {
    let scratch = Scratch::new();
    scratch.put("f", "one\n");
    let cancel = Cancel::default();
    cancel.cancel();
    let output = scratch.toolbox.call("read_file", r#"{"path": "f"}"#, &cancel);
    assert!(output.is_error && output.facts.cancelled);
}
