//! One agent process, from its start to its last byte: own process group, deadline, signals, bounded output.
//!
//! It knows nothing of threads or replies: command in, bytes and exit status out. One thread of ours does it all: it
//! waits on the child's pidfd and on its pipes together.

pub mod ask_protocol;
pub mod lookup;
pub mod protocol;
mod watch;

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rustix::fs::{Access, access};
use rustix::process::{Pid, Signal, kill_process_group, set_parent_process_death_signal};
use thiserror::Error;

use self::protocol::{AgentCommand, STOP_WITHIN};
pub use self::watch::Sinks;
use self::watch::{Watch, Woken};
use crate::home::Env;

/// From the first polite signal to the agent's group until it is killed.
const GRACE: Duration = Duration::from_secs(2);

/// The same for a program that an agent runs: whoever started the agent ends it soon, too.
const GRACE_WITHIN: Duration = Duration::from_secs(1);

/// The same for an engine that runs an agent: it ends that first.
const GRACE_AROUND: Duration = Duration::from_secs(5);

/// How long a pipe is read after the agent has exited: something it left behind may hold it open for ever.
const DRAIN: Duration = Duration::from_secs(2);

/// The signal that asks this program to stop, set by a handler at the edge; 0 is none.
#[derive(Clone, Debug, Default)]
pub struct StopSignal(Arc<AtomicUsize>);

impl StopSignal {
    /// The number of the signal that has come, if any.
    pub fn signal(&self) -> Option<i32> {
        match self.0.load(Ordering::SeqCst) {
            0 => None,
            number => i32::try_from(number).ok(),
        }
    }

    /// The cell that a signal handler stores the signal's number in.
    pub fn cell(&self) -> Arc<AtomicUsize> {
        Arc::clone(&self.0)
    }
}

/// How to run an agent.
#[derive(Debug)]
pub struct ProcessSpec<'a> {
    /// The program and its own arguments.
    pub command: &'a AgentCommand,
    /// The file that its program stands for; see [`lookup`].
    pub file: &'a str,
    /// The protocol's arguments.
    pub args: Vec<OsString>,
    /// The working directory.
    pub cwd: &'a Path,
    /// The whole environment.
    pub env: &'a Env,
    /// How long it may take at most.
    pub deadline: Option<Duration>,
    /// Whether its stderr is ours (so that it sees a terminal) or goes through the caller's sink.
    pub inherit_stderr: bool,
    /// Set when this program is to stop.
    pub stop: &'a StopSignal,
}

/// How another program is different from an agent.
#[derive(Debug)]
struct Kind {
    stdin: Option<File>,
    /// Whether what it leaves of its process group is ended with it.
    ends_group: bool,
    grace: Duration,
}

/// What stands before the end of what an agent wrote, in an error.
pub(crate) const LAST_WORDS: &str = "; its last words:";

/// These lines as an indented block behind `LAST_WORDS`; nothing when there are none.
pub fn last_words<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    let block: String = lines.map(|line| format!("\n    {line}")).collect();
    if block.is_empty() { block } else { format!("{LAST_WORDS}{block}") }
}

/// What a finished agent left.
#[derive(Debug)]
pub struct Finished {
    /// The end of its stdout: all of it up to 16 MiB.
    pub stdout: Vec<u8>,
    /// How it exited.
    pub status: ExitStatus,
    /// The last lines of its stderr; empty when that was inherited.
    pub stderr_tail: String,
}

impl Finished {
    /// The end of its stderr as an indented block behind a sentence; nothing when there is none.
    pub fn last_words(&self) -> String {
        last_words(self.stderr_tail.lines())
    }

    /// The exit in words: `exit status 3`, `signal 9`.
    pub fn exit(&self) -> String {
        match (self.status.code(), self.status.signal()) {
            (Some(code), _) => format!("exit status {code}"),
            (None, Some(signal)) => format!("signal {signal}"),
            (None, None) => "an unknown status".to_owned(),
        }
    }
}

/// Why an agent did not come to its own end.
#[derive(Debug, Error)]
pub enum SpawnError {
    /// It could not be started.
    #[error("cannot start the agent `{program}`")]
    Start {
        /// The program.
        program: String,
        /// The system's reason.
        source: io::Error,
    },
    /// Its name leads nowhere but into a directory that it was to work in.
    #[error(
        "cannot start the agent `{program}`: {} is inside the thread's directory, where commands may have put it",
        file.display()
    )]
    Inside {
        /// The program.
        program: String,
        /// What `PATH` has.
        file: PathBuf,
    },
    /// It could not be started where it was to work.
    #[error("the directory {} cannot be entered, where the agent was to work", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// It took too long and was ended.
    #[error("the agent `{program}` was ended: it took longer than {}", humantime::format_duration(*deadline))]
    Deadline {
        /// The program.
        program: String,
        /// What it had.
        deadline: Duration,
    },
    /// This program was told to stop, and ended the agent.
    #[error("stopped by signal {signal}")]
    Stopped {
        /// The signal's number.
        signal: i32,
    },
    /// Waiting failed.
    #[error("cannot wait for the agent `{program}`")]
    Wait {
        /// The program.
        program: String,
        /// The system's reason.
        source: io::Error,
    },
}

/// Runs an agent to its end. Its stderr goes to `stderr` as it comes, unless it is inherited.
///
/// # Errors
/// The agent cannot be started or waited for, takes longer than its deadline, or this program is told to stop; in the
/// last two cases the agent was ended.
pub fn run(run: &ProcessSpec<'_>, stderr: &mut dyn FnMut(&[u8])) -> Result<Finished, SpawnError> {
    let agent = Kind { stdin: None, ends_group: false, grace: GRACE };
    run_to_end(run, agent, &mut Sinks { stdout: &mut |_| (), stderr, idle: &mut || () })
}

/// Runs an engine to its end, which runs an agent itself, as [`run`]: told to stop, it has the time to end its agent. `stdin`
/// is what it reads.
///
/// # Errors
/// As [`run`].
pub fn run_engine(
    run: &ProcessSpec<'_>,
    stdin: Option<File>,
    stderr: &mut dyn FnMut(&[u8]),
) -> Result<Finished, SpawnError> {
    let engine = Kind { stdin, ends_group: false, grace: GRACE_AROUND };
    run_to_end(run, engine, &mut Sinks { stdout: &mut |_| (), stderr, idle: &mut || () })
}

/// Runs a program of an agent's to its end, as [`run`]: what it writes is heard as it comes, `stdin` is what it reads, and
/// whatever of its process group still runs when it has ended is ended, too.
///
/// # Errors
/// As [`run`].
pub fn run_within(
    run: &ProcessSpec<'_>,
    stdin: Option<File>,
    sinks: &mut Sinks<'_>,
) -> Result<Finished, SpawnError> {
    run_to_end(run, Kind { stdin, ends_group: true, grace: GRACE_WITHIN }, sinks)
}

/// Runs an engine to its end, as [`run_engine`], and whatever of its process group still runs then is ended, too; what it writes
/// is heard as it comes.
///
/// # Errors
/// As [`run`].
pub fn run_engine_within(run: &ProcessSpec<'_>, sinks: &mut Sinks<'_>) -> Result<Finished, SpawnError> {
    run_to_end(run, Kind { stdin: None, ends_group: true, grace: GRACE_AROUND }, sinks)
}

fn run_to_end(run: &ProcessSpec<'_>, kind: Kind, sinks: &mut Sinks<'_>) -> Result<Finished, SpawnError> {
    if let Some(signal) = run.stop.signal() {
        return Err(SpawnError::Stopped { signal });
    }
    let program = || run.command.called().to_owned();
    let started = Instant::now();
    let Kind { stdin, ends_group, grace } = kind;
    let grace = stop_within(run.env).map_or(grace, |within| within.min(grace));
    let mut child = start(run, stdin).map_err(|source| match access(run.cwd, Access::EXEC_OK) {
        Ok(()) => SpawnError::Start { program: program(), source },
        Err(error) => SpawnError::Directory { path: run.cwd.to_owned(), source: error.into() },
    })?;
    // A limit beyond what the clock can tell is none.
    let until = run.deadline.and_then(|deadline| started.checked_add(deadline));
    let ended = waited_for(&mut child, (until, ends_group, grace), run.stop, sinks);
    let (woken, mut watch) = ended.map_err(|source| {
        // Nobody would end it any more.
        signal_group(&child, Signal::KILL);
        child.wait().ok();
        SpawnError::Wait { program: program(), source }
    })?;
    match woken {
        Woken::Late => {
            let deadline = run.deadline.unwrap_or_default();
            Err(SpawnError::Deadline { program: program(), deadline })
        }
        Woken::Signal(signal) => Err(SpawnError::Stopped { signal }),
        Woken::Exited => {
            let status = child.wait().map_err(|source| SpawnError::Wait { program: program(), source })?;
            Ok(Finished { stdout: watch.stdout(), status, stderr_tail: watch.stderr_tail() })
        }
    }
}

/// Waits until the agent is over, be it that it had to be ended, and tells why it is; with what it has said. Until it is
/// reaped, nobody else has the number of its group.
fn waited_for(
    child: &mut Child,
    (until, ends_group, grace): (Option<Instant>, bool, Duration),
    stop: &StopSignal,
    sinks: &mut Sinks<'_>,
) -> io::Result<(Woken, Watch)> {
    let mut watch = Watch::new(child)?;
    let woken = watch.until_exit(until, || stop.signal(), sinks)?;
    match woken {
        Woken::Exited => {
            if ends_group {
                signal_group(child, Signal::TERM);
            }
            watch.drain(Instant::now() + DRAIN, sinks)?;
            if ends_group {
                signal_group(child, Signal::KILL);
            }
        }
        Woken::Late => end(child, (&mut watch, grace), Signal::TERM, sinks)?,
        Woken::Signal(signal) => {
            let forwarded = Signal::from_named_raw(signal).unwrap_or(Signal::TERM);
            end(child, (&mut watch, grace), forwarded, sinks)?;
        }
    }
    Ok((woken, watch))
}

/// Ends the whole group: `first`, then a grace, then the kill; reaps the agent.
fn end(
    child: &Child,
    (watch, grace): (&mut Watch, Duration),
    first: Signal,
    sinks: &mut Sinks<'_>,
) -> io::Result<()> {
    signal_group(child, first);
    watch.until_exit(Some(Instant::now() + grace), || None, sinks)?;
    signal_group(child, Signal::KILL);
    watch.until_exit(None, || None, sinks).map(|_| ())
}

/// A group that is gone already needs no signal.
fn signal_group(child: &Child, signal: Signal) {
    kill_process_group(Pid::from_child(child), signal).ok();
}

/// How long what is run with this environment has to end, where somebody says so.
fn stop_within(env: &Env) -> Option<Duration> {
    env.text(STOP_WITHIN)?.parse().ok().map(Duration::from_millis)
}

/// What opens the database of a remote is for the programs that speak with it, and for no agent.
const OF_REMOTES: [&str; 5] = ["PGPASSWORD", "PGPASSFILE", "PGSERVICE", "PGSERVICEFILE", "PGSSLPASSWORD"];

fn start(run: &ProcessSpec<'_>, stdin: Option<File>) -> io::Result<Child> {
    let mut command = Command::new(run.file);
    command
        .args(&run.command.args)
        .args(&run.args)
        .current_dir(run.cwd)
        .env_clear()
        .envs(run.env.iter().filter(|(name, _)| OF_REMOTES.iter().all(|kept| name != kept)))
        .envs(stop_within(run.env).map(|within| (STOP_WITHIN, (within * 2 / 3).as_millis().to_string())))
        .stdin(stdin.map_or_else(Stdio::null, Stdio::from))
        .stdout(Stdio::piped())
        .stderr(if run.inherit_stderr { Stdio::inherit() } else { Stdio::piped() })
        .process_group(0);
    #[expect(
        unsafe_code,
        reason = "the agent must not outlive us when we are killed: only the child can ask for that"
    )]
    // SAFETY: the closure makes one system call and allocates nothing, as is required between fork and exec.
    unsafe {
        command.pre_exec(|| Ok(set_parent_process_death_signal(Some(Signal::TERM))?));
    }
    command.spawn()
}

#[cfg(test)]
mod tests;
