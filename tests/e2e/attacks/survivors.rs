//! Processes that are made to outlive what started them, in eight ways; and everything that must end them: the end of the
//! run, a time limit, a signal to the agent, its sudden death. None may live a moment later, and none be left unreaped.

use std::fs;
use std::path::Path;
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::json;

use super::field::{Field, by_everybody, has, skipped};
use crate::process::wait_for;

const ESCAPE: &str = include_str!("escape.py");
/// Each of eight kinds of escape is tried so often against each of five ends, by two users.
const ROUNDS: usize = 3;
/// After the end of what they belong to.
const SOON: Duration = Duration::from_millis(100);

/// What ends them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// The command ends at once; the run goes on for a while, and ends.
    Command,
    Run,
    TimeLimit,
    Terminated,
    Killed,
}

/// The processes of this name, by what /proc says of them: whatever is left of an escape.
fn left(mark: &str) -> Vec<String> {
    let processes = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    let named = |path: &Path| fs::read_to_string(path.join("comm")).is_ok_and(|name| name.trim() == mark);
    let state = |path: &Path| fs::read_to_string(path.join("stat")).unwrap_or_default();
    processes.filter(|path| named(path)).map(|path| state(&path)).filter(|stat| !stat.is_empty()).collect()
}

/// Those that do something still: not they whose last thread has ended, and whom their parent has not asked yet.
fn alive(mark: &str) -> Vec<String> {
    let is_over = |stat: &String| {
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_ascii_whitespace().collect();
        (fields[0], fields[17]) == ("Z", "1")
    };
    left(mark).into_iter().filter(|stat| !is_over(stat)).collect()
}

/// Waits until there are some, and until all kinds had the time to get loose.
fn wait_for_escape(mark: &str) {
    let until = Instant::now() + Duration::from_secs(60);
    while left(mark).len() < 8 {
        assert!(Instant::now() < until, "nobody escapes");
        thread::sleep(Duration::from_millis(20));
    }
    thread::sleep(Duration::from_millis(100));
}

/// A run whose command lets them loose.
fn start(field: &Field, (end, mark): (End, &str)) -> Child {
    field.site.write("work/escape.py", ESCAPE);
    let wait = if matches!(end, End::Command | End::Run) { "0" } else { "1000" };
    let limit = if end == End::TimeLimit { 2 } else { 100 };
    let escape = json!({"command": format!("python3 escape.py {mark} {wait}"), "timeout_s": limit});
    let mut calls = vec![json!({"id": "escape", "name": "run_command", "arguments": escape})];
    if end == End::Command {
        calls.push(json!({"id": "later", "name": "run_command", "arguments": {"command": "sleep 0.3"}}));
    }
    let turns: Vec<_> = calls.into_iter().map(|call| json!({"tool_calls": [call]})).collect();
    let turns = [turns, vec![json!({"content": "---\n$status: done\n---\n"})]].concat();
    let mock = field.site.write("m.yaml", &json!({"turns": turns}).to_string());
    let workflow = field.dir().join("w.yaml").display().to_string();
    let mut agent = field.agent();
    agent.args(["run", &workflow, "--role", "worker", "-p", "Escape", "--mock", &mock]);
    agent.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

fn ends(field: &Field, end: End, round: usize) {
    let mark = format!("esc{}-{}{}{round}", std::process::id(), end as u8, field.who as u8);
    let mut agent = start(field, (end, &mark));
    if matches!(end, End::Terminated | End::Killed) {
        wait_for_escape(&mark);
        let signal = if end == End::Killed { Signal::KILL } else { Signal::TERM };
        let pid = rustix::process::Pid::from_child(&agent);
        rustix::process::kill_process(pid, signal).unwrap();
    }
    agent.wait().unwrap();
    thread::sleep(SOON);
    assert_eq!(alive(&mark), Vec::<String>::new(), "{end:?}, as {:?}", field.who);
    // What a killed agent leaves unreaped is for the machine's first process.
    wait_for(|| left(&mark).is_empty());
    if end == End::Command {
        let answers = super::field::answers(&field.site.home().join(".uwf/sessions"));
        assert!(answers["escape"].text.contains("still running in the background: "), "{answers:?}");
    }
}

#[test]
fn nothing_survives_what_it_belongs_to() {
    if !has("python3") {
        return skipped("processes that escape", "python3");
    }
    for end in [End::Command, End::Run, End::TimeLimit, End::Terminated, End::Killed] {
        by_everybody(|who| {
            let field = Field::new(who);
            (0..ROUNDS).for_each(|round| ends(&field, end, round));
        });
    }
}

/// Stops whatever begins beside it.
const STOPPER: &str = "import ctypes, os, sys, time
ctypes.CDLL(None).prctl(15, sys.argv[1].encode())
last = os.fork()
if last == 0: os._exit(0)
os.waitpid(last, 0)
until = time.time() + 100
while time.time() < until:
    for pid in range(last + 1, last + 4):
        try:
            os.kill(pid, 19)
            last = pid
        except OSError: pass
";

/// What is stopped on its way into a command holds nothing that keeps the others alive.
#[test]
fn who_stops_commands_that_begin_ends_with_the_agent() {
    if !has("python3") {
        return skipped("processes that stop others", "python3");
    }
    by_everybody(|who| {
        for signal in [Signal::KILL, Signal::TERM] {
            let field = Field::new(who);
            let mark = format!("stop{}-{}{}", std::process::id(), signal.as_raw(), who as u8);
            field.site.write("work/stopper.py", STOPPER);
            let calls =
                [format!("python3 stopper.py {mark} & sleep 1"), "true".to_owned(), "true".to_owned()];
            let turns = calls
                .map(|text| json!({"tool_calls": [{"name": "run_command", "arguments": {"command": text}}]}));
            let mock = field.site.write("m.yaml", &json!({"turns": turns}).to_string());
            let workflow = field.dir().join("w.yaml").display().to_string();
            let mut agent = field.agent();
            agent.args(["run", &workflow, "--role", "worker", "-p", "Stop", "--mock", &mock]);
            let mut agent = agent.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
            wait_for(|| !left(&mark).is_empty());
            thread::sleep(Duration::from_secs(2));
            // It may have ended by itself.
            let _ = rustix::process::kill_process(rustix::process::Pid::from_child(&agent), signal);
            agent.wait().unwrap();
            wait_for(|| alive(&mark).is_empty());
        }
    });
}
