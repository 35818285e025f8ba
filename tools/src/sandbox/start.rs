//! Starting a process, confined by a [`ChildSetup`] or not.

use std::io;
use std::process::{ChildStderr, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use rustix::pipe::PipeFlags;
use rustix::process::{Pid, WaitOptions};

use super::child::{self, ChildSetup, ForkedPids, own_session};
use super::namespace::Namespaces;
use super::report::SandboxError;
use crate::cancel::Cancel;

/// A setup, or why there is none or no process could apply it.
pub(super) type SetupResult = Result<Arc<ChildSetup>, SandboxError>;

/// A command that was started.
pub(crate) struct RunningCommand {
    pub(crate) pid: Pid,
    /// Its pid in the PID namespace, if it is in one.
    pub(crate) inside: Option<i32>,
    /// Where it was asked for.
    pub(crate) stdin: Option<ChildStdin>,
    pub(crate) stdout: Option<ChildStdout>,
    pub(crate) stderr: Option<ChildStderr>,
}

/// Why a command was not started.
pub(crate) enum StartError<'a> {
    Refused(&'a SandboxError),
    /// The namespaces of the run have ended, and with them all its commands.
    Ended,
    Io(io::Error),
}

/// Starts a command that applies `setup`. Where that has a PID namespace, the command is a fork of the child that was
/// spawned, and the child is waited for here.
pub(super) fn start_in(mut command: Command, setup: &Arc<ChildSetup>) -> io::Result<RunningCommand> {
    let (reports, report) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
    let started = child::confine(&mut command, Arc::clone(setup), report).spawn();
    // Its end of the pipe goes with it.
    drop(command);
    let forked = ForkedPids::read(reports);
    let beside = Pid::from_raw(forked.outside).filter(|_| forked.outside > 0);
    match (started, beside) {
        (Ok(mut child), Some(pid)) => {
            // To wait closes what is still there of it.
            let stdin = child.stdin.take();
            child.wait()?;
            Ok(RunningCommand {
                pid,
                inside: Some(forked.inside),
                stdin,
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

/// [`start_in`] the namespaces of a run, where processes that earlier commands left may stop the start.
pub(super) fn start_among<'a>(
    command: Command,
    setup: &Arc<ChildSetup>,
    (namespaces, cancel): (&Namespaces, &Cancel),
) -> Result<RunningCommand, StartError<'a>> {
    let started = namespaces.within_time(cancel, || start_in(command, setup));
    if !namespaces.have_ended() {
        return started.map_err(StartError::Io);
    }
    // It ended as well, whether it had begun or not.
    let _ = started.map(|running| rustix::process::waitpid(Some(running.pid), WaitOptions::empty()));
    Err(StartError::Ended)
}

/// Starts a command without a sandbox, in a session of its own.
pub(super) fn start_bare(mut command: Command) -> io::Result<RunningCommand> {
    running(own_session(&mut command).spawn()?)
}

fn running(mut child: std::process::Child) -> io::Result<RunningCommand> {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let pid = pid.ok_or_else(|| io::Error::other("the process has no usable pid"))?;
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    Ok(RunningCommand { pid, inside: None, stdin, stdout, stderr })
}

/// Whether a process that applies `setup` can be started: a shell that does nothing.
pub(super) fn probe(setup: Arc<ChildSetup>) -> SetupResult {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", ":"]).env_clear().current_dir("/");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let failed = SandboxError::setup("a process in it could not be started");
    let ended = start_in(command, &setup).and_then(|running| {
        let status = rustix::process::waitpid(Some(running.pid), WaitOptions::empty())?;
        Ok(status.and_then(|(_, status)| status.exit_status()))
    });
    match ended {
        Ok(Some(0)) => Ok(setup),
        Ok(status) => Err(failed(io::Error::other(format!("it ended with {status:?}")))),
        Err(error) => Err(failed(error)),
    }
}

/// [`probe`] in a thread, while the caller goes on.
pub(super) fn probe_in_thread(setup: &Arc<ChildSetup>) -> io::Result<JoinHandle<SetupResult>> {
    let setup = Arc::clone(setup);
    thread::Builder::new().name("sandbox".to_owned()).spawn(|| probe(setup))
}
