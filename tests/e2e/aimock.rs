//! The whole thread against endpoints that nobody here wrote, on every wire: the npm package aimock.
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
    /// The base URL of chat completions.
    url: String,
    server: String,
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
    Some(Aimock {
        child,
        url: format!("http://127.0.0.1:{port}/v1"),
        server: format!("http://127.0.0.1:{port}"),
    })
}

/// How one of its endpoints is reached: a path of the server, and the settings beside it.
struct Place {
    path: &'static str,
    provider: &'static str,
    model: &'static str,
    /// Whether it counts tokens there.
    counts: bool,
}

const CHAT: Place = Place { path: "/v1", provider: "", model: "gpt-5-mini", counts: true };
const RESPONSES: Place =
    Place { path: "/v1", provider: ", wire: responses", model: "gpt-5-mini", counts: false };
/// Its strict mode refuses a turn of calls without the thinking that it began with.
const MESSAGES: Place = Place {
    path: "/v1",
    provider: ", wire: messages, headers: { x-aimock-strict: 'true' }",
    model: "claude-sonnet-4-5",
    counts: false,
};
const AZURE: Place = Place {
    path: "/openai/deployments/gpt-5-mini?api-version=2024-10-21",
    provider: ", headers: { api-key: local }",
    model: "gpt-5-mini",
    counts: true,
};
const OPENROUTER: Place = Place {
    path: "/api/v1",
    provider: ", dialect: openrouter-marks",
    model: "anthropic/claude-sonnet-4.5",
    counts: true,
};

fn solve(place: &Place, stream: bool) {
    let Some(aimock) = start() else { return };
    let site = Site::new();
    site.project("solve-issue/project");
    let settings = format!(
        "provider: {{ baseUrl: '{}{}', apiKey: local, stream: {stream}{} }}\nmodel: {}\ncontextWindow: 100000\n",
        aimock.server, place.path, place.provider, place.model
    );
    site.write("home/.uwf/agents/builtin.yaml", &settings);
    let thread = site.start(&example("solve-issue/workflow.yaml"), TASK);
    let agent = format!("{AGENT} --reasoning-effort medium");
    let run = ["thread", "exec", &thread, "--until-end", "--agent", &agent];
    let said = Said::of(site.command(crate::site::UWF).args(run).output().unwrap());
    assert_eq!(said.ok().json().as_array().unwrap().len(), 5);
    assert_solved(&site, &thread);
    let steps = site.uwf(&["step", "list", &thread]).ok().json();
    let tokens = steps["steps"][1]["usage"]["inputTokens"].as_u64().unwrap();
    assert_eq!(tokens > 0, place.counts, "the endpoint's usage is in the record: {steps}");
}

#[test]
fn a_thread_runs_streamed() {
    solve(&CHAT, true);
}

#[test]
fn a_thread_runs_unstreamed() {
    solve(&CHAT, false);
}

#[test]
fn a_thread_runs_on_responses() {
    solve(&RESPONSES, true);
    solve(&RESPONSES, false);
}

#[test]
fn a_thread_runs_on_messages() {
    solve(&MESSAGES, true);
    solve(&MESSAGES, false);
}

#[test]
fn a_thread_runs_on_an_azure_deployment() {
    solve(&AZURE, true);
    solve(&AZURE, false);
}

#[test]
fn a_thread_runs_at_openrouter() {
    solve(&OPENROUTER, true);
    solve(&OPENROUTER, false);
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
