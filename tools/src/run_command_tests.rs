//! Tests of `run_command`: what a command sees, what is answered, and that nothing survives it.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Instant;

use serde_json::json;

use super::*;
use crate::scratch::{Scratch, limits};
use crate::shell::Shell;
use crate::{Cancel, ToolLimits, Toolbox};

fn run(scratch: &Scratch, command: &str) -> ToolOutput {
    scratch.call("run_command", json!({"command": command, "timeout_s": 100}))
}

/// The output of a command, without the line about its end.
fn output(scratch: &Scratch, command: &str) -> String {
    let text = run(scratch, command).text;
    text.rsplit_once('(').unwrap().0.to_owned()
}

/// Whether a process sleeps for this very number of seconds.
fn sleeps(seconds: u32) -> bool {
    let wanted = format!("sleep\0{seconds}\0");
    let processes = fs::read_dir("/proc").unwrap().flatten();
    processes
        .filter_map(|entry| fs::read(entry.path().join("cmdline")).ok())
        .any(|line| line == wanted.as_bytes())
}

#[track_caller]
fn is_gone(seconds: u32) {
    let until = Instant::now() + Duration::from_secs(30);
    while sleeps(seconds) {
        assert!(Instant::now() < until, "sleep {seconds} still runs");
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn the_answer_has_output_exit_code_and_length() {
    let scratch = Scratch::new();
    let output = run(&scratch, "echo out; echo err >&2; exit 3");
    assert!(output.text.starts_with("out\nerr\n(exit code 3 after "), "{}", output.text);
    assert!(output.text.ends_with(" s; output: 8 bytes)"), "{}", output.text);
    assert!(!output.is_error);
    assert_eq!(
        (output.facts.exit_code, output.facts.signal, output.facts.output_bytes),
        (Some(3), None, Some(8))
    );
    assert_eq!(output.title, "run echo out; echo err >&2; exit 3 (exit code 3)");
    let output = scratch.call("run_command", json!({"command": "kill -9 $$", "description": "Die"}));
    assert_eq!(output.facts.signal, Some(9));
    assert_eq!(output.title, "Die (ended by signal 9)");
}

#[test]
fn stderr_is_interleaved_in_order_of_arrival() {
    let scratch = Scratch::new();
    // Two pipes: what comes on both while nobody looks has no order.
    let command = "for n in 1 2; do echo out $n; sleep 0.5; echo err $n >&2; sleep 0.5; done";
    assert_eq!(output(&scratch, command), "out 1\nerr 1\nout 2\nerr 2\n");
}

#[test]
fn the_directory_is_the_workspace_or_one_below() {
    let scratch = Scratch::new();
    scratch.put("sub/f", "");
    let root = scratch.root().canonicalize().unwrap();
    assert_eq!(output(&scratch, "pwd; echo $PWD"), format!("{0}\n{0}\n", root.display()));
    let text = scratch.ok("run_command", json!({"command": "pwd", "cwd": "sub"}));
    assert!(text.starts_with(&format!("{}/sub\n", root.display())), "{text}");
    scratch.refused("run_command", json!({"command": "pwd", "cwd": ".."}));
    scratch.refused("run_command", json!({"command": "pwd", "timeout_s": 601}));
}

#[test]
fn the_environment_is_scrubbed_and_quiet() {
    let scratch = Scratch::new();
    let env = output(&scratch, "env");
    let has = |name: &str| env.lines().any(|line| line.starts_with(&format!("{name}=")));
    assert!(has("LC_ALL") && has("PATH") && has("HOME") && has("NAMED_BY_SOMEBODY"));
    assert!(!has("PLAIN") && !has("MY_TOKEN") && !has("INNOCENT"), "{env}");
    assert!(env.contains("PAGER=cat\n") && env.contains("TERM=dumb\n") && env.contains("NO_COLOR=1\n"));
    assert_eq!(
        env.lines().filter(|line| line.starts_with("CARGO")).count(),
        0,
        "the agent's own environment leaks"
    );
}

#[test]
fn there_is_no_input_and_no_terminal() {
    let scratch = Scratch::new();
    assert_eq!(
        output(&scratch, "cat; read -r line || echo none; (: </dev/tty) 2>/dev/null || echo no terminal"),
        "none\nno terminal\n"
    );
}

#[test]
fn the_temporary_directory_is_private_and_shared_by_commands() {
    let scratch = Scratch::new();
    let dir = output(&scratch, "echo $TMPDIR; touch $TMPDIR/f");
    let dir = Path::new(dir.trim());
    assert!(output(&scratch, "ls $TMPDIR") == "f\n" && dir.is_dir());
    scratch.toolbox.close();
    assert_eq!(fs::metadata(dir).unwrap().permissions().mode() & 0o777, 0o700);
}

#[test]
fn a_time_limit_ends_everything_in_the_group() {
    let scratch = Scratch::new();
    let started = Instant::now();
    let text = scratch
        .call("run_command", json!({"command": "echo begun; sleep 7101 & sleep 7102", "timeout_s": 1}));
    assert!(started.elapsed() < Duration::from_secs(60));
    assert!(text.is_error && text.facts.timed_out && text.facts.exit_code.is_none());
    assert!(text.text.starts_with("begun\n(ended at the time limit of 1 s after "), "{}", text.text);
    assert!(text.text.contains("sleep 7101") && text.text.contains("sleep 7102"), "{}", text.text);
    is_gone(7101);
    is_gone(7102);
}

#[test]
fn a_time_limit_reaches_what_left_the_session_and_what_ignores_term() {
    let scratch = Scratch::new();
    let command = "setsid sh -c 'sleep 7201 & sleep 7202 & wait' >/dev/null 2>&1 & \
                   (setsid setsid sleep 7203 &) ; (trap '' TERM; sleep 7204) & sleep 7205";
    let output = scratch.call("run_command", json!({"command": command, "timeout_s": 1}));
    assert!(output.facts.timed_out, "{}", output.text);
    (7201..=7205).for_each(is_gone);
}

#[test]
fn a_time_limit_lets_a_command_clean_up() {
    let scratch = Scratch::with(ToolLimits { grace: Duration::from_secs(2), ..limits() });
    let command = "trap 'echo cleaned; exit 0' TERM; while :; do sleep 0.05; done";
    let output = scratch.call("run_command", json!({"command": command, "timeout_s": 1}));
    assert!(output.text.contains("cleaned\n"), "{}", output.text);
}

#[test]
fn a_cancel_ends_a_command_soon() {
    let scratch = Scratch::new();
    let cancel = Cancel::default();
    let started = Instant::now();
    let output = thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(Duration::from_millis(200));
            cancel.cancel();
        });
        scratch.toolbox.call("run_command", r#"{"command": "sleep 7301 & sleep 7302"}"#, &cancel)
    });
    assert!(started.elapsed() < Duration::from_secs(60));
    assert!(
        output.is_error && output.facts.cancelled && output.text.starts_with("(cancelled after "),
        "{}",
        output.text
    );
    is_gone(7301);
    is_gone(7302);
}

#[test]
fn the_answer_does_not_wait_for_the_background_which_is_named_and_ended_with_the_run() {
    let scratch = Scratch::new();
    let started = Instant::now();
    let output = run(&scratch, "sleep 7401 & echo started");
    assert!(started.elapsed() < Duration::from_secs(60));
    assert!(output.text.starts_with("started\n(exit code 0"), "{}", output.text);
    assert!(
        output.text.contains("still running in the background: 1 process: ")
            && output.text.contains(" sleep 7401"),
        "{}",
        output.text
    );
    assert!(!run(&scratch, "true").text.contains("background"));
    assert!(sleeps(7401));
    let ended = scratch.toolbox.close().ended;
    assert!(matches!(&ended[..], [one] if one.ends_with(" sleep 7401")), "{ended:?}");
    is_gone(7401);
}

#[test]
fn a_daemon_is_named_and_ended_too_and_dropping_the_toolbox_is_enough() {
    let scratch = Scratch::new();
    // It is named by what it has become by then.
    let output = run(
        &scratch,
        "(setsid sleep 7501 >/dev/null 2>&1 &); until grep -qszx '750[1]' /proc/[0-9]*/cmdline; do :; done",
    );
    assert!(output.text.contains("sleep 7501"), "{}", output.text);
    drop(scratch);
    is_gone(7501);
}

#[test]
fn a_background_process_may_go_on_printing() {
    let scratch = Scratch::new();
    run(&scratch, "(for n in 1 2 3 4 5 6 7 8; do sleep 0.1; echo $n; done; touch done; sleep 7601) &");
    let until = Instant::now() + Duration::from_secs(30);
    while !scratch.root().join("done").exists() {
        assert!(Instant::now() < until, "it was killed by its closed pipe");
        thread::sleep(Duration::from_millis(20));
    }
    scratch.toolbox.close();
}

#[test]
fn adopted_processes_leave_no_zombies() {
    let scratch = Scratch::new();
    scratch.put("napper", "#!/bin/sh\nwhile :; do sleep 0.05; done\n");
    run(&scratch, "chmod +x napper; ./napper & (setsid ./napper >/dev/null 2>&1 &)");
    let command = "./napper & (setsid ./napper >/dev/null 2>&1 &); ./napper";
    assert!(scratch.call("run_command", json!({"command": command, "timeout_s": 1})).facts.timed_out);
    scratch.toolbox.close();
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let stats = processes.filter_map(|entry| fs::read_to_string(entry.path().join("stat")).ok());
    let left: Vec<_> = stats.filter(|stat| stat.contains("(napper)")).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn huge_output_costs_no_memory_and_is_spooled_up_to_its_limit() {
    let scratch = Scratch::with(ToolLimits { spool_bytes: 1 << 20, ..limits() });
    let before = peak_memory();
    let output = run(&scratch, "yes 0123456789 | head -c 200000000; echo the end >&2");
    assert_eq!(output.facts.output_bytes, Some(200_000_008));
    assert!(output.facts.truncated && output.text.len() < 17 * 1024);
    assert!(
        output.text.contains("the end\n")
            && output.text.contains("omitted; read the first 1.0 MB with tool_output hash=")
    );
    assert!(fs::metadata(output.facts.spool.unwrap()).unwrap().len() < (1 << 20) + 100);
    let grown = peak_memory() - before;
    assert!(grown < 180_000, "{grown} KB more");
}

/// In KB, of the whole test process.
fn peak_memory() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_ascii_whitespace().nth(1).unwrap().parse().unwrap()
}

/// The answer comes with the end of the process, not with a tick of a clock.
#[test]
fn a_command_that_cannot_start_says_why() {
    let scratch = Scratch::new();
    let text = scratch.refused("run_command", json!({"command": "x".repeat(3 << 20)}));
    assert!(text.contains("the command was not run: its shell could not be started: "), "{text}");
    assert!(scratch.refused("run_command", json!({"command": "a\0b"})).contains("not run"));
}

/// A directory of the workspace in PATH, as people have `node_modules/.bin`: what removes the private directory is not
/// looked for there, since it is not confined as commands are.
#[test]
fn what_runs_beside_the_sandbox_is_not_a_program_of_the_workspace() {
    let dir = tempfile::tempdir().unwrap();
    let bin = dir.path().join("ws/bin");
    fs::create_dir_all(&bin).unwrap();
    let path = std::env::join_paths([&bin, Path::new("/usr/bin"), Path::new("/bin")]).unwrap();
    let config = crate::scratch::config(dir.path(), limits());
    let spool = (config.spool_dir, config.outputs);
    let shell = Shell::new(vec![("PATH".into(), path)], [].into(), spool, &config.limits, config.sandbox);
    let trusted = shell.trusted_path().into_string().unwrap();
    assert!(trusted.starts_with("/usr/bin:") && !trusted.contains("ws"), "{trusted}");
}

/// Set for the copy of this program that [`nothing_survives_a_killed_agent`] kills.
const ROLE: &str = "UWF_TOOLS_TEST_AGENT";

/// The agent is killed while a command runs and another one's child lives in the background: both end with it.
#[test]
fn nothing_survives_a_killed_agent() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("ws")).unwrap();
    let mut agent = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "run_command::tests::agent_to_be_killed", "--ignored", "--nocapture"])
        .env(ROLE, dir.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(agent.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap() == "ready"));
    let until = Instant::now() + Duration::from_secs(30);
    while !sleeps(7802) {
        assert!(Instant::now() < until, "the agent's command does not start");
        thread::sleep(Duration::from_millis(20));
    }
    assert!(sleeps(7801) && sleeps(7803));
    agent.kill().unwrap();
    agent.wait().unwrap();
    is_gone(7801);
    is_gone(7802);
    is_gone(7803);
}

#[test]
#[ignore = "run by nothing_survives_a_killed_agent, in a process of its own"]
fn agent_to_be_killed() {
    let Some(dir) = std::env::var_os(ROLE) else { return };
    let toolbox = Toolbox::open(crate::scratch::config(Path::new(&dir), limits())).unwrap();
    let call = |command: &str| {
        toolbox.call("run_command", &json!({"command": command}).to_string(), &Cancel::default()).text
    };
    call("(setsid sleep 7801 >/dev/null 2>&1 &)");
    call("(env -i setsid sleep 7803 >/dev/null 2>&1 &); sleep 0.3");
    println!("\nready");
    call("sleep 7802");
}
