//! What a run does with tools, seen from its journal and its record.

use serde_json::Value;
use uwf_engine::builtin;
use uwf_store::Hash;

use crate::site::{Said, Site, example};

const ANSWER: &str =
    "  - content: |\n      ---\n      $status: planned\n      files: [a]\n      plan: p\n      ---\n";

/// A planner who makes these turns and then answers; what the run said.
fn plan(site: &Site, turns: &str) -> Said {
    let mock = site.write("m.yaml", &format!("turns:\n{turns}{ANSWER}"));
    let workflow = example("solve-issue/workflow.yaml");
    site.agent(&["run", &workflow, "--role", "planner", "-p", "plan", "--mock", &mock])
}

/// The entries of the only journal, without the opening.
fn journal(site: &Site) -> Vec<Value> {
    let sessions = std::fs::read_dir(site.home().join(".uwf/sessions")).unwrap();
    let path = sessions.map(|entry| entry.unwrap().path()).find(|path| path.is_file()).unwrap();
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn reading_calls_start_together_and_are_answered_in_their_order() {
    let site = Site::new();
    let calls = "  - tool_calls:\n      - { name: glob, arguments: { pattern: '*' } }\n      - { name: list_dir, arguments: {} }\n      - { name: write_file, arguments: { path: a, content: x } }\n      - { name: read_file, arguments: { path: a } }\n";
    plan(&site, calls).ok();
    let entries = journal(&site);
    let words: Vec<&str> = entries
        .iter()
        .map(|entry| entry["entry"].as_str().unwrap())
        .filter(|word| ["started", "finished"].contains(word))
        .collect();
    let (begin, end) = ("started", "finished");
    assert_eq!(words, [begin, begin, end, end, begin, end, begin, end]);
    let asked = entries.iter().find(|entry| entry["entry"] == "answered").unwrap()["message"].clone();
    let ids: Vec<&Value> = asked["tool_calls"].as_array().unwrap().iter().map(|call| &call["id"]).collect();
    let answered: Vec<&Value> = entries
        .iter()
        .filter(|entry| entry["entry"] == "finished")
        .map(|entry| &entry["message"]["tool_call_id"])
        .collect();
    assert_eq!(ids, answered);
}

#[test]
fn what_was_left_out_is_read_by_the_hash_it_has_in_the_record() {
    let site = Site::new();
    let text: String = (1..=9_000).map(|n| format!("{n}\n")).collect();
    let hash = Hash::of(&builtin::TEXT, &Value::from(text)).to_string();
    let read = format!(
        "  - tool_calls: [{{ name: tool_output, arguments: {{ hash: {hash}, offset: 5000, limit: 1 }} }}]\n    expect: {{ last_contains: 'HASH' }}\n"
    );
    let run = "  - tool_calls: [{ name: run_command, arguments: { command: 'seq 9000' } }]\n";
    let seen = read.replace("HASH", &format!("read them with tool_output hash={hash} …]"));
    plan(&site, &format!("{run}{seen}")).ok();
    let finished: Vec<Value> =
        journal(&site).into_iter().filter(|entry| entry["entry"] == "finished").collect();
    let shown = "5000\t5000\n(lines 5000–5000 of 9,000; continue with offset=5001)";
    assert!(finished[1]["message"]["content"].as_str().unwrap().contains(shown), "{}", finished[1]);
    site.uwf(&["cas", "has", &hash]).ok();
    std::fs::remove_dir_all(site.home().join(".uwf/sessions")).unwrap();
    plan(&site, &read.replace("HASH", "plan")).ok();
    let finished = journal(&site).into_iter().find(|entry| entry["entry"] == "finished").unwrap();
    assert!(finished["message"]["content"].as_str().unwrap().contains(shown), "from the store: {finished}");
    site.verify();
}

#[test]
fn what_a_command_did_to_git_is_undone_told_and_recorded() {
    let site = Site::new();
    site.command("git").args(["init", "-q"]).status().unwrap();
    let command = "git config core.pager x; git init -q new; git -C new config alias.a b";
    let run = format!("  - tool_calls: [{{ name: run_command, arguments: {{ command: '{command}' }} }}]\n");
    let said = plan(&site, &run).ok();
    let config = |path: &str| std::fs::read_to_string(site.workspace().join(path)).unwrap();
    assert!(!config(".git/config").contains("pager") && !config("new/.git/config").contains("alias."));
    let entries = journal(&site);
    let finished = entries.iter().find(|entry| entry["entry"] == "finished").unwrap();
    assert_eq!(finished["facts"]["undone"][0], "undone: core.pager in .git/config");
    let detail = site.uwf(&["cas", "get", said.json()["detailHash"].as_str().unwrap()]).ok().json();
    let last = detail["payload"]["messages"].as_array().unwrap().last().unwrap().clone();
    let last = site.uwf(&["cas", "get", last.as_str().unwrap()]).ok().json()["payload"].clone();
    assert_eq!(last["kind"], "closing");
    assert_eq!(last["content"], "at the end of the run, git: undone: alias.a in new/.git/config");
}

#[test]
fn a_role_can_be_narrowed_by_the_config() {
    let site = Site::new();
    let roles = |rules: &str| site.write("home/.uwf/agents/builtin.yaml", &format!("roles: {{ {rules} }}\n"));
    let write = "  - tool_calls: [{ name: write_file, arguments: { path: PATH, content: x } }]\n";
    roles("solve-issue/planner: { writable: ['docs/'], network: false }");
    plan(&site, &format!("{}{}", write.replace("PATH", "docs/a"), write.replace("PATH", "b"))).ok();
    assert!(site.workspace().join("docs/a").exists() && !site.workspace().join("b").exists());
    roles("solve-issue/planner: { readOnly: true }");
    plan(&site, &write.replace("PATH", "docs/b")).ok();
    assert!(!site.workspace().join("docs/b").exists());
    roles("solve-issue/planer: { readOnly: true }");
    plan(&site, "").fails(1, &["agents/builtin.yaml: roles: the workflow solve-issue has no role 'planer'"]);
    roles("solve-issue/planner: { tools: [grepp] }");
    plan(&site, "").fails(1, &["`roles.solve-issue/planner.tools.0`", "got \"grepp\" (did you mean grep?)"]);
}
