//! `run_command`: a shell command, its output, and what becomes of its processes.

mod background;
pub(crate) mod capture;
mod disk;
pub(crate) mod environment;
pub(crate) mod guard;
mod memory;
mod overuse;
mod processes;
pub(crate) mod spool;
mod supervise;
mod tracking;

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustix::process::Pid;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::limits::{Limits, bytes, count};
use crate::lock::lock;
use crate::sandbox::{Holder, Level, Policy, ProcessLimits, Running, Sandbox, StartError};
use crate::tool::{Cancel, Facts, Tool, ToolContext, ToolOutput};
use crate::tool_output::Outputs;
use crate::workspace::PathError;
use background::Background;
use capture::{Capture, Captured};
use disk::Disk;
use guard::Guard;
use memory::Memory;
use overuse::UsageCheck;
use processes::{NAMED, ProcessTree, Tracking};
use spool::Spool;
use supervise::{Cause, FinishedCommand, Supervised};
use tracking::{MARK, ProcessMarks};

const TITLE_CHARS: usize = 60;
const MORE_TIME: &str = "; for more time set timeout_s (at most 600), or let it run in the background";

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    /// Shell command
    command: String,
    /// Directory to run in (default: the workspace)
    cwd: Option<String>,
    /// Time limit in seconds (default 120)
    #[schemars(range(min = 1, max = 600))]
    timeout_s: Option<u64>,
    /// A few words on what it is for
    description: Option<String>,
}

/// Why a command did not run.
#[derive(Debug, thiserror::Error)]
enum CommandError {
    #[error(transparent)]
    Path(#[from] PathError),
    #[error("the command was not run: {why}. Use the other tools; people can change it: {hint}")]
    Refused { why: String, hint: &'static str },
    #[error(
        "the command was not run, and no other will be: all processes of this run had to be ended at once. Use the other tools"
    )]
    Ended,
    #[error("the command was not run: {what}: {source}")]
    Io { what: &'static str, source: io::Error },
}

impl CommandError {
    fn io(what: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { what, source }
    }
}

pub(crate) fn tool() -> Tool {
    Tool::new("run_command", include_str!("run_command.md"), false, run)
}

fn run(args: Args, context: &ToolContext) -> ToolOutput {
    let title = title(&args);
    execute(&args, context)
        .unwrap_or_else(|error| ToolOutput::error(format!("{title}: not run"), error.to_string()))
}

/// What the command is for, in the model's words, which have a verb of their own; else the command after ours.
fn title(args: &Args) -> String {
    let purpose = args.description.as_deref().map(str::trim).filter(|words| !words.is_empty());
    let (verb, words) = purpose.map_or(("run ", args.command.trim()), |words| ("", words));
    let line = words.lines().next().unwrap_or_default();
    match line.char_indices().nth(TITLE_CHARS) {
        Some((at, _)) => format!("{verb}{}…", &line[..at]),
        None => format!("{verb}{line}"),
    }
}

fn execute(args: &Args, context: &ToolContext) -> Result<ToolOutput, CommandError> {
    let limits = context.limits;
    let timeout = args.timeout_s.map_or(limits.command_timeout, Duration::from_secs);
    let cwd = context.workspace.open_dir(args.cwd.as_deref().unwrap_or("."))?.0;
    // The child's own copy of the handle, so that the directory cannot be swapped on the way.
    let cwd = (PathBuf::from(format!("/proc/self/fd/{}", cwd.as_raw_fd())), cwd);
    let (running, tree) = context.shell.start(&args.command, &cwd.0, context.cancel)?;
    let mut capture = context.shell.capture(limits);
    let ended = Supervised::new(running, &tree, limits, &mut capture)
        .and_then(|supervised| supervised.run(timeout, context.cancel));
    context.shell.command_ended(&tree, ended.as_ref().map_or(true, FinishedCommand::lives_on));
    let ended = ended.map_err(CommandError::io("it could not be supervised"))?;
    let background = context.shell.background_ended();
    let mut answer = answer(args, timeout, &ended, (capture.finish(), context.git.check()));
    if answer.facts.exit_code.is_some_and(|code| code != 0) {
        let advice = context.shell.sandbox.advice(&answer.text);
        answer.text.push_str(&advice);
    }
    if let Some(overuse) = background {
        answer
            .text
            .push_str(&format!("\n[what earlier commands left running was {overuse}{}]", overuse.hint()));
    }
    Ok(answer)
}

fn answer(
    args: &Args,
    timeout: Duration,
    ended: &FinishedCommand,
    (captured, undone): (Captured, Vec<String>),
) -> ToolOutput {
    let mut text = captured.text;
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str(&about_git(&undone));
    let end = how_it_ended(ended, timeout);
    let invalid = match captured.invalid {
        0 => String::new(),
        n => format!(", of which {} not UTF-8", bytes(n)),
    };
    text.push_str(&format!(
        "({end} after {:.1} s; output: {}{invalid}{}{})",
        ended.duration.as_secs_f64(),
        bytes(captured.total),
        others(ended),
        hint(ended.cause),
    ));
    let facts = Facts {
        exit_code: ended.status.code().filter(|_| ended.cause.is_none()),
        signal: ended.status.signal(),
        timed_out: ended.cause == Some(Cause::TimedOut),
        cancelled: ended.cause == Some(Cause::Cancelled),
        output_bytes: Some(captured.total),
        output_hash: captured.output.as_ref().map(|output| output.name.clone()),
        spool: captured.output.map(|output| output.path),
        truncated: captured.truncated,
        undone,
        ..Facts::default()
    };
    ToolOutput { text, title: format!("{} ({end})", title(args)), is_error: ended.cause.is_some(), facts }
}

/// The note that a change of git's hooks or configuration does not stand, why, and what to do instead.
fn about_git(undone: &[String]) -> String {
    if undone.is_empty() {
        return String::new();
    }
    format!(
        "[git: {}. Commands may not change which programs git runs, in any way: say in your answer what a person should \
         set, or that it is needed: people allow it by `sandbox: {{ gitPrograms: true }}` in agents/builtin.yaml. Other \
         configuration stands]\n",
        undone.join("; ")
    )
}

/// What to do about a command that was ended.
fn hint(cause: Option<Cause>) -> &'static str {
    match cause {
        Some(Cause::TimedOut) => MORE_TIME,
        Some(Cause::Overused(what)) => what.hint(),
        Some(Cause::Cancelled) | None => "",
    }
}

fn how_it_ended(ended: &FinishedCommand, timeout: Duration) -> String {
    match (ended.cause, ended.status.code(), ended.status.signal()) {
        (Some(Cause::TimedOut), ..) => format!("ended at the time limit of {} s", timeout.as_secs()),
        (Some(Cause::Cancelled), ..) => "cancelled".to_owned(),
        (Some(Cause::Overused(what)), ..) => what.to_string(),
        (None, Some(code), _) => format!("exit code {code}"),
        (None, None, signal) => format!("ended by signal {}", signal.unwrap_or_default()),
    }
}

/// The processes beside the shell: killed with it, or still running.
fn others(ended: &FinishedCommand) -> String {
    if ended.others.is_empty() {
        return String::new();
    }
    let named: Vec<String> = ended
        .others
        .iter()
        .zip(&ended.names)
        .map(|(process, name)| format!("{} {name}", process.pid))
        .collect();
    let more = if ended.others.len() > NAMED { ", …" } else { "" };
    let list = format!("{}{more}", named.join(", "));
    let number = count(ended.others.len() as u64, "process");
    match ended.cause {
        Some(_) => format!("; ended with it: {number}: {list}"),
        None => format!(
            "; still running in the background: {number}: {list}. They end with this run at the latest; what they \
             print from now on is not kept unless redirected to a file"
        ),
    }
}

/// What commands of one run share: the shell, the environment, the private temporary directory, what still runs.
pub(crate) struct Shell {
    program: PathBuf,
    env: Vec<(OsString, OsString)>,
    /// Secrets that are redacted from what commands print.
    hidden: Arc<[String]>,
    /// Where the full outputs are.
    spool_dir: PathBuf,
    outputs: Arc<dyn Outputs>,
    /// Between TERM and KILL.
    grace: Duration,
    sandbox: Arc<Sandbox>,
    /// The disk space that the run has used up since it began.
    disk: Disk,
    state: Mutex<ShellState>,
}

#[derive(Default)]
struct ShellState {
    /// Made for the first command, where the processes of commands must be looked for.
    session: Option<Session>,
    /// How many commands were started.
    commands: u64,
    /// What commands left running, where the kernel holds it together.
    background: Background,
    /// The marks of commands of which something may still run, where the kernel does not hold it together.
    marks: Vec<ProcessMarks>,
}

/// What tracks processes where the kernel does not hold them together.
struct Session {
    guard: Guard,
    /// What the marks of the run's processes begin with: unique, being the name of the private directory.
    mark: String,
}

impl Shell {
    /// Nothing is started yet. `env` is what commands inherit, free of secrets; what is `hidden` is taken out of what they
    /// print.
    pub(crate) fn new(
        env: Vec<(OsString, OsString)>,
        hidden: Arc<[String]>,
        (spool_dir, outputs): (PathBuf, Arc<dyn Outputs>),
        limits: &Limits,
        sandbox: Arc<Sandbox>,
    ) -> Self {
        let program = find_bash(&env).unwrap_or_else(|| PathBuf::from("/bin/sh"));
        let Policy { level, workspace, run_dir, limits: ProcessLimits { disk_bytes, .. }, .. } =
            sandbox.policy();
        let disk = match level {
            Level::Off => Disk::default(),
            Level::Strict | Level::BestEffort => Disk::new(*disk_bytes, [workspace, run_dir]),
        };
        Self {
            program,
            env,
            hidden,
            spool_dir,
            outputs,
            grace: limits.grace,
            sandbox,
            disk,
            state: Mutex::default(),
        }
    }

    fn capture(&self, limits: &Limits) -> Capture {
        let spool = Spool::new(self.spool_dir.clone(), limits.spool_bytes, Arc::clone(&self.outputs));
        Capture::new(limits.command_bytes, spool).without(&self.hidden)
    }

    /// Where the full outputs of this run are.
    pub(crate) fn spool_dir(&self) -> &Path {
        &self.spool_dir
    }

    /// The names of full outputs, and those of earlier runs.
    pub(crate) fn outputs(&self) -> &dyn Outputs {
        &*self.outputs
    }

    fn start(
        &self,
        script: &str,
        cwd: &Path,
        cancel: &Cancel,
    ) -> Result<(Running, ProcessTree), CommandError> {
        let mut state = lock(&self.state);
        state.commands += 1;
        let mut command = Command::new(&self.program);
        command.arg("-c").arg(script).current_dir(cwd).env_clear().envs(self.env.iter().cloned());
        command.env("TMPDIR", self.sandbox.policy().temporary());
        if let Some(config) = self.sandbox.git_config() {
            command.env("GIT_CONFIG_GLOBAL", config);
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let holder = self.sandbox.holder();
        let mark = match &holder {
            Some(Holder::Namespace(_)) => None,
            held => Some(self.mark(&mut state, held.as_ref())?),
        };
        if let Some(mark) = &mark {
            command.env(MARK, mark);
        }
        let before =
            holder.as_ref().map(|holder| state.background.command_begins(holder)).unwrap_or_default();
        let running = self.sandbox.start(command, cancel).map_err(|error| match error {
            StartError::Refused(error) => {
                CommandError::Refused { why: error.to_string(), hint: error.hint() }
            }
            StartError::Ended => CommandError::Ended,
            StartError::Io(source) => CommandError::Io { what: "its shell could not be started", source },
        })?;
        let tracking = match holder {
            Some(holder) => {
                let shell = running.inside.unwrap_or_else(|| running.pid.as_raw_pid());
                Tracking::Held { holder, shell, before }
            }
            None => Tracking::Marked(self.track(&mut state, (running.pid, mark.unwrap_or_default()))),
        };
        let shell = running.pid;
        let (most, disk) = (self.sandbox.process_limit(), self.disk.of_command());
        Ok((running, ProcessTree { shell, most, memory: self.memory(), disk, tracking }))
    }

    fn memory(&self) -> Option<Memory> {
        self.sandbox.memory().map(|(limit, shared)| Memory::of_command(limit, shared))
    }

    /// What the next command's processes are marked by. With the first one, a guard is started.
    fn mark(&self, state: &mut ShellState, held: Option<&Holder>) -> Result<String, CommandError> {
        if state.session.is_none() {
            state.session = Some(self.open_session(held)?);
        }
        let session = state.session.as_ref().map_or("", |session| &session.mark);
        Ok(format!("{session}/{}", state.commands))
    }

    fn track(&self, state: &mut ShellState, (shell, mark): (Pid, String)) -> ProcessMarks {
        if let Some(session) = &mut state.session {
            session.guard.running(shell.as_raw_pid());
        }
        let marks = ProcessMarks::new(shell, mark, self.sandbox.ipc_namespace());
        state.marks.push(marks.clone());
        marks
    }

    fn open_session(&self, held: Option<&Holder>) -> Result<Session, CommandError> {
        tracking::adopt_orphans().map_err(CommandError::io("its processes could not be kept track of"))?;
        let run_dir = &self.sandbox.policy().run_dir;
        let mark = run_dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let namespace = self.sandbox.ipc_namespace().unwrap_or_default();
        let kill = held.and_then(Holder::kill_file);
        let guard = Guard::start(&mark, (&namespace, kill), &self.trusted_path())
            .map_err(CommandError::io("its guard could not be started"))?;
        Ok(Session { guard, mark })
    }

    /// The PATH of what runs beside the sandbox: without directories where commands may put programs.
    fn trusted_path(&self) -> OsString {
        let path = environment::value(&self.env, "PATH").unwrap_or(OsStr::new(""));
        let is_closed = |dir: &PathBuf| {
            dir.is_absolute() && dir.canonicalize().is_ok_and(|real| !self.sandbox.may_write(&real))
        };
        let dirs = std::env::split_paths(path).filter(is_closed);
        let dirs = dirs.chain(["/usr/bin", "/bin"].map(PathBuf::from));
        std::env::join_paths(dirs).unwrap_or_else(|_| "/usr/bin:/bin".into())
    }

    /// A command has ended; if something of it lives on, that is kept for the end of the run.
    fn command_ended(&self, tree: &ProcessTree, lives_on: bool) {
        let mut state = lock(&self.state);
        match &tree.tracking {
            Tracking::Held { holder, .. } => {
                let usage = || UsageCheck::new(tree.most, self.memory());
                state.background.command_ended(holder, usage, self.disk.of_command());
            }
            Tracking::Marked(marks) => {
                if let Some(session) = &mut state.session {
                    session.guard.running(0);
                }
                if !lives_on {
                    state.marks.retain(|known| !known.is(marks));
                }
            }
        }
    }

    /// Why what earlier commands left running was ended, told once.
    fn background_ended(&self) -> Option<overuse::Overuse> {
        lock(&self.state).background.ended()
    }

    /// Ends whatever commands left running, and names what was ended.
    pub(crate) fn end(&self) -> Vec<String> {
        let ShellState { session, marks, commands, .. } = std::mem::take(&mut *lock(&self.state));
        if commands == 0 {
            return Vec::new();
        }
        let names = match self.sandbox.holder() {
            Some(holder) => processes::end_held(&holder, self.grace),
            None => tracking::end_all(&marks, self.sandbox.ipc_namespace().as_deref(), self.grace),
        };
        if let Some(Session { guard, .. }) = session {
            guard.dismiss();
        }
        names
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        self.end();
    }
}

/// `bash`, when the commands' PATH has one.
fn find_bash(env: &[(OsString, OsString)]) -> Option<PathBuf> {
    let path = environment::value(env, "PATH").unwrap_or(OsStr::new("/usr/bin:/bin"));
    std::env::split_paths(path).map(|dir| dir.join("bash")).find(|bash| bash.is_absolute() && bash.is_file())
}

#[cfg(test)]
#[path = "run_command_tests.rs"]
mod tests;
