//! The call forms of `uwf-builtin`, as engines use them.

use crate::site::{AGENT, MockServer, Said, Site, UWF, example};

const PLAN: &str = "turns:\n  - content: |\n      ---\n      $status: planned\n      files: [a]\n      plan: p\n      ---\n      Body.\n";

fn site() -> (Site, String, String) {
    let site = Site::new();
    let thread = site.start(&example("solve-issue/workflow.yaml"), "the task");
    let mock = site.write("m.yaml", PLAN);
    (site, thread, mock)
}

fn edge_prompt(site: &Site, said: &Said) -> String {
    let step = site.uwf(&["cas", "get", said.reply()["stepHash"].as_str().unwrap()]).ok().json();
    step["payload"]["edgePrompt"].as_str().unwrap().to_owned()
}

#[test]
fn the_named_form_prints_one_line_and_leaves_the_head() {
    let (site, thread, mock) = site();
    let said = site
        .agent(&["--mock", &mock, "--thread", &thread, "--role", "planner", "--prompt", "- plan it"])
        .ok();
    assert_eq!(said.out.lines().count(), 1);
    let reply = said.reply();
    assert_eq!((reply["role"].as_str(), reply["body"].as_str()), (Some("planner"), Some("Body.\n")));
    for field in ["stepHash", "detailHash", "startedAtMs", "completedAtMs", "usage", "errorMessage"] {
        assert!(reply.get(field).is_some(), "{field}");
    }
    assert_eq!(edge_prompt(&site, &said), "- plan it");
    assert_eq!(site.uwf(&["step", "list", &thread]).ok().json()["steps"].as_array().unwrap().len(), 1);
}

#[test]
fn the_positional_form_asks_the_environment_then_the_moderator_then_the_task() {
    let (site, thread, mock) = site();
    let call = [thread.as_str(), "planner", "--mock", &mock];
    let said =
        Said::of(site.command(AGENT).args(call).env("UWF_EDGE_PROMPT", "from outside").output().unwrap())
            .ok();
    assert_eq!(edge_prompt(&site, &said), "from outside");
    let said = site.agent(&call).ok();
    assert_eq!(edge_prompt(&site, &said), "Plan how to solve the issue.");
    let reviewer =
        site.write("r.yaml", "turns:\n  - content: |\n      ---\n      $status: approved\n      ---\n");
    let said = site.agent(&[&thread, "reviewer", "--mock", &reviewer]).ok();
    assert_eq!(edge_prompt(&site, &said), "the task");
    assert!(said.err.contains("warning: no edge prompt"), "{}", said.err);
}

#[test]
fn older_engines_get_the_bare_hash() {
    let (site, thread, mock) = site();
    let said = site.agent(&[&thread, "planner", "--mock", &mock, "--reply", "hash"]).ok();
    assert_eq!(said.out.trim().len(), 13);
    site.uwf(&["cas", "has", said.out.trim()]).ok();
}

#[test]
fn usage_errors_are_2_and_help_is_0() {
    let (site, thread, _) = site();
    assert_eq!(site.agent(&["--thread", &thread]).code, 2);
    assert_eq!(site.agent(&["run"]).code, 2);
    assert_eq!(site.agent(&["--no-such-option"]).code, 2);
    assert!(site.agent(&["--version"]).ok().out.starts_with("uwf-builtin "));
    for help in [&["--help"][..], &["run", "--help"], &["mock-server", "--help"], &["tools", "--help"]] {
        assert!(site.agent(help).ok().out.contains("Usage: uwf-builtin"), "{help:?}");
    }
}

const NAMES: [&str; 9] = [
    "read_file",
    "write_file",
    "edit_file",
    "list_dir",
    "grep",
    "glob",
    "run_command",
    "tool_output",
    "fetch_url",
];

#[test]
fn the_tools_are_listed_as_the_model_sees_them() {
    let (site, ..) = site();
    let tools = site.agent(&["tools"]).ok().json();
    let names: Vec<&str> =
        tools.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, NAMES);
    for tool in tools.as_array().unwrap() {
        assert_eq!(tool["parameters"]["type"], "object");
        assert_eq!(tool["parameters"]["additionalProperties"], false);
    }
}

#[test]
fn the_scenario_files_of_other_implementations_work() {
    let (site, thread, _) = site();
    let mock = site.write(
        "steps.yaml",
        "steps:\n  - role: planner\n    output: |\n      ---\n      $status: planned\n      files: [a]\n      plan: p\n      ---\n",
    );
    let agent = format!("{AGENT} --mock {mock}");
    assert_eq!(
        site.uwf(&["thread", "exec", &thread, "--agent", &agent]).ok().json()["currentRole"],
        "developer"
    );
    let said = site.uwf(&["thread", "exec", &thread, "--agent", &agent]);
    assert_eq!(said.code, 1, "the script has no second step: {}", said.err);
}

#[test]
fn the_mock_server_serves_the_same_script() {
    let (site, thread, mock) = site();
    let server = MockServer::start(&site, &mock);
    let said = site.agent(&[&thread, "planner", "--base-url", &server.url, "--model", "m"]);
    assert_eq!(said.ok().reply()["frontmatter"]["plan"], "p");
}

/// An agent of before the named form, in the shell: it knows its thread and role by their places.
const OLDER: &str = r#"#!/bin/sh
[ $# -eq 2 ] || { echo "usage: older THREAD ROLE, got: $*" >&2; exit 2; }
echo "$1 $2 $UWF_EDGE_PROMPT" >> called
exec "$AGENT" "$1" "$2" --mock "$MOCK" --reply hash
"#;

#[test]
fn an_agent_of_the_older_form_gets_thread_and_role_alone() {
    let (site, thread, mock) = site();
    let older = site.write("home/bin/older", OLDER);
    let config = format!("agents:\n  older: {{ command: sh, args: [{older}], protocol: positional }}\n");
    site.write("home/.uwf/config.yaml", &config);
    let exec = |protocol: &str| {
        site.uwf(&["config", "set", "agents.older.protocol", protocol]).ok();
        let mut command = site.command(UWF);
        command.env("AGENT", AGENT).env("MOCK", &mock).args(["thread", "exec", &thread, "--agent", "older"]);
        Said::of(command.output().unwrap())
    };
    exec("flags").fails(1, &["gave no reply", "usage: older THREAD ROLE, got: --thread"]);
    exec("positional").ok();
    let called = std::fs::read_to_string(site.workspace().join("called")).unwrap();
    assert_eq!(called, format!("{thread} planner Plan how to solve the issue.\n"));
    let step = site.uwf(&["thread", "show", &thread]).ok().json()["head"].as_str().unwrap().to_owned();
    let node = site.uwf(&["cas", "get", &step]).ok().json();
    assert_eq!(node["payload"]["edgePrompt"], "Plan how to solve the issue.");
    site.uwf(&["step", "ask", &step, "-p", "Why?", "--agent", "older"])
        .fails(1, &["takes no questions", "hint: name an agent"]);
    site.verify();
}
