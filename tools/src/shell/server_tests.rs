use std::fs;
use std::io::{BufRead, BufReader, Write};

use serde_json::json;

use super::*;
use crate::scratch::Scratch;

/// A shell that answers each line.
fn echo(more: &str) -> ServerCommand {
    let script = format!("{more}; while read line; do echo \"heard $line\"; done");
    ServerCommand {
        program: "sh".into(),
        args: vec!["-c".into(), script.into()],
        env: vec![("SERVER_KEY".into(), "hush-hush".into())],
    }
}

fn ask(server: &mut ServerProcess, line: &str) -> String {
    writeln!(server.stdin.as_mut().unwrap(), "{line}").unwrap();
    let mut answer = String::new();
    BufReader::new(server.stdout.as_mut().unwrap()).read_line(&mut answer).unwrap();
    answer
}

#[test]
fn a_server_hears_and_answers_and_ends_with_its_input() {
    let scratch = Scratch::new();
    let mut server = scratch.toolbox.start_server(&echo(":"), &Cancel::default()).unwrap();
    assert_eq!(ask(&mut server, "one"), "heard one\n");
    // A command is no matter of the server's, nor the other way round.
    let said = scratch.ok("run_command", json!({"command": "sleep 0.05; echo x"}));
    assert!(!said.contains("still running"), "{said}");
    let said = scratch.call("run_command", json!({"command": "sleep 9", "timeout_s": 1})).text;
    assert!(said.contains("time limit"), "{said}");
    assert_eq!(ask(&mut server, "two"), "heard two\n");
    assert!(!server.is_over());
    server.end(false);
    assert_eq!(scratch.toolbox.close().ended, Vec::<String>::new());
}

#[test]
fn its_environment_is_its_own() {
    let scratch = Scratch::new();
    let script = "echo ${SERVER_KEY} ${MY_TOKEN:-none} ${LC_ALL:-none} $PWD > seen; touch ../outside";
    let mut server = scratch.toolbox.start_server(&echo(script), &Cancel::default()).unwrap();
    ask(&mut server, "ready");
    let seen = String::from_utf8(fs::read(scratch.root().join("seen")).unwrap()).unwrap();
    assert_eq!(seen, format!("hush-hush none C {}\n", scratch.root().canonicalize().unwrap().display()));
    assert!(!scratch.outside().join("outside").exists(), "it is confined as commands are");
    let said = scratch.ok(
        "run_command",
        json!({"command": "cat /proc/[0-9]*/environ 2>/dev/null; echo; kill -9 -1; echo $SERVER_KEY"}),
    );
    assert!(!said.contains("hush"), "{said}");
}

#[test]
fn what_does_not_listen_is_killed() {
    let scratch = Scratch::new();
    let deaf = ServerCommand {
        program: "sh".into(),
        args: vec!["-c".into(), "trap '' TERM; echo here; while :; do sleep 1; done".into()],
        ..ServerCommand::default()
    };
    let mut server = scratch.toolbox.start_server(&deaf, &Cancel::default()).unwrap();
    let mut line = String::new();
    BufReader::new(server.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "here\n");
    server.end(false);
    let server = scratch.toolbox.start_server(&deaf, &Cancel::default()).unwrap();
    server.end(true);
    let server = scratch.toolbox.start_server(&deaf, &Cancel::default()).unwrap();
    drop(scratch);
    assert!(server.is_over(), "none outlives the run");
}

#[test]
fn one_that_is_not_there_is_named() {
    let scratch = Scratch::new();
    let none = ServerCommand { program: "no-such-server".into(), ..ServerCommand::default() };
    let error = scratch.toolbox.start_server(&none, &Cancel::default()).unwrap_err().to_string();
    assert!(error.starts_with("no-such-server cannot be started: "), "{error}");
}

#[test]
fn a_long_text_is_cut_and_kept() {
    let scratch = Scratch::new();
    let text = "a line of the-provider-key\n".repeat(10_000);
    let output = scratch.toolbox.shown(&text);
    assert!(output.text.len() < 20_000 && output.text.contains("read them with tool_output hash="));
    assert!(!output.text.contains("provider") && output.facts.spool.is_some());
    let name = output.facts.output_hash.unwrap();
    assert!(scratch.ok("tool_output", json!({"hash": name, "offset": 9999})).contains("a line of ***"));
    assert_eq!(scratch.toolbox.shown("x").text, "x");
}
