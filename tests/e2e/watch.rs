//! Runs that somebody watches, reads along and waits for, from another terminal.

use std::fs;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::process::{is_alive, signal, wait_for};
use crate::rounds::{says, sleeper, sleeps, start};
use crate::screen::Terminal;
use crate::site::{AGENT, Said, Site, UWF};

/// Two visits: in the first a command waits for the file `go`, with what it is for in words that could steer a terminal.
const SCRIPT: &str = r#"
roles:
  worker:
    - turns:
        - tool_calls:
            - name: run_command
              arguments: { command: "while [ ! -e go ]; do sleep 0.05; done", description: "wait \u009b2J\u001b[2Jfor the sign" }
          usage: { input_tokens: 14000, output_tokens: 250 }
        - content: "---\n$status: more\n---\n"
    - turns: [{ content: "---\n$status: done\n---\n" }]
"#;

/// A thread of which a command runs in the background, waiting for `go`.
fn waiting(site: &Site) -> String {
    let thread = start(site);
    let agent = format!("{AGENT} --mock {}", site.write("mock.yaml", SCRIPT));
    let args = ["thread", "exec", &thread, "--until-end", "--background", "--agent", &agent];
    site.uwf(&args).ok();
    wait_for(|| !show(site, &thread)["running"]["tool"].is_null());
    thread
}

fn show(site: &Site, thread: &str) -> Value {
    site.uwf(&["thread", "show", thread]).ok().json()
}

fn watching(site: &Site, args: &[&str], columns: u16) -> Terminal {
    let mut command = site.command(UWF);
    command.arg("watch").args(args);
    Terminal::with(command, columns)
}

/// A command that runs beside the test.
fn beside(site: &Site, args: &[&str]) -> std::thread::JoinHandle<Said> {
    let child = site.command(UWF).args(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    std::thread::spawn(move || Said::of(child.wait_with_output().unwrap()))
}

#[test]
fn a_run_in_the_background_is_seen_from_everywhere() {
    let site = Site::new();
    let thread = waiting(&site);
    let running = show(&site, &thread)["running"].clone();
    assert_eq!(
        (&running["role"], &running["turn"], &running["phase"], &running["tool"]["name"]),
        (&json!("worker"), &json!(1), &json!("tool"), &json!("run_command"))
    );
    assert_eq!((&running["usage"]["inputTokens"], &running["background"]), (&json!(14000), &json!(true)));
    assert!(is_alive(&running["pid"].to_string()));
    assert!(fs::exists(running["log"].as_str().unwrap()).unwrap());
    let told = site.uwf(&["thread", "show", &thread, "--format", "text"]).ok().out;
    assert!(told.contains("plays      worker, turn 1 of ") && told.contains("tool       wait "), "{told}");

    let (mut wide, mut narrow) = (watching(&site, &[&thread], 120), watching(&site, &[&thread], 40));
    let shown = wide.shows(&["● wait 2J[2Jfor the sign", "worker ●", "14.2k tokens"]);
    assert!(
        shown.contains(&format!("{thread}  rounds · the task\nworker ●\nworker · turn 1 of 60")),
        "{shown}"
    );
    let shown = narrow.shows(&["● wait 2J[2Jfor the sign", "worker ●"]);
    assert!(shown.lines().all(|line| line.chars().count() <= 40), "{shown}");
    let lines = beside(&site, &["watch", &thread]);
    let values = beside(&site, &["watch", &thread, "--format", "json"]);
    let logs = beside(&site, &["logs", &thread, "-f"]);
    let waited = beside(&site, &["wait", &thread]);
    std::thread::sleep(std::time::Duration::from_millis(300));
    assert!(!lines.is_finished() && !logs.is_finished() && !waited.is_finished());
    fs::write(site.workspace().join("go"), "").unwrap();

    for terminal in [&mut wide, &mut narrow] {
        let (code, shown) = terminal.ends();
        assert!(code == 0 && terminal.is_usual(), "{code} {shown}");
        assert!(shown.contains("worker → more") && shown.contains("worker → done"), "{shown}");
        assert!(shown.trim_end().ends_with("\nend") && !shown.contains("turn 1 of"), "{shown}");
    }
    assert_eq!(waited.join().unwrap().ok().json()["status"], "end");
    let lines = lines.join().unwrap().ok().out;
    for word in ["  ✓ wait ", "worker → more", "turn 2: text", "worker → done", "\nend\n"] {
        assert!(lines.contains(word), "{word:?} is not in {lines}");
    }
    let values = values.join().unwrap().ok().out;
    let values: Vec<Value> = values.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((&values[0]["thread"], &values[0]["status"]), (&json!(thread), &json!("running")));
    let last = values.last().unwrap();
    assert_eq!(
        (&last["status"], &last["running"], &last["reason"]),
        (&json!("end"), &Value::Null, &json!("end"))
    );
    let logs = logs.join().unwrap().ok().out;
    for word in ["turn 1: run_command", "worker → more", "worker → done", "\nend\n"] {
        assert!(logs.contains(word), "{word:?} is not in {logs}");
    }
    let last = site.uwf(&["logs", &thread, "--tail", "1"]).ok().out;
    assert_eq!(last, "end\n");
}

#[test]
fn who_stops_watching_leaves_the_run_alone_and_the_terminal_as_it_was() {
    let site = Site::new();
    let thread = start(&site);
    site.uwf(&["thread", "exec", &thread, "--background", "--agent", &sleeps(&site)]).ok();
    let agent = sleeper(&site);
    let mut terminal = watching(&site, &["@"], 120);
    // An agent that says nothing of itself.
    terminal.shows(&["worker ●\nworker · ", "q detaches"]);
    assert!(!terminal.is_usual());
    terminal.types("xq");
    let (code, shown) = terminal.ends();
    assert_eq!(
        (code, shown.trim()),
        (0, format!("not watched any more, and goes on: uwf watch {thread}").as_str())
    );
    assert!(terminal.is_usual());

    for (name, expected) in [("-INT", 130), ("-TERM", 143)] {
        let mut terminal = watching(&site, &[], 80);
        terminal.shows(&["worker ●", "rounds · the task"]);
        terminal.resize(40);
        signal("-WINCH", terminal.program.id());
        let shown = terminal.shows(&["…"]);
        assert!(shown.contains(&format!("…{}  rounds", &thread[20..])), "{shown}");
        signal(name, terminal.program.id());
        assert_eq!((terminal.ends().0, terminal.is_usual()), (expected, true));
        assert!(terminal.sent().ends_with("uwf watch\r\n"), "{:?}", terminal.sent());
    }
    assert!(is_alive(&agent));
    let still = site.uwf(&["wait", &thread, "--timeout", "100ms"]);
    still.fails(1, &["is still running after 100ms", "uwf watch"]);

    // One that is killed says nothing to anybody.
    let mut terminal = watching(&site, &[&thread], 80);
    terminal.shows(&["worker ●"]);
    let waited = beside(&site, &["wait", &thread]);
    signal("-KILL", &show(&site, &thread)["running"]["pid"]);
    let (code, shown) = terminal.ends();
    assert!(code == 0 && shown.contains("idle, next: worker"), "{shown}");
    assert_eq!(waited.join().unwrap().ok().json()["status"], "idle");
}

#[test]
fn all_that_run_are_watched_as_they_come_and_go() {
    let site = Site::new();
    let mut terminal = watching(&site, &[], 120);
    terminal.shows(&["nothing runs · q ends"]);
    let (first, second) = (waiting(&site), waiting(&site));
    terminal.shows(&[&format!("{first}  rounds"), &format!("{second}  rounds"), "runs: rounds"]);
    fs::write(site.workspace().join("go"), "").unwrap();
    let shown =
        terminal.shows(&[&format!("{first}  runs no more: end"), &format!("{second}  runs no more: end")]);
    assert!(shown.contains(&format!("{first}  worker → more")), "{shown}");
    terminal.shows(&["nothing runs"]);
    terminal.types("q");
    assert_eq!(terminal.ends().0, 0);
}

#[test]
fn wait_ends_as_the_command_that_ran_the_thread() {
    let site = Site::new();
    let waits = |thread: &str| site.uwf(&["wait", thread]);
    let thread = start(&site);
    waits(&thread).fails(1, &["nor ever has", "uwf thread exec"]);
    waits("@-9").fails(1, &[]);
    let exec = |fields: &str, code| {
        site.uwf(&["thread", "exec", &thread, "--agent", &says(&site, fields)]).code(code);
    };
    site.uwf(&["thread", "exec", &thread, "--agent", "false"]).code(1);
    waits(&thread).code(1);
    exec("$status: more", 0);
    assert_eq!(waits(&thread).ok().json()["currentRole"], "worker");
    exec("$status: odd", 3);
    assert!(waits(&thread).code(3).json()["error"]["message"].is_string());
    exec("$status: ask", 10);
    assert_eq!(waits(&thread).code(10).json()["status"], "suspended");
    let mut forgiving = site.command(UWF);
    forgiving.env("UWF_EXIT", "0").args(["wait", &thread, "--format", "text"]);
    let said = Said::of(forgiving.output().unwrap()).ok();
    assert_eq!(said.out, "suspended: worker asks: Which one?\n");
    site.uwf(&["thread", "cancel", &thread]).ok();
    assert_eq!(waits(&thread).code(1).json()["status"], "cancelled");
}

#[test]
fn a_run_that_was_cut_off_says_after_how_many_turns() {
    let site = Site::new();
    let thread = waiting(&site);
    let running = show(&site, &thread)["running"].clone();
    let waited = beside(&site, &["wait", &thread, "--format", "text"]);
    signal("-KILL", &running["pid"]);
    let said = waited.join().unwrap().code(1);
    assert_eq!(said.out, "interrupted after 1 turn of worker\n");
    assert_eq!(show(&site, &thread)["running"], Value::Null);
}

#[test]
fn logs_tell_runs_that_wrote_none_from_their_records() {
    let site = Site::new();
    let thread = start(&site);
    fs::write(site.workspace().join("go"), "").unwrap();
    let agent = format!("{AGENT} --mock {}", site.write("mock.yaml", SCRIPT));
    let logs = |args: &[&str]| site.uwf(&[&["logs", &thread], args].concat()).ok().out;
    assert_eq!(logs(&[]), "");
    site.uwf(&["thread", "exec", &thread, "--agent", &says(&site, "$status: odd")]).code(3);
    let failed = logs(&[]);
    assert!(failed.contains("turn 1: text (") && failed.contains("\nworker → error  "), "{failed}");
    assert!(failed.lines().last().unwrap().starts_with("failed: "), "{failed}");
    site.uwf(&["thread", "exec", &thread, "--agent", &agent]).ok();
    let told = logs(&[]);
    for word in ["turn 1: run_command (", "  ✓ wait 2J[2Jfor the sign (exit code 0) (", "turn 2: text ("] {
        assert!(told.contains(word), "{word:?} is not in {told}");
    }
    assert!(told.starts_with(&failed) && logs(&["-f"]) == told, "{told}");
    assert!(logs(&["-n", "1"]).starts_with("worker → more  "), "{told}");
    // The log of a run in the background counts as long as it is the last one.
    site.uwf(&["thread", "exec", &thread, "--background", "--agent", &says(&site, "$status: more")]).ok();
    site.uwf(&["wait", &thread]).ok();
    assert!(logs(&[]).contains("next: worker\n") && !logs(&[]).contains("run_command"));
    std::thread::sleep(std::time::Duration::from_secs(3));
    site.uwf(&["thread", "exec", &thread, "--agent", &says(&site, "$status: done")]).ok();
    assert!(logs(&[]).contains("run_command") && logs(&[]).contains("worker → done"));
    site.uwf(&["logs", "nonsense!"]).fails(1, &["names no thread"]);
}

/// A workflow whose role another workflow plays.
const OUTER: &str = "
name: outer
roles:
  developer:
    goal: It is played by another workflow.
    frontmatter: { type: object, required: [$status], properties: { $status: { const: done } } }
graph:
  $START: { new: { role: developer, prompt: Have it done. } }
  developer: { done: { role: $END, prompt: Done. } }
";

#[test]
fn a_called_thread_is_seen_in_its_caller() {
    let site = Site::new();
    // The workflow that is called has the name of its file.
    start(&site);
    let called = format!("{}/rounds.yaml", site.workspace().parent().unwrap().display());
    let mock = site.write("mock.yaml", SCRIPT);
    site.write(
        "home/.uwf/config.yaml",
        &format!(
            "agents:\n  rounds: {{ workflow: {called} }}\n  mock: {{ command: {AGENT}, args: [--mock, {mock}] }}\n\
             defaultAgent: mock\nagentOverrides: {{ outer: {{ developer: rounds }} }}\n"
        ),
    );
    let thread = site.start(&site.write("outer.yaml", OUTER), "the whole");
    site.uwf(&["thread", "exec", &thread, "--until-end", "--background"]).ok();
    wait_for(|| !show(&site, &thread)["running"]["tool"].is_null());
    let running = show(&site, &thread)["running"].clone();
    assert_eq!(running["role"], "developer/worker");
    let child = running["thread"].as_str().unwrap().to_owned();
    assert_ne!(child, thread);
    let mut terminal = watching(&site, &[&thread], 120);
    terminal.shows(&["developer ●\ndeveloper/worker · turn 1 of", "● wait 2J[2Jfor the sign"]);
    let mut all = watching(&site, &[], 120);
    let shown = all.shows(&["outer · the whole"]);
    assert!(!shown.contains(&child), "it is one run: {shown}");
    let logs = beside(&site, &["logs", &child, "-f"]);
    fs::write(site.workspace().join("go"), "").unwrap();
    let (code, shown) = terminal.ends();
    assert!(code == 0 && shown.contains("developer → done"), "{shown}");
    let logs = logs.join().unwrap().ok().out;
    for word in ["turn 1: run_command", "  ✓ wait ", "worker → more", "worker → done"] {
        assert!(logs.contains(word), "{word:?} is not in {logs}");
    }
    all.shows(&["runs no more: end"]);
}
