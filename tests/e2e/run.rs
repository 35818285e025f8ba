//! The stand-alone form: one role, one command, a scripted model.

use std::fs;
use std::path::Path;

use crate::site::{Site, example};

/// A copy of this repository's own files, as a fresh checkout would have them.
fn copy_of_this_repository(site: &Site) {
    copy(Path::new(env!("CARGO_MANIFEST_DIR")), &site.workspace());
    site.command("git").args(["init", "-q"]).status().unwrap();
    site.command("git").args(["add", "-A"]).status().unwrap();
}

fn copy(from: &Path, to: &Path) {
    let left_out = [".git", "target", "node_modules", "corpus", "artifacts"];
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let (path, name) = (entry.path(), entry.file_name());
        let to = to.join(&name);
        // Of a linked worktree `.git` is a file.
        if left_out.iter().any(|left_out| name == *left_out) {
            continue;
        } else if path.is_dir() {
            fs::create_dir_all(&to).unwrap();
            copy(&path, &to);
        } else if path.is_file() {
            fs::copy(&path, to).unwrap();
        }
    }
}

#[test]
fn a_role_works_on_a_copy_of_this_repository() {
    let site = Site::new();
    copy_of_this_repository(&site);
    let (workflow, mock) = (example("solve-issue/workflow.yaml"), example("solve-issue/developer.mock.yaml"));
    let prompt = "Note our crates in the changelog.";
    let said = site
        .agent(&["run", &workflow, "--role", "developer", "-p", prompt, "--mock", &mock, "--format", "json"])
        .ok();

    let reply = said.json();
    assert_eq!(reply["frontmatter"]["$status"], "done");
    assert_eq!(reply["frontmatter"]["files"][0], "CHANGELOG.md");
    assert_eq!(reply["isError"], false);
    assert_eq!(reply["usage"]["turns"], 4);
    let changelog = std::fs::read_to_string(site.workspace().join("CHANGELOG.md")).unwrap();
    assert!(changelog.contains("## Unreleased\n\n- A note on the four crates"), "{changelog}");

    let thread = said.err.lines().find_map(|line| line.strip_prefix("thread ")).unwrap();
    let shown = site.uwf(&["thread", "show", thread]).ok().json();
    assert_eq!((shown["status"].as_str(), shown["head"].as_str()), (Some("end"), reply["stepHash"].as_str()));
    site.verify();
}

#[test]
fn the_record_is_the_conversation() {
    let site = Site::new();
    copy_of_this_repository(&site);
    let (workflow, mock) = (example("solve-issue/workflow.yaml"), example("solve-issue/developer.mock.yaml"));
    let said = site
        .agent(&["run", &workflow, "--role", "developer", "-p", "Note it in the changelog.", "--mock", &mock])
        .ok();
    let node = |hash: &str| site.uwf(&["cas", "get", hash]).ok().json()["payload"].clone();
    let detail = node(said.json()["detailHash"].as_str().unwrap());
    let turns: Vec<_> =
        detail["messages"].as_array().unwrap().iter().map(|hash| node(hash.as_str().unwrap())).collect();
    let roles: Vec<&str> = turns.iter().map(|turn| turn["role"].as_str().unwrap()).collect();
    let expected = [
        "system",
        "user",
        "assistant",
        "tool",
        "tool",
        "assistant",
        "tool",
        "assistant",
        "tool",
        "assistant",
    ];
    assert_eq!(roles, expected);
    for turn in turns.iter().filter(|turn| turn["role"] == "tool") {
        let id = turn["callId"].as_str().unwrap();
        let asked = turns.iter().any(|turn| turn["toolCalls"].to_string().contains(id));
        assert!(asked, "the result {id} answers a call that is in the record");
    }
    let command = turns.iter().find(|turn| turn["exitCode"] == 0).unwrap();
    assert!(command["content"].as_str().unwrap().contains("CHANGELOG.md"), "{command}");
    let change = &detail["changes"][0];
    assert_eq!(change["path"], "CHANGELOG.md");
    let before = node(change["before"].as_str().unwrap());
    assert!(before.as_str().unwrap().starts_with("# Changelog"), "the bytes before are kept");
    assert_eq!(detail["turnCount"], 4);
    assert!(detail["turns"].as_array().unwrap().len() < turns.len());
}

#[test]
fn the_answer_is_text_for_people() {
    let site = Site::new();
    let workflow = example("solve-issue/workflow.yaml");
    let mock = site.write(
        "m.yaml",
        "turns:\n  - content: |\n      ---\n      $status: approved\n      ---\n      Fine.\n",
    );
    let said = site.agent(&[
        "run", &workflow, "--role", "reviewer", "-p", "- look", "--mock", &mock, "--format", "text", "-q",
    ]);
    let said = said.ok();
    assert_eq!(said.out, "---\n$status: approved\n---\n\nFine.\n");
    assert_eq!(said.err, "");
}

#[test]
fn a_suspended_role_waits_for_a_person_and_goes_on() {
    let site = Site::new();
    let workflow = example("solve-issue/workflow.yaml");
    let mock = site.write(
        "m.yaml",
        "turns:\n  - content: |\n      ---\n      $status: $SUSPEND\n      reason: Which branch?\n      ---\n",
    );
    let run = ["run", &workflow, "--role", "planner", "-p", "Plan", "--mock", &mock];
    let said = site.agent(&run).code(10);
    let thread = said.err.lines().find_map(|line| line.strip_prefix("thread ")).unwrap();
    let shown = site.uwf(&["thread", "show", thread]).ok().json();
    assert_eq!((&shown["status"], &shown["suspendMessage"]), (&"suspended".into(), &"Which branch?".into()));
    assert_eq!(site.uwf(&["thread", "exec", thread]).code(10).json()["status"], "suspended");

    let go_on = site.write(
        "n.yaml",
        "turns:\n  - content: |\n      ---\n      $status: planned\n      files: [a]\n      plan: p\n      ---\n    expect: { last_contains: the main one }\n",
    );
    let agent = format!("{} --mock {go_on}", crate::site::AGENT);
    let resumed =
        site.uwf(&["thread", "resume", thread, "-p", "the main one", "--agent", &agent]).ok().json();
    assert_eq!(resumed["status"], "idle");
    assert_eq!(resumed["currentRole"], "developer");
    site.verify();
}

#[test]
fn a_failed_tool_call_is_marked_wherever_the_run_is_shown() {
    let site = Site::new();
    let mock = site.write(
        "m.yaml",
        "turns:
  - tool_calls:
      - { name: run_command, arguments: { command: exit 3, description: run the tests } }
      - { name: read_file, arguments: { path: none } }
      - { name: run_command, arguments: { command: kill -9 $$ } }
      - { name: run_command, arguments: { command: 'true', description: ' ' } }
  - content: |
      ---
      $status: approved
      ---
      Fine.
",
    );
    let workflow = example("solve-issue/workflow.yaml");
    let said = site.agent(&["run", &workflow, "--role", "reviewer", "-p", "x", "--mock", &mock]).ok();
    for line in [
        "  ✗ run the tests (exit code 3) (",
        "  ✗ read none: not done (",
        "  ✗ run kill -9 $$ (ended by signal 9) (",
    ] {
        assert!(said.err.contains(line), "{line}: {}", said.err);
    }
    assert_eq!(said.err.matches('✗').count(), 3, "{}", said.err);
    let reply = said.json();
    let (step, detail) = (reply["stepHash"].as_str().unwrap(), reply["detailHash"].as_str().unwrap());
    let read = site.uwf(&["step", "read", step]).ok().out;
    for heading in [
        "## 4. tool (result): `run_command` failed, exit code 3\n",
        "## 5. tool (result): `read_file` failed\n",
        "## 6. tool (result): `run_command` failed\n",
        "## 7. tool (result): `run_command`\n",
        " | **Failed tool calls:** 3\n",
    ] {
        assert!(read.contains(heading), "{heading}: {read}");
    }
    assert_eq!(site.uwf(&["cas", "get", detail]).ok().json()["payload"]["failedCalls"], 3);
    let thread = site.uwf(&["thread", "list", "--all"]).ok().json()[0]["thread"].clone();
    let thread = thread.as_str().unwrap();
    assert_eq!(site.uwf(&["step", "list", thread]).ok().json()["steps"][1]["failedCalls"], 3);
    let listed = site.uwf(&["step", "list", thread, "--format", "text"]).ok().out;
    assert!(listed.lines().next().unwrap().contains("FAILED CALLS"), "{listed}");
    assert!(listed.lines().nth(1).unwrap().trim_end().ends_with(" 3"), "{listed}");
    assert!(site.uwf(&["thread", "read", thread]).ok().out.contains("**Failed tool calls:** 3"));
    site.verify();
}
