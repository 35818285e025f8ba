//! Every failure path: a clear error, nothing lost or half-written, no key in any output.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::rounds;
use crate::site::{AGENT, MockServer, Said, Site, UWF, example};

const KEY: &str = "sk-test-5f0c1d7e9b3a";
const DONE: &str = "turns:\n  - content: |\n      ---\n      $status: approved\n      ---\n      Fine.\n";
const PROSE: &str = "turns:\n  - content: It is fine.\n  - content: Really.\n  - content: I said so.\n";

fn reviewer(site: &Site, more: &[&str]) -> Said {
    let workflow = example("solve-issue/workflow.yaml");
    let mut args = vec!["run", &workflow, "--role", "reviewer", "-p", "Look", "--format", "json"];
    args.extend(more);
    site.agent(&args)
}

/// An endpoint that answers every request with `reply` and then closes.
pub(crate) fn endpoint(reply: String) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream: TcpStream = stream.unwrap();
            let mut request = [0; 65536];
            assert!(stream.read(&mut request).unwrap() > 0);
            stream.write_all(reply.as_bytes()).unwrap();
        }
    });
    format!("http://{address}/v1")
}

pub(crate) fn http(status: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    )
}

#[test]
fn unknown_things_are_named() {
    let site = Site::new();
    let thread = site.start(&example("solve-issue/workflow.yaml"), "t");
    let other = "01KAZZZZZZZZZZZZZZZZZZZZZZ";
    let mock = site.write("m.yaml", DONE);
    site.uwf(&["thread", "exec", other]).fails(1, &[other]);
    site.agent(&[other, "reviewer", "--mock", &mock]).fails(1, &[other]);
    site.agent(&[&thread, "reviwer", "--mock", &mock]).fails(1, &["reviwer", "reviewer"]);
    site.uwf(&["thread", "start", "solve-isue", "-p", "x"]).fails(1, &["solve-isue"]);
    let workflow = example("solve-issue/workflow.yaml");
    site.agent(&["run", &workflow, "--role", "tester", "-p", "x", "--mock", &mock])
        .fails(1, &["tester", "reviewer"]);
    site.agent(&["rum"]).fails(2, &["rum", "run"]);
    let threads = site.uwf(&["thread", "list", "--all"]).ok().json();
    assert_eq!(threads.as_array().unwrap().len(), 1, "no failure left a thread behind");
    site.verify();
}

#[test]
fn without_a_model_it_says_what_to_do() {
    let site = Site::new();
    reviewer(&site, &[]).fails(1, &["no model is configured", "hint: ", "--mock"]);
    assert_eq!(site.uwf(&["thread", "list", "--all"]).ok().json(), Value::Array(vec![]));
}

#[test]
fn invalid_yaml_is_told_with_all_its_problems() {
    let site = Site::new();
    let broken = site.write("w.yaml", "name: x\nroles: [\n");
    site.uwf(&["workflow", "add", &broken]).fails(1, &["w.yaml", "3"]);
    let wrong = site.write(
        "v.yaml",
        "name: v\ndescription: d\nroles:\n  a:\n    goal: g\n    frontmatter: { type: object, properties: { $status: { const: done } }, required: [$status] }\ngraph:\n  $START:\n    new: { role: b, prompt: Go }\n  a:\n    done: { role: $END, prompt: '{{x' }\n",
    );
    site.uwf(&["workflow", "add", &wrong]).fails(1, &["v.yaml:9", "v.yaml:11"]);
    assert_eq!(site.uwf(&["workflow", "list"]).ok().json(), Value::Array(vec![]));
    let mock = site.write("m.yaml", "turns: [{ contnt: x }]\n");
    reviewer(&site, &["--mock", &mock]).fails(1, &["m.yaml", "contnt", "content"]);
}

#[test]
fn an_answer_without_frontmatter_fails_after_two_corrections_and_a_later_success_links_it() {
    let site = Site::new();
    let workflow = site.write(
        "w.yaml",
        "name: w\ndescription: d\nroles:\n  reviewer:\n    goal: g\n    frontmatter: { type: object, properties: { $status: { const: approved } }, required: [$status] }\ngraph:\n  $START:\n    new: { role: reviewer, prompt: Review. }\n  reviewer:\n    approved: { role: $END, prompt: Done. }\n",
    );
    let thread = site.start(&workflow, "t");
    let (prose, done) = (site.write("prose.yaml", PROSE), site.write("done.yaml", DONE));
    let exec =
        |mock: &str| site.uwf(&["thread", "exec", &thread, "--agent", &format!("{AGENT} --mock {mock}")]);

    let before = site.uwf(&["thread", "show", &thread]).ok().json();
    let failed = exec(&prose).code(3).json();
    assert_eq!(failed["head"], before["head"], "a failed step does not move the head");
    let error = &failed["error"];
    assert!(error["message"].as_str().unwrap().contains("after 2 corrections"), "{failed}");
    site.uwf(&["step", "read", error["stepHash"].as_str().unwrap()]).ok();
    let agent = format!("{AGENT} --mock {prose}");
    let mut again = site.command(UWF);
    again.env("UWF_EXIT", "0").args(["thread", "exec", &thread, "--agent", &agent]);
    let again = Said::of(again.output().unwrap()).ok().json();
    assert_eq!(again["head"], before["head"]);

    assert_eq!(exec(&done).ok().json()["status"], "end");
    let steps = site.uwf(&["step", "list", &thread]).ok().json();
    let attempts = steps["steps"][1]["previousAttempts"].as_array().unwrap();
    assert_eq!(attempts.len(), 2);
    for attempt in attempts {
        assert_eq!(
            (&attempt["output"]["$status"], &attempt["output"]["phase"]),
            (&"error".into(), &"answer".into())
        );
    }
    site.verify();
}

#[test]
fn the_correction_names_the_exact_errors() {
    let site = Site::new();
    let mock = site.write(
        "m.yaml",
        "turns:\n  - content: |\n      ---\n      $status: rejected\n      why: 7\n      ---\n  - content: |\n      ---\n      $status: approved\n      ---\n    expect: { last_contains: /why }\n",
    );
    assert_eq!(reviewer(&site, &["--mock", &mock]).ok().json()["frontmatter"]["$status"], "approved");
}

#[test]
fn a_budget_that_ends_is_a_failed_step_with_its_turns() {
    let site = Site::new();
    let call = "  - tool_calls: [{ name: list_dir, arguments: {} }]\n";
    let mock = site.write("m.yaml", &format!("turns:\n{}  - content: No idea.\n", call.repeat(3)));
    let said = reviewer(&site, &["--mock", &mock, "--max-turns", "3"]).code(4);
    let reply = said.json();
    assert_eq!(reply["frontmatter"]["phase"], "budget");
    assert!(reply["errorMessage"].as_str().unwrap().contains("turns"), "{reply}");
    assert_eq!(reply["usage"]["turns"], 4, "three turns and the grace turn");
    site.verify();
}

#[test]
fn a_bad_key_is_told_at_once_and_shown_nowhere() {
    let site = Site::new();
    let echo = format!(
        "{{\"error\":{{\"message\":\"Incorrect API key provided: {KEY}\",\"code\":\"invalid_api_key\"}}}}"
    );
    let url = endpoint(http("401 Unauthorized", &echo));
    let workflow = example("solve-issue/workflow.yaml");
    let run = ["run", &workflow, "--role", "reviewer", "-p", "x", "--base-url", &url, "--model", "m"];
    let said = Said::of(site.command(AGENT).args(run).env("UWF_API_KEY", KEY).output().unwrap()).code(5);
    assert!(said.err.contains("401"), "{}", said.err);
    for text in [&said.out, &said.err] {
        assert!(!text.contains(KEY), "{text}");
    }
    assert_eq!(site.contains(KEY), None, "no file of the run holds the key");
    site.verify();
}

#[test]
fn a_command_never_sees_the_key_of_the_endpoint() {
    let site = Site::new();
    let done = "  - content: |\n      ---\n      $status: approved\n      ---\n";
    let look = "env; cat /proc/$PPID/environ /proc/*/environ";
    let mock = site.write(
        "m.yaml",
        &format!(
            "turns:\n  - tool_calls: [{{ name: run_command, arguments: {{ command: '{look}' }} }}]\n{done}"
        ),
    );
    let server = MockServer::start(&site, &mock);
    let settings = format!("provider: {{ baseUrl: '{}', apiKeyEnv: HARMLESS }}\nmodel: m\n", server.url);
    site.write("home/.uwf/agents/builtin.yaml", &settings);
    let workflow = example("solve-issue/workflow.yaml");
    let run = ["run", &workflow, "--role", "reviewer", "-p", "x"];
    let said = Said::of(
        site.command(AGENT)
            .args(run)
            .env("HARMLESS", KEY)
            .env("ALSO", format!("in {KEY} it"))
            .output()
            .unwrap(),
    );
    assert_eq!(said.ok().json()["frontmatter"]["$status"], "approved");
    assert_eq!(site.contains(KEY), None, "neither the journal nor the store holds it");
}

#[test]
fn the_time_limit_ends_what_waits() {
    let site = Site::new();
    let call = "  - tool_calls: [{ name: run_command, arguments: { command: sleep 300 } }]\n";
    let done = "  - content: |\n      ---\n      $status: approved\n      ---\n";
    let begun = Instant::now();
    let mock = site.write("m.yaml", &format!("turns:\n{call}{done}"));
    let reply = reviewer(&site, &["--mock", &mock, "--timeout", "1s"]).ok().json();
    assert_eq!(reply["usage"]["turns"], 2, "the command was ended, and the grace turn answered");
    let mock = site.write("n.yaml", &format!("turns:\n  - {{ delay_ms: 300000, content: late }}\n{done}"));
    reviewer(&site, &["--mock", &mock, "--timeout", "1s"]).code(0);
    assert!(begun.elapsed() < Duration::from_secs(100), "nobody waited for what sleeps");
}

#[test]
fn a_stand_alone_run_that_cannot_begin_leaves_nothing() {
    let site = Site::new();
    let mock = site.write("m.yaml", DONE);
    reviewer(&site, &["--mock", "nope.yaml"]).fails(1, &["nope.yaml"]);
    reviewer(&site, &["--mock", &mock, "--tools", "read_fil"]).fails(1, &["read_fil", "read_file"]);
    let workflow = example("solve-issue/workflow.yaml");
    site.agent(&["run", &workflow, "--role", "reviewer", "-p", " ", "--mock", &mock])
        .fails(1, &["task is empty"]);
    let late = ["--model", "m", "run", &workflow, "--role", "reviewer", "-p", "x"];
    site.agent(&late).fails(2, &["come after it"]);
    site.agent(&["-q", "run", &workflow, "--role", "reviewer", "-p", "x", "--mock", "no"]).fails(1, &["no"]);
    assert_eq!(site.uwf(&["thread", "list", "--all"]).ok().json(), Value::Array(vec![]));
    assert_eq!(site.uwf(&["workflow", "list"]).ok().json(), Value::Array(vec![]));
}

#[test]
fn variables_that_sound_secret_never_reach_a_command() {
    let site = Site::new();
    let done = "  - content: |\n      ---\n      $status: approved\n      ---\n";
    let mock = site.write(
        "m.yaml",
        &format!("turns:\n  - tool_calls: [{{ name: run_command, arguments: {{ command: env }} }}]\n{done}"),
    );
    let workflow = example("solve-issue/workflow.yaml");
    let run = ["run", &workflow, "--role", "reviewer", "-p", "x", "--mock", &mock];
    let said = Said::of(
        site.command(AGENT)
            .args(run)
            .env("UWF_API_KEY", KEY)
            .env("GITHUB_TOKEN", "ghp_0123456789")
            .output()
            .unwrap(),
    );
    said.ok();
    assert_eq!(site.contains(KEY), None);
    assert_eq!(site.contains("ghp_0123456789"), None);
}

#[test]
fn a_workspace_that_is_none_is_named() {
    let site = Site::new();
    let mock = site.write("m.yaml", DONE);
    reviewer(&site, &["--mock", &mock, "--cwd", "nowhere"]).fails(1, &["nowhere"]);
}

#[test]
fn a_temporary_directory_that_is_none_is_named_with_what_moves_it() {
    let site = Site::new();
    let (workflow, mock) = (example("solve-issue/workflow.yaml"), site.write("m.yaml", DONE));
    let mut command = site.command(AGENT);
    command.args(["run", &workflow, "--role", "reviewer", "-p", "Look", "--mock", &mock]);
    command.env("TMPDIR", site.workspace().join("absent"));
    let words = ["cannot make a private directory in", "absent", "set TMPDIR to a directory"];
    Said::of(command.output().unwrap()).fails(1, &words);
}

#[test]
fn a_scenario_gives_the_answer_of_a_step_again_when_it_is_sent_back() {
    let steps = "steps:\n  - { role: worker, output: { $status: more } }\n  - { role: worker, output: So it is., expect: { last_contains: Go on } }\n  \
                 - { role: worker, output: { $status: done } }\n";
    let site = Site::new();
    let script = site.write("scenario.yaml", steps);
    let server = MockServer::start(&site, &script);
    let over_http = format!("{AGENT} --base-url {} --model m", server.url);
    for agent in [format!("{AGENT} --mock {script}"), over_http] {
        let thread = rounds::start(&site);
        let said = site.uwf(&["thread", "exec", &thread, "-c", "3", "--agent", &agent]).code(3).json();
        assert_eq!((said.as_array().unwrap().len(), &said[0]["error"]), (2, &Value::Null), "{agent}");
        let error = &said[1]["error"];
        assert!(error["message"].as_str().unwrap().contains("after 2 corrections"), "{agent}: {error}");
        let failed = site.uwf(&["step", "list", &thread]).ok().json()["failed"][0].clone();
        assert_eq!((&failed["output"]["phase"], &failed["usage"]["turns"]), (&"answer".into(), &3.into()));
    }
}
