//! `uwf mcp`: workflows as tools, driven by the official client.

use std::io::Write;
use std::process::Stdio;

use serde_json::{Value, json};

use super::{here, is_here};
use crate::site::{Said, Site, UWF, example};
use crate::thread::TASK;

/// What the official client is answered, call by call.
fn client(site: &Site, args: &[&str], calls: &[Value]) -> Vec<Value> {
    let mut command = site.command("node");
    command.arg(here().join("client.mjs")).arg(UWF).arg("mcp").args(args);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    for call in calls {
        writeln!(stdin, "{call}").unwrap();
    }
    drop(stdin);
    let said = Said::of(child.wait_with_output().unwrap()).ok();
    said.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn call(name: &str, arguments: Value) -> Value {
    json!({"name": name, "arguments": arguments})
}

/// A site with the workflow, and the options of its runs.
fn solving() -> (Site, String) {
    let site = Site::new();
    site.project("solve-issue/project");
    site.uwf(&["workflow", "add", &example("solve-issue/workflow.yaml")]).ok();
    (site, example("solve-issue/mock.yaml"))
}

#[test]
fn a_client_starts_a_workflow_and_waits_for_its_result_with_progress() {
    if !is_here(true) {
        return;
    }
    let (site, mock) = solving();
    let said = client(
        &site,
        &["--", "--mock", &mock],
        &[
            json!({"list": true}),
            call("uwf_workflows", json!({})),
            call("uwf_start", json!({"workflow": "solve-issue", "prompt": TASK})),
            call("uwf_result", json!({"thread": "$THREAD", "wait_seconds": 60})),
            call("uwf_status", json!({"thread": "$THREAD"})),
        ],
    );
    assert_eq!(said[0]["server"]["name"], "uwf");
    let names: Vec<&str> =
        said[1]["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    let all = ["uwf_workflows", "uwf_start", "uwf_status", "uwf_answer", "uwf_result", "uwf_stop"];
    assert_eq!(names, all);
    assert_eq!(said[2]["structuredContent"]["workflows"][0]["name"], "solve-issue");
    let thread = said[3]["structuredContent"]["thread"].as_str().unwrap();
    let result = &said[4]["structuredContent"];
    assert_eq!(
        (&result["status"], &result["result"]["output"]["$status"]),
        (&json!("end"), &json!("approved"))
    );
    assert!(said[4]["content"][0]["text"].as_str().unwrap().contains("The tests pass"), "{}", said[4]);
    let progress = said[4]["progress"].as_array().unwrap();
    assert!(
        progress.iter().any(|told| told["message"].as_str().unwrap().contains("reviewer")),
        "{progress:?}"
    );
    let counts: Vec<f64> = progress.iter().map(|told| told["progress"].as_f64().unwrap()).collect();
    assert!(counts.is_sorted_by(|one, next| one < next), "{counts:?}");
    assert_eq!(said[5]["structuredContent"]["status"], "end");
    // It is an ordinary thread.
    let shown = site.uwf(&["thread", "show", thread, "--format", "json"]).ok().json();
    assert_eq!(shown["done"], true);
    site.verify();
}

const ASKS: &str = "\
name: asks
description: Asks
roles:
  asker:
    description: d
    goal: g
    capabilities: []
    procedure: p
    output: o
    frontmatter:
      oneOf:
        - { type: object, properties: { $status: { const: unclear }, question: { type: string } }, required: [$status, question] }
        - { type: object, properties: { $status: { const: done } }, required: [$status] }
graph:
  $START: { new: { role: asker, prompt: Ask } }
  asker:
    unclear: { role: $SUSPEND, prompt: '{{question}}' }
    done: { role: $END, prompt: End }
";

const ASKED: &str = "\
roles:
  asker:
    - turns: [{ content: \"---\\n$status: unclear\\nquestion: Which colour?\\n---\\n\" }]
    - turns: [{ content: \"---\\n$status: done\\n---\\nPainted.\", expect: { contains: '- as it is' } }]
";

#[test]
fn a_client_answers_what_a_thread_asks() {
    if !is_here(true) {
        return;
    }
    let site = Site::new();
    site.uwf(&["workflow", "add", &site.write("asks.yaml", ASKS)]).ok();
    let mock = site.write("m.yaml", ASKED);
    let said = client(
        &site,
        &["--", "--mock", &mock],
        &[
            call("uwf_start", json!({"workflow": "asks", "prompt": "- a task"})),
            call("uwf_result", json!({"thread": "$THREAD"})),
            call("uwf_answer", json!({"thread": "$THREAD", "text": "- as it is"})),
            call("uwf_result", json!({"thread": "$THREAD"})),
        ],
    );
    let asked = &said[2]["structuredContent"];
    assert_eq!(
        (&asked["status"], &asked["question"]),
        (&json!("suspended"), &json!("Which colour?")),
        "{said:#?}"
    );
    let done = &said[4]["structuredContent"];
    assert_eq!((&done["status"], &done["result"]["body"]), (&json!("end"), &json!("Painted.")), "{said:#?}");
}

#[test]
fn a_client_hears_of_threads_of_the_workflows_that_it_is_offered_alone() {
    if !is_here(true) {
        return;
    }
    let (site, _) = solving();
    let asks = site.write("asks.yaml", ASKS);
    site.uwf(&["workflow", "add", &asks]).ok();
    let mock = site.write("m.yaml", ASKED);
    let unregistered = site.write("mine.yaml", &ASKS.replace("description: Asks", "description: Mine"));
    let threads = [example("solve-issue/workflow.yaml"), unregistered, asks].map(|workflow| {
        let thread = site.start(&workflow, "t");
        site.uwf(&["thread", "exec", &thread, "--mock", &mock]);
        thread
    });
    // What a name meant when a thread began counts, too.
    site.uwf(&["workflow", "add", &site.write("asks.yaml", &ASKS.replace("goal: g", "goal: other"))]).ok();
    let calls: Vec<Value> = threads
        .iter()
        .flat_map(|thread| {
            let of_thread = json!({"thread": thread});
            let answer = json!({"thread": thread, "text": "- as it is"});
            let names = ["uwf_status", "uwf_result", "uwf_stop"].map(|name| call(name, of_thread.clone()));
            names.into_iter().chain([call("uwf_answer", answer)])
        })
        .collect();
    let said = client(&site, &["--workflow", "asks", "--", "--mock", &mock], &calls);
    for (answer, thread) in said[1..9].iter().zip([0, 0, 0, 0, 1, 1, 1, 1].map(|at| &threads[at])) {
        assert_eq!(answer["content"][0]["text"], format!("there is no thread {thread} here"), "{answer}");
    }
    assert_eq!(said[9]["structuredContent"]["question"], "Which colour?", "{}", said[9]);
    assert_eq!(said[12]["isError"], false, "{}", said[12]);
    // Without a list, those of all that are registered.
    let of_all = client(&site, &[], &[calls[0].clone(), calls[4].clone()]);
    assert_eq!((&of_all[1]["isError"], &of_all[2]["isError"]), (&json!(false), &json!(true)), "{of_all:?}");
}

#[test]
fn a_client_gets_no_further_than_it_may() {
    if !is_here(true) {
        return;
    }
    let (site, mock) = solving();
    let outside = site.home().display().to_string();
    let elsewhere = site.start(&example("solve-issue/workflow.yaml"), TASK);
    std::os::unix::fs::symlink(&outside, site.workspace().join("out")).unwrap();
    std::fs::create_dir(site.workspace().join("within")).unwrap();
    let start = |cwd: &str| call("uwf_start", json!({"workflow": "solve-issue", "prompt": "p", "cwd": cwd}));
    let said = client(
        &site,
        &["--root", "within", "--", "--mock", &mock],
        &[
            start(&outside),
            start(".."),
            start("../out"),
            start("none"),
            call("uwf_start", json!({"workflow": "none", "prompt": "p"})),
            call("uwf_start", json!({"workflow": example("solve-issue/workflow.yaml"), "prompt": "p"})),
            call("uwf_status", json!({"thread": elsewhere})),
            call("uwf_stop", json!({"thread": elsewhere})),
            call("uwf_status", json!({"thread": "@"})),
            call("uwf_status", json!({"thread": "--help"})),
            call("uwf_status", json!({})),
            call("uwf_answer", json!({"thread": elsewhere, "text": "x".repeat(200_000)})),
        ],
    );
    let words = [
        "only ",
        "only ",
        "only ",
        "cannot work in none",
        "there is no workflow none",
        "there is no workflow /",
        "there is no thread",
        "there is no thread",
        "there is no thread @ here",
        "there is no thread --help",
        "missing field `thread`",
        "100000 bytes at most",
    ];
    for (answer, words) in said[1..].iter().zip(words) {
        assert_eq!(answer["isError"], true, "{answer}");
        let text = answer["content"][0]["text"].as_str().unwrap();
        assert!(text.contains(words), "{words:?} is not in {text}");
    }
    assert_eq!(said.len(), 13);
    let threads = site.uwf(&["thread", "list", "--all", "--format", "json"]).ok().json();
    assert_eq!(threads.as_array().unwrap().len(), 1, "nothing has begun");
}

#[test]
fn what_was_typed_wrong_is_told_before_anybody_asks() {
    let site = Site::new();
    site.uwf(&["mcp", "--root", "none"]).fails(1, &["none"]);
    site.uwf(&["mcp", "--workflow", "none"])
        .fails(1, &["there is no registered workflow none", "uwf workflow add"]);
    site.uwf(&["mcp", "--", "--max-cots", "2"])
        .fails(1, &["`uwf run` does not take these options", "--max-cots"]);
    site.uwf(&["mcp"]).fails(1, &["no MCP client on stdin: ", "claude mcp add uwf -- uwf mcp"]);
}
