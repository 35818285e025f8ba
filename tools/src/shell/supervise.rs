//! One command from its start to its end: output, time limit, cancel, and what is left of it.
//!
//! One loop over one `poll`: the two pipes and a handle of the process. The answer comes when the process exits, not
//! when its pipes close: a child in the background may hold them open for ever.

use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::{ChildStderr, ChildStdout, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, PidfdFlags, WaitOptions};

use crate::cancel::Cancel;
use crate::limits::ToolLimits;
use crate::process_table::Process;
use crate::sandbox::RunningCommand;
use crate::shell::capture::{Capture, Stream};
use crate::shell::overuse::Overuse;
use crate::shell::processes::ProcessTree;
use crate::shell::usage::UsageMonitor;
use crate::wait;

/// How often a cancel is looked for, and whether processes that were told to end did.
const TICK: Duration = Duration::from_millis(50);
/// What a pipe is made to hold: enough that a command seldom waits for its output to be written to the spool, and few
/// enough bytes that they are still in the cache of the processor when they are read.
const PIPE: usize = 256 * 1024;
/// What a pipe holds that cannot be enlarged.
const SMALL_PIPE: usize = 64 * 1024;
/// How long a flood may gather in a pipe: to take every few KB as they come costs the command more time than itself.
const GATHERING: Duration = Duration::from_micros(100);

/// Why a command was ended before it ended by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    TimedOut,
    Cancelled,
    /// It used more of something than it may.
    Overused(Overuse),
}

/// How a command ended.
pub(crate) struct FinishedCommand {
    pub(crate) status: ExitStatus,
    pub(crate) cause: Option<Cause>,
    /// How long the command itself ran.
    pub(crate) duration: Duration,
    /// The processes beside the shell that were ended with it (with a cause), or that still run (without).
    pub(crate) others: Vec<Process>,
    /// The names of the first of `others`, while they lived.
    pub(crate) names: Vec<String>,
}

impl FinishedCommand {
    /// Whether processes of it run in the background.
    pub(crate) fn lives_on(&self) -> bool {
        self.cause.is_none() && !self.others.is_empty()
    }
}

enum CommandPhase {
    Running { deadline: Instant },
    Terminating { until: Instant },
    Draining { until: Instant },
}

/// A command that runs.
pub(crate) struct Supervised<'a> {
    shell: Pid,
    handle: OwnedFd,
    out: Option<ChildStdout>,
    err: Option<ChildStderr>,
    tree: &'a ProcessTree,
    limits: &'a ToolLimits,
    capture: &'a mut Capture,
    buffer: Vec<u8>,
    exited: bool,
    others: Vec<Process>,
    names: Vec<String>,
}

impl<'a> Supervised<'a> {
    /// `running` is the shell of `tree`, with pipes for its output. On an error it is ended.
    pub(crate) fn new(
        running: RunningCommand,
        tree: &'a ProcessTree,
        limits: &'a ToolLimits,
        capture: &'a mut Capture,
    ) -> io::Result<Self> {
        let handle = rustix::process::pidfd_open(tree.shell, PidfdFlags::empty()).inspect_err(|_| {
            tree.kill(&[]);
            let _ = reap(tree.shell);
        })?;
        let (shell, out, err) = (running.pid, running.stdout, running.stderr);
        let pipes = [out.as_ref().map(AsFd::as_fd), err.as_ref().map(AsFd::as_fd)];
        let capacity = pipes.into_iter().flatten().map(enlarge).min().unwrap_or(SMALL_PIPE);
        let (buffer, exited) = (vec![0; capacity], false);
        Ok(Self {
            shell,
            handle,
            out,
            err,
            tree,
            limits,
            capture,
            buffer,
            exited,
            others: Vec::new(),
            names: Vec::new(),
        })
    }

    /// Runs it to its end, by itself or by force. An error of the supervision ends it too.
    pub(crate) fn run(mut self, timeout: Duration, cancel: &Cancel) -> io::Result<FinishedCommand> {
        match self.supervise(timeout, cancel) {
            Ok((cause, duration)) => self.finish(cause, duration),
            Err(error) => {
                self.tree.kill(&self.others);
                reap(self.shell)?;
                Err(error)
            }
        }
    }

    fn supervise(&mut self, timeout: Duration, cancel: &Cancel) -> io::Result<(Option<Cause>, Duration)> {
        let started = Instant::now();
        let (mut cause, mut duration) = (None, None);
        let mut monitor = UsageMonitor::new(self.tree);
        let mut phase = CommandPhase::Running { deadline: started + timeout };
        loop {
            self.pump(&phase)?;
            let now = Instant::now();
            if self.exited {
                duration.get_or_insert(now - started);
            }
            if cause.is_none() {
                cause = self.why_end(&phase, now, cancel);
                if cause.is_none() {
                    cause = monitor.look().map(Cause::Overused);
                }
                if let Some(cause) = cause {
                    phase = CommandPhase::Terminating { until: now + self.terminate(cause) };
                }
            }
            match phase {
                CommandPhase::Running { .. } if self.exited && self.is_closed() => break,
                CommandPhase::Running { .. } if self.exited => {
                    phase = CommandPhase::Draining { until: now + self.limits.drain }
                }
                CommandPhase::Terminating { until } if now >= until || self.tree.members().is_empty() => {
                    self.tree.kill(&self.others);
                    phase = CommandPhase::Draining { until: Instant::now() + self.limits.drain };
                }
                CommandPhase::Draining { until } if now >= until || self.is_closed() => break,
                _ => {}
            }
        }
        Ok((cause, duration.unwrap_or_else(|| started.elapsed())))
    }

    fn why_end(&self, phase: &CommandPhase, now: Instant, cancel: &Cancel) -> Option<Cause> {
        match phase {
            CommandPhase::Terminating { .. } => None,
            _ if cancel.is_cancelled() => Some(Cause::Cancelled),
            CommandPhase::Running { deadline } if now >= *deadline && !self.exited => Some(Cause::TimedOut),
            _ => None,
        }
    }

    /// Tells it to end, and gives how long it has for that: none where it takes the machine meanwhile.
    fn terminate(&mut self, cause: Cause) -> Duration {
        self.note_others();
        match cause {
            Cause::Overused(_) => Duration::ZERO,
            Cause::TimedOut | Cause::Cancelled => {
                self.tree.terminate();
                self.limits.grace
            }
        }
    }

    /// Remembers which processes there are beside the shell.
    fn note_others(&mut self) {
        (self.others, self.names) = self.tree.beside();
    }

    /// The shell is waited for last: until then no other process can have its pid.
    fn finish(mut self, cause: Option<Cause>, duration: Duration) -> io::Result<FinishedCommand> {
        if cause.is_none() {
            self.note_others();
        }
        let status = reap(self.shell)?;
        // What lives on would be killed by a pipe that nobody reads.
        let pipes = [self.out.take().map(OwnedFd::from), self.err.take().map(OwnedFd::from)];
        for pipe in pipes.into_iter().flatten() {
            drain_forever(pipe);
        }
        Ok(FinishedCommand { status, cause, duration, others: self.others, names: self.names })
    }

    fn pipes(&self) -> [Option<BorrowedFd<'_>>; 2] {
        [self.out.as_ref().map(AsFd::as_fd), self.err.as_ref().map(AsFd::as_fd)]
    }

    fn is_closed(&self) -> bool {
        self.out.is_none() && self.err.is_none()
    }

    /// Waits until something happens or a tick has passed, and reads what there is.
    fn pump(&mut self, phase: &CommandPhase) -> io::Result<()> {
        let [out, err] = self.pipes();
        let exit = (!self.exited).then(|| self.handle.as_fd());
        let [out, err, exit] = wait::for_any([out, err, exit], time_left(phase).min(TICK))?;
        self.exited |= exit;
        let Self { out: out_pipe, err: err_pipe, capture, buffer, .. } = self;
        let mut most = 0;
        if out {
            most = read(out_pipe, buffer, |chunk| capture.push(Stream::Out, chunk))?;
        }
        if err {
            most = most.max(read(err_pipe, buffer, |chunk| capture.push(Stream::Err, chunk))?);
        }
        if capture.is_flood() && !self.exited && (1..buffer.len() / 2).contains(&most) {
            thread::sleep(GATHERING);
        }
        Ok(())
    }
}

fn time_left(phase: &CommandPhase) -> Duration {
    let (CommandPhase::Running { deadline: until }
    | CommandPhase::Terminating { until }
    | CommandPhase::Draining { until }) = phase;
    until.saturating_duration_since(Instant::now())
}

/// Enlarges a pipe to [`PIPE`] bytes; gives how many it holds. A user who holds many pipes may not: then a flood takes
/// longer.
fn enlarge(pipe: BorrowedFd) -> usize {
    rustix::pipe::fcntl_setpipe_size(pipe, PIPE).unwrap_or(SMALL_PIPE)
}

/// Reads once from a pipe that is ready, and gives how many bytes; at its end the pipe is closed.
fn read(pipe: &mut Option<impl Read>, buffer: &mut [u8], mut take: impl FnMut(&[u8])) -> io::Result<usize> {
    let Some(open) = pipe else { return Ok(0) };
    match open.read(buffer) {
        Ok(0) => *pipe = None,
        Ok(n) => {
            take(&buffer[..n]);
            return Ok(n);
        }
        Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
        Err(error) => return Err(error),
    }
    Ok(0)
}

/// Reads a pipe until its last writer is gone, and drops what it gives. The thread ends with the processes, at the latest
/// when the run ends them.
fn drain_forever(pipe: OwnedFd) {
    let drain = move || io::copy(&mut std::fs::File::from(pipe), &mut io::sink());
    // Without a thread the pipe closes, and writers get an error: no reason to fail the command that has ended.
    let _ = thread::Builder::new().name("drain".to_owned()).spawn(drain);
}

/// The status of a child that has ended, or will.
fn reap(child: Pid) -> io::Result<ExitStatus> {
    loop {
        match rustix::process::waitpid(Some(child), WaitOptions::empty()) {
            Ok(Some((_, status))) => return Ok(ExitStatus::from_raw(status.as_raw())),
            Ok(None) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}
