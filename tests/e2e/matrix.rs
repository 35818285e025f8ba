//! Every command on a thread in every state it can be in: what exactly it says, and how it exits.

use std::fmt::Write;

use serde_json::Value;

use crate::process::is_alive;
use crate::rounds::{says, sleeper, sleeps, start};
use crate::site::{AGENT, Said, Site};

/// How a thread can stand.
const STATES: [&str; 9] = [
    "fresh",
    "with a step",
    "running",
    "suspended by status",
    "suspended by edge",
    "ended",
    "cancelled",
    "unknown",
    "broken",
];

/// What is done to a thread.
const CHANGES: [&str; 6] = ["exec", "resume", "poke", "stop", "cancel", "rm"];

/// What leaves it as it is.
const QUESTIONS: [&str; 7] = ["show", "read", "list", "step list", "step ask", "step fork", "fork"];

/// A thread in one of the states, and the words that stand for what differs from run to run.
struct Place {
    site: Site,
    thread: String,
    head: String,
    names: Vec<(String, &'static str)>,
    sleeper: Option<String>,
}

impl Place {
    fn new(state: &str) -> Place {
        let site = Site::new();
        let thread = start(&site);
        let shown = site.uwf(&["thread", "show", &thread]).ok().json();
        let word = |field: &str| shown[field].as_str().unwrap().to_owned();
        let names =
            vec![(thread.clone(), "<thread>"), (word("head"), "<start>"), (word("workflow"), "<workflow>")];
        let head = word("head");
        let mut place = Place { site, thread, head, names, sleeper: None };
        place.bring(state);
        place
    }

    fn bring(&mut self, state: &str) {
        let before = match state {
            "fresh" | "unknown" => None,
            "suspended by status" => Some(("{ $status: $SUSPEND, reason: Which? }", 10)),
            "suspended by edge" => Some(("$status: ask", 10)),
            "ended" => Some(("$status: done", 0)),
            _ => Some(("$status: more", 0)),
        };
        if let Some((fields, code)) = before {
            let agent = says(&self.site, fields);
            let said = self.site.uwf(&["thread", "exec", &self.thread, "--agent", &agent]).code(code).json();
            self.head = said["head"].as_str().unwrap().to_owned();
            self.names.push((self.head.clone(), "<step>"));
        }
        match state {
            "running" => {
                let agent = sleeps(&self.site);
                self.site.uwf(&["thread", "exec", &self.thread, "--background", "--agent", &agent]).ok();
                self.sleeper = Some(sleeper(&self.site));
            }
            "cancelled" => drop(self.site.uwf(&["thread", "cancel", &self.thread]).ok()),
            "unknown" => self.thread = "01KAZZZZZZZZZZZZZZZZZZZZZZ".to_owned(),
            "broken" => {
                let node = self.site.home().join(format!(".ocas/nodes/{}.bin", self.head));
                std::fs::remove_file(node).unwrap();
            }
            _ => {}
        }
    }

    fn run(&self, command: &str) -> Said {
        let (thread, head) = (self.thread.as_str(), self.head.as_str());
        let agent = match command {
            "step ask" => {
                let script = self.site.write("ask.yaml", "turns: [{ content: Because. }]\n");
                format!("{AGENT} --mock {script}")
            }
            _ => says(&self.site, "{ $status: more, n: 2 }"),
        };
        let agent = ["--agent", agent.as_str()];
        let words: Vec<&str> = match command {
            "exec" => ["thread", "exec", thread].into_iter().chain(agent).collect(),
            "resume" | "poke" => ["thread", command, thread, "-p", "- so"].into_iter().chain(agent).collect(),
            "list" => vec!["thread", "list", "--all"],
            "step list" => vec!["step", "list", thread],
            "step fork" => vec!["step", "fork", head],
            "step ask" => {
                ["step", "ask", head, "-p", "Why?", "--format", "json"].into_iter().chain(agent).collect()
            }
            verb => vec!["thread", verb, thread],
        };
        self.site.uwf(&words)
    }

    /// What was said, with words for what differs from run to run.
    fn told(&self, command: &str) -> String {
        let said = self.run(command);
        let out = match serde_json::from_str::<Value>(&said.out) {
            Ok(value) => steady(value).to_string(),
            Err(_) => headlines(&said.out),
        };
        let from = said.err.find("error: ").or(said.err.find("warning: ")).unwrap_or(said.err.len());
        let mut told = format!("{command} → {}", said.code);
        for line in out.lines().chain(said.err[from..].lines()) {
            write!(told, "\n    {}", self.plain(line)).unwrap();
        }
        told
    }

    fn plain(&self, line: &str) -> String {
        let mut line = line.replace(&self.site.workspace().display().to_string(), "<workspace>");
        for (value, name) in &self.names {
            line = line.replace(value, name);
        }
        let running = "already running, in process ";
        if let Some(at) = line.find(running) {
            line.truncate(at + running.len());
            line += "<pid>";
        }
        let is_hash = |word: &str| {
            [13, 26].contains(&word.len())
                && word.chars().all(|c| c.is_ascii_digit() || c.is_ascii_uppercase())
                && !word.contains("ZZZZ")
        };
        let ends = |c: char| !c.is_ascii_alphanumeric();
        let new: Vec<String> = line.split(ends).filter(|word| is_hash(word)).map(str::to_owned).collect();
        new.iter().fold(line, |line, hash| {
            line.replace(hash, if hash.len() == 13 { "<new>" } else { "<new thread>" })
        })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Some(pid) = self.sleeper.as_ref().filter(|pid| is_alive(pid)) {
            self.site.uwf(&["thread", "stop", &self.thread]);
            assert!(std::thread::panicking() || !is_alive(pid), "stop ends the agent, too");
        }
    }
}

/// Times and costs are told apart.
fn steady(value: Value) -> Value {
    match value {
        Value::Object(fields) => fields
            .into_iter()
            .map(|(name, value)| match name.as_str() {
                "timestamp" | "startedAt" | "durationMs" | "workedMs" | "elapsedMs" | "duration" => {
                    (name, Value::from("<n>"))
                }
                "pid" | "log" if !value.is_null() => (name, Value::from("<its own>")),
                "agent" if value.is_object() => (name, Value::from("<its own>")),
                _ => (name, steady(value)),
            })
            .collect(),
        Value::Array(items) => items.into_iter().map(steady).collect(),
        other => other,
    }
}

/// The headlines and bold lines of a markdown text, without their times.
fn headlines(text: &str) -> String {
    let told = text.lines().filter(|line| line.starts_with('#') || line.starts_with("**"));
    let lines: Vec<&str> = told.map(|line| line.split(" | ").next().unwrap_or(line)).collect();
    lines
        .iter()
        .map(
            |line| if line.ends_with(" UTC") { "**at some time**\n".to_owned() } else { format!("{line}\n") },
        )
        .collect()
}

/// One state: each change on a thread of its own, all questions on one, which is as before afterwards.
fn column(state: &str) -> String {
    let changed = CHANGES.iter().map(|command| Place::new(state).told(command));
    let asked = Place::new(state);
    let before = asked.told("show");
    let told: Vec<String> = changed.chain(QUESTIONS.iter().map(|command| asked.told(command))).collect();
    assert_eq!(asked.told("show"), before, "questions change nothing");
    format!("== {state}\n\n{}\n", told.join("\n"))
}

#[test]
fn every_command_in_every_state() {
    let states: Vec<String> = std::thread::scope(|scope| {
        let columns: Vec<_> = STATES.iter().map(|state| scope.spawn(move || column(state))).collect();
        columns.into_iter().map(|column| column.join().unwrap()).collect()
    });
    insta::assert_snapshot!("states_and_commands", states.join("\n"));
}
