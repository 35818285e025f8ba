//! Runs where the machine has little left: of memory here, of threads in [`threads`]. They end well or with an error in
//! words, and they never hang.

#[path = "shortage/threads.rs"]
mod threads;

use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::attacks::field::skipped;
use crate::outputs::{outputs, turns};
use crate::process::{signal, wait_for};
use crate::site::{AGENT, Said, Site, UWF};

const WORKFLOW: &str = "name: short\ndescription: d\nroles:\n  worker:\n    goal: g\n    frontmatter: { type: object, properties: { $status: { const: done } }, required: [$status] }\ngraph:\n  $START:\n    new: { role: worker, prompt: Work. }\n  worker:\n    done: { role: $END, prompt: Done. }\n";

/// A program with 40 MB for its data, which one output alone would fill. Address space is no measure: what the allocator
/// sets aside of it differs from run to run.
fn limited(site: &Site, program: &str) -> Command {
    let mut command = site.command("sh");
    command.args(["-c", "ulimit -d 40000; exec \"$0\" \"$@\"", program]);
    command
}

/// A script: these calls, one a turn, and then the answer, after so many milliseconds.
pub(crate) fn script(calls: &[Value], delay_ms: u64) -> String {
    let turns = calls.iter().map(|call| json!({"tool_calls": [call]}));
    let answer = json!({"content": "---\n$status: done\n---\n", "delay_ms": delay_ms});
    json!({"turns": turns.chain([answer]).collect::<Vec<_>>()}).to_string()
}

/// Adds what a new run is told.
pub(crate) fn begin(command: &mut Command, site: &Site, script: &str) {
    let (workflow, mock) = (site.write("w.yaml", WORKFLOW), site.write("m.json", script));
    command.args(["run", &workflow, "--role", "worker", "-p", "Work", "--mock", &mock]);
}

/// The lines of the only journal.
fn journal(site: &Site) -> Vec<Value> {
    let Ok(entries) = fs::read_dir(site.home().join(".uwf/sessions")) else { return Vec::new() };
    let mut journals = entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_file());
    let text = journals.next().map_or(String::new(), |path| fs::read_to_string(path).unwrap());
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// Each of the outputs alone takes 50 MB.
#[test]
fn what_commands_print_is_recorded_and_read_without_being_held_in_memory() {
    let site = Site::new();
    let print = |n| json!({"name": "run_command", "arguments": {"command": format!("yes 'a line of output {n}' | head -c 50000000")}});
    let calls = [print(1), print(2), print(3)];
    let mut first = site.command(AGENT);
    begin(&mut first, &site, &script(&calls, 600_000));
    let mut first = first.stderr(Stdio::null()).spawn().unwrap();
    wait_for(|| journal(&site).iter().filter(|entry| entry["entry"] == "finished").count() == 3);
    first.kill().unwrap();
    first.wait().unwrap();

    let thread = site.uwf(&["thread", "list", "--all"]).ok().json()[0]["thread"].clone();
    let thread = thread.as_str().unwrap();
    site.write("m.json", &script(&calls, 0));
    let reply = limited(&site, AGENT).args(["run", "--continue", thread]).output();
    let reply = Said::of(reply.unwrap()).ok().json();
    let outputs = outputs(&site, &reply);
    assert_eq!(outputs.len(), 3);
    for (n, hash) in (1..).zip(&outputs) {
        let printed = limited(&site, UWF).args(["cas", "cat", hash]).output().unwrap();
        let text = format!("a line of output {n}\n").repeat(2_631_579);
        assert!(printed.status.success() && printed.stdout == text.as_bytes()[..50_000_000], "output {n}");
    }
    let file = site.write("exported.jsonl", "");
    let step = reply["stepHash"].as_str().unwrap();
    for words in [&["thread", "export", thread, "-o", &file][..], &["step", "read", step], &["cas", "verify"]]
    {
        Said::of(limited(&site, UWF).args(words).output().unwrap()).ok();
    }
    let call = json!({"name": "tool_output", "arguments": {"hash": outputs[2], "offset": 2_631_578}});
    let mut later = limited(&site, AGENT);
    begin(&mut later, &site, &script(&[call], 0));
    let reply = Said::of(later.output().unwrap()).ok().json();
    let shown = turns(&site, &reply)[1]["content"].clone();
    assert_eq!(
        shown,
        "2631578\ta line of output 3\n2631579\ta line of output 3\n(end of file, 2,631,579 lines)"
    );
}

/// Each removal is made to take 20 ms: all of them a minute.
#[test]
fn nobody_who_ends_a_run_waits_until_what_commands_left_is_removed() {
    if !Command::new("strace").args(["-D", "true"]).output().is_ok_and(|tried| tried.status.success()) {
        return skipped("a removal that takes long", "strace");
    }
    let site = Site::new();
    let command = "cd $TMPDIR; seq 1 3000 | xargs touch";
    let calls = [json!({"name": "run_command", "arguments": {"command": command}})];
    let slow = ["-D", "-f", "-o", "/dev/null", "-e", "inject=unlinkat:delay_enter=20000"];
    let mut run = site.command("strace");
    run.args(slow).arg(AGENT).env("TMPDIR", site.home());
    begin(&mut run, &site, &script(&calls, 0));
    let mut run =
        run.args(["--sandbox", "off"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for(|| journal(&site).last().is_some_and(|entry| entry["entry"] == "replied"));
    // The answer is recorded. The first signals may come before anybody listens.
    let private = || fs::read_dir(site.home()).unwrap().map(|entry| entry.unwrap().file_name());
    let is_left = |name: std::ffi::OsString| name.to_string_lossy().starts_with("uwf-");
    while run.try_wait().unwrap().is_none() {
        signal("-TERM", run.id());
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(Said::of(run.wait_with_output().unwrap()).ok().json()["frontmatter"]["$status"], "done");
    assert!(private().any(is_left), "nobody waited");
}
