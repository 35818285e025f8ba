//! Tests of `list_dir`.

use serde_json::json;

use crate::ToolLimits;
use crate::scratch::{Scratch, limits};

fn tree() -> Scratch {
    let scratch = Scratch::new();
    scratch.put("src/lib.rs", "x".repeat(1_500));
    scratch.put("src/deep/down/far.rs", "");
    scratch.put("README.md", "hello");
    scratch.put(".github/ci.yml", "");
    scratch.put(".git/config", "");
    scratch.put(".gitignore", "target/\n*.log\n");
    scratch.put("target/debug/uwf", "");
    scratch.put("a.log", "");
    scratch.link("src/lib.rs", "link");
    scratch
}

#[test]
fn two_levels_sorted_with_sizes_and_targets() {
    let scratch = tree();
    let output = scratch.call("list_dir", json!({}));
    insta::assert_snapshot!(output.text, @"
    .git/
    .github/
      ci.yml  0 bytes
    .gitignore  14 bytes
    README.md  5 bytes
    link → src/lib.rs
    src/
      deep/
      lib.rs  2 KB
    ");
    assert_eq!(output.title, "list . (9 entries)");
}

#[test]
fn depth_path_and_ignored_files() {
    let scratch = tree();
    insta::assert_snapshot!(scratch.ok("list_dir", json!({"path": "src", "depth": 9})), @"
    deep/
      down/
        far.rs  0 bytes
    lib.rs  2 KB
    ");
    let text = scratch.ok("list_dir", json!({"ignored": true, "depth": 1}));
    assert!(text.contains("target/") && text.contains("a.log"), "{text}");
    assert!(!text.contains("ci.yml"));
    assert!(!scratch.ok("list_dir", json!({"ignored": true, "depth": 9})).contains("config"));
    assert!(scratch.ok("list_dir", json!({"path": ".git"})).contains("config"));
}

#[test]
fn an_empty_directory_is_said_to_be_so() {
    assert_eq!(Scratch::new().ok("list_dir", json!({})), "(nothing to show)");
}

#[test]
fn too_many_entries_leave_out_the_deepest() {
    let scratch = Scratch::with(ToolLimits { list_entries: 3, ..limits() });
    for name in ["a/1", "a/2", "b/1", "c"] {
        scratch.put(name, "");
    }
    let output = scratch.call("list_dir", json!({}));
    assert_eq!(output.text, "a/\nb/\nc  0 bytes\n(3 more; narrow with path)");
    assert!(output.facts.truncated);
}
