//! Tests of `glob`.

use std::fs::File;
use std::time::{Duration, SystemTime};

use serde_json::json;

use crate::ToolLimits;
use crate::scratch::{Scratch, limits};

/// Files of which each is a second newer than the one before.
fn files(names: &[&str]) -> Scratch {
    let scratch = Scratch::with(ToolLimits { glob_files: 4, ..limits() });
    let start = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
    for (age, name) in names.iter().enumerate() {
        scratch.put(name, "");
        let file = File::options().write(true).open(scratch.root().join(name)).unwrap();
        file.set_modified(start + Duration::from_secs(age as u64)).unwrap();
    }
    scratch
}

fn find(scratch: &Scratch, pattern: &str) -> String {
    scratch.ok("glob", json!({ "pattern": pattern }))
}

#[test]
fn a_name_matches_at_any_depth_newest_first() {
    let scratch = files(&["b.rs", "src/deep/a.rs", "c.rs", "c.txt"]);
    assert_eq!(find(&scratch, "*.rs"), "c.rs\nsrc/deep/a.rs\nb.rs");
    let output = scratch.call("glob", json!({"pattern": "*.{rs,txt}", "path": "src"}));
    assert_eq!((output.text.as_str(), output.title.as_str()), ("src/deep/a.rs", "glob *.{rs,txt} (1 file)"));
}

#[test]
fn a_star_stops_at_a_slash_and_two_do_not() {
    let scratch = files(&["src/a.rs", "src/x/b.rs"]);
    assert_eq!(find(&scratch, "src/*.rs"), "src/a.rs");
    assert_eq!(find(&scratch, "./src/**/*.rs"), "src/x/b.rs\nsrc/a.rs");
    let absolute = scratch.root().canonicalize().unwrap().join("src/*.rs");
    assert_eq!(find(&scratch, absolute.to_str().unwrap()), "src/a.rs");
    assert_eq!(find(&scratch, "../**"), "(no files match)");
}

#[test]
fn hidden_files_are_found_ignored_ones_and_gits_own_are_not() {
    let scratch = files(&[".github/ci.yml", "out/x.yml", ".git/y.yml", "sub/.git/z.yml"]);
    scratch.put(".gitignore", "out/\n");
    assert_eq!(find(&scratch, "*.yml"), ".github/ci.yml");
}

#[test]
fn at_the_cap_the_newest_are_shown_and_the_rest_counted() {
    let names: Vec<String> = (0..50).map(|n| format!("f{n}")).collect();
    let scratch = files(&names.iter().map(String::as_str).collect::<Vec<_>>());
    let output = scratch.call("glob", json!({"pattern": "f*"}));
    assert_eq!(output.text, "f49\nf48\nf47\nf46\n(46 more; narrow the pattern or the path)");
    assert!(output.facts.truncated);
}

#[test]
fn a_wrong_pattern_and_a_wrong_path_are_answered() {
    let scratch = files(&["a"]);
    let text = scratch.refused("glob", json!({"pattern": "a{b"}));
    assert!(text.starts_with("`a{b` is not a valid glob: unclosed alternate group"), "{text}");
    assert!(scratch.refused("glob", json!({"pattern": "*", "path": ".."})).contains("outside the workspace"));
    assert!(scratch.refused("glob", json!({"pattern": "*", "path": "a"})).contains("not a directory"));
}
/// More of them took the memory, the stack or the whole program.
#[test]
fn a_pattern_that_nobody_writes_is_refused_with_its_bound() {
    let scratch = Scratch::new();
    scratch.put("abababab", "x\n");
    for (pattern, why) in [
        ("{a,b}".repeat(300), "it has more than 100 braces"),
        (format!("{}a{}", "{".repeat(100_000), "}".repeat(100_000)), "it is longer than 4,096 characters"),
        ("*a".repeat(100_000), "it is longer than 4,096 characters"),
        (format!("{}a{}", "{a,".repeat(101), "}".repeat(101)), "it has more than 100 braces"),
    ] {
        let text = scratch.refused("glob", json!({ "pattern": pattern }));
        assert!(text.contains(why) && text.len() < 500, "{text}");
        let text = scratch.refused("grep", json!({"pattern": "x", "glob": pattern}));
        assert!(text.contains(why) && text.len() < 500, "{text}");
    }
    assert_eq!(find(&scratch, &"{a,b}".repeat(8)), "abababab");
    for pattern in
        ["{a,b}".repeat(100), "*a".repeat(2_000), format!("{}a{}", "{a,".repeat(100), "}".repeat(100))]
    {
        find(&scratch, &pattern);
        scratch.call("grep", json!({"pattern": "x", "glob": pattern}));
    }
}
