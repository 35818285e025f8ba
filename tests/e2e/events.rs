//! `--events`, and what a person sees on a terminal.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use serde_json::Value;

use crate::site::{AGENT, Said, Site, example};

const SCRIPT: &str = "turns:
  - content: I look first.
    reasoning: hm
    tool_calls: [{ name: list_dir, arguments: {} }, { name: run_command, arguments: { command: exit 3 } }]
  - error: { status: 429, retry_after: 0.01, message: busy }
  - content: |
      ---
      $status: approved
      ---
      Fine.
";

fn args(site: &Site, more: &[&str]) -> Vec<String> {
    let (workflow, mock) = (example("solve-issue/workflow.yaml"), site.write("m.yaml", SCRIPT));
    let run = ["run", &workflow, "--role", "reviewer", "-p", "Look", "--mock", &mock, "--format", "json"];
    run.iter().chain(more).map(|arg| (*arg).to_owned()).collect()
}

fn run(site: &Site, more: &[&str]) -> Said {
    let args = args(site, more);
    site.agent(&args.iter().map(String::as_str).collect::<Vec<_>>())
}

fn names(lines: &str) -> Vec<String> {
    let event = |line: &str| {
        let line: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        line["event"].as_str().unwrap().to_owned()
    };
    lines.lines().map(event).collect()
}

const EXPECTED: [&str; 14] = [
    "run.started",
    "turn.started",
    "message.delta",
    "message.delta",
    "turn.finished",
    "tool.started",
    "tool.finished",
    "tool.started",
    "tool.finished",
    "turn.started",
    "retry",
    "message.delta",
    "turn.finished",
    "run.finished",
];

#[test]
fn a_file_gets_a_line_for_each_event_and_more_of_the_next_run() {
    let site = Site::new();
    let file = site.write("events/e.jsonl", "");
    let reply = run(&site, &["--events", &file]).ok().json();
    let text = std::fs::read_to_string(&file).unwrap();
    assert_eq!(names(&text), EXPECTED);
    let last: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    assert_eq!((&last["step"], &last["status"]), (&reply["stepHash"], &"approved".into()));
    run(&site, &["--events", &file]).ok();
    assert_eq!(names(&std::fs::read_to_string(&file).unwrap()).len(), 28);
}

#[test]
fn a_dash_is_stderr_and_nothing_else_is_there() {
    let site = Site::new();
    let said = run(&site, &["--events", "-"]).ok();
    let (first, lines) = said.err.split_once('\n').unwrap();
    assert!(first.starts_with("thread "), "{first}");
    assert_eq!(names(lines), EXPECTED);
}

#[test]
fn a_file_that_cannot_be_opened_stops_the_run_before_it_begins() {
    let site = Site::new();
    run(&site, &["--events", "no/such/dir/e"]).fails(1, &["cannot write events", "no/such/dir/e"]);
    assert_eq!(site.uwf(&["thread", "list", "--all"]).ok().json(), Value::Array(vec![]));
}

#[test]
fn a_full_disk_does_not_end_the_run() {
    let site = Site::new();
    let said = run(&site, &["--events", "/dev/full"]).ok();
    assert_eq!(said.err.matches("no more events are written to /dev/full").count(), 1, "{}", said.err);
    assert_eq!(said.json()["frontmatter"]["$status"], "approved");
}

#[test]
fn a_reader_that_goes_away_does_not_end_the_run() {
    let site = Site::new();
    let pipe = site.write("pipe", "");
    std::fs::remove_file(&pipe).unwrap();
    assert!(site.command("mkfifo").arg(&pipe).status().unwrap().success());
    let child = site
        .command(AGENT)
        .args(args(&site, &["--events", &pipe]))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(std::fs::File::open(&pipe).unwrap()).read_line(&mut line).unwrap();
    assert_eq!(names(&line), ["run.started"]);
    let said = Said::of(child.wait_with_output().unwrap()).ok();
    assert_eq!(said.json()["frontmatter"]["$status"], "approved");
}

#[test]
fn a_reader_that_stops_reading_does_not_end_the_run_either() {
    let site = Site::new();
    let pipe = site.write("pipe", "");
    std::fs::remove_file(&pipe).unwrap();
    assert!(site.command("mkfifo").arg(&pipe).status().unwrap().success());
    let reader = std::fs::File::options().read(true).write(true).open(&pipe).unwrap();
    let long = SCRIPT.replace("Fine.", &format!("Fine. {}", "long ".repeat(60_000)));
    let args = args(&site, &["--events", &pipe]);
    site.write("m.yaml", &long);
    let said = site.agent(&args.iter().map(String::as_str).collect::<Vec<_>>()).ok();
    assert!(said.err.contains("its reader has stopped reading"), "{}", said.err);
    drop(reader);
}

#[test]
fn a_terminal_shows_a_status_the_tools_and_the_words() {
    let site = Site::new();
    if site.command("script").arg("--version").output().is_err() {
        eprintln!("skipped: there is no `script` here");
        return;
    }
    let quoted: Vec<String> = args(&site, &[]).iter().map(|arg| format!("'{arg}'")).collect();
    let command = format!("{AGENT} {}", quoted.join(" "));
    let screen = |command: &str| {
        let output = site.command("script").args(["-qec", command, "/dev/null"]).output().unwrap();
        let screen = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{screen}");
        screen
    };
    let both = screen(&command.replace("'json'", "'text'"));
    assert_eq!(both.matches("Fine.").count(), 1, "what was read is not shown again: {both}");
    let screen = screen(&format!("{command} > out"));
    assert!(std::fs::read_to_string(site.workspace().join("out")).unwrap().contains("Fine."));
    for part in [
        "\x1b[2K\x1b[?7lturn 1 · thinking",
        "I look first.",
        "  \x1b[32m✓\x1b[0m list .",
        "  \x1b[31m✗\x1b[0m run",
        "Fine.",
    ] {
        assert!(screen.contains(part), "{part:?} is not in {screen:?}");
    }
    let lines: Vec<&str> = screen.split("\r\n").map(|line| line.rsplit('\r').next().unwrap()).collect();
    assert!(!lines.iter().any(|line| line.contains(" · ")), "no status line is left behind: {lines:#?}");
}
