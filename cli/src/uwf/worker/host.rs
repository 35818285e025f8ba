//! How a worker makes a step: by this very program, as `uwf thread exec` in a process of its own.
//!
//! A step that panics, runs out of memory or is killed is one failed attempt, and nothing of the other threads. Told to stop, such
//! a process ends its agent; it is told so by the kernel, too, when the worker is killed.

use std::ffi::{OsStr, OsString};
use std::io::{Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;
use std::time::Duration;
use std::{fs, io};

use serde_json::Value;
use uwf_agent::live::thread_log;
use uwf_engine::conditions::process::{ConditionProcess, judge};
use uwf_engine::exec::{Compacted, StepReport, StepResult};
use uwf_engine::home::{Env, Homes};
use uwf_engine::spawn::protocol::{ASKED_STEP, AgentCommand, JOURNAL_SINK, STEP_OF, STOP_WITHIN};
use uwf_engine::spawn::{self, Finished, ProcessSpec};
use uwf_engine::thread::{self, Head, Status, ThreadError, ThreadId};
use uwf_engine::{journals, workflow};
use uwf_fleet::worker::{Happening, Host, WantedStep};
use uwf_fleet::workspace::Workspaces;
use uwf_store::{Hash, Store};
use uwf_workflow::moderator::Target;

use super::spaces::workspaces;
use super::told::Told;
use crate::shell::{CliError, FAILED_STEP, OK, SUSPENDED, Session};
use crate::uwf::args::WorkerArgs;

/// What opens the objects of the remote, what would have the step exit otherwise than is read here, and the step that this worker
/// may have been started in, which those that it makes are no part of.
const KEPT_BACK: [&str; 6] =
    ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "UWF_EXIT", STEP_OF, ASKED_STEP];

/// What steps have of the environment: what opens the remote (`PG…`) and its objects is the worker's.
fn of_steps(env: &Env) -> Env {
    let is_kept_back = |name: &OsStr| {
        name.as_encoded_bytes().starts_with(b"PG") || KEPT_BACK.iter().any(|kept| name == *kept)
    };
    env.iter().filter(|(name, _)| !is_kept_back(name)).collect()
}

/// How much of what a step says of an error is kept.
const WORDS: usize = 8 << 10;

/// Makes steps by starting this program.
pub(super) struct StepProcess {
    store: Store,
    homes: Homes,
    env: Env,
    cwd: PathBuf,
    program: String,
    conditions: Option<ConditionProcess>,
    timeout: Option<Duration>,
    verbose: bool,
    spaces: Workspaces,
    /// Who prints; none is the end.
    tell: Sender<Option<Told>>,
}

impl StepProcess {
    pub(super) fn new(
        session: &Session<'_>,
        args: &WorkerArgs,
        tell: Sender<Option<Told>>,
    ) -> Result<StepProcess, CliError> {
        let homes = session.homes()?;
        let program = session.program.clone().and_then(|program| program.into_os_string().into_string().ok());
        let mut env = of_steps(&session.env);
        env.set("UWF_HOME", &homes.uwf);
        env.set("OCAS_HOME", &homes.ocas);
        let spaces = workspaces((&session.env, &homes, &session.cwd), args)?;
        Ok(StepProcess {
            store: session.store()?,
            homes,
            env,
            cwd: session.cwd.clone(),
            program: program.ok_or_else(|| CliError::user("cannot tell which program this is"))?,
            conditions: session.conditions(),
            timeout: args.timeout,
            verbose: session.ui.is_verbose(),
            spaces,
            tell,
        })
    }

    /// There will be nothing more to tell.
    pub(super) fn ended(&self) {
        self.tell.send(None).ok();
    }

    fn say(&self, told: Told) {
        // Whoever reads may have gone.
        self.tell.send(Some(told)).ok();
    }

    /// Runs a step to its end. Gives how it ended, and what it said of an error.
    fn run(&self, step: &WantedStep<'_>) -> Result<(Finished, String), String> {
        let thread = &step.lease.thread;
        let failed = |error: &dyn std::fmt::Display| format!("the step cannot be started: {error}");
        let stdin = step.answer.map(in_file).transpose().map_err(|error| failed(&error))?;
        let mut env = self.env.clone();
        env.set("OTEL_RESOURCE_ATTRIBUTES", attributes(&self.env, step));
        env.set(JOURNAL_SINK, step.sink);
        env.set(STOP_WITHIN, step.grace.as_millis().to_string());
        let command = AgentCommand::new(self.program.clone(), Vec::new());
        let spec = ProcessSpec {
            command: &command,
            file: &self.program,
            args: self.words(step).map_err(|error| failed(&error))?,
            cwd: &self.cwd,
            env: &env,
            deadline: None,
            inherit_stderr: false,
            stop: step.stop,
        };
        let mut words = Words {
            begun: Vec::new(),
            errors: String::new(),
            tell: &|line| self.say(Told::said(thread, line)),
        };
        let finished = spawn::run_engine(&spec, stdin, &mut |bytes| words.hear(bytes))
            .map_err(|error| error.to_string())?;
        Ok((finished, words.errors()))
    }

    /// The command line of the step.
    fn words(&self, step: &WantedStep<'_>) -> Result<Vec<OsString>, ThreadError> {
        let thread = &step.lease.thread;
        // Who has it run again wants it to go on, whatever it was paused for.
        let resumes = step.answer.is_some() || thread::paused(&self.store, thread)?.is_some();
        let mut words: Vec<OsString> = ["--format", "json", "thread"].map(Into::into).to_vec();
        words.push(if resumes { "resume" } else { "exec" }.into());
        words.push(thread.as_str().into());
        words.extend(step.answer.map(|_| "--prompt=-".into()));
        let timeout = self.timeout.map(|time| humantime::format_duration(time).to_string());
        words.extend(timeout.into_iter().flat_map(|time| ["--timeout".into(), time.into()]));
        words.extend(step.cwd.into_iter().flat_map(|cwd| ["--cwd".into(), cwd.as_os_str().to_owned()]));
        words.extend(self.verbose.then(|| "-v".into()));
        Ok(words)
    }

    /// What a step came to whose process has ended so: where the thread stands now.
    fn report(
        &self,
        thread: &ThreadId,
        before: &Hash,
        (finished, errors): (&Finished, String),
    ) -> Result<StepReport, String> {
        let exit = finished.status.code().and_then(|code| u8::try_from(code).ok());
        let view: Value = serde_json::from_slice(&finished.stdout).unwrap_or_default();
        let failure = match exit {
            Some(OK | SUSPENDED) => None,
            Some(FAILED_STEP) => Some(view["error"]["message"].as_str().unwrap_or("it failed").to_owned()),
            _ if errors.is_empty() => return Err(format!("the step gave no result: {}", finished.exit())),
            _ => return Err(errors),
        };
        let compacted = serde_json::from_value(view["compacted"].clone()).unwrap_or_default();
        let report = self.standing(thread, (before, compacted), view["currentRole"].as_str());
        report.map(|report| StepReport { failure, ..report }).map_err(|error| error.to_string())
    }

    fn standing(
        &self,
        thread: &ThreadId,
        (before, compacted): (&Hash, Option<Compacted>),
        next: Option<&str>,
    ) -> Result<StepReport, ThreadError> {
        let head = thread::head(&self.store, thread)?;
        // The last step that was stored again behind a summary has played before.
        let is_made = head.hash != *before && compacted.is_none_or(|compacted| compacted.head != head.hash);
        let played = match head.step().filter(|_| is_made) {
            Some(step) => Some(StepResult {
                hash: head.hash,
                step: step.clone(),
                output: self.store.get(&step.output)?.payload,
            }),
            None => None,
        };
        let workflow = head.start(&self.store)?.workflow;
        let (current_role, obstacle) = match (next, &head.status) {
            (Some(role), _) => (Some(role.to_owned()), None),
            (None, Status::Idle) => self.next(&workflow, &head)?,
            (None, _) => (None, None),
        };
        Ok(StepReport {
            thread: *thread,
            workflow,
            head: head.hash,
            status: head.status,
            current_role,
            played,
            failure: None,
            poked: false,
            compact_keep: None,
            obstacle,
            compacted,
            paused: thread::paused(&self.store, thread)?,
        })
    }

    /// Who plays next, or what is in the way.
    fn next(&self, workflow: &Hash, head: &Head) -> Result<(Option<String>, Option<String>), ThreadError> {
        let workflow = workflow::get(&self.store, workflow)?;
        Ok(match thread::next(&self.store, &workflow, head, judge(self.conditions.as_ref())) {
            Ok(route) => match route.target {
                Target::Role(role) => (Some(role), None),
                Target::End | Target::Suspend => (None, None),
            },
            Err(error) => (None, Some(error.to_string())),
        })
    }
}

impl Host for StepProcess {
    fn store(&self) -> &Store {
        &self.store
    }

    fn home(&self) -> &Path {
        &self.homes.uwf
    }

    fn step(&self, step: &WantedStep<'_>) -> Result<StepReport, String> {
        let thread = &step.lease.thread;
        let before = thread::head(&self.store, thread).map_err(|error| error.to_string())?.hash;
        let (finished, errors) = self.run(step)?;
        self.report(thread, &before, (&finished, errors))
    }

    fn forget(&self, thread: &ThreadId) {
        fs::remove_file(thread_log(&self.homes.uwf, thread)).ok();
        journals::forget(&self.homes.uwf, thread);
    }

    fn workspaces(&self) -> Option<&Workspaces> {
        Some(&self.spaces)
    }

    fn tell(&self, happening: &Happening<'_>) {
        self.say(Told::of(happening));
    }
}

/// A text as something to read from.
fn in_file(text: &str) -> io::Result<fs::File> {
    let mut file = tempfile::tempfile()?;
    file.write_all(text.as_bytes())?;
    file.rewind()?;
    Ok(file)
}

/// What every span of the step tells of the worker, in the form of OpenTelemetry's variable, behind what is there already.
fn attributes(env: &Env, step: &WantedStep<'_>) -> String {
    let own = format!(
        "uwf.thread={},uwf.fence={},uwf.attempt={}",
        step.lease.thread, step.lease.fence, step.attempt
    );
    env.text("OTEL_RESOURCE_ATTRIBUTES").map_or_else(|| own.clone(), |given| format!("{given},{own}"))
}

/// What a step says on its stderr: errors are kept for when it has ended, every other line is passed on.
struct Words<'a> {
    begun: Vec<u8>,
    errors: String,
    tell: &'a dyn Fn(&str),
}

impl Words<'_> {
    fn hear(&mut self, bytes: &[u8]) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.begun.extend_from_slice(piece);
            if piece.ends_with(b"\n") || self.begun.len() > WORDS {
                self.line();
            }
        }
    }

    fn line(&mut self) {
        let line = std::mem::take(&mut self.begun);
        let line = String::from_utf8_lossy(&line);
        let line = line.trim_end();
        let is_error = line.starts_with("error:") || !self.errors.is_empty();
        match is_error {
            true if self.errors.len() < WORDS => self.errors += &format!("{line}\n"),
            true => {}
            false if line.is_empty() => {}
            false => (self.tell)(line),
        }
    }

    /// Why there is no step, in a line: what the engine says, its causes, and what the agent has said before.
    fn errors(mut self) -> String {
        self.line();
        let mut all: Vec<String> = Vec::new();
        for line in self.errors.lines() {
            if let Some(error) = line.strip_prefix("error: ") {
                all.push(error.to_owned());
            } else if let (Some(cause), Some(error)) = (line.strip_prefix("  caused by: "), all.last_mut()) {
                *error += &format!(": {cause}");
            }
        }
        all.reverse();
        all.join(": ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_not_told_where_the_remote_is_and_what_opens_it() {
        let env: Env = [
            ("PGPASSWORD", "s3cret"),
            ("PGPASSFILE", "/home/anna/.pgpass"),
            ("PGHOST", "db.example.org"),
            ("PGUSER", "anna"),
            ("PGSSLKEY", "/home/anna/key"),
            ("AWS_SECRET_ACCESS_KEY", "s3cret"),
            ("UWF_EXIT", "simple"),
            ("HOME", "/home/anna"),
            ("XPG", "x"),
        ]
        .into_iter()
        .collect();
        let steps = of_steps(&env);
        assert_eq!(steps.iter().map(|(name, _)| name).collect::<Vec<_>>(), ["HOME", "XPG"]);
    }
}
