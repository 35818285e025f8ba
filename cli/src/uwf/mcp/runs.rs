//! What a client's calls come to: this very program, started again, and what it says.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};
use uwf_store::{Hash, Store};

use super::tools::{Call, Offered, Start, registered};
use uwf_engine::home::Env;
use uwf_engine::thread::ThreadId;
use uwf_engine::workflow;

/// Where there is nothing to begin.
const NONE: &str = "none is registered: uwf workflow add FILE";

/// How runs are begun, and where they may work.
pub(super) struct Runs {
    pub(super) program: PathBuf,
    pub(super) env: Env,
    pub(super) cwd: PathBuf,
    pub(super) store: Store,
    /// Directories; absolute, and without links.
    pub(super) roots: Vec<PathBuf>,
    /// The only workflows that are offered.
    pub(super) only: Option<Vec<String>>,
    /// Further options of `uwf run`.
    pub(super) options: Vec<String>,
}

impl Runs {
    /// The workflows that are offered.
    ///
    /// # Errors
    /// The store cannot be read.
    pub(super) fn workflows(&self) -> Result<Vec<Offered>, String> {
        let mut workflows = registered(&self.store).map_err(|error| error.to_string())?;
        workflows.retain(|workflow| self.only.as_ref().is_none_or(|only| only.contains(&workflow.name)));
        Ok(workflows)
    }

    /// Does what is asked for; it blocks. For a result nobody is waited for here.
    ///
    /// # Errors
    /// Why it is not done, in words.
    pub(super) fn call(&self, call: &Call) -> Result<Value, String> {
        match call {
            Call::Workflows => {
                let workflows = self.workflows()?;
                let told = |of: &Offered| json!({"name": of.name, "description": of.description});
                Ok(json!({"workflows": workflows.iter().map(told).collect::<Vec<_>>()}))
            }
            Call::Start(start) => self.start(start),
            Call::Status { thread } | Call::Result { thread, .. } => self.status(&self.own(thread)?),
            Call::Answer { thread, text } => {
                let thread = self.own(thread)?;
                let status = self.status(&thread)?["status"].clone();
                if status != "suspended" {
                    return Err(format!("thread {thread} asks nothing: its status is {status}"));
                }
                let words =
                    ["thread", "resume", thread.as_str(), "--prompt=-", "--until-end", "--background"];
                self.uwf(&words, text)?;
                self.status(&thread)
            }
            Call::Stop { thread } => {
                let thread = self.own(thread)?;
                self.uwf(&["thread", "stop", thread.as_str()], "")?;
                self.status(&thread)
            }
        }
    }

    fn start(&self, start: &Start) -> Result<Value, String> {
        let workflows = self.workflows()?;
        let Some(workflow) = workflows.iter().find(|workflow| workflow.name == start.workflow) else {
            let names: Vec<String> = workflows.into_iter().map(|workflow| workflow.name).collect();
            if names.is_empty() {
                return Err(format!("there is no workflow {}: {NONE}", start.workflow));
            }
            let known = uwf_store::suggest::sorted(&start.workflow, &names).join(", ");
            return Err(format!("there is no workflow {}; there are {known}", start.workflow));
        };
        let cwd = self.directory(start.cwd.as_deref())?;
        let (hash, cwd) = (workflow.hash.to_string(), cwd.display().to_string());
        // By stdin: as an argument, `-` would not be the text.
        let mut words = vec!["run", &hash, "--prompt=-", "--background", "--cwd", &cwd];
        words.extend(self.options.iter().map(String::as_str));
        let begun = self.uwf(&words, &start.prompt)?;
        Ok(
            json!({"thread": begun["thread"], "status": begun["status"], "workflow": start.workflow, "directory": cwd}),
        )
    }

    /// Where a thread stands, as far as a client is told.
    fn status(&self, thread: &ThreadId) -> Result<Value, String> {
        let shown = self.uwf(&["thread", "show", thread.as_str()], "")?;
        Ok(told(&shown))
    }

    /// The directory that is named, where it is allowed.
    fn directory(&self, named: Option<&str>) -> Result<PathBuf, String> {
        let Some(named) = named else { return Ok(self.roots[0].clone()) };
        let path = self.roots[0].join(named);
        let real = path.canonicalize().map_err(|error| format!("cannot work in {named}: {error}"))?;
        if !real.is_dir() {
            return Err(format!("cannot work in {named}: it is no directory"));
        }
        self.allowed(&real).then_some(real).ok_or_else(|| {
            let roots: Vec<String> = self.roots.iter().map(|root| root.display().to_string()).collect();
            format!("cannot work in {named}: only {} and below is allowed", roots.join(", "))
        })
    }

    fn allowed(&self, dir: &Path) -> bool {
        self.roots.iter().any(|root| dir.starts_with(root))
    }

    /// Whether a client may know of threads of this workflow: it is, or was, what the name of one that is offered means.
    fn offers(&self, workflow: &Value) -> bool {
        let hash = workflow.as_str().and_then(|hash| hash.parse::<Hash>().ok());
        let is_of = |of: &Offered| {
            let meant = workflow::history(&self.store, &of.name).unwrap_or_default();
            meant.iter().any(|entry| Some(entry.hash) == hash)
        };
        self.workflows().is_ok_and(|workflows| workflows.iter().any(is_of))
    }

    /// The thread of this id, where it works in a directory that is allowed, and by a workflow that is offered.
    fn own(&self, thread: &str) -> Result<ThreadId, String> {
        let none = || format!("there is no thread {thread} here");
        let id: ThreadId = thread.parse().map_err(|_| none())?;
        let shown = self.uwf(&["thread", "show", id.as_str()], "").map_err(|_| none())?;
        let directory = shown["directory"].as_str().map(PathBuf::from).ok_or_else(none)?;
        let real = directory.canonicalize().unwrap_or(directory);
        if self.allowed(&real) && self.offers(&shown["workflow"]) { Ok(id) } else { Err(none()) }
    }

    /// What runs of a thread, line by line, until nothing does.
    pub(super) fn watch(&self, thread: &str) -> Result<Child, String> {
        let mut command = self.command(&["watch", thread]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        command.spawn().map_err(|error| format!("{} cannot be started: {error}", self.program.display()))
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(["--quiet", "--format", "json", "--color", "never"]).args(words);
        command.current_dir(&self.cwd).env_clear().envs(self.env.iter());
        command
    }

    /// Has this program, started again, do something; what it prints, or what it says of an error.
    fn uwf(&self, words: &[&str], input: &str) -> Result<Value, String> {
        let failed = |error| format!("{} cannot be started: {error}", self.program.display());
        let mut command = self.command(words);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(failed)?;
        if let Some(mut stdin) = child.stdin.take() {
            // One that ends before it has read this says why.
            stdin.write_all(input.as_bytes()).ok();
        }
        let ran = child.wait_with_output().map_err(failed)?;
        if !ran.status.success() {
            let said = String::from_utf8_lossy(&ran.stderr);
            return Err(said.trim().trim_start_matches("error: ").to_owned());
        }
        serde_json::from_slice(&ran.stdout).map_err(|error| format!("what uwf printed is no JSON: {error}"))
    }
}

/// What a client is told of a thread.
fn told(shown: &Value) -> Value {
    let mut told =
        json!({"thread": shown["thread"], "status": shown["status"], "directory": shown["directory"]});
    let fields = [
        ("result", "result"),
        ("error", "error"),
        ("hint", "hint"),
        ("role", "currentRole"),
        ("question", "suspendMessage"),
        ("costUsd", "cost"),
    ];
    // What it came to and what it asked were before what runs now; what to do is told of what is in the way.
    let is_running = shown["status"] == "running";
    let is_past = |name: &str| match name {
        "result" | "question" => is_running,
        "hint" => shown["error"].is_null(),
        _ => false,
    };
    for (name, from) in fields {
        if !shown[from].is_null() && !is_past(name) {
            told[name] = shown[from].clone();
        }
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_is_told_what_there_is_to_tell() {
        let shown = json!({
            "thread": "T", "status": "suspended", "directory": "/d", "suspendMessage": "Which?", "currentRole": "planner",
            "result": null, "error": null, "cost": null, "options": {"mock": "secret"},
        });
        let expected = json!({
            "thread": "T", "status": "suspended", "directory": "/d", "question": "Which?", "role": "planner",
        });
        assert_eq!(told(&shown), expected);
    }

    #[test]
    fn what_was_asked_before_is_not_told_of_what_runs() {
        let shown = json!({
            "thread": "T", "status": "running", "directory": "/d", "suspendMessage": "Which?", "currentRole": null,
            "result": {"role": "planner"}, "error": null, "cost": null, "hint": null,
        });
        assert_eq!(told(&shown), json!({"thread": "T", "status": "running", "directory": "/d"}));
    }

    #[test]
    fn what_is_in_the_way_is_told_with_what_to_do() {
        let error = json!({"stepHash": null, "message": "no model is configured"});
        let shown =
            json!({"thread": "T", "status": "idle", "directory": "/d", "error": error, "hint": "set one"});
        assert_eq!((&told(&shown)["error"], &told(&shown)["hint"]), (&error, &json!("set one")));
    }
}
