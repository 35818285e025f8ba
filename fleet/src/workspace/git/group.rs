//! The end of a command of git, with all the processes it has started.
//!
//! git starts others (ssh, a helper for https, the other side of a path), which may go on when it has ended and keep its pipes
//! open: what it has said is read for as long as it runs, and nobody waits for the end of a pipe.

use std::io::{self, Read};
use std::os::fd::AsFd;
use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, WaitIdStatus, kill_process_group, waitid};

use crate::workspace::WorkspaceError;
use crate::workspace::error::disk;
use crate::workspace::halt::{Halting, TICK};

/// How long a command that is told to end may take to remove its locks.
const PARTING: Duration = Duration::from_millis(500);

/// How a command has ended.
pub(super) struct Ended {
    pub(super) is_success: bool,
    pub(super) out: Vec<u8>,
    pub(super) err: Vec<u8>,
}

/// A pipe that is read as far as there is something.
struct Pipe<R> {
    from: Option<R>,
    bytes: Vec<u8>,
}

impl<R: Read + AsFd> Pipe<R> {
    fn new(from: Option<R>) -> io::Result<Pipe<R>> {
        if let Some(from) = &from {
            rustix::io::ioctl_fionbio(from, true)?;
        }
        Ok(Pipe { from, bytes: Vec::new() })
    }

    /// Reads what is there.
    fn drain(&mut self) {
        let Some(from) = &mut self.from else { return };
        match from.read_to_end(&mut self.bytes) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            _ => self.from = None,
        }
    }

    fn watched(&self) -> Option<PollFd<'_>> {
        self.from.as_ref().map(|from| PollFd::new(from, PollFlags::IN))
    }
}

/// Waits for the end of a command; none where that took longer than it may, and its group was killed.
pub(super) fn end_of(child: &mut Child, halting: &Halting) -> Result<Option<Ended>, WorkspaceError> {
    let begun = Instant::now();
    let pipes = Pipe::new(child.stdout.take()).and_then(|out| Ok((out, Pipe::new(child.stderr.take())?)));
    let (mut out, mut err) = match pipes {
        Ok(pipes) => pipes,
        Err(error) => {
            kill(child);
            return Err(disk("read from", "git".as_ref())(error));
        }
    };
    loop {
        // First whether it has ended: then all that it has said is there.
        let status = status(child);
        out.drain();
        err.drain();
        if let Some(status) = status {
            let is_success = status.exit_status() == Some(0);
            if is_success {
                child.wait().ok();
            } else {
                kill(child);
            }
            return Ok(Some(Ended { is_success, out: out.bytes, err: err.bytes }));
        }
        let told = halting.check();
        if told.is_err() || begun.elapsed() >= halting.limit {
            kill(child);
            return told.map(|()| None);
        }
        let mut watched: Vec<PollFd<'_>> = out.watched().into_iter().chain(err.watched()).collect();
        if watched.is_empty() {
            thread::sleep(TICK);
        } else {
            poll(&mut watched, Some(&Timespec { tv_sec: 0, tv_nsec: 20_000_000 })).ok();
        }
    }
}

/// How a command has ended, if it has; its id is kept until [`Child::wait`], so that its group is nobody else's.
fn status(child: &Child) -> Option<WaitIdStatus> {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    waitid(WaitId::Pid(Pid::from_child(child)), options).ok().flatten()
}

/// Ends a command and all of its group. git removes its locks when it is told to end.
fn kill(child: &mut Child) {
    let group = Pid::from_child(child);
    if status(child).is_none() {
        kill_process_group(group, Signal::TERM).ok();
        let begun = Instant::now();
        while status(child).is_none() && begun.elapsed() < PARTING {
            thread::sleep(TICK);
        }
    }
    kill_process_group(group, Signal::KILL).ok();
    child.wait().ok();
}
