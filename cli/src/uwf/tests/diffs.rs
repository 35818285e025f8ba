//! `step diff` and `thread diff`: who is told to have changed what, and how it looks.

use std::fs;

use serde_json::Value;
use uwf_engine::record::Detail;
use uwf_store::BLOB;

use super::command_line::CommandLine;
use super::workspace::{Workspace, detail};

/// Each changed path, and who is told to have changed it.
fn authors(value: &Value) -> Vec<(String, String)> {
    let of = |change: &Value| {
        let turn = change["turn"].as_u64().or(change["number"].as_u64());
        let by = change["by"].as_str().unwrap().to_owned()
            + &turn.map(|turn| format!(" {turn}")).unwrap_or_default();
        (change["path"].as_str().unwrap().to_owned(), by)
    };
    value["changes"].as_array().unwrap().iter().map(of).collect()
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected.iter().map(|(path, by)| ((*path).to_owned(), (*by).to_owned())).collect()
}

#[test]
fn a_change_is_the_tools_where_they_explain_it_wholly_else_the_last_commands() {
    let mut at = Workspace::new();
    at.write("both", b"1\n");
    at.write("twice", b"1\n");
    let before = at.now();
    at.write("tool", b"t\n");
    at.write("both", b"2\n");
    at.write("twice", b"2\n");
    let first = at.now();
    at.write("both", b"3\n");
    at.write("twice", b"3\n");
    at.write("bytes", b"\xff\xfe\n");
    let second = at.now();
    at.write("late", b"x\n");
    let after = at.now();
    let bytes = "data:application/octet-stream;base64,//4K";
    let changes = vec![
        at.tool("tool", None, "t\n"),
        at.tool("both", Some("1\n"), "2\n"),
        at.tool("bytes", None, bytes),
        at.tool("undone", None, "came and went\n"),
    ];
    let turns =
        [at.command("a", "one", Some(first.tree)), at.command("b", "two\nlines", Some(second.tree))].concat();
    let thread = at.place.flow_thread();
    let step = at.step(&thread, &detail(&turns, changes, [before, after]));
    let value = at.place.uwf(&["step", "diff", step.as_str(), "--format", "json"]).json();
    let expected = [
        ("bytes", "tool"),
        ("tool", "tool"),
        ("both", "command 4"),
        ("twice", "command 4"),
        ("late", "other"),
    ];
    let mut found = authors(&value);
    found.sort();
    let mut expected = pairs(&expected);
    expected.sort();
    assert_eq!(found, expected);
    let text = at.place.uwf(&["step", "diff", step.as_str()]).out;
    assert!(text.contains("# changed by the command of turn 4: two …\n"), "{text}");
    assert!(text.contains("# changed by nobody that is on record\ndiff --git a/late b/late\n"), "{text}");
}

#[test]
fn what_editing_tools_alone_did_has_no_headings() {
    let mut at = Workspace::new();
    let before = at.now();
    at.write("tool", b"t\n");
    let after = at.now();
    let thread = at.place.flow_thread();
    let step = at.step(&thread, &detail(&[], vec![at.tool("tool", None, "t\n")], [before, after]));
    let ran = at.place.uwf(&["step", "diff", step.as_str()]);
    assert!(ran.out.starts_with("diff --git a/tool b/tool\nnew file mode 100644\n"), "{ran:?}");
    assert_eq!(ran.err, "");
}

/// One is a text of several pieces, the other one bytes whose data URL is.
#[test]
fn long_contents_are_told_as_short_ones_are() {
    let mut at = Workspace::new();
    let before = at.now();
    let text = "a line\n".repeat(200_000);
    let bytes = [&b"\xff\xfe\0"[..], &[0; 900_000]].concat();
    at.write("text", text.as_bytes());
    at.write("bytes", &bytes);
    let after = at.now();
    let url = format!("data:application/octet-stream;base64,//4A{}", "A".repeat(1_200_000));
    let changes = vec![at.tool("text", None, &text), at.tool("bytes", None, &url)];
    let stored = changes.iter().map(|change| at.store.get(&change.after.unwrap()).unwrap().type_);
    assert_eq!(stored.collect::<Vec<_>>(), [BLOB, BLOB]);
    let thread = at.place.flow_thread();
    let step = at.step(&thread, &detail(&[], changes.clone(), [before, after]));
    let value = at.place.uwf(&["step", "diff", step.as_str(), "--format", "json"]).json();
    assert_eq!(authors(&value), pairs(&[("bytes", "tool"), ("text", "tool")]));
    let shown = at.place.uwf(&["step", "show", step.as_str(), "--format", "json"]).json();
    assert!(shown["changes"][0]["after"] == text && shown["changes"][1]["after"] == url);

    let unseen = Detail { snapshots: None, ..detail(&[], changes, [before, after]) };
    let step = at.step(&thread, &unseen);
    let stat = at.place.uwf(&["step", "diff", step.as_str(), "--stat"]).out;
    assert!(stat.contains("200000 +") && stat.contains("0 -> 900003 bytes"), "{stat}");
}

#[test]
fn colours_are_for_a_terminal_and_what_steers_it_is_shown() {
    let mut at = Workspace::new();
    at.write("text", b"old\n");
    let before = at.now();
    at.write("text", b"\x1b[2Jnew\n");
    let after = at.now();
    let thread = at.place.flow_thread();
    let step = at.step(&thread, &detail(&[], Vec::new(), [before, after]));
    let args = ["step", "diff", step.as_str(), "--color", "always"];
    let coloured = at.place.on_terminal(&args).out;
    for part in ["\x1b[31m-old\x1b[0m\n", "\x1b[32m+\\u001b[2Jnew\x1b[0m\n", "\x1b[36m@@ -1 +1 @@\x1b[0m\n"] {
        assert!(coloured.contains(part), "{part:?}: {coloured:?}");
    }
    let plain = at.place.uwf(&args).out;
    assert!(plain.contains("\n-old\n+\x1b[2Jnew\n"), "it is what git takes: {plain:?}");
    let stat = at.place.on_terminal(&["step", "diff", step.as_str(), "--color", "always", "--stat"]).out;
    assert!(!stat.contains('\x1b'), "{stat:?}");
}

#[test]
fn a_threads_files_are_told_with_the_last_step_that_changed_them() {
    let mut at = Workspace::new();
    at.write("gone", b"gone\n");
    let first = at.now();
    at.write("one", b"one\n");
    at.write("two", b"two\n");
    let second = at.now();
    at.write("between", b"between\n");
    let third = at.now();
    at.write("two", b"two again\n");
    fs::remove_file(at.place.path().join("w/gone")).unwrap();
    let last = at.now();
    let thread = at.place.flow_thread();
    at.step(&thread, &detail(&[], Vec::new(), [first, second]));
    at.step(&thread, &Detail::empty("s", "m"));
    at.step(&thread, &detail(&[], Vec::new(), [third, last]));
    let ran = at.place.uwf(&["thread", "diff", thread.as_str(), "--format", "json"]);
    let mut found = authors(&ran.json());
    found.sort();
    let expected = [("between", "other"), ("gone", "step 3"), ("one", "step 1"), ("two", "step 3")];
    assert_eq!(found, pairs(&expected));
    assert_eq!(ran.err, "", "a step that called nothing is not missed");

    let fresh = at.place.flow_thread();
    let none = at.place.uwf(&["thread", "diff", fresh.as_str()]);
    assert_eq!((none.exit, none.out.as_str()), (1, ""));
    assert!(none.err.contains("has no step yet\n  hint: `uwf thread exec"), "{}", none.err);
}
