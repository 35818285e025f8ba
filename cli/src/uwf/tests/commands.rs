//! Everything that starts no agent, and what holds for every command.

use std::ffi::OsString;
use std::io::{self, Write};

use serde_json::json;
use uwf_engine::builtin;

use super::command_line::CommandLine;
use crate::shell::{ProcessContext, Terminals};
use crate::uwf::main_with;
use uwf_engine::fixture::{FLOW, Place, clock};
use uwf_engine::lock::ThreadLock;
use uwf_engine::spawn::StopSignal;
use uwf_engine::thread::{self, Status, head};

#[test]
fn a_bad_command_line_is_2_and_says_so_on_stderr() {
    let place = Place::new();
    for args in [
        &[][..],
        &["thred"],
        &["thread", "exec"],
        &["thread", "list", "--status", "odd"],
        &["cas", "put", "-"],
    ] {
        let ran = place.uwf(args);
        assert_eq!((ran.exit, ran.out.as_str()), (2, ""), "{args:?}");
        assert!(ran.err.contains("Usage:") || ran.err.contains("error:"), "{args:?}: {}", ran.err);
    }
    let bad = place.uwf(&["thread", "show", "01"]);
    assert_eq!(bad.exit, 1);
    assert!(
        bad.err.starts_with("error: `01` names no thread\n  hint: expected a thread's id"),
        "{}",
        bad.err
    );
}

#[test]
fn yaml_and_text_are_had_by_asking() {
    let place = Place::new();
    let thread = place.flow_thread();
    let yaml = place.uwf(&["thread", "show", thread.as_str(), "--format", "yaml"]);
    assert!(yaml.out.contains("status: idle\n") && yaml.out.contains("done: false\n"), "{}", yaml.out);
    let text = place.uwf(&["--format", "text", "thread", "show", thread.as_str()]);
    assert!(text.out.contains("next role  writer\n"), "{}", text.out);
    let read = place.uwf(&["thread", "read", thread.as_str()]).out;
    assert_eq!(place.uwf(&["thread", "read", thread.as_str(), "--start"]).out, read);
    let document = place.uwf(&["thread", "read", thread.as_str(), "--format", "json"]);
    assert!(document.json()["markdown"].as_str().unwrap().starts_with("# Thread"));
}

#[test]
fn list_shows_what_is_asked_for() {
    let place = Place::new();
    let (idle, ended, asks) = (place.flow_thread(), place.flow_thread(), place.flow_thread());
    let store = place.store();
    let start = head(&store, &idle).unwrap().hash;
    thread::advance(&store, &ended, &start, &start, &Status::Ended { completed_at: 1 }).unwrap();
    let suspended = Status::Suspended { role: "writer".into(), message: "?".into() };
    thread::advance(&store, &asks, &start, &start, &suspended).unwrap();
    let listed = |args: &[&str]| {
        let ran = place.uwf(&[&["thread", "list"], args].concat());
        let rows = ran.json().as_array().unwrap().clone();
        rows.iter().map(|row| row["status"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(listed(&[]), ["idle"]);
    assert_eq!(listed(&["--all"]).len(), 3);
    assert_eq!(listed(&["--status", "completed"]), ["end"]);
    assert_eq!(listed(&["--status", "active,suspended"]).len(), 2);
    assert_eq!(listed(&["--status", "end", "--all"]), ["end"]);
    assert_eq!(listed(&["--all", "--skip", "1", "--take", "1"]).len(), 1);
    assert_eq!(listed(&["--all", "--after", "2027-01-15"]).len(), 3);
    assert_eq!(listed(&["--all", "--before", "1d"]).len(), 0);
    assert_eq!(place.uwf(&["thread", "list", "--after", "soon"]).exit, 2);
    // A person also sees what waits for him and what has ended, and not what was given up.
    let cancelled = place.flow_thread();
    assert!(thread::cancel(&store, &cancelled).unwrap());
    let shown = place.on_terminal(&["thread", "list"]).out;
    assert!(
        shown.starts_with("THREAD") && shown.contains("  asks: ?  ") && shown.contains("  end"),
        "{shown}"
    );
    assert!(!shown.contains("cancelled"), "{shown}");
    let row = &place.uwf(&["thread", "list"]).json()[0];
    assert_eq!(
        (&row["workflowName"], &row["currentRole"], &row["startedAt"]),
        (&json!("flow"), &json!("writer"), &json!(clock()))
    );
}

#[test]
fn a_thread_whose_step_runs_is_running() {
    let place = Place::new();
    let thread = place.flow_thread();
    let workflow = head(&place.store(), &thread).unwrap().start(&place.store()).unwrap().workflow;
    let held = ThreadLock::acquire(&place.homes().uwf, &thread, &workflow, 1).unwrap();
    assert_eq!(place.uwf(&["thread", "show", thread.as_str()]).json()["status"], "running");
    assert_eq!(place.uwf(&["thread", "list", "--status", "running"]).json()[0]["thread"], json!(thread));
    drop(held);
    assert_eq!(place.uwf(&["thread", "show", thread.as_str()]).json()["status"], "idle");
    let stop = place.uwf(&["thread", "stop", thread.as_str()]);
    assert_eq!((stop.exit, stop.json()), (0, json!({"thread": thread, "stopped": false})));
    assert!(
        stop.err.starts_with(&format!("warning: thread {thread} is not running\n  hint: ")),
        "{}",
        stop.err
    );
    let unknown = place.uwf(&["thread", "stop", "01KAZZZZZZZZZZZZZZZZZZZZZZ"]);
    assert_eq!((unknown.exit, unknown.out.as_str()), (1, ""));
}

#[test]
fn a_thread_that_another_engine_runs_is_running_too() {
    let place = Place::new();
    let thread = place.flow_thread();
    let start = head(&place.store(), &thread).unwrap().hash;
    let step = place.step(&thread, None, "writer", &json!({"$status": "again"}));
    thread::advance(&place.store(), &thread, &start, &step, &Status::Idle).unwrap();
    let mut engine = std::process::Command::new("sleep").arg("60").spawn().unwrap();
    let (pid, now) = (engine.id(), std::time::UNIX_EPOCH.elapsed().unwrap().as_millis() as u64);
    let marker = place.homes().uwf.join(format!("running/{thread}.json"));
    std::fs::create_dir_all(marker.parent().unwrap()).unwrap();
    let text = json!({"thread": thread, "workflow": start, "pid": pid, "startedAt": now}).to_string();
    std::fs::write(&marker, text).unwrap();

    let uwf = |args: &[&str]| place.uwf(&[&["thread"], args, &[thread.as_str()]].concat());
    assert_eq!(uwf(&["show"]).json()["status"], "running");
    assert_eq!(place.uwf(&["thread", "list", "--status", "running"]).json()[0]["thread"], json!(thread));
    let agent = place.script("exit 1\n");
    for command in [
        &["exec", "--agent", &agent][..],
        &["exec", "--background", "--agent", &agent],
        &["poke", "-p", "x", "--agent", &agent],
        &["rm"],
    ] {
        let refused = uwf(command);
        let told = format!("already running, in process {pid}");
        assert!(refused.exit == 1 && refused.err.contains(&told), "{command:?}: {refused:?}");
    }
    assert!(place.calls().is_empty() && engine.try_wait().unwrap().is_none());
    assert_eq!(uwf(&["stop"]).json()["stopped"], true);
    assert!(engine.try_wait().unwrap().is_some());
    assert_eq!(uwf(&["show"]).json()["status"], "idle");
}

#[test]
fn workflows_are_checked_added_shown_and_listed() {
    let place = Place::new();
    let file = ".workflows/flow.yaml";
    let valid = place.uwf(&["workflow", "validate", file]).json();
    assert_eq!(valid["valid"], true);
    let added = place.uwf(&["workflow", "put", file]).json();
    assert_eq!(added, json!({"name": "flow", "hash": valid["hash"]}));
    assert_eq!(place.uwf(&["workflow", "show", added["hash"].as_str().unwrap()]).json()["name"], "flow");
    let listed = place.uwf(&["workflow", "list"]).json();
    let path = place.project().join(file).display().to_string();
    assert_eq!(listed, json!([{"name": "flow", "hash": "(local)", "origin": "local", "path": path}]));
    std::fs::write(place.project().join("bad.yaml"), "name: x\nroles: 5\n").unwrap();
    let bad = place.uwf(&["workflow", "add", "bad.yaml"]);
    assert_eq!((bad.exit, bad.out.as_str()), (1, ""));
    assert!(bad.err.contains("bad.yaml:2:"), "{}", bad.err);
}

#[test]
fn a_workflow_may_come_from_stdin() {
    let place = Place::new();
    std::fs::write(place.project().join("goal.md"), "Write it.").unwrap();
    let text = FLOW.replacen("goal: You write.", "goal: !include goal.md", 1);
    assert_ne!(text, FLOW);
    let ran = place.run(&["workflow", "validate", "-"], &text, true);
    assert!(ran.out.starts_with("stdin is valid: flow "), "{ran:?}");
    let added = place.run(&["workflow", "add", "-"], &text, false).json();
    let shown = place.uwf(&["workflow", "show", added["hash"].as_str().unwrap()]).json();
    assert_eq!(shown["payload"]["roles"]["writer"]["goal"], "Write it.");
    let bad = place.run(&["workflow", "add", "-"], "name: x\nroles: 5\n", false);
    assert!(bad.exit == 1 && bad.err.contains("\n  stdin:2:8: "), "{}", bad.err);
    let bad = place.run(&["workflow", "add", "-"], "name: !include ../x\n", false);
    assert!(bad.err.contains("\n  stdin:1:7: cannot include `../x`"), "{}", bad.err);
}

#[test]
fn nodes_are_put_got_and_followed() {
    let place = Place::new();
    let put = |args: &[&str], stdin: &str| {
        let ran = place.run(&[&["cas", "put"], args].concat(), stdin, false);
        assert_eq!(ran.exit, 0, "{ran:?}");
        ran.out.trim().to_owned()
    };
    let text = put(&["--type", "string", "-"], "\"hello\"");
    assert_eq!(put(&["--type", "7VQ43ZSJTEWA7", "-"], "\"hello\""), text);
    assert_eq!(
        place.run(&["cas", "hash", "--type", "@ocas/string", "-"], "\"hello\"", false).out.trim(),
        text
    );
    let got = place.uwf(&["cas", "get", &text]).json();
    assert_eq!(got, json!({"type": "7VQ43ZSJTEWA7", "payload": "hello", "timestamp": clock()}));
    let start = json!({"workflow": text, "prompt": "p", "cwd": "/"});
    let lines = format!(
        "{}\n\n{}\n",
        json!({"type": "StartNode", "payload": start}),
        json!({"type": "string", "payload": "b"})
    );
    let hashes = put(&["--jsonl", "-"], &lines);
    let start = hashes.lines().next().unwrap();
    assert_eq!((hashes.lines().count(), place.uwf(&["cas", "refs", start]).json()), (2, json!([text])));
    assert!(place.uwf(&["cas", "walk", start]).json().as_array().unwrap().contains(&json!(text)));
    let has = |hash: &str| {
        let ran = place.uwf(&["cas", "has", hash]);
        (ran.exit, ran.out, ran.err)
    };
    assert_eq!(has(start), (0, "true\n".to_owned(), String::new()));
    assert_eq!(has("0000000000000"), (1, "false\n".to_owned(), String::new()));
}

#[test]
fn bad_nodes_are_refused_and_a_damaged_store_is_told() {
    let place = Place::new();
    for (args, stdin, words) in [
        (&["cas", "put", "--type", "strin", "-"][..], "1", "no such type: strin"),
        (&["cas", "put", "--type", "string", "-"], "1", "does not obey type"),
        (&["cas", "put", "--type", "string", "-"], "\"a\" \"b\"", "does not hold one JSON value"),
        (&["cas", "put", "--jsonl", "-"], "{}\n", "stdin:1 is not {\"type\", \"payload\"}"),
        (&["cas", "get", "0000000000000"], "", "no node 0000000000000"),
        (&["cas", "get", "zzz"], "", "zzz"),
    ] {
        let ran = place.run(args, stdin, false);
        assert_eq!((ran.exit, ran.out.as_str()), (1, ""), "{args:?}");
        assert!(ran.err.starts_with("error: ") && ran.err.contains(words), "{args:?}: {}", ran.err);
    }
    let text = place.run(&["cas", "put", "--type", "string", "-"], "\"x\"", false).out;
    std::fs::write(place.homes().ocas.join(format!("nodes/{}.bin", text.trim())), "damage").unwrap();
    let ran = place.uwf(&["cas", "verify"]);
    assert_eq!((ran.exit, ran.json()["ok"].as_bool()), (1, Some(false)));
    assert_eq!(ran.json()["findings"][0]["kind"], "corrupt");
}

#[test]
fn configuration_is_set_got_and_masked() {
    let place = Place::new();
    let set = place.uwf(&["config", "set", "providers.p", "{baseUrl: 'http://h', apiKey: sk-1234}"]);
    assert_eq!((set.exit, set.json()["value"]["apiKey"].as_str()), (0, Some("***")));
    let key = ["config", "get", "providers.p.apiKey"];
    assert_eq!(place.uwf(&key).json(), json!({"value": "***"}));
    assert_eq!(place.uwf(&[&key[..], &["--show-secrets"]].concat()).json(), json!({"value": "sk-1234"}));
    assert_eq!(
        place.uwf(&["config", "list"]).json(),
        json!({"providers": {"p": {"baseUrl": "http://h", "apiKey": "***"}}})
    );
    assert!(place.uwf(&["config", "list", "--show-secrets"]).out.contains("sk-1234"));
    assert_eq!(place.on_terminal(&["config", "get", "providers.p.baseUrl"]).out, "http://h\n");
    let yaml = place.uwf(&["config", "get", "providers.p.baseUrl", "--format", "yaml"]).out;
    assert_eq!(yaml, "value: \"http://h\"\n");
    let none = place.uwf(&["config", "get", "providers.p.baseUlr"]);
    assert!(
        none.err.ends_with("hint: keys there: providers.p.baseUrl, providers.p.apiKey\n"),
        "{}",
        none.err
    );
    let bad = place.uwf(&["config", "set", "defaultAgent", "[]"]);
    assert_eq!((bad.exit, bad.out.as_str()), (1, ""));
}

#[test]
fn steps_are_shown_with_their_turns() {
    let place = Place::new();
    let store = place.store();
    let thread = place.flow_thread();
    let step = place.step(&thread, None, "writer", &json!({"$status": "done"}));
    let list = json!({"type": "object", "properties": {"turns": {"type": "array", "items": {"type": "string", "format": "ocas_ref"}}}});
    let (details, turns) = (
        store.put(&builtin::META_SCHEMA, &list).unwrap(),
        store.put(&builtin::META_SCHEMA, &json!({"type": "object"})).unwrap(),
    );
    let turn = |payload| store.put(&turns, &payload).unwrap();
    let calls = json!([{"name": "read_file", "args": "{\"path\":\"a\"}"}]);
    let long: Vec<String> = (1..=40).map(|n| format!("line {n}")).collect();
    let turns = [
        turn(json!({"role": "assistant", "content": "", "toolCalls": calls, "reasoning": "I must look."})),
        turn(json!({"role": "tool", "content": long.join("\n"), "toolCalls": null})),
        turn(
            json!({"role": "assistant", "content": "---\n$status: done\n---\n\nAll is well.\n", "toolCalls": null}),
        ),
    ];
    let mut node = serde_json::to_value(thread::step_node(&store, &step).unwrap()).unwrap();
    node["detail"] = json!(store.put(&details, &json!({"turns": turns})).unwrap());
    let none = place.uwf(&["step", "read", step.as_str(), "--prompt"]);
    let sentence = format!("step {step} has no record of its prompt: scripted kept none");
    assert_eq!((none.exit, none.out, none.err), (0, format!("{sentence}\n"), String::new()));
    let none = place.uwf(&["step", "read", step.as_str(), "--prompt", "--format", "json"]).json();
    assert_eq!(none, json!({"step": step, "prompt": null, "hint": sentence}));
    node["assembledPrompt"] = json!(store.put_text("## system\n\nBe good.").unwrap());
    let step = store.put(&builtin::STEP_NODE, &node).unwrap();
    let start = head(&store, &thread).unwrap().hash;
    thread::advance(&store, &thread, &start, &step, &Status::Ended { completed_at: clock() }).unwrap();

    let shown = place.uwf(&["step", "show", step.as_str()]).json();
    assert_eq!(shown["turns"][0]["toolCalls"], calls);
    // The hash is that of a directory of chance.
    insta::assert_snapshot!(place.uwf(&["step", "read", step.as_str()]).out.replace(step.as_str(), "<step>"));
    assert_eq!(place.uwf(&["step", "read", step.as_str(), "--prompt"]).out, "## system\n\nBe good.\n");
    let read = place.uwf(&["thread", "read", thread.as_str()]).out;
    assert!(
        read.contains("**Answer:**\n\nAll is well.\n") && read.contains("**Ended** 2027-01-15 08:00:00 UTC"),
        "{read}"
    );
    let table = place.on_terminal(&["step", "list", thread.as_str()]).out;
    assert!(
        table.lines().nth(1).unwrap().starts_with("1  ") && table.contains("writer  done    1.5 s"),
        "{table}"
    );
}

/// A reader that has gone.
struct Closed;

impl Write for Closed {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::BrokenPipe.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_closed_stdout_ends_quietly() {
    let place = Place::new();
    for args in [&["uwf", "workflow", "list"][..], &["uwf", "--help"]] {
        let mut err = Vec::new();
        let exit = main_with(ProcessContext {
            args: args.iter().map(OsString::from).collect(),
            env: place.env(),
            cwd: place.project(),
            commit: None,
            stdin: &mut io::empty(),
            out: &mut Closed,
            err: &mut err,
            terminals: Terminals::default(),
            program: None,
            clock,
            stop: StopSignal::default(),
            catch_signals: |_| (),
        });
        assert_eq!((exit, err.as_slice()), (0, &b""[..]), "{args:?}");
    }
}
