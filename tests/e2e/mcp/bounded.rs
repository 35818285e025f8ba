//! What a server is kept from: making git run programs, being a file of the workspace, taking memory, showing what it was
//! started with; and which of its tools a run has.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use serde_json::json;

use super::hostile::most_memory;
use super::{ANSWER, call, call_after, hostile, is_here, journal, plan, results, tools};
use crate::site::{AGENT, Said, Site, example};

const MCP: [&str; 2] = ["--mcp", "h"];

#[test]
fn what_a_server_has_git_run_is_taken_back_and_told() {
    if !is_here(false) {
        return;
    }
    let site = Site::new();
    plan(&site, &hostile("ok", ""), &call("h__hook", ""), &MCP).ok();
    assert_eq!(results(&site), ["hooked"]);
    assert!(site.workspace().join("sub/.git/HEAD").exists());
    assert!(!site.workspace().join("sub/.git/hooks/pre-commit").exists());
    let said = format!("{:?}", journal(&site));
    assert!(said.contains("git: undone: the hook pre-commit in sub/.git/hooks"), "{said}");
}

#[test]
fn what_asks_without_end_takes_no_memory_and_what_talks_without_end_stops_nobody() {
    if !is_here(false) {
        return;
    }
    let site = Site::new();
    let turns = [
        call("h__pings", ""),
        call_after("after the pings", "h__storm", ""),
        call_after("it begins", "h__fail", ""),
        call_after("there is no such thing", "h__fail", ""),
    ];
    site.write("home/.uwf/agents/builtin.yaml", &hostile("ok", ""));
    let mock = site.write("m.yaml", &format!("turns:\n{}{ANSWER}", turns.concat()));
    let mut command = site.command(AGENT);
    let workflow = example("solve-issue/workflow.yaml");
    command.args(["run", &workflow, "--role", "planner", "-p", "p", "--mock", &mock, "--mcp", "h"]);
    let begun = Instant::now();
    let (said, most) = most_memory(command);
    said.ok();
    assert!(most < 150, "{most} MB");
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
}

/// A program of this name in a directory of the workspace, which tells that it ran.
fn plant(site: &Site, name: &str) {
    let planted = site.write(&format!("work/bin/{name}"), "#!/bin/sh\ntouch planted\n");
    fs::set_permissions(planted, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn no_program_of_the_workspace_is_a_server_or_runs_one() {
    if !is_here(false) {
        return;
    }
    let site = Site::new();
    plant(&site, "node");
    plant(&site, "serve");
    let usual = std::env::var("PATH").unwrap();
    let path = format!("{}/bin:bin::{usual}", site.workspace().display());
    let run = |settings: &str| {
        site.write("home/.uwf/agents/builtin.yaml", settings);
        let mock = site.write("m.yaml", &format!("turns:\n{}{ANSWER}", call("h__env", "")));
        let workflow = example("solve-issue/workflow.yaml");
        let mut command = site.command(AGENT);
        command.args(["run", &workflow, "--role", "planner", "-p", "p", "--mock", &mock, "--mcp", "h"]);
        Said::of(command.env("PATH", &path).output().unwrap())
    };
    run(&hostile("ok", "")).ok();
    let seen: serde_json::Value = serde_json::from_str(&results(&site)[0]).unwrap();
    let dirs: Vec<&str> = seen["env"]["PATH"].as_str().unwrap().split(':').collect();
    let work = site.workspace().display().to_string();
    assert!(!dirs.iter().any(|dir| dir.starts_with(&work) || !dir.starts_with('/')), "{dirs:?}");
    let alone = run("mcpServers: { h: { command: serve } }\n");
    alone.fails(1, &["the MCP server h does not start: its program serve is found in the workspace alone"]);
    run("mcpServers: { h: { command: bin/serve } }\n")
        .fails(1, &["mcpServers.h: its `command` is neither a name"]);
    assert!(!site.workspace().join("planted").exists());
}

#[test]
fn what_it_was_started_with_is_shown_to_nobody() {
    if !is_here(false) {
        return;
    }
    let site = Site::new();
    let more = "\"ok\", \"--api-key\", hush-hush-hush, \"https://me:quiet-quiet@example.com/\"]";
    plan(&site, &hostile("ok", "").replace("\"ok\"]", more), &call("h__env", ""), &MCP).ok();
    let result = &results(&site)[0];
    assert!(result.contains("--api-key") && result.contains("https://me:***@"), "{result}");
    for secret in ["hush-hush-hush", "quiet-quiet"] {
        assert!(!result.contains(secret), "{result}");
        assert!(site.contains(secret).is_some_and(|path| path.ends_with("builtin.yaml")));
    }
}

#[test]
fn a_run_has_the_tools_that_were_named_and_no_other() {
    if !is_here(false) {
        return;
    }
    let site = Site::new();
    let born = site.write("work/born", "");
    let settings = hostile("ok", &format!(", env: {{ BORN: {born:?} }}"));
    let names = |args: &[&str]| {
        let site = Site::new();
        plan(&site, &hostile("ok", ""), "", args).ok();
        let all = tools(&site);
        all.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names(&["--mcp", "h", "--tools", "read_file,h__fail"]), ["read_file", "h__fail"]);
    let all = names(&["--mcp", "h", "--tools", "h__*"]);
    assert!(all.len() > 10 && all.iter().all(|name| name.starts_with("h__")), "{all:?}");
    let fails = |args: &[&str], words: &[&str]| {
        plan(&site, &settings, "", &[&MCP, args].concat()).fails(1, words);
    };
    fails(&["--tools", "grep"], &["--tools leaves nothing of the MCP server h", "files__*"]);
    fails(&["--tools", "h__fial"], &["the MCP server h has no tool h__fial; there are h__fail, "]);
    fails(&["--tools", "g__fail,h__fail"], &["there is no MCP server g; agents/builtin.yaml has h"]);
    fs::write(&born, "").unwrap();
    let of_role = format!("{settings}roles: {{ solve-issue/planner: {{ mcpServers: [h] }} }}\n");
    plan(&site, &of_role, "", &["--tools", "read_file"]).ok();
    assert_eq!(fs::read_to_string(&born).unwrap(), "", "what nobody can call is not started");
}

#[test]
fn a_thread_keeps_its_servers() {
    if !is_here(false) {
        return;
    }
    let site = Site::new();
    site.write("home/.uwf/agents/builtin.yaml", &hostile("ok", ""));
    let turns = [call("h__fail", ""), call_after("there is no such thing", "h__long", "")];
    let mock = site.write("m.yaml", &format!("turns:\n{}{ANSWER}", turns.concat()));
    let thread = site.start(&example("solve-issue/workflow.yaml"), "p");
    site.uwf(&["thread", "exec", &thread, "--mock", &mock, "--mcp", "h"]).ok();
    let shown = site.uwf(&["thread", "show", &thread, "--format", "json"]).ok().json();
    assert_eq!(shown["options"]["mcpServers"], json!(["h"]), "{shown}");
}
