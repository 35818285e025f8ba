//! What fails below a workflow, or is ended by a person, says nothing of it: it is told, and tried once more.

use std::net::TcpListener;

use super::*;
use crate::endpoint::{self, Endpoint};
use crate::site::MockServer;

fn outcome(site: &Site, name: &str) -> (String, bool) {
    let case = eval(site, &["show", name]).ok().json()["cases"][0].clone();
    (case["outcome"].as_str().unwrap().to_owned(), case["score"].is_null())
}

fn threads(site: &Site) -> Vec<Value> {
    site.uwf(&["thread", "list", "--all"]).ok().json().as_array().unwrap().clone()
}

#[test]
fn an_error_is_tried_once_more_by_whoever_goes_on() {
    let site = Site::new();
    double(&site);
    fs::create_dir_all(site.home().join(".uwf/agents")).unwrap();
    // Nobody listens there yet.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let settings =
        format!("provider: {{ baseUrl: 'http://127.0.0.1:{port}/v1', retry: {{ tries: 1 }} }}\nmodel: m\n");
    fs::write(site.home().join(".uwf/agents/builtin.yaml"), settings).unwrap();
    let run = ["run", "double", "--name", "n", "--retries", "0"];
    let down = eval(&site, &run);
    assert_eq!(down.code, 3, "{}", down.err);
    assert_eq!((down.code, outcome(&site, "n")), (3, ("error".to_owned(), true)), "{}", down.err);
    let answer = "---\\n$status: mended\\nfile: double.sh\\n---\\nDone.";
    let script = site.write("serves.yaml", &format!("turns: [{{ content: \"{answer}\" }}]\n"));
    let _up = MockServer::on(&site, &script, port);
    let up = eval(&site, &["run", "--resume", "n", "--retries", "0"]).ok();
    assert_eq!(outcome(&site, "n"), ("scored".to_owned(), false), "{}", up.err);
    assert_eq!(threads(&site).len(), 1, "it goes on with the thread that it had begun");
    site.verify();
}

#[test]
fn what_a_limit_or_a_person_ended_stands_for_no_other_case() {
    let site = Site::new();
    double(&site);
    let mock = site.write("slow.yaml", "turns: [{ delay_ms: 60000, content: late }]\n");
    let args = ["run", "double", "--mock", &mock, "--name"];
    let child = command(&site, &[&args[..], &["n"]].concat()).stderr(Stdio::piped()).spawn().unwrap();
    let until = Instant::now() + Duration::from_secs(20);
    while threads(&site).first().is_none_or(|thread| thread["status"] != "running") {
        assert!(Instant::now() < until);
        sleep(Duration::from_millis(100));
    }
    let thread = threads(&site)[0]["thread"].as_str().unwrap().to_owned();
    site.uwf(&["thread", "cancel", &thread]).ok();
    let said = Said::of(child.wait_with_output().unwrap());
    assert_eq!((said.code, outcome(&site, "n")), (3, ("error".to_owned(), true)), "{}", said.err);
    let file = site.workspace().join("double/task.yaml");
    let text = fs::read_to_string(&file).unwrap().replace("timeoutMinutes: 10", "timeoutMinutes: 0.01");
    fs::write(&file, text).unwrap();
    for name in ["late", "later"] {
        let ran = eval(&site, &[&args[..], &[name]].concat()).ok().json();
        assert_eq!((ran["failed"].as_u64(), ran["cached"].as_u64()), (Some(1), Some(0)), "{ran}");
    }
    site.verify();
}

#[test]
fn what_a_kill_left_running_is_waited_for() {
    let site = Site::new();
    double(&site);
    let answer = "---\\n$status: mended\\nfile: double.sh\\n---\\nDone.";
    let mock = site.write("slow.yaml", &format!("turns: [{{ delay_ms: 4000, content: \"{answer}\" }}]\n"));
    let args = ["run", "double", "--mock", &mock, "--name", "n", "--retries", "0"];
    let mut child = command(&site, &args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let until = Instant::now() + Duration::from_secs(20);
    while threads(&site).first().is_none_or(|thread| thread["status"] != "running") {
        assert!(Instant::now() < until);
        sleep(Duration::from_millis(100));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let on = eval(&site, &["run", "--resume", "n", "--retries", "0"]).ok();
    assert_eq!((outcome(&site, "n").0.as_str(), threads(&site).len()), ("scored", 1), "{}", on.err);
    assert!(!on.err.contains("already running"), "{}", on.err);
    site.verify();
}

#[test]
fn a_limit_that_went_into_a_broken_endpoint_is_no_failure_of_the_workflow() {
    let site = Site::new();
    double(&site);
    let endpoint = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = endpoint.local_addr().unwrap().port();
    std::thread::spawn(move || {
        // The first call is hung up, every other one is never answered.
        let mut calls = endpoint.incoming().flatten();
        drop(calls.next());
        calls.collect::<Vec<_>>()
    });
    fs::create_dir_all(site.home().join(".uwf/agents")).unwrap();
    let settings =
        format!("provider: {{ baseUrl: 'http://127.0.0.1:{port}/v1', retry: {{ tries: 1 }} }}\nmodel: m\n");
    fs::write(site.home().join(".uwf/agents/builtin.yaml"), settings).unwrap();
    let file = site.workspace().join("double/task.yaml");
    let text = fs::read_to_string(&file).unwrap().replace("timeoutMinutes: 10", "timeoutMinutes: 0.03");
    fs::write(&file, text).unwrap();
    let ran = eval(&site, &["run", "double", "--name", "n", "--retries", "1"]);
    assert_eq!((ran.code, outcome(&site, "n")), (3, ("error".to_owned(), true)), "{}", ran.err);
    let case = eval(&site, &["show", "n"]).ok().json()["cases"][0].clone();
    assert!(ran.err.contains("double/1 is tried again: developer failed: "), "{}", ran.err);
    assert_eq!(case["reason"], "the model never answered; it took longer than 1.8 s", "{case}");
    // Nor is one that never said anything.
    let ran = eval(&site, &["run", "double", "--name", "silent", "--retries", "1"]);
    assert_eq!((ran.code, outcome(&site, "silent")), (3, ("error".to_owned(), true)), "{}", ran.err);
    assert!(ran.err.contains("the model never answered; it took longer than 1.8 s"), "{}", ran.err);
    site.verify();
}

/// A model at an endpoint, of which these tokens cost so much that nine of them are $0.90.
fn configured(site: &Site, url: &str, prices: &str) {
    fs::create_dir_all(site.home().join(".uwf/agents")).unwrap();
    let settings = format!("provider: {{ baseUrl: '{url}', stream: false }}\nmodel: m\n{prices}");
    fs::write(site.home().join(".uwf/agents/builtin.yaml"), settings).unwrap();
}

const MENDED: &str = "---\n$status: mended\nfile: double.sh\n---\nDone.";

#[test]
fn what_a_visit_costs_counts_before_it_is_over() {
    let site = Site::new();
    double(&site);
    let edit = |name: &str, from: &str, to: &str| {
        let file = site.workspace().join("double").join(name);
        let text = fs::read_to_string(&file).unwrap();
        assert!(text.contains(from), "{text}");
        fs::write(&file, text.replace(from, to)).unwrap();
    };
    edit("task.yaml", "timeoutMinutes: 10", "timeoutMinutes: 10, costUsd: 1");
    let checker = "  checker:\n    description: Checks\n    goal: You check.\n    output: What you found.\n    frontmatter:\n      \
                   type: object\n      required: [$status]\n      properties:\n        $status: { const: checked }\ngraph:\n  \
                   checker: { checked: { role: $END, prompt: Checked. } }\n";
    edit("workflow.yaml", "graph:\n", checker);
    edit("workflow.yaml", "mended: { role: $END", "mended: { role: checker");
    let endpoint = Endpoint::new(|n, _| {
        let mut turn = match n {
            0 => endpoint::text(MENDED),
            1 => endpoint::call(1, "read_file", &serde_json::json!({"path": "double.sh"})),
            _ => {
                sleep(Duration::from_secs(30));
                endpoint::text("late")
            }
        };
        turn["usage"] = serde_json::json!({"prompt_tokens": 9, "completion_tokens": 9});
        (200, turn)
    });
    configured(&site, &endpoint.url, "prices: { m: { input: 100000, output: 0 } }\n");
    let begun = Instant::now();
    let args = ["run", "double", "--name", "n", "--count", "2", "-j", "1", "--max-cost", "0.5", "--min", "0"];
    let ran = eval(&site, &args);
    assert!(begun.elapsed() < Duration::from_secs(20), "{}", ran.err);
    let case = eval(&site, &["show", "n"]).ok().json()["cases"][0].clone();
    assert_eq!(case["reason"], "it cost $1.8000, more than $1", "{case}");
    // The visit that was cut off is a part of what the workflow took.
    assert_eq!((&case["costUsd"], &case["givenUp"]), (&1.8.into(), &Value::Null), "{case}");
    assert_eq!((&case["tokens"]["turns"], &case["tokens"]["input"]), (&2.into(), &18.into()), "{case}");
    // Of what the money did not suffice for nothing is told.
    assert_eq!(ran.code, 3, "{}", ran.err);
    assert!(ran.err.contains("error: no result: 1 of 2 cases are not finished\n"), "{}", ran.err);
    site.verify();
}

#[test]
fn a_bound_on_costs_that_nobody_knows_is_told_to_be_none() {
    let site = Site::new();
    double(&site);
    let endpoint = Endpoint::new(|_, _| {
        let mut turn = endpoint::text(MENDED);
        turn["usage"] = serde_json::json!({"prompt_tokens": 9, "completion_tokens": 9});
        (200, turn)
    });
    configured(&site, &endpoint.url, "");
    let ran = eval(&site, &["run", "double", "--name", "n", "--count", "3", "--max-cost", "0.5"]).ok();
    assert_eq!(ran.err.matches("warning: nobody knows what cases cost").count(), 1, "{}", ran.err);
    let ran = eval(&site, &["run", "double", "--offline", "--max-cost", "0.5"]).ok();
    assert!(!ran.err.contains("warning"), "{}", ran.err);
    site.verify();
}

#[test]
fn what_a_visit_cost_that_an_error_cut_off_is_told_and_counts_once() {
    let site = Site::new();
    double(&site);
    let file = site.workspace().join("double/task.yaml");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace("timeoutMinutes: 10", "timeoutMinutes: 10, costUsd: 0.8")).unwrap();
    let endpoint = Endpoint::new(|n, _| {
        let mut turn = match n {
            0 | 2 => endpoint::call(1, "read_file", &serde_json::json!({"path": "double.sh"})),
            1 => return (401, serde_json::json!({"error": {"message": "no key"}})),
            _ => {
                sleep(Duration::from_secs(30));
                endpoint::text("late")
            }
        };
        turn["usage"] = serde_json::json!({"prompt_tokens": 9, "completion_tokens": 9});
        (200, turn)
    });
    configured(&site, &endpoint.url, "prices: { m: { input: 50000, output: 0 } }\n");
    // What was given up before and what is open are too much together, which is nobody's doing.
    let ran = eval(&site, &["run", "double", "--name", "n", "--retries", "1"]);
    for resumed in [false, true] {
        let case = eval(&site, &["show", "n"]).ok().json()["cases"][0].clone();
        let told = (&case["outcome"], &case["costUsd"], &case["givenUp"]["costUsd"]);
        assert_eq!(told, (&"error".into(), &Value::Null, &0.9.into()), "{resumed}: {case} {}", ran.err);
        eval(&site, &["run", "--resume", "n", "--retries", "0"]);
    }
    site.verify();
}

/// The double task, whose role is played by a workflow.
fn played_by_a_workflow(site: &Site) {
    double(site);
    let inner = fs::read_to_string(site.workspace().join("double/workflow.yaml")).unwrap();
    let name = inner.lines().find_map(|line| line.strip_prefix("name: ")).unwrap().to_owned();
    let inner = site.write("inner.yaml", &inner.replace(&format!("name: {name}"), "name: inner"));
    site.uwf(&["workflow", "add", &inner]).ok();
}

#[test]
fn an_endpoint_that_is_down_below_a_workflow_that_plays_is_no_failure_of_it() {
    let site = Site::new();
    played_by_a_workflow(&site);
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    fs::create_dir_all(site.home().join(".uwf/agents")).unwrap();
    let settings =
        format!("provider: {{ baseUrl: 'http://127.0.0.1:{port}/v1', retry: {{ tries: 1 }} }}\nmodel: m\n");
    fs::write(site.home().join(".uwf/agents/builtin.yaml"), settings).unwrap();
    let run = ["run", "double", "--name", "n", "--retries", "1", "--agent", "workflow:inner"];
    let down = eval(&site, &run);
    assert_eq!((down.code, outcome(&site, "n")), (3, ("error".to_owned(), true)), "{}", down.err);
    assert!(down.err.contains("double/1 is tried again: developer failed: "), "{}", down.err);
    let script = site.write(
        "serves.yaml",
        "turns: [{ content: \"---\\n$status: mended\\nfile: double.sh\\n---\\nDone.\" }]\n",
    );
    let _up = MockServer::on(&site, &script, port);
    let up = eval(&site, &["run", "--resume", "n", "--retries", "0"]).ok();
    assert_eq!(outcome(&site, "n"), ("scored".to_owned(), false), "{}", up.err);
    // Nothing that failed stands for another case.
    let ran = eval(&site, &["run", "double", "--agent", "workflow:inner"]).ok().json();
    assert_eq!((ran["cached"].as_u64(), ran["scored"].as_u64()), (Some(1), Some(1)), "{ran}");
    site.verify();
}

#[test]
fn an_agent_that_is_deaf_to_signals_does_not_outlive_its_case() {
    let site = Site::new();
    double(&site);
    let file = site.workspace().join("double/task.yaml");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace("timeoutMinutes: 10", "timeoutMinutes: 0.1")).unwrap();
    let deaf = "#!/bin/sh\ntrap '' TERM INT HUP\nwhile :; do echo x >> ticks; sleep 0.1; done\n";
    let agent = site.write("deaf.sh", deaf);
    fs::set_permissions(&agent, fs::Permissions::from_mode(0o755)).unwrap();
    let ran = eval(&site, &["run", "double", "--name", "n", "--keep", "--retries", "0", "--agent", &agent]);
    let ticks = || fs::metadata(workspaces(&site).join("n/double/1/ticks")).map_or(0, |ticks| ticks.len());
    let then = ticks();
    sleep(Duration::from_secs(1));
    assert!(then > 0 && ticks() == then, "{}", ran.err);
}
