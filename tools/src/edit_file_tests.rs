//! Tests of `edit_file`.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::scratch::Scratch;

fn edit(scratch: &Scratch, old: &str, new: &str) -> ToolOutput {
    scratch.call("edit_file", json!({"path": "f", "old_string": old, "new_string": new}))
}

#[test]
fn the_answer_shows_the_lines_around_the_change() {
    let scratch = Scratch::new();
    let lines: String = (1..=12).map(|n| format!("line {n}.\n")).collect();
    scratch.put("f", &lines);
    let output = edit(&scratch, "line 6.\n", "six\nsix and a half\n");
    insta::assert_snapshot!(output.text, @"
    edited f (1 replacement)
        2	line 2.
        3	line 3.
        4	line 4.
        5	line 5.
        6	six
        7	six and a half
        8	line 7.
        9	line 8.
       10	line 9.
       11	line 10.
    ");
    let change = &output.facts.changes[0];
    assert_eq!(change.before.as_deref(), Some(lines.as_bytes()));
    assert_eq!(change.after, scratch.get("f"));
    assert_ne!(change.hash_before().unwrap(), change.hash_after());
}

#[test]
fn a_call_that_changes_nothing_is_refused() {
    let scratch = Scratch::new();
    scratch.put("f", "one\n");
    assert!(edit(&scratch, "one", "one").text.contains("the same"));
    assert!(edit(&scratch, "", "one").text.contains("`f` exists"));
    assert!(edit(&scratch, "  one", "  one ").text.starts_with("edited"));
    assert!(edit(&scratch, "two", "three").text.contains("not in f"));
    assert!(
        scratch
            .refused("edit_file", json!({"path": "g", "old_string": "a", "new_string": "b"}))
            .contains("does not exist")
    );
}

#[test]
fn an_empty_old_string_creates_a_missing_file() {
    let scratch = Scratch::new();
    scratch.ok("edit_file", json!({"path": "new/f", "old_string": "", "new_string": "one\n"}));
    assert_eq!(scratch.get("new/f"), b"one\n");
    scratch.ok("write_file", json!({"path": "new/f", "content": "two\n"}));
}

#[test]
fn bytes_that_are_no_text_are_not_edited() {
    let scratch = Scratch::new();
    scratch.put("f", b"caf\xE9\none\n");
    assert!(edit(&scratch, "one", "two").text.contains("not valid UTF-8"));
    assert_eq!(scratch.get("f"), b"caf\xE9\none\n");
}

/// Valid UTF-8 may be no text: NUL is.
#[test]
fn what_read_file_calls_binary_is_not_edited() {
    let scratch = Scratch::new();
    for content in [&b"one\0two\n"[..], b"\x89PNG\r\n\x1A\none\n", b"\xFF\xFEo\0n\0e\0", b"\0asm one"] {
        scratch.put("f", content);
        let read = scratch.refused("read_file", json!({"path": "f"}));
        let edited = edit(&scratch, "one", "two");
        let refusal = |text: &str| text.split(" and cannot").next().unwrap().to_owned();
        assert!(edited.is_error && read.contains("is binary ("), "{read}");
        assert_eq!(refusal(&edited.text), refusal(&read));
        assert!(edited.text.ends_with("nothing was changed. Use run_command"), "{}", edited.text);
        assert_eq!(scratch.get("f"), content);
    }
    // Behind what read_file looks at, both take it.
    scratch.put("f", format!("{}one\0\n", "x\n".repeat(1 << 12)));
    scratch.ok("read_file", json!({"path": "f"}));
    assert!(!edit(&scratch, "one", "two").is_error);
}

#[test]
fn a_change_behind_the_models_back_is_said() {
    let scratch = Scratch::new();
    scratch.put("f", "one\ntwo\n");
    scratch.ok("read_file", json!({"path": "f"}));
    scratch.put("f", "one\nother\n");
    let text = edit(&scratch, "one", "1").text;
    assert!(text.contains("note: the file had changed since this run last saw it"), "{text}");
    assert!(!edit(&scratch, "1", "2").text.contains("note:"));
}

#[test]
fn loose_matches_and_broken_syntax_are_said() {
    let scratch = Scratch::new();
    scratch.put("f.json", "{\n  \"a\": 1\n}\n");
    let call = |old: &str, new: &str| json!({"path": "f.json", "old_string": old, "new_string": new});
    let text = scratch.ok("edit_file", call("\"a\": 1\n}\n", "\"a\": 2\n}\n"));
    assert!(!text.contains("note"), "{text}");
    let text = scratch.ok("edit_file", call("    \"a\": 2\n", "    \"a\": \n"));
    assert!(text.contains("note: old_string matched these lines but for white space"), "{text}");
    assert!(text.contains("note: the file is no longer valid JSON: expected value at line 3"), "{text}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Through the tool and the disk: what is before and after the replaced text is there again, byte for byte.
    #[test]
    fn untouched_bytes_are_identical(before in "(\u{FEFF})?[a-c\r\n]{0,30}", after in "[a-c\r\n]{0,30}") {
        let scratch = Scratch::new();
        scratch.put("f", format!("{before}XYZ{after}"));
        prop_assert!(!edit(&scratch, "XYZ", "new").is_error);
        prop_assert_eq!(scratch.get("f"), format!("{before}new{after}").into_bytes());
    }

    /// Any edit, exact or loose, changes one stretch: the bytes before and after it stay, and the edit that is its inverse
    /// brings back every byte, whatever the line ends, the byte order mark, or the end of the last line.
    #[test]
    fn an_edit_and_its_inverse_restore_the_bytes(
        content in "(\u{FEFF})?([ab \t]{0,3}(\r\n|\n)?){0,8}",
        old in "[ab \t\n]{1,4}",
        new in "[xy \n]{1,6}",
    ) {
        let scratch = Scratch::new();
        scratch.put("f", &content);
        let output = edit(&scratch, &old, &new);
        let after = String::from_utf8(scratch.get("f")).unwrap();
        if output.is_error {
            prop_assert_eq!(after, content);
            return Ok(());
        }
        let length = |pairs: &mut dyn Iterator<Item = (u8, u8)>| pairs.take_while(|(a, b)| a == b).count();
        let head = length(&mut content.bytes().zip(after.bytes()));
        let most = content.len().min(after.len()) - head;
        let tail = length(&mut content.bytes().rev().zip(after.bytes().rev())).min(most);
        prop_assert!(content.len() - head - tail <= 2 * old.len() + 16, "{content:?} → {after:?}");
        let (was, is) = (&content[head..content.len() - tail], &after[head..after.len() - tail]);
        // Overlapping ones count: which of them was meant could not be told.
        let found = after.char_indices().filter(|(at, _)| after[*at..].starts_with(is)).count();
        let unique = !is.is_empty() && found == 1;
        if unique && !was.contains('\n') && !is.contains('\n') {
            prop_assert!(!edit(&scratch, is, was).is_error);
            prop_assert_eq!(String::from_utf8(scratch.get("f")).unwrap(), content);
        }
    }

    /// What is no text is refused, in any encoding, and stays as it is.
    #[test]
    fn bytes_that_are_no_text_stay(mut content: Vec<u8>, at: prop::sample::Index) {
        content.insert(at.index(content.len() + 1), 0xFF);
        let scratch = Scratch::new();
        scratch.put("f", &content);
        prop_assert!(edit(&scratch, "a", "b").is_error);
        prop_assert_eq!(scratch.get("f"), content);
    }
}

#[test]
fn replacing_everything_cannot_make_a_file_without_end() {
    let scratch = Scratch::new();
    scratch.put("f", "a".repeat(1 << 16));
    let call =
        json!({"path": "f", "old_string": "a", "new_string": "b".repeat(1 << 14), "replace_all": true});
    let text = scratch.refused("edit_file", call);
    assert!(text.contains("would have 1,024.0 MB, more than the 64.0 MB"), "{text}");
    assert_eq!(scratch.get("f").len(), 1 << 16);
}

/// The file that took a minute and a half: one line, and a match at every other byte of it.
#[test]
fn every_match_of_a_long_line_is_replaced() {
    let scratch = Scratch::new();
    scratch.put("f", "ab".repeat(1 << 19));
    let text = scratch
        .ok("edit_file", json!({"path": "f", "old_string": "a", "new_string": "c", "replace_all": true}));
    assert!(text.starts_with("edited f (524,288 replacements)"), "{text}");
    assert_eq!(scratch.get("f"), "cb".repeat(1 << 19).into_bytes());
}
