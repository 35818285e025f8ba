//! Command-line agents that others wrote, each really started: it plays a role of a workflow whose other role is ours.
//!
//! Their models are a script on a loopback endpoint (`tests/agents/endpoint.mjs`), which answers from the conversation alone: an
//! agent that was not told of its mistake, or has lost its session, is found out by what it is answered. Skipped, and said so,
//! where they are not installed (`npm ci --prefix tests/agents`), unless UWF_REQUIRE_AGENTS is set.

#[path = "agents_real/settings.rs"]
mod settings;

use std::io::{BufRead, BufReader, Lines, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use serde_json::Value;

use self::settings::Installed;
use crate::process::{signal, wait_for};
use crate::site::{AGENT, Said, Site, UWF};

/// What belongs to these tests.
fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/agents")
}

/// The models: a running endpoint, which ends with the test.
struct Models {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
    /// Where it listens.
    port: u16,
}

impl Drop for Models {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

impl Models {
    /// Those of a scene of the script.
    fn start(scene: &str) -> Models {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut command = Command::new("node");
        command.args(["endpoint.mjs", &port.to_string(), scene]).current_dir(directory());
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut models = Models { child, lines, port };
        models.says("listening");
        models
    }

    /// Waits until it says so.
    fn says(&mut self, word: &str) {
        assert_eq!(self.lines.next().expect("the endpoint runs").unwrap(), word);
    }
}

/// A thread whose writer is an agent that others wrote.
struct Note {
    site: Site,
    agent: &'static Installed,
    models: Models,
    thread: String,
}

impl Note {
    fn start(agent: &'static Installed, scene: &str) -> Option<Note> {
        let aimock = directory().join("../aimock/node_modules/@copilotkit/aimock");
        if !agent.program().exists() || !aimock.exists() {
            assert!(
                std::env::var_os("UWF_REQUIRE_AGENTS").is_none(),
                "{} is required and not installed",
                agent.name
            );
            // Not by eprintln!: what a passing test prints is shown to nobody.
            let skipped = "is not here (npm ci --prefix tests/agents; npm ci --prefix tests/aimock)";
            let mut past_the_runner = std::io::stderr();
            writeln!(past_the_runner, "skipped: {} {skipped}", agent.name).unwrap();
            return None;
        }
        let models = Models::start(scene);
        let site = Site::new();
        agent.configure(&site, models.port);
        let thread = site.start(&directory().join("workflow.yaml").display().to_string(), "We need a note.");
        Some(Note { site, agent, models, thread })
    }

    /// `uwf` with what the agent is to find in its environment.
    fn uwf(&self, words: &[&str]) -> Command {
        let mut command = self.site.command(UWF);
        let path = std::env::var("PATH").unwrap();
        let program = self.agent.program();
        command.env("PATH", format!("{}:{path}", program.parent().unwrap().display()));
        command.envs(self.agent.environment(self.models.port)).args(words);
        command
    }

    fn says(&self, words: &[&str]) -> Said {
        Said::of(self.uwf(words).output().unwrap())
    }

    /// The agent's next step.
    fn write(&self) -> Said {
        self.says(&["thread", "exec", &self.thread, "--agent", self.agent.name])
    }

    /// The next step of ours.
    fn judge(&self) -> Said {
        let agent = format!("{AGENT} --mock {}", directory().join("reviewer.yaml").display());
        self.says(&["thread", "exec", &self.thread, "--agent", &agent])
    }

    /// The last step that was made.
    fn step(&self) -> Value {
        let steps = self.site.uwf(&["step", "list", &self.thread]).ok().json();
        steps["steps"].as_array().unwrap().last().unwrap().clone()
    }

    /// The agent's session with this role.
    fn session(&self) -> String {
        let path = self.site.home().join(format!(".uwf/cache/{}-sessions.json", self.agent.name));
        let known: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        known[format!("{}:writer", self.thread)]["id"]
            .as_str()
            .unwrap_or_else(|| panic!("{known}"))
            .to_owned()
    }

    /// A mistake is told and mended; what the agent did and used is on record.
    fn first_visit(&self, options: &[&str]) {
        let words = ["thread", "exec", &self.thread, "--agent", self.agent.name];
        let shown = self.says(&[&words, options].concat()).ok().json();
        assert_eq!(shown["currentRole"], "reviewer", "{shown}");
        let note = std::fs::read_to_string(self.site.workspace().join("note.txt")).unwrap();
        assert_eq!(note, "one\n", "the agent called a tool of its own");
        let step = self.step();
        assert_eq!(step["output"]["summary"], "one line", "it was corrected in its session: {step}");
        assert_eq!(step["usage"]["inputTokens"], 360, "two turns and a correction: {step}");
        assert_eq!(step["usage"]["outputTokens"], 45, "{step}");
        let read = self.says(&["step", "read", step["hash"].as_str().unwrap()]).ok().out;
        assert!(read.contains("note.txt"), "the call is on record: {read}");
    }

    /// A step of the agent that is ended when it is at work, and all that it has started with it.
    fn interrupted(&mut self, at_work: impl FnOnce(&mut Note)) {
        let words = ["thread", "exec", &self.thread, "--agent", self.agent.name];
        let child = self.uwf(&words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        at_work(self);
        assert!(is_worked_in(&self.site.workspace()));
        signal("-TERM", child.id());
        Said::of(child.wait_with_output().unwrap()).code(143);
        wait_for(|| !is_worked_in(&self.site.workspace()));
    }

    /// The second visit is ended in the middle of an answer.
    fn interrupted_visit(&mut self) {
        self.interrupted(|note| note.models.says("slow"));
        assert_eq!(self.step()["role"], "reviewer", "no step was written");
    }

    /// The same session goes on.
    fn second_visit(&self, session: &str) {
        let shown = self.write().ok().json();
        assert_eq!(shown["currentRole"], "reviewer", "{shown}");
        let step = self.step();
        assert_eq!(step["output"]["summary"], "two lines", "it remembers its first visit: {step}");
        assert_eq!(step["usage"]["inputTokens"], 120, "what was used before is not told twice: {step}");
        assert_eq!(self.session(), session);
    }

    /// A question goes to a fork of the session where there can be one, else to a session that is given the record.
    fn asked(&self, step: &str, session: &str) {
        let ask = |words: &[&str]| {
            let question = ["step", "ask", step, "-p", "Why one line?", "--agent", self.agent.name];
            self.says(&[&question, words].concat()).ok()
        };
        let asked = ask(&[]);
        let warned = asked.err.contains(&format!("the agent `{}` did not fork the session", self.agent.name));
        assert_eq!(warned, !self.agent.forks, "{}", asked.err);
        let (forked, told) = ("I was told to.\n", "The record says so.\n");
        assert_eq!(asked.out, if self.agent.forks { forked } else { told });
        assert_eq!(ask(&["--no-fork"]).out, told);
        assert_eq!(self.session(), session, "the role's own session is not that of a question");
    }
}

/// Whether a process runs in this directory. (What its command line says is its own affair: one of them calls itself by its name.)
fn is_worked_in(directory: &Path) -> bool {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes
        .filter_map(|process| std::fs::read_link(process.path().join("cwd")).ok())
        .any(|cwd| cwd == directory)
}

fn plays(agent: &'static Installed) {
    let Some(mut note) = Note::start(agent, "note") else { return };
    note.first_visit(&[]);
    let (first, session) = (note.step()["hash"].as_str().unwrap().to_owned(), note.session());
    note.judge().ok();
    note.interrupted_visit();
    note.second_visit(&session);
    note.asked(&first, &session);
    let ended = note.judge().ok().json();
    assert_eq!(ended["done"], true, "{ended}");
    note.site.verify();
}

/// An agent that is ended takes what it runs along, also what it has put into a session of its own.
fn leaves_nothing_running(agent: &'static Installed) {
    let Some(mut note) = Note::start(agent, "endless") else { return };
    let begun = note.site.workspace().join("begun");
    note.interrupted(|_| wait_for(|| begun.exists()));
}

/// What its provider says is in the failed step.
fn fails_with_its_provider(agent: &'static Installed) {
    let Some(note) = Note::start(agent, "refused") else { return };
    let shown = note.write().code(3).json();
    let told = shown["error"]["message"].as_str().unwrap();
    assert!(told.contains("nobody knows this key"), "{shown}");
    let get = |hash: &Value| note.site.uwf(&["cas", "get", hash.as_str().unwrap()]).ok().json();
    let output = get(&get(&shown["error"]["stepHash"])["payload"]["output"]);
    assert_eq!(output["payload"]["phase"], "agent", "{output}");
}

/// It plays its role within a sandbox that leaves it the workspace, its own files and the network, without being told to.
fn lives_in_a_sandbox(agent: &'static Installed) {
    let Some(note) = Note::start(agent, "outside") else { return };
    note.first_visit(&[]);
    assert!(!note.site.home().join("outside").exists());
    let detail = note.site.uwf(&["cas", "get", note.step()["detail"].as_str().unwrap()]).ok().json();
    assert_eq!(detail["payload"]["sandbox"]["level"], "strict", "{detail}");
}

/// Its model has the project's words, be it that the agent reads them or that it is told.
fn knows_the_project(agent: &'static Installed) {
    for file in ["AGENTS.md", "CLAUDE.md"] {
        let Some(note) = Note::start(agent, "project") else { return };
        note.site.write(&format!("work/{file}"), "Use tabs, always.\n");
        note.write().ok();
        assert_eq!(note.step()["output"]["summary"], "told 1 times", "{} and {file}", agent.name);
    }
}

mod claude_code {
    use super::settings::CLAUDE_CODE as AGENT;

    #[test]
    fn lives_in_a_sandbox() {
        super::lives_in_a_sandbox(&AGENT);
    }

    #[test]
    fn knows_the_project() {
        super::knows_the_project(&AGENT);
    }

    #[test]
    fn plays_a_role() {
        super::plays(&AGENT);
    }

    #[test]
    fn leaves_nothing_running() {
        super::leaves_nothing_running(&AGENT);
    }

    #[test]
    fn fails_with_its_provider() {
        super::fails_with_its_provider(&AGENT);
    }
}

mod codex {
    use super::settings::CODEX as AGENT;

    #[test]
    fn lives_in_a_sandbox() {
        super::lives_in_a_sandbox(&AGENT);
    }

    #[test]
    fn knows_the_project() {
        super::knows_the_project(&AGENT);
    }

    #[test]
    fn plays_a_role() {
        super::plays(&AGENT);
    }

    #[test]
    fn leaves_nothing_running() {
        super::leaves_nothing_running(&AGENT);
    }

    #[test]
    fn fails_with_its_provider() {
        super::fails_with_its_provider(&AGENT);
    }
}

mod gemini {
    use super::settings::GEMINI as AGENT;

    #[test]
    fn lives_in_a_sandbox() {
        super::lives_in_a_sandbox(&AGENT);
    }

    #[test]
    fn knows_the_project() {
        super::knows_the_project(&AGENT);
    }

    #[test]
    fn plays_a_role() {
        super::plays(&AGENT);
    }

    #[test]
    fn leaves_nothing_running() {
        super::leaves_nothing_running(&AGENT);
    }

    #[test]
    fn fails_with_its_provider() {
        super::fails_with_its_provider(&AGENT);
    }
}

mod opencode {
    use super::settings::OPENCODE as AGENT;

    #[test]
    fn lives_in_a_sandbox() {
        super::lives_in_a_sandbox(&AGENT);
    }

    #[test]
    fn knows_the_project() {
        super::knows_the_project(&AGENT);
    }

    #[test]
    fn plays_a_role() {
        super::plays(&AGENT);
    }

    #[test]
    fn leaves_nothing_running() {
        super::leaves_nothing_running(&AGENT);
    }

    #[test]
    fn fails_with_its_provider() {
        super::fails_with_its_provider(&AGENT);
    }
}

mod pi {
    use super::settings::PI as AGENT;

    #[test]
    fn lives_in_a_sandbox() {
        super::lives_in_a_sandbox(&AGENT);
    }

    #[test]
    fn knows_the_project() {
        super::knows_the_project(&AGENT);
    }

    #[test]
    fn plays_a_role() {
        super::plays(&AGENT);
    }

    #[test]
    fn leaves_nothing_running() {
        super::leaves_nothing_running(&AGENT);
    }

    #[test]
    fn fails_with_its_provider() {
        super::fails_with_its_provider(&AGENT);
    }
}
