//! Where the system refuses processes and threads: at each of them that a run makes, and all at once in the middle.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::{Value, json};

use super::{begin, journal, script};
use crate::attacks::field::skipped;
use crate::process::{signal, wait_for};
use crate::site::{AGENT, MockServer, Said, Site, UWF};

/// Nothing of a test is left after so many seconds, whatever happens.
const SECONDS: &str = "100";

/// A user that nobody else is and who may have so many processes.
struct User {
    site: Site,
    id: String,
    processes: u32,
}

impl User {
    /// None where nobody can become another user.
    fn new(processes: u32) -> Option<User> {
        let tools =
            Command::new("setpriv").arg("--version").output().is_ok_and(|tried| tried.status.success());
        if fs::metadata("/proc/self").unwrap().uid() != 0 || !tools {
            skipped("a user who may have few processes", "setpriv, run by root");
            return None;
        }
        let site = Site::new();
        static USERS: AtomicU32 = AtomicU32::new(0);
        let id = 1_000_000 + std::process::id() * 64 + USERS.fetch_add(1, Ordering::Relaxed) % 64;
        let id = id.to_string();
        // Not by this process: another test may fork while a copy is open for writing.
        for program in [AGENT, UWF] {
            let copied = Command::new("install").args(["-m", "755", program]).arg(dir(&site)).status();
            assert!(copied.unwrap().success());
        }
        Some(User { site, id, processes })
    }

    /// A program as this user, within the limit.
    fn command(&self, program: &str) -> Command {
        let owned = Command::new("chown").args(["-R", &self.id]).arg(dir(&self.site)).status();
        assert!(owned.unwrap().success());
        let mut command = self.site.command("prlimit");
        command.arg(format!("--nproc={}", self.processes)).args(["timeout", "-s", "KILL", SECONDS]);
        command.args(["setpriv", "--reuid", &self.id, "--regid", &self.id, "--clear-groups"]).arg(program);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn agent(&self) -> Command {
        self.command(&self.path("uwf-builtin"))
    }

    fn path(&self, name: &str) -> String {
        dir(&self.site).join(name).display().to_string()
    }

    /// Takes all the processes that are left to this user, until it is dropped.
    fn take_the_rest(&self) -> Taken {
        let mut shell = self.command("sh");
        shell.args(["-c", &format!("while :; do sleep {SECONDS} & done")]);
        let mut shell = shell.process_group(0).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let taken = Taken(shell.id());
        assert!(!shell.wait().unwrap().success(), "it ends when there is no process left");
        taken
    }
}

/// A group of processes.
struct Taken(u32);

impl Drop for Taken {
    fn drop(&mut self) {
        Command::new("kill").args(["-KILL", "--", &format!("-{}", self.0)]).status().ok();
    }
}

fn dir(site: &Site) -> std::path::PathBuf {
    site.home().parent().unwrap().to_owned()
}

fn call(name: &str, arguments: Value) -> Value {
    json!({"name": name, "arguments": arguments})
}

/// It ended by itself, well or with an error in words.
#[track_caller]
fn in_words(said: &Said, what: &str) {
    assert!(!said.err.contains("panicked") && !said.out.contains("panicked"), "{what}: {said:?}");
    assert!([0, 1, 3, 5, 6].contains(&said.code), "{what}: {said:?}");
    assert!(said.code == 0 || said.err.contains("error: "), "{what}: {said:?}");
}

/// With one process more each time, until all that a run makes can be made; the host is looked up by name.
#[test]
fn whichever_thread_cannot_be_made_the_run_ends_in_words() {
    let mut ended_well = 0;
    for processes in 1..=9 {
        let Some(user) = User::new(processes) else { return };
        let calls = [
            call("grep", json!({"pattern": "x"})),
            call("glob", json!({"pattern": "*"})),
            call("run_command", json!({"command": "echo x > f"})),
        ];
        let script = user.site.write("served.json", &script(&calls, 0));
        let server = MockServer::start(&user.site, &script);
        let url = server.url.replace("127.0.0.1", "localhost");
        let settings = format!("provider: {{ baseUrl: '{url}', retry: {{ tries: 2 }} }}\nmodel: m\n");
        user.site.write("home/.uwf/agents/builtin.yaml", &settings);
        let workflow = user.site.write("w.yaml", super::WORKFLOW);
        for level in ["strict", "off"] {
            let mut run = user.agent();
            run.args(["run", &workflow, "--role", "worker", "-p", "Work", "--sandbox", level]);
            let said = Said::of(run.output().unwrap());
            in_words(&said, &format!("{processes} processes, {level}"));
            ended_well += u32::from(said.code == 0);
        }
    }
    assert!(ended_well >= 4, "most of it works with nine processes");
}

/// A user whose agent has begun a command.
fn begun(run: impl FnOnce(&User, &str) -> Command, command: &str, delay_ms: u64) -> Option<(User, Child)> {
    let user = User::new(30)?;
    let calls = [call("grep", json!({"pattern": "x"})), call("run_command", json!({"command": command}))];
    let mut run = run(&user, &script(&calls, delay_ms));
    let child = run.spawn().unwrap();
    wait_for(|| user.site.workspace().join("began").exists());
    Some((user, child))
}

fn alone(user: &User, script: &str) -> Command {
    let mut run = user.agent();
    begin(&mut run, &user.site, script);
    run
}

/// The end of a run looks at git, on a thread; the last turn is so long that idle ones may be gone.
#[test]
fn a_run_that_loses_all_processes_in_its_last_turn_ends_well() {
    let Some((user, run)) = begun(alone, "mkdir .git; touch began", 12_000) else { return };
    wait_for(|| journal(&user.site).iter().filter(|entry| entry["entry"] == "finished").count() == 2);
    let _taken = user.take_the_rest();
    let said = Said::of(run.wait_with_output().unwrap());
    in_words(&said, "the last turn");
    assert_eq!(said.code, 0, "{said:?}");
}

#[test]
fn without_any_process_left_a_signal_ends_a_run() {
    let Some((user, run)) = begun(alone, "touch began; sleep 60", 0) else { return };
    let _taken = user.take_the_rest();
    signal("-TERM", run.id());
    let said = Said::of(run.wait_with_output().unwrap()).code(143);
    assert!(said.err.contains("interrupted by SIGTERM") && !said.err.contains("panicked"), "{said:?}");
}

#[test]
fn without_any_process_left_a_time_limit_ends_a_run() {
    let exec = |user: &User, script: &str| {
        let (workflow, mock) =
            (user.site.write("w.yaml", super::WORKFLOW), user.site.write("m.json", script));
        let mut start = user.command(&user.path("uwf"));
        let started = Said::of(start.args(["thread", "start", &workflow, "-p", "Work"]).output().unwrap());
        let thread = started.ok().json()["thread"].as_str().unwrap().to_owned();
        let agent = format!("{} --mock {mock}", user.path("uwf-builtin"));
        let mut exec = user.command(&user.path("uwf"));
        exec.args(["thread", "exec", &thread, "--agent", &agent, "--timeout", "3s"]);
        exec
    };
    let Some((user, run)) = begun(exec, "touch began; sleep 60", 0) else { return };
    let _taken = user.take_the_rest();
    let said = Said::of(run.wait_with_output().unwrap());
    in_words(&said, "--timeout");
    assert!(said.code != 0 && said.err.contains("3s"), "{said:?}");
}
