//! Whatever an endpoint does, over real HTTP: the role's answer, or a failed step that says why and holds every turn
//! up to then.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::site::{AGENT, MockServer, Said, Site, example};

/// What every script begins with: a turn that must not be lost.
const LOOK: &str = "  - tool_calls: [{ name: list_dir, arguments: {} }]\n";
const DONE: &str = "  - content: |\n      ---\n      $status: approved\n      ---\n      Fine.\n";
/// Two tries, so that nobody waits for what goes on failing.
const SHORT: &str = "retry: { tries: 2 }";

/// A run of the reviewer against an endpoint.
struct Run {
    site: Site,
    said: Said,
    took: Duration,
}

/// Runs against `url`; `provider` holds further settings of the provider, `more` further options.
fn run_at(site: Site, url: &str, provider: &str, more: &[&str]) -> Run {
    let settings = format!("provider: {{ baseUrl: '{url}', {provider} }}\nmodel: m\n");
    site.write("home/.uwf/agents/builtin.yaml", &settings);
    let workflow = example("solve-issue/workflow.yaml");
    let begun = Instant::now();
    let said = site
        .agent(&[&["run", &workflow, "--role", "reviewer", "-p", "Look", "--format", "json"], more].concat());
    Run { site, said, took: begun.elapsed() }
}

/// Runs against a script whose first turn looks around; streamed and not, side by side.
fn against(turns: &str, provider: &str, more: &[&str]) -> [Run; 2] {
    let run = |stream| {
        let site = Site::new();
        let script = site.write("m.yaml", &format!("turns:\n{LOOK}{turns}"));
        let server = MockServer::start(&site, &script);
        run_at(site, &server.url, &format!("stream: {stream}, {provider}"), more)
    };
    thread::scope(|scope| {
        let other = scope.spawn(|| run(false));
        [run(true), other.join().unwrap()]
    })
}

impl Run {
    /// It answered after all; `turns` with the first.
    fn answered(self, turns: u64) -> Run {
        let reply = self.said.json();
        assert_eq!(self.said.code, 0, "{}", self.said.err);
        assert_eq!(reply["frontmatter"]["$status"], "approved");
        self.recorded(&reply, turns)
    }

    /// It ended as a failed step of this phase, whose error holds these words.
    fn failed(self, phase: &str, words: &str, turns: u64) -> Run {
        let reply = self.said.json();
        let code =
            [("answer", 3), ("budget", 4), ("provider", 5)].into_iter().find(|(name, _)| *name == phase);
        assert_eq!(self.said.code, code.unwrap().1, "{}", self.said.err);
        let output = &reply["frontmatter"];
        assert_eq!((&output["$status"], &output["phase"]), (&"error".into(), &phase.into()));
        assert!(output["error"].as_str().unwrap().contains(words), "{words}: {output}");
        assert!(self.said.err.contains(words), "{words}: {}", self.said.err);
        self.recorded(&reply, turns)
    }

    /// All turns are in the record, which holds together.
    fn recorded(self, reply: &Value, turns: u64) -> Run {
        assert_eq!(reply["usage"]["turns"], turns, "{}", self.said.err);
        let shown = self.site.uwf(&["step", "show", reply["stepHash"].as_str().unwrap()]).ok().out;
        assert!(shown.contains("\"list_dir\""), "the first turn is on record: {shown}");
        self.site.verify();
        self
    }
}

#[test]
fn a_busy_endpoint_is_waited_for_as_it_asks() {
    let date =
        "headers: { Date: 'Sun, 06 Nov 1994 08:49:37 GMT', Retry-After: 'Sun, 06 Nov 1994 08:49:38 GMT' }";
    for (asks, least) in
        [("retry_after: 1", 2000), (date, 2000), ("headers: { Retry-After-Ms: 300, Retry-After: 60 }", 600)]
    {
        let busy = format!("  - error: {{ status: 429, message: slow down, {asks} }}\n");
        for run in against(&format!("{busy}{busy}{DONE}"), "", &[]) {
            let run = run.answered(2);
            assert!(run.took >= Duration::from_millis(least) && run.took < Duration::from_secs(50), "{asks}");
            assert_eq!(run.said.err.matches("slow down").count(), 2, "{}", run.said.err);
        }
    }
}

#[test]
fn an_endpoint_that_fails_three_times_is_asked_a_fourth() {
    let down = "  - error: { status: 500, message: boom, retry_after: 0 }\n".repeat(3);
    for run in against(&format!("{down}{DONE}"), "", &[]) {
        run.answered(2);
    }
}

#[test]
fn an_endpoint_that_fails_for_ever_is_given_up() {
    let down = "  - error: { status: 500, message: boom, retry_after: 0 }\n".repeat(9);
    for run in against(&down, "", &[]) {
        run.failed("provider", "failed 5 times, at last with: 500: boom", 1);
    }
    let tomorrow = "  - error: { status: 503, message: closed, retry_after: 86400 }\n".repeat(2);
    for run in against(&tomorrow, "", &[]) {
        run.failed("provider", "failed once, with: 503: closed (it asks to wait 86400 s)", 1);
    }
}

#[test]
fn a_connection_that_breaks_is_made_again_and_nothing_is_half_applied() {
    let write = "{ name: write_file, arguments: { path: half.txt, content: half } }";
    for fault in [
        "{ reset: true }".to_owned(),
        format!("{{ tool_calls: [{write}], drop_after_bytes: 300 }}"),
        format!("{{ tool_calls: [{write}], drop_after_bytes: 99999 }}"),
        "{ body: 'data: {\"choices\":[{\"delta\":{\"content\":\"---\\n$status: appro' }".to_owned(),
    ] {
        for run in against(&format!("  - {fault}\n{DONE}"), "", &[]) {
            let run = run.answered(2);
            assert!(!run.site.workspace().join("half.txt").exists(), "{fault}");
        }
        for run in against(&format!("  - {fault}\n").repeat(2), SHORT, &[]) {
            let run = run.failed("provider", "failed 2 times", 1);
            assert!(!run.site.workspace().join("half.txt").exists(), "{fault}");
        }
    }
}

#[test]
fn a_stream_that_falls_silent_is_left() {
    // A reply in one piece is waited for five times as long, so only the stream is tried.
    let site = Site::new();
    let silent = "  - { content: half, stall_after_bytes: 40 }\n";
    let script = site.write("m.yaml", &format!("turns:\n{LOOK}{silent}{DONE}"));
    let server = MockServer::start(&site, &script);
    let run = run_at(site, &server.url, "idleSeconds: 5", &[]).answered(2);
    assert!(run.said.err.contains("nothing arrived for 5s"), "{}", run.said.err);
}

#[test]
fn nobody_there_is_told() {
    // An address of loopback that nobody else listens on.
    let free = TcpListener::bind("127.0.0.77:0").unwrap().local_addr().unwrap();
    let run = run_at(Site::new(), &format!("http://{free}/v1"), SHORT, &[]);
    assert_eq!(run.said.code, 5);
    let error = run.said.json()["errorMessage"].as_str().unwrap().to_owned();
    assert!(error.contains("cannot be reached") && error.contains(&free.to_string()), "{error}");
    run.site.verify();
}

#[test]
fn what_no_waiting_mends_is_told_at_once() {
    for (fault, words) in [
        (
            "{ error: { status: 401, message: Incorrect API key, code: invalid_api_key } }",
            "401: Incorrect API key",
        ),
        ("{ error: { status: 403, message: not yours } }", "403: not yours"),
        ("{ error: { status: 429, message: no money, code: insufficient_quota } }", "429: no money"),
        ("{ error: { status: 200, message: no such model, code: model_not_found } }", "200: no such model"),
        ("{ body: '<!DOCTYPE html><title>Sign in</title>' }", "an HTML page, \"Sign in\""),
        ("{ body: 'error: try again' }", "got error: try again"),
    ] {
        for run in against(&format!("  - {fault}\n{DONE}"), "", &[]) {
            run.failed("provider", words, 1);
        }
    }
}

#[test]
fn an_error_inside_a_good_reply_passes() {
    let over = "  - error: { status: 200, message: overloaded }\n";
    for run in against(&format!("{over}{DONE}"), "", &[]) {
        run.answered(2);
    }
    for run in against(&over.repeat(2), SHORT, &[]) {
        run.failed("provider", "an error inside the reply: overloaded", 1);
    }
}

#[test]
fn a_conversation_that_is_too_long_is_named() {
    let long = "  - error: { status: 400, message: prompt is too long, code: context_length_exceeded }\n";
    for run in against(&long.repeat(3), "", &[]) {
        run.failed("provider", "longer than the model's context window", 1);
    }
}

#[test]
fn a_call_that_is_half_or_unknown_is_answered_and_never_run() {
    let half = r#"  - tool_calls: [{ name: write_file, arguments: '{"path": "half.txt", "content": "ha' }]"#;
    let told = "    expect: { last_role: tool, last_contains: JSON }\n";
    for run in against(&format!("{half}\n{DONE}{told}"), "", &[]) {
        let run = run.answered(3);
        assert!(!run.site.workspace().join("half.txt").exists());
    }
    let unknown = "  - tool_calls: [{ name: delete_everything, arguments: { path: / } }]\n";
    let told = "    expect: { last_role: tool, last_contains: [delete_everything, read_file] }\n";
    for run in against(&format!("{unknown}{DONE}{told}"), "", &[]) {
        run.answered(3);
    }
}

#[test]
fn a_budget_of_each_kind_ends_a_run_with_its_turns() {
    let spend = "  - { tool_calls: [{ name: list_dir, arguments: {} }], usage: { input_tokens: 600 } }\n";
    for run in against(&format!("{spend}{spend}  - content: Hm.\n"), "", &["--max-tokens", "1000"]) {
        run.failed("budget", "tokens", 4);
    }
    let slow = "  - { tool_calls: [{ name: list_dir, arguments: {} }], delay_ms: 5500 }\n";
    for run in against(&format!("{slow}  - content: Hm.\n"), "", &["--timeout", "5s"]) {
        run.failed("budget", "seconds", 2);
    }
}

#[test]
fn a_tool_that_is_called_for_ever_ends_the_run() {
    let site = Site::new();
    let forever = "roles: { reviewer: [{ turns: [{ tool_calls: [{ name: list_dir, arguments: {} }] }] }] }\n";
    let script = site.write("m.yaml", forever);
    let server = MockServer::start(&site, &script);
    let run = run_at(site, &server.url, "", &["--max-turns", "12"]);
    let reply = run.said.json();
    assert!(matches!(run.said.code, 3 | 4), "{}", run.said.err);
    assert!(reply["usage"]["turns"].as_u64().unwrap() <= 13, "{reply}");
    run.recorded(&reply.clone(), reply["usage"]["turns"].as_u64().unwrap());
}

/// A proxy that answers everything itself, and tells what it was asked first.
fn proxy() -> (String, thread::JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let asked = thread::spawn(move || {
        let mut stream = listener.accept().unwrap().0;
        let mut request = [0; 65536];
        let read = stream.read(&mut request).unwrap();
        stream
            .write_all(b"HTTP/1.1 403 Forbidden\r\ncontent-length: 2\r\nconnection: close\r\n\r\nno")
            .unwrap();
        String::from_utf8_lossy(&request[..read]).into_owned()
    });
    (url, asked)
}

#[test]
fn proxies_are_used_and_loopback_needs_none() {
    let (proxy, asked) = proxy();
    let site = Site::new();
    let script = site.write("m.yaml", &format!("turns:\n{DONE}"));
    let server = MockServer::start(&site, &script);
    let workflow = example("solve-issue/workflow.yaml");
    let run = |url: &str| {
        let args = ["run", &workflow, "--role", "reviewer", "-p", "x", "--model", "m", "--base-url", url];
        Said::of(
            site.command(AGENT)
                .args(args)
                .env("HTTP_PROXY", &proxy)
                .env("http_proxy", &proxy)
                .output()
                .unwrap(),
        )
    };
    run(&server.url).ok();
    assert!(run("http://models.example/v1").code(5).err.contains("403: no"));
    let asked = asked.join().unwrap();
    assert!(asked.starts_with("POST http://models.example/v1/chat/completions HTTP/1.1\r\n"), "{asked}");
    assert!(!asked.contains("x-uwf-role"), "the role is told to loopback only: {asked}");
}
