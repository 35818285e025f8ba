//! Starting a process, in a garment or bare.

use std::io;
use std::process::{ChildStderr, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use rustix::pipe::PipeFlags;
use rustix::process::{Pid, WaitOptions};

use super::child::{self, Born, Garment, own_session};
use super::namespace::Namespaces;
use super::report::SandboxError;
use crate::tool::Cancel;

/// A garment that a process could put on.
pub(super) type Tried = Result<Arc<Garment>, SandboxError>;

/// A command that was started.
pub(crate) struct Running {
    pub(crate) pid: Pid,
    /// Its number in the namespace of processes, if it is in one.
    pub(crate) inside: Option<i32>,
    pub(crate) stdout: Option<ChildStdout>,
    pub(crate) stderr: Option<ChildStderr>,
}

/// Why a command was not started.
pub(crate) enum StartError<'a> {
    Refused(&'a SandboxError),
    /// What all commands of the run live in has ended.
    Ended,
    Io(io::Error),
}

/// Starts a command in a garment. Where that has a namespace of processes, what was started is not what was forked.
pub(super) fn start_in(mut command: Command, garment: &Arc<Garment>) -> io::Result<Running> {
    let (reports, report) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
    let started = child::confine(&mut command, Arc::clone(garment), report).spawn();
    // Its end of the pipe goes with it.
    drop(command);
    let born = Born::read(reports);
    let beside = Pid::from_raw(born.outside).filter(|_| born.outside > 0);
    match (started, beside) {
        (Ok(mut child), Some(pid)) => {
            child.wait()?;
            Ok(Running {
                pid,
                inside: Some(born.inside),
                stdout: child.stdout.take(),
                stderr: child.stderr.take(),
            })
        }
        (Ok(child), None) => running(child),
        (Err(error), beside) => {
            // It has ended, with the error.
            beside.map(|pid| rustix::process::waitpid(Some(pid), WaitOptions::empty())).transpose()?;
            Err(error)
        }
    }
}

/// The same among processes that earlier commands left, which may stop it.
pub(super) fn start_among<'a>(
    command: Command,
    garment: &Arc<Garment>,
    (namespaces, cancel): (&Namespaces, &Cancel),
) -> Result<Running, StartError<'a>> {
    let started = namespaces.watched(cancel, || start_in(command, garment));
    if !namespaces.have_ended() {
        return started.map_err(StartError::Io);
    }
    // It ended as well, whether it had begun or not.
    let _ = started.map(|running| rustix::process::waitpid(Some(running.pid), WaitOptions::empty()));
    Err(StartError::Ended)
}

pub(super) fn start_bare(mut command: Command) -> io::Result<Running> {
    running(own_session(&mut command).spawn()?)
}

fn running(mut child: std::process::Child) -> io::Result<Running> {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let pid = pid.ok_or_else(|| io::Error::other("the process has no usable pid"))?;
    Ok(Running { pid, inside: None, stdout: child.stdout.take(), stderr: child.stderr.take() })
}

/// Starts a process in a garment.
pub(super) fn try_on(garment: Arc<Garment>) -> Tried {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", ":"]).env_clear().current_dir("/");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let failed = SandboxError::setup("a process in it could not be started");
    let ended = start_in(command, &garment).and_then(|running| {
        let status = rustix::process::waitpid(Some(running.pid), WaitOptions::empty())?;
        Ok(status.and_then(|(_, status)| status.exit_status()))
    });
    match ended {
        Ok(Some(0)) => Ok(garment),
        Ok(status) => Err(failed(io::Error::other(format!("it ended with {status:?}")))),
        Err(error) => Err(failed(error)),
    }
}

/// The same while the caller goes on.
pub(super) fn try_beside(garment: &Arc<Garment>) -> io::Result<JoinHandle<Tried>> {
    let garment = Arc::clone(garment);
    thread::Builder::new().name("sandbox".to_owned()).spawn(|| try_on(garment))
}
