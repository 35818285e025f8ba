//! Waiting for a child: its exit, its two pipes, a deadline and a stop signal, in one `poll`.

use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Child, ChildStderr, ChildStdout};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

/// How much of the end of stdout is kept.
const STDOUT_KEPT: usize = 16 << 20;

/// How much of the end of stderr is kept for error messages.
const STDERR_KEPT: usize = 2 << 10;

/// A signal may arrive just before we sleep: how long it can go unnoticed.
const TICK: Duration = Duration::from_millis(200);

/// Why a wait came to its end.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Woken {
    /// The child has exited (and is yet to be reaped).
    Exited,
    /// The time is over.
    Late,
    /// This program is to stop.
    Signal(i32),
}

/// Who hears what a child writes, as it comes.
pub struct Sinks<'a> {
    /// Of its stdout.
    pub stdout: &'a mut dyn FnMut(&[u8]),
    /// Of its stderr, unless that is inherited.
    pub stderr: &'a mut dyn FnMut(&[u8]),
    /// Called when nothing has come for a moment, and again after each such moment.
    pub idle: &'a mut dyn FnMut(),
}

/// The end of a byte stream.
struct Tail {
    kept: usize,
    bytes: Vec<u8>,
}

impl Tail {
    fn new(kept: usize) -> Tail {
        Tail { kept, bytes: Vec::new() }
    }

    /// Lets the buffer grow to twice what is kept before it is cut, so that cutting costs nothing on average.
    fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        if self.bytes.len() > 2 * self.kept {
            self.cut();
        }
    }

    fn cut(&mut self) {
        let surplus = self.bytes.len().saturating_sub(self.kept);
        self.bytes.drain(..surplus);
    }

    fn take(&mut self) -> Vec<u8> {
        self.cut();
        std::mem::take(&mut self.bytes)
    }
}

/// A child's exit and output as they come.
pub(super) struct Watch {
    exit: OwnedFd,
    exited: bool,
    stdout: Option<ChildStdout>,
    stderr: Option<ChildStderr>,
    stdout_tail: Tail,
    stderr_tail: Tail,
}

impl Watch {
    /// Takes over the child's pipes.
    pub(super) fn new(child: &mut Child) -> io::Result<Watch> {
        Ok(Watch {
            exit: pidfd_open(Pid::from_child(child), PidfdFlags::empty())?,
            exited: false,
            stdout: child.stdout.take(),
            stderr: child.stderr.take(),
            stdout_tail: Tail::new(STDOUT_KEPT),
            stderr_tail: Tail::new(STDERR_KEPT),
        })
    }

    /// Reads until the child exits, the time is over or `stop` names a signal.
    pub(super) fn until_exit(
        &mut self,
        until: Option<Instant>,
        stop: impl Fn() -> Option<i32>,
        sinks: &mut Sinks<'_>,
    ) -> io::Result<Woken> {
        while !self.exited {
            if let Some(signal) = stop() {
                return Ok(Woken::Signal(signal));
            }
            let left = until.map_or(TICK, |until| until.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return Ok(Woken::Late);
            }
            self.step(left.min(TICK), sinks)?;
        }
        Ok(Woken::Exited)
    }

    /// Reads what the pipes still hold, until they are closed or the time is over.
    pub(super) fn drain(&mut self, until: Instant, sinks: &mut Sinks<'_>) -> io::Result<()> {
        while self.stdout.is_some() || self.stderr.is_some() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            self.step(left, sinks)?;
        }
        Ok(())
    }

    /// The end of what came on stdout.
    pub(super) fn stdout(&mut self) -> Vec<u8> {
        self.stdout_tail.take()
    }

    /// The last whole lines of stderr.
    pub(super) fn stderr_tail(&mut self) -> String {
        let cut = self.stderr_tail.bytes.len() > STDERR_KEPT;
        let text = String::from_utf8_lossy(&self.stderr_tail.take()).into_owned();
        let whole = if cut { text.split_once('\n').map_or(text.as_str(), |(_, rest)| rest) } else { &text };
        whole.trim_end().to_owned()
    }

    /// Sleeps until something happens or `timeout` is over, then reads one piece of what there is.
    fn step(&mut self, timeout: Duration, sinks: &mut Sinks<'_>) -> io::Result<()> {
        let [exited, out, err] = self.ready(timeout)?;
        self.exited |= exited;
        if !(exited || out || err) {
            (sinks.idle)();
        }
        let mut buffer = [0; 16 << 10];
        let mut tee = |bytes: &[u8]| {
            self.stdout_tail.push(bytes);
            (sinks.stdout)(bytes);
        };
        if out && !read(&mut self.stdout, &mut buffer, &mut tee)? {
            self.stdout = None;
        }
        let mut tee = |bytes: &[u8]| {
            self.stderr_tail.push(bytes);
            (sinks.stderr)(bytes);
        };
        if err && !read(&mut self.stderr, &mut buffer, &mut tee)? {
            self.stderr = None;
        }
        Ok(())
    }

    /// What can be had without waiting: the exit, stdout, stderr.
    fn ready(&self, timeout: Duration) -> io::Result<[bool; 3]> {
        let timeout = Timespec::try_from(timeout).map_err(io::Error::other)?;
        let exit = (!self.exited).then(|| self.exit.as_fd());
        let sources = [exit, self.stdout.as_ref().map(AsFd::as_fd), self.stderr.as_ref().map(AsFd::as_fd)];
        let mut fds: Vec<_> =
            sources.iter().flatten().map(|source| PollFd::new(source, PollFlags::IN)).collect();
        match poll(&mut fds, Some(&timeout)) {
            // A signal handler ran: the caller looks at what it left.
            Err(Errno::INTR) => return Ok([false; 3]),
            result => result?,
        };
        let mut answers = fds.iter().map(|fd| !fd.revents().is_empty());
        Ok(sources.map(|source| source.is_some() && answers.next().unwrap_or(false)))
    }
}

/// One read; false at the end of the stream.
fn read(stream: &mut Option<impl Read>, buffer: &mut [u8], sink: &mut dyn FnMut(&[u8])) -> io::Result<bool> {
    let Some(stream) = stream else { return Ok(false) };
    match stream.read(buffer) {
        Ok(0) => Ok(false),
        Ok(count) => {
            sink(&buffer[..count]);
            Ok(true)
        }
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(true),
        Err(error) => Err(error),
    }
}
