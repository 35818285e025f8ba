//! Tests of `read_file`.

use std::io::{Seek, SeekFrom, Write};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::ToolLimits;
use crate::scratch::{Scratch, limits};

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
    assert!(!output.facts.truncated && output.facts.read_state.unwrap().whole);
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
    assert!(output.facts.truncated && !output.facts.read_state.unwrap().whole);
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
    assert!(output.facts.read_state.is_none());
    assert!(started.elapsed() < Duration::from_secs(60));
    assert!(scratch.refused("write_file", json!({"path": "huge", "content": "x"})).contains("64.0 MB"));
}

/// Fifteen gigabytes that take no room: reading them took a minute and a half.
#[test]
fn a_line_that_is_not_reached_in_time_is_said_to_be_far() {
    let scratch = Scratch::with(ToolLimits { call_time: Duration::from_millis(200), ..limits() });
    scratch.put("f", "line\n".repeat(4_000));
    std::fs::File::options().write(true).open(scratch.root().join("f")).unwrap().set_len(15 << 30).unwrap();
    let output = scratch.call("read_file", json!({"path": "f", "offset": 1_000_000}));
    assert!(output.is_error && output.facts.timed_out);
    let text = output.text;
    assert!(
        text.starts_with("stopped after 0.2 s before line 1,000,000 could be shown: 4,000 lines in "),
        "{text}"
    );
    assert!(text.contains("run_command"), "{text}");
    let text = scratch.ok("read_file", json!({"path": "f", "offset": 3_999, "limit": 1}));
    assert_eq!(text, " 3999\tline\n(lines 3999–3999; continue with offset=4000)");
}

#[test]
fn what_was_read_in_time_is_shown() {
    let scratch = Scratch::with(ToolLimits { call_time: Duration::from_millis(200), ..limits() });
    scratch.put("f", "line\n".repeat(2_000));
    std::fs::File::options().write(true).open(scratch.root().join("f")).unwrap().set_len(15 << 30).unwrap();
    let output = scratch.call("read_file", json!({"path": "f", "offset": 1_999}));
    assert!(!output.is_error && output.facts.timed_out, "{}", output.text);
    assert!(output.text.starts_with(" 1999\tline\n 2000\tline\n(lines 1999–2000; "), "{}", output.text);
    assert!(
        output.text.ends_with("; stopped after 0.2 s, what follows was not looked at)"),
        "{}",
        output.text
    );
}
