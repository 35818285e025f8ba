//! The whole thread against an OpenAI-compatible endpoint that nobody here wrote: the npm package aimock.
//!
//! Skipped, and said so, without Node.js or the package (`npm ci --prefix tests/aimock`), unless UWF_REQUIRE_AIMOCK is
//! set.

use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::site::{AGENT, Said, Site, example};
use crate::thread::{TASK, assert_solved};

/// A running aimock; it ends with the test.
struct Aimock {
    child: Child,
    url: String,
}

impl Drop for Aimock {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

fn start() -> Option<Aimock> {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/aimock");
    let program = here.join("node_modules/.bin/aimock");
    let node = Command::new("node").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    if !program.exists() || !node.is_ok_and(|status| status.success()) {
        assert!(std::env::var_os("UWF_REQUIRE_AIMOCK").is_none(), "aimock is required and not installed");
        // Not by eprintln!: what a passing test prints is shown to nobody.
        let skipped = "skipped: Node.js with aimock is not here (npm ci --prefix tests/aimock)";
        let mut past_the_runner = std::io::stderr();
        writeln!(past_the_runner, "{skipped}").unwrap();
        return None;
    }
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let child = Command::new(program)
        .args(["-c", "config.json", "-p", &port.to_string()])
        .current_dir(here)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let begun = Instant::now();
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(begun.elapsed() < Duration::from_secs(120), "aimock does not listen");
        std::thread::sleep(Duration::from_millis(20));
    }
    Some(Aimock { child, url: format!("http://127.0.0.1:{port}/v1") })
}

fn solve(stream: bool) {
    let Some(aimock) = start() else { return };
    let site = Site::new();
    site.project("solve-issue/project");
    let settings = format!(
        "provider: {{ baseUrl: '{}', apiKey: local, stream: {stream} }}\nmodel: gpt-5-mini\n",
        aimock.url
    );
    site.write("home/.uwf/agents/builtin.yaml", &settings);
    let thread = site.start(&example("solve-issue/workflow.yaml"), TASK);
    let said = Said::of(
        site.command(crate::site::UWF).args(["thread", "exec", &thread, "--until-end"]).output().unwrap(),
    );
    assert_eq!(said.ok().json().as_array().unwrap().len(), 5);
    assert_solved(&site, &thread);
    let steps = site.uwf(&["step", "list", &thread]).ok().json();
    let tokens = steps["steps"][1]["usage"]["inputTokens"].as_u64().unwrap();
    assert!(tokens > 0, "the endpoint's usage is in the record: {steps}");
}

#[test]
fn a_thread_runs_streamed() {
    solve(true);
}

#[test]
fn a_thread_runs_unstreamed() {
    solve(false);
}

/// Runs one role against the model of that name, which is one of the faults of `fixtures/faults.json`.
fn review(aimock: &Aimock, model: &str, stream: bool) -> Said {
    let site = Site::new();
    let provider = format!("provider: {{ baseUrl: '{}', apiKey: local, stream: {stream} }}\n", aimock.url);
    site.write("home/.uwf/agents/builtin.yaml", &format!("{provider}model: {model}\n"));
    let workflow = example("solve-issue/workflow.yaml");
    site.agent(&["run", &workflow, "--role", "reviewer", "-p", TASK, "--format", "json"])
}

fn errors(stream: bool) {
    let Some(aimock) = start() else { return };
    let said = review(&aimock, "busy", stream).ok();
    assert_eq!(said.json()["body"], "After all.\n");
    assert!(said.err.contains("429") && said.err.contains("503"), "{}", said.err);
    for (model, words) in
        [("closed", "answered 401: You have no access"), ("small", "longer than the model's context window")]
    {
        let said = review(&aimock, model, stream).code(5);
        assert!(said.json()["errorMessage"].as_str().unwrap().contains(words), "{}", said.err);
    }
}

#[test]
fn errors_streamed() {
    errors(true);
}

#[test]
fn errors_unstreamed() {
    errors(false);
}

#[test]
fn a_stream_that_it_cuts_off_is_asked_for_again() {
    let Some(aimock) = start() else { return };
    let said = review(&aimock, "flaky", true).ok();
    assert_eq!(said.json()["body"], "Whole.\n", "{}", said.err);
    assert_eq!(said.json()["usage"]["turns"], 1);
}

#[test]
fn a_slow_stream_is_waited_for() {
    let Some(aimock) = start() else { return };
    for stream in [true, false] {
        let said = review(&aimock, "slow", stream).ok();
        assert_eq!(
            (&said.json()["body"], &said.json()["usage"]["turns"]),
            (&"In my own time.\n".into(), &2.into())
        );
    }
}

#[test]
fn one_role_runs_stand_alone() {
    let Some(aimock) = start() else { return };
    let site = Site::new();
    site.project("solve-issue/project");
    let workflow = example("solve-issue/workflow.yaml");
    let run = [
        "run",
        &workflow,
        "--role",
        "planner",
        "-p",
        TASK,
        "--base-url",
        &aimock.url,
        "--model",
        "gpt-5-mini",
    ];
    let said = Said::of(site.command(AGENT).args(run).output().unwrap()).ok();
    assert_eq!(said.json()["frontmatter"]["$status"], "planned");
}
