//! Recorded steps, played again. Whatever other tests record is played again as well, when their site goes.

use std::fs;

use serde_json::Value;

use crate::changes::WORKFLOW;
use crate::site::{AGENT, Site};

/// Files by command and by tool, turn by turn; then the answer.
fn script(last: &str) -> String {
    let call = |call: &str| format!("  - tool_calls: [{{ {call} }}]\n");
    let calls = [
        "name: run_command, arguments: { command: echo 1 > first.txt }",
        "name: write_file, arguments: { path: second.txt, content: two }",
        "name: edit_file, arguments: { path: second.txt, old_string: two, new_string: '2' }",
        last,
    ];
    format!("turns:\n{}  - content: \"---\\n$status: done\\n---\\n\"\n", calls.map(call).concat())
}

/// A thread of which one step is done, and that step.
fn recorded(site: &Site) -> (String, String) {
    let mock =
        site.write("mock.yaml", &script("name: run_command, arguments: { command: echo 3 > third.txt }"));
    let thread = site.start(&site.write("w.yaml", WORKFLOW), "task");
    let agent = format!("{AGENT} --mock {mock}");
    let said = site.uwf(&["thread", "exec", &thread, "--agent", &agent]).ok().json();
    (thread, said["head"].as_str().unwrap().to_owned())
}

#[test]
fn a_step_is_the_same_by_either_program_with_its_tools_or_without() {
    let site = Site::new();
    let (thread, step) = recorded(&site);
    let told = format!("{step}: 5 requests are the same, byte for byte (5 turns)\n");
    assert_eq!(site.uwf(&["replay", &step]).ok().out, told);
    assert_eq!(site.uwf(&["replay", &format!("{thread}:1")]).ok().out, told);
    assert_eq!(site.uwf(&["replay", "--all", &thread]).ok().out, told);
    assert_eq!(site.agent(&["replay", &step]).ok().out, told);
    assert_eq!(site.uwf(&["replay", "--run-tools", &step]).ok().out, told);
    let value = site.uwf(&["replay", &step, "--format", "json"]).ok().json();
    assert_eq!(value, serde_json::json!([{"step": step, "requests": 5, "turns": 5}]));
    assert_eq!(fs::read_to_string(site.workspace().join("second.txt")).unwrap(), "2");
    site.verify();
}

#[test]
fn what_cannot_be_played_again_is_told() {
    let site = Site::new();
    let (thread, step) = recorded(&site);
    site.uwf(&["replay", "0000000000000"]).fails(1, &["0000000000000"]);
    site.uwf(&["replay", "nonsense"]).fails(1, &["nonsense"]);
    site.uwf(&["replay", &format!("{thread}:2")]).fails(1, &["has no step 2"]);
    site.uwf(&["replay", &step, "--from", "9", "--live", "--worktree", "w2"])
        .fails(1, &["has 5 turns of the model, and none with the number 9"]);
    site.uwf(&["replay", &step, "--from", "1"]).code(2);
    let other = site.start(&site.write("w.yaml", WORKFLOW), "task");
    let says = "printf '{\"stepHash\":\"%s\"}'";
    site.uwf(&["thread", "exec", &other, "--agent", says]);
    assert_eq!(site.uwf(&["replay", "--all", &other]).ok().out, "");
}

#[test]
fn a_live_run_branches_off_with_the_files_of_that_turn() {
    let site = Site::new();
    let (thread, step) = recorded(&site);
    let other = site.write(
        "other.yaml",
        &script("name: run_command, arguments: { command: cat second.txt > fourth.txt }"),
    );
    let agent = format!("{AGENT} --mock {other}");
    let dir = site.workspace().join("branch");
    let branch = dir.to_str().unwrap();
    let live = ["replay", &step, "--from", "3", "--live", "--worktree", branch, "--agent", &agent];
    let said = site.uwf(&live).ok();
    let file = |name: &str| fs::read_to_string(dir.join(name)).ok();
    assert_eq!(
        ["first.txt", "second.txt", "third.txt", "fourth.txt"].map(file),
        [Some("1\n".into()), Some("2".into()), None, Some("2".into())]
    );
    let view: Value = said.json();
    let (fork, head) = (view["thread"].as_str().unwrap(), view["head"].as_str().unwrap());
    assert!(fork != thread && head != step, "{view}");
    let shown = site.uwf(&["step", "show", head]).ok().json();
    assert_eq!(shown["turnCount"], 5, "the recorded turns are a part of its own record");
    let replayed = site.uwf(&["replay", head]).ok().out;
    assert!(replayed.contains("byte for byte (5 turns)"), "{replayed}");
    assert_eq!(site.uwf(&["replay", &step]).ok().out.lines().count(), 1, "the step is as it was");
}
