//! What is told where an agent is missing, fails before it has begun, or gives no answer: what is in the way, and what to type.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::rounds::{says, start};
use crate::site::{AGENT, Site, example};
use crate::thread::TASK;

/// Writes a program.
fn program(site: &Site, name: &str, body: &str) {
    let path = site.write(name, &format!("#!/bin/sh\n{body}"));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// The workflow of the example, whose reviewer is played by that agent.
fn reviewed_by(agent: &str) -> Site {
    let site = Site::new();
    site.project("solve-issue/project");
    site.uwf(&["config", "set", "agents.absent.command", "no-such-program"]).ok();
    site.uwf(&["config", "set", "agentOverrides.solve-issue.reviewer", agent]).ok();
    site
}

#[test]
fn an_agent_that_a_later_role_needs_is_missed_before_anything_is_begun() {
    let (flow, mock) = (example("solve-issue/workflow.yaml"), example("solve-issue/mock.yaml"));
    let own = reviewed_by("mine");
    let text = own.uwf(&["agents", "goose", "--definition"]).ok().out;
    let text = text.replace("program: goose", "program: no-such-goose");
    fs::create_dir_all(own.home().join(".uwf/agents")).unwrap();
    fs::write(own.home().join(".uwf/agents/mine.yaml"), text).unwrap();
    let wrong = reviewed_by("wrong");
    fs::create_dir_all(wrong.home().join(".uwf/agents")).unwrap();
    fs::write(wrong.home().join(".uwf/agents/wrong.yaml"), "program: 7\n").unwrap();
    for (site, words) in [
        (reviewed_by("absent"), &["cannot start the agent `no-such-program`", "agents known: "][..]),
        (own, &["the agent `mine` is not there: no program no-such-goose"]),
        (wrong, &["agents/wrong.yaml"]),
    ] {
        let words = [&["role `reviewer` cannot be played: "], words].concat();
        site.uwf(&["run", &flow, "-p", TASK, "--mock", &mock]).fails(1, &words);
        assert_eq!(site.uwf(&["thread", "list"]).ok().json(), serde_json::json!([]));
        let thread = site.start(&flow, TASK);
        let exec = ["thread", "exec", &thread, "--until-end", "--mock", &mock];
        site.uwf(&exec).fails(1, &words);
        assert_eq!(site.uwf(&["thread", "steps", &thread]).ok().json()["steps"].as_array().unwrap().len(), 1);
        // One step needs its own agent alone, and another one may be named.
        site.uwf(&["thread", "exec", &thread, "--mock", &mock]).ok();
        site.uwf(&["thread", "exec", &thread, "--until-end", "--mock", &mock, "--agent", AGENT]).ok();
    }
}

#[test]
fn whoever_names_an_agent_that_is_none_is_told_of_those_that_there_are() {
    let site = Site::new();
    let thread = start(&site);
    let known = "agents known: claude-code, ";
    site.uwf(&["agents", "clode-code"]).fails(1, &[known]);
    for more in [&[][..], &["--until-end"], &["--background"]] {
        let exec = ["thread", "exec", &thread, "--agent", "clode-code"];
        site.uwf(&[&exec, more].concat()).fails(1, &["cannot start the agent `clode-code`", known]);
    }
    site.uwf(&["config", "set", "defaultAgent", "clode-code"]).ok();
    site.uwf(&["thread", "exec", &thread]).fails(1, &["no such agent: `clode-code`", known]);
}

#[test]
fn why_a_step_was_not_made_in_the_background_is_told_with_its_thread() {
    let site = Site::new();
    let thread = start(&site);
    site.uwf(&["thread", "exec", &thread, "--background"]).ok();
    let waited = site.uwf(&["wait", &thread]).code(1).json();
    assert!(waited["error"]["message"].as_str().unwrap().contains("no model is configured"), "{waited}");
    let shown = site.uwf(&["thread", "show", &thread]).ok().json();
    assert!(shown["error"]["message"].as_str().unwrap().contains("no model is configured"), "{shown}");
    assert!(shown["error"]["stepHash"].is_null() && shown["status"] == "idle", "{shown}");
    let again = format!("; then try again with `uwf thread exec {thread}`");
    let hint = shown["hint"].as_str().unwrap();
    assert!(hint.contains("uwf setup") && hint.ends_with(&again), "{hint}");
    let logged = site.uwf(&["log", "show", &thread, "--format", "text"]).ok().out;
    assert!(logged.contains("exit status 1: no model is configured"), "{logged}");
    // The next step that is made leaves nothing of it.
    site.uwf(&["thread", "exec", &thread, "--agent", &says(&site, "$status: more")]).ok();
    assert!(site.uwf(&["thread", "show", &thread]).ok().json()["error"].is_null());
}

#[test]
fn what_is_typed_next_fits_what_went_wrong() {
    let site = Site::new();
    let thread = start(&site);
    // The agent has said what to do: nobody adds to that.
    let said = site.uwf(&["thread", "exec", &thread]).fails(1, &["no model is configured", "gave no reply"]);
    assert!(!said.err.contains("try again with"), "{}", said.err);
    program(&site, "simple.sh", "echo ok\n");
    site.uwf(&["thread", "exec", &thread, "--agent", "../simple.sh"])
        .fails(1, &["neither JSON nor a step hash: ok", "hint: ", "--agent \"command PROGRAM\""]);
    let stubborn = ["run", "rounds.yaml", "-p", "x", "--agent", "command sleep 60", "--timeout", "1s"];
    let stubborn: Vec<&str> =
        stubborn.iter().map(|word| if *word == "rounds.yaml" { "../rounds.yaml" } else { word }).collect();
    site.uwf(&stubborn).fails(
        1,
        &[
            "the agent `command` was ended: it took longer than 1s",
            "hint: continue with: uwf thread exec ",
            " --until-end",
        ],
    );
}

#[test]
fn what_an_adapted_agent_changed_was_changed_during_its_step() {
    let site = Site::new();
    let thread = start(&site);
    program(&site, "writer.sh", "echo new > made; printf -- '---\\n$status: more\\n---\\nDone.\\n'\n");
    let agent = "command ../writer.sh";
    let step = site.uwf(&["thread", "exec", &thread, "--agent", agent]).ok().json()["head"].clone();
    let diff = ["step", "diff", step.as_str().unwrap(), "--format"];
    let text = site.uwf(&[&diff[..], &["text"]].concat()).ok().out;
    assert!(text.starts_with("# changed during the step (agent command)\ndiff --git a/made"), "{text}");
    let json = site.uwf(&[&diff[..], &["json"]].concat()).ok().json();
    assert_eq!(
        (&json["changes"][0]["by"], &json["changes"][0]["agent"]),
        (&serde_json::json!("other"), &serde_json::json!("command"))
    );
}
