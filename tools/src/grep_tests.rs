//! Tests of `grep`.

use serde_json::json;

use crate::ToolLimits;
use crate::scratch::{Scratch, limits};

fn files() -> Scratch {
    let scratch = Scratch::new();
    scratch.put(".git/HEAD", "needle\n");
    scratch.put(".gitignore", "ignored/\n");
    scratch.put("ignored/a", "needle\n");
    scratch.put(".hidden", "needle\n");
    scratch.put("binary", b"needle\n\0");
    scratch.put("src/b.rs", "one\nneedle two\nthree\nfour\nfive\nNeedle six\n");
    scratch.put("src/a.txt", "a needle, a needle\n");
    scratch
}

#[test]
fn matches_are_grouped_by_file_in_path_order() {
    let scratch = files();
    let output = scratch.call("grep", json!({"pattern": "needle"}));
    insta::assert_snapshot!(output.text, @"
    src/a.txt
      1: a needle, a needle
    src/b.rs
      2: needle two
    (2 matches in 2 files)
    ");
    assert_eq!(output.title, "grep needle (2 matches in 2 files)");
}

#[test]
fn lines_around_matches_and_case() {
    let call = json!({"pattern": "needle", "path": "src/b.rs", "context": 1, "case_insensitive": true});
    insta::assert_snapshot!(files().ok("grep", call), @"
    src/b.rs
      1- one
      2: needle two
      3- three
      --
      5- five
      6: Needle six
    (2 matches in 1 file)
    ");
}

#[test]
fn globs_files_only_and_a_single_hidden_file() {
    let scratch = files();
    let call = |more: serde_json::Value| {
        let mut call = json!({"pattern": "needle"});
        call.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        scratch.ok("grep", call)
    };
    assert_eq!(call(json!({"glob": "*.rs", "files_only": true})), "src/b.rs\n(1 file)");
    assert_eq!(call(json!({"glob": "!*.rs", "files_only": true})), "src/a.txt\n(1 file)");
    assert_eq!(call(json!({"path": "src", "glob": "b.*", "files_only": true})), "src/b.rs\n(1 file)");
    assert_eq!(call(json!({"path": ".hidden"})), ".hidden\n  1: needle\n(1 match in 1 file)");
    assert_eq!(call(json!({"glob": "*.md"})), "(no matches in 0 files)");
    assert!(scratch.refused("grep", json!({"pattern": "x", "glob": "{"})).contains("the glob is wrong"));
}

#[test]
fn a_wrong_pattern_is_shown_with_its_place() {
    let scratch = files();
    insta::assert_snapshot!(scratch.refused("grep", json!({"pattern": "fn main("})), @"
    the pattern is no regular expression: regex parse error:
        fn main(
               ^
    error: unclosed group
    To search for it as plain text, set `literal`
    ");
    assert_eq!(scratch.ok("grep", json!({"pattern": "a(", "literal": true})), "(no matches in 3 files)");
    assert!(scratch.refused("grep", json!({"pattern": "a\nb"})).contains("set `multiline`"));
}

#[test]
fn matches_over_lines_count_once() {
    let scratch = Scratch::new();
    scratch.put("f", "begin\nmiddle\nend\nother\n");
    insta::assert_snapshot!(scratch.ok("grep", json!({"pattern": "begin.*end", "multiline": true})), @"
    f
      1: begin
      2: middle
      3: end
    (1 match in 1 file)
    ");
}

#[test]
fn the_cap_shows_the_first_and_counts_all() {
    let scratch = Scratch::with(ToolLimits { grep_matches: 3, list_entries: 2, ..limits() });
    for file in 0..50 {
        scratch.put(&format!("f{file:02}"), "x\nx\n");
    }
    let output = scratch.call("grep", json!({"pattern": "x"}));
    insta::assert_snapshot!(output.text, @"
    f00
      1: x
      2: x
    f01
      1: x
    (100 matches in 50 files in all, the first 3 shown; narrow the pattern, the path or the glob)
    ");
    assert!(output.facts.truncated);
    for _ in 0..5 {
        assert_eq!(scratch.ok("grep", json!({"pattern": "x"})), output.text);
    }
    let text = scratch.ok("grep", json!({"pattern": "x", "files_only": true}));
    assert_eq!(
        text,
        "f00\nf01\n(50 files in all, the first 2 shown; narrow the pattern, the path or the glob)"
    );
}

#[test]
fn a_long_line_is_cut_around_its_match() {
    let scratch = Scratch::new();
    scratch.put("f", format!("{}needle{}\n", "é".repeat(5_000), "ß".repeat(5_000)));
    let text = scratch.ok("grep", json!({"pattern": "needle"}));
    let line = text.lines().nth(1).unwrap();
    assert!(line.starts_with("  1: [4920 characters …] é") && line.contains("éneedleß"), "{line}");
    assert!(line.ends_with("ß [… 4686 more characters]"), "{line}");
}

#[test]
fn bytes_that_are_not_utf8_are_searched_and_shown() {
    let scratch = Scratch::new();
    scratch.put("f", b"caf\xE9 needle\n");
    assert!(scratch.ok("grep", json!({"pattern": "needle"})).contains("caf\u{FFFD} needle"));
}

/// As long as the disk allows a file to be that takes no room on it.
#[test]
fn a_huge_file_does_not_fill_the_memory() {
    let scratch = Scratch::new();
    scratch.put("small", "needle\n");
    scratch.put("huge", "");
    std::fs::File::options().write(true).open(scratch.root().join("huge")).unwrap().set_len(1 << 40).unwrap();
    let text = scratch.call("grep", json!({"pattern": "needle", "multiline": true})).text;
    assert!(text.contains("small"), "{text}");
}

#[test]
fn a_pattern_that_would_take_the_memory_is_refused() {
    let scratch = Scratch::new();
    let text = scratch.refused("grep", json!({"pattern": r"((\w{100}){100}){10}"}));
    assert!(text.contains("10485760") || text.contains("size limit"), "{text}");
    let deep = format!("{}a{}", "(".repeat(100_000), ")".repeat(100_000));
    assert!(scratch.refused("grep", json!({"pattern": deep})).len() < 2_000);
}
