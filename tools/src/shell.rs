//! Where commands run: a shell in the sandbox, its output, its processes, and what they may use up.
//!
//! One a run. It knows nothing of tools and models: [`crate::run_command`] says in words what came of a command.

mod background;
pub(crate) mod capture;
mod disk;
pub(crate) mod environment;
pub(crate) mod guard;
mod memory;
mod names;
mod overuse;
mod processes;
mod server;
pub(crate) mod spool;
mod supervise;
mod tracking;
mod usage;

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustix::process::Pid;

use self::background::Background;
pub(crate) use self::capture::Captured;
use self::capture::{Capture, Stream};
use self::disk::DiskBudget;
use self::guard::Guard;
use self::memory::MemoryBudget;
pub(crate) use self::names::NAMED;
pub(crate) use self::overuse::Overuse;
use self::processes::{ProcessTree, Tracking};
pub use self::server::{NotStarted, ServerCommand, ServerProcess};
use self::spool::Spool;
use self::supervise::Supervised;
pub(crate) use self::supervise::{Cause, FinishedCommand};
use self::tracking::{MARK, ProcessMarks};
use self::usage::UsageCheck;
use crate::cancel::Cancel;
use crate::limits::ToolLimits;
use crate::lock::lock;
use crate::outputs::Outputs;
use crate::sandbox::{Holder, Level, Policy, ProcessLimits, RunningCommand, Sandbox, StartError};

/// Why a command did not run.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ShellError {
    #[error("the command was not run: {why}. Use the other tools; people can change it: {hint}")]
    Refused { why: String, hint: &'static str },
    #[error(
        "the command was not run, and no other will be: all processes of this run had to be ended at once. Use the other tools"
    )]
    Ended,
    #[error("the command was not run: {what}: {source}")]
    Io { what: &'static str, source: io::Error },
}

impl ShellError {
    fn io(what: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { what, source }
    }
}

/// A command that is over.
pub(crate) struct CommandRun {
    pub(crate) ended: FinishedCommand,
    pub(crate) captured: Captured,
    /// Why what earlier commands left running was ended, told once.
    pub(crate) background: Option<Overuse>,
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
    disk: DiskBudget,
    state: Mutex<ShellState>,
}

#[derive(Default)]
struct ShellState {
    /// Made for the first command, where the processes of commands must be looked for.
    session: Option<ProcessSession>,
    /// How many commands were started.
    commands: u64,
    /// What commands left running, where the kernel holds it together.
    background: Background,
    /// The marks of commands of which something may still run, where the kernel does not hold it together.
    marks: Vec<ProcessMarks>,
}

/// What tracks processes where the kernel does not hold them together.
struct ProcessSession {
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
        limits: &ToolLimits,
        sandbox: Arc<Sandbox>,
    ) -> Self {
        let program = find_bash(&env).unwrap_or_else(|| PathBuf::from("/bin/sh"));
        let Policy { level, workspace, run_dir, limits: ProcessLimits { disk_bytes, .. }, .. } =
            sandbox.policy();
        let disk = match level {
            Level::Off => DiskBudget::default(),
            Level::Strict | Level::BestEffort => DiskBudget::new(*disk_bytes, [workspace, run_dir]),
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

    /// Runs a script in `cwd` to its end, or until its time is up or `cancel` is set.
    ///
    /// # Errors
    /// It did not run.
    pub(crate) fn run(
        &self,
        (script, cwd): (&str, &Path),
        timeout: Duration,
        limits: &ToolLimits,
        cancel: &Cancel,
    ) -> Result<CommandRun, ShellError> {
        let (running, tree) = self.start(script, cwd, cancel)?;
        let mut capture = self.capture(limits);
        let ended = Supervised::new(running, &tree, limits, &mut capture)
            .and_then(|supervised| supervised.run(timeout, cancel));
        self.command_ended(&tree, ended.as_ref().map_or(true, FinishedCommand::lives_on));
        let ended = ended.map_err(ShellError::io("it could not be supervised"))?;
        let background = lock(&self.state).background.ended();
        Ok(CommandRun { ended, captured: capture.finish(), background })
    }

    fn capture(&self, limits: &ToolLimits) -> Capture {
        let spool = Spool::new(self.spool_dir.clone(), limits.spool_bytes, Arc::clone(&self.outputs));
        Capture::new(limits.command_bytes, spool).without(&self.hidden)
    }

    /// A text that no command has printed, as if one had.
    pub(crate) fn captured(&self, text: &str, limits: &ToolLimits) -> Captured {
        let mut capture = self.capture(limits);
        capture.push(Stream::Out, text.as_bytes());
        capture.finish()
    }

    /// A variable as commands see it.
    pub(crate) fn variable(&self, name: &str) -> Option<&OsStr> {
        self.env.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_os_str())
    }

    /// Where the full outputs of this run are.
    pub(crate) fn spool_dir(&self) -> &Path {
        &self.spool_dir
    }

    /// The names of full outputs, and those of earlier runs.
    pub(crate) fn outputs(&self) -> &dyn Outputs {
        &*self.outputs
    }

    /// What is known of the failure of a command, where the sandbox may be the reason.
    pub(crate) fn advice(&self, text: &str) -> String {
        self.sandbox.advice(text).to_string()
    }

    fn start(
        &self,
        script: &str,
        cwd: &Path,
        cancel: &Cancel,
    ) -> Result<(RunningCommand, ProcessTree), ShellError> {
        let mut command = Command::new(&self.program);
        command.arg("-c").arg(script).current_dir(cwd).env_clear().envs(self.env.iter().cloned());
        command.stdin(Stdio::null());
        self.launch(command, cancel)
    }

    /// Starts a process that has its program, its directory, its environment and its input.
    fn launch(
        &self,
        mut command: Command,
        cancel: &Cancel,
    ) -> Result<(RunningCommand, ProcessTree), ShellError> {
        let mut state = lock(&self.state);
        state.commands += 1;
        command.env("TMPDIR", self.sandbox.policy().temporary());
        if let Some(config) = self.sandbox.git_config() {
            command.env("GIT_CONFIG_GLOBAL", config);
        }
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let holder = self.sandbox.holder();
        let mark = match &holder {
            Some(Holder::Namespace(_)) => None,
            holder => Some(self.mark(&mut state, holder.as_ref())?),
        };
        if let Some(mark) = &mark {
            command.env(MARK, mark);
        }
        let before =
            holder.as_ref().map(|holder| state.background.command_begins(holder)).unwrap_or_default();
        let running = self.sandbox.start(command, cancel).map_err(|error| match error {
            StartError::Refused(error) => ShellError::Refused { why: error.to_string(), hint: error.hint() },
            StartError::Ended => ShellError::Ended,
            StartError::Io(source) => ShellError::Io { what: "its shell could not be started", source },
        })?;
        let tracking = match holder {
            Some(holder) => {
                let shell = running.inside.unwrap_or_else(|| running.pid.as_raw_pid());
                Tracking::Contained { holder, shell, before }
            }
            None => Tracking::Marked(self.track(&mut state, (running.pid, mark.unwrap_or_default()))),
        };
        let shell = running.pid;
        let (most, disk) = (self.sandbox.process_limit(), self.disk.of_command());
        Ok((running, ProcessTree { shell, most, memory: self.memory(), disk, tracking }))
    }

    fn memory(&self) -> Option<MemoryBudget> {
        self.sandbox.memory().map(|(limit, shared)| MemoryBudget::of_command(limit, shared))
    }

    /// What the next command's processes are marked by. With the first one, a guard is started.
    fn mark(&self, state: &mut ShellState, holder: Option<&Holder>) -> Result<String, ShellError> {
        if state.session.is_none() {
            state.session = Some(self.open_session(holder)?);
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

    fn open_session(&self, holder: Option<&Holder>) -> Result<ProcessSession, ShellError> {
        tracking::adopt_orphans().map_err(ShellError::io("its processes could not be kept track of"))?;
        let run_dir = &self.sandbox.policy().run_dir;
        let mark = run_dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let namespace = self.sandbox.ipc_namespace().unwrap_or_default();
        let kill = holder.and_then(Holder::kill_file);
        let guard = Guard::start(&mark, (&namespace, kill), &self.trusted_path())
            .map_err(ShellError::io("its guard could not be started"))?;
        Ok(ProcessSession { guard, mark })
    }

    /// The PATH of what runs beside the sandbox: without directories where commands may put programs.
    pub(crate) fn trusted_path(&self) -> OsString {
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
            Tracking::Contained { holder, .. } => {
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

    /// Ends whatever commands left running, and names what was ended.
    pub(crate) fn end(&self) -> Vec<String> {
        let ShellState { session, marks, commands, .. } = std::mem::take(&mut *lock(&self.state));
        if commands == 0 {
            return Vec::new();
        }
        let names = match self.sandbox.holder() {
            Some(holder) => processes::end_contained(&holder, self.grace),
            None => tracking::end_all(&marks, self.sandbox.ipc_namespace().as_deref(), self.grace),
        };
        if let Some(ProcessSession { guard, .. }) = session {
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
