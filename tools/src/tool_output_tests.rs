//! Tests of `tool_output`.

use serde_json::json;

use crate::ToolLimits;
use crate::scratch::{Scratch, limits};

/// A command whose output is too long to be shown, and the hash in the answer.
fn long(command: &str) -> (Scratch, String) {
    let scratch = Scratch::with(ToolLimits { command_bytes: 100, read_lines: 5, ..limits() });
    let output = scratch.call("run_command", json!({ "command": command }));
    let (_, after) = output.text.split_once("read them with tool_output hash=").unwrap();
    let hash = after.split_once(" …]").unwrap().0.to_owned();
    assert_eq!(output.facts.output_hash.as_ref(), Some(&hash));
    (scratch, hash)
}

#[test]
fn the_hash_in_the_mark_reads_what_was_left_out_by_lines() {
    let (scratch, hash) = long("seq 1000");
    let output = scratch.call("tool_output", json!({"hash": hash, "offset": 500, "limit": 2}));
    assert_eq!(output.text, "  500\t500\n  501\t501\n(lines 500–501 of 1,000; continue with offset=502)");
    assert!(output.facts.truncated && output.title == format!("output {hash} (lines 500–501)"));
    let page = scratch.ok("tool_output", json!({ "hash": hash }));
    assert!(page.contains("(lines 1–5 of 1,000; continue with offset=6)"), "{page}");
    let end = scratch.ok("tool_output", json!({"hash": hash, "offset": 1000}));
    assert_eq!(end, " 1000\t1000\n(end of file, 1,000 lines)");
    let past = scratch.refused("tool_output", json!({"hash": hash, "offset": 1001}));
    assert_eq!(past, "line 1001 is past the end: the output has 1,000 lines");
}

#[test]
fn bytes_that_are_no_text_are_counted_and_no_character_is_torn_by_the_other_stream() {
    let command = r"seq 100; printf '\303'; sleep 0.5; printf x >&2; sleep 0.5; printf '\251 \377\376\n'";
    let (scratch, hash) = long(command);
    let end = scratch.ok("tool_output", json!({"hash": hash, "offset": 101}));
    assert_eq!(
        end,
        "  101\txé \u{FFFD}\u{FFFD}\n\
         (end of file, 101 lines; not valid UTF-8: bytes shown as \u{FFFD} are others)"
    );
}

#[test]
fn the_outputs_of_earlier_runs_are_asked_for() {
    let scratch = Scratch::new();
    let text = scratch.ok("tool_output", json!({"hash": "EARLIER"}));
    assert_eq!(text, "    1\tof an earlier run\n(end of file, 1 line)");
    assert!(scratch.refused("tool_output", json!({"hash": "BROKEN"})).ends_with("the disk is on fire"));
}

#[test]
fn an_unknown_hash_is_answered_and_no_path_is_read() {
    let scratch = Scratch::new();
    std::fs::create_dir_all(scratch.outside().join("spool/output-")).unwrap();
    std::fs::write(scratch.outside().join("secret.txt"), "s").unwrap();
    for hash in ["", "0000000000000", "../secret", "/../../secret", "a.b"] {
        let text = scratch.refused("tool_output", json!({ "hash": hash }));
        assert!(text.starts_with("there is no output `"), "{text}");
    }
}
