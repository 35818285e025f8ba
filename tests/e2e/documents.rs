//! The document workflow on .docx files that pandoc made and reads: written, changed in place, and compared.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::site::{Said, Site, UWF, example, search_path};

/// What the documents are made of: a footnote, a link, a table and a list are what converters lose.
const ORIGINAL: &str = "\
# Results

We sold *ten* **boats** in June[^1] and [more](http://example.com) later.

| item  | count |
|-------|-------|
| boats | 10    |

- one
- two

[^1]: Counted twice.
";

fn pandoc(args: &[&str], dir: &Path) -> String {
    let ran = Command::new("pandoc").args(args).current_dir(dir).output().unwrap();
    assert!(ran.status.success(), "{args:?}: {}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8(ran.stdout).unwrap()
}

fn has_pandoc() -> bool {
    let version = Command::new("pandoc").arg("--version").stdout(Stdio::null()).status();
    let there = version.is_ok_and(|status| status.success());
    assert!(there || std::env::var_os("UWF_REQUIRE_PANDOC").is_none(), "pandoc is not in PATH");
    if !there {
        // Not by eprintln!: what a passing test prints is shown to nobody.
        let mut past_the_runner = std::io::stderr();
        writeln!(past_the_runner, "skipped: documents: needs pandoc").unwrap();
    }
    there
}

/// `uwf` with the definitions, and the stand-ins in `PATH`.
fn uwf(site: &Site, args: &[&str]) -> Said {
    let path = format!("{}:{}", example("document/bin"), search_path());
    Said::of(site.command(UWF).env("PATH", path).args(args).output().unwrap())
}

/// A home where the two agents play the workflow's roles.
fn office() -> Site {
    let site = Site::new();
    let agents = site.home().join(".uwf/agents");
    fs::create_dir_all(&agents).unwrap();
    for (role, agent) in [("writer", "office-agent"), ("differ", "docx-diff")] {
        let file = format!("{agent}.yaml");
        fs::copy(example(&format!("document/agents/{file}")), agents.join(file)).unwrap();
        site.uwf(&["config", "set", &format!("agentOverrides.document.{role}"), agent]).ok();
    }
    site
}

/// Plays the workflow; gives the outputs of its steps, by role.
fn played(site: &Site, task: &str) -> Vec<(String, Value)> {
    let ran = uwf(site, &["run", &example("document/workflow.yaml"), "-p", task, "--json"]).ok().json();
    assert_eq!(ran["status"], "end", "{ran}");
    let steps = site.uwf(&["step", "list", ran["thread"].as_str().unwrap()]).ok().json();
    let of = |step: &Value| (step["role"].as_str().unwrap().to_owned(), step["output"].clone());
    steps["steps"].as_array().unwrap()[1..].iter().map(of).collect()
}

#[test]
fn a_document_is_written_and_goes_straight_to_the_end() {
    if !has_pandoc() {
        return;
    }
    let site = office();
    let task = "Boats & oars\nWe sell both.";
    let written = json!({"$status": "generated", "mode": "generate", "outputDocx": "output.docx"});
    assert_eq!(played(&site, task), [("writer".to_owned(), written)]);
    let text = pandoc(&["output.docx", "-t", "plain"], &site.workspace());
    assert_eq!(text.trim(), "Boats & oars\n\nWe sell both.");
    let kept = site.uwf(&["thread", "artifacts", "@"]).ok().json();
    assert_eq!((&kept[0]["name"], kept.as_array().unwrap().len()), (&json!("output.docx"), 1));
    // The step tells who it was.
    let steps = site.uwf(&["step", "list", "@"]).ok().json();
    assert_eq!(steps["steps"][1]["agent"], "office-agent");
    site.verify();
}

#[test]
fn a_document_is_changed_in_place_and_the_changes_are_tracked() {
    if !has_pandoc() {
        return;
    }
    let site = office();
    let dir = site.workspace();
    fs::write(dir.join("a.md"), ORIGINAL).unwrap();
    pandoc(&["a.md", "-o", "original.docx"], &dir);
    let original = fs::read(dir.join("original.docx")).unwrap();
    let steps =
        played(&site, "replace \"boats in June\" with \"ships in July\" and replace \"10\" by \"11\"");
    let edited = json!({"$status": "edited", "mode": "edit", "outputDocx": "modified.docx", "sourceDocx": "original.docx"});
    let changed = json!({"$status": "changed", "diffDocx": "diff.docx"});
    assert_eq!(steps, [("writer".to_owned(), edited), ("differ".to_owned(), changed)]);
    assert_eq!(fs::read(dir.join("original.docx")).unwrap(), original, "the original is not touched");
    let markdown = |docx: &str| pandoc(&[docx, "-t", "markdown"], &dir);
    let modified = markdown("modified.docx");
    for kept in
        ["*ten*", "ships in July", "[^1] and [more](http://example.com)", "11", "[^1]: Counted twice."]
    {
        assert!(modified.contains(kept), "{kept}: {modified}");
    }
    let tracked =
        |how: &str| pandoc(&["diff.docx", "-t", "markdown", &format!("--track-changes={how}")], &dir);
    assert_eq!(tracked("reject"), markdown("original.docx"));
    assert_eq!(tracked("accept"), markdown("modified.docx"));
    assert!(tracked("all").contains("insertion"), "{}", tracked("all"));

    // A change that changes nothing is told apart.
    let steps = played(&site, "replace \"boats\" with \"boats\"");
    assert_eq!(steps[1].1, json!({"$status": "same"}));
}

#[test]
fn what_the_programs_cannot_do_is_a_failed_step_and_changes_no_document() {
    if !has_pandoc() {
        return;
    }
    let site = office();
    let dir = site.workspace();
    fs::write(dir.join("a.md"), ORIGINAL).unwrap();
    pandoc(&["a.md", "-o", "original.docx"], &dir);
    let original = fs::read(dir.join("original.docx")).unwrap();
    let workflow = example("document/workflow.yaml");
    let failed = |said: Said, words: &str| {
        assert!(said.code == 3 && said.err.contains(words), "{}", said.err);
    };
    failed(uwf(&site, &["run", &workflow, "-p", "make it better"]), "the instruction is not understood");
    assert_eq!(fs::read(dir.join("original.docx")).unwrap(), original);
    // Without the programs it is told which one there is not.
    failed(site.uwf(&["run", &workflow, "-p", "x"]), "there is no office-agent in PATH");
    fs::write(dir.join("original.docx"), "no archive").unwrap();
    failed(uwf(&site, &["run", &workflow, "-p", "replace \"a\" with \"b\""]), "office-agent could not do it");
}
