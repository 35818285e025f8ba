//! Processes that a run talks to: they live as long as it does, confined as commands are, and count as what commands left
//! running.
//!
//! Apart from the commands because nobody waits for their end, and because they have an input. What is said on their pipes
//! is the caller's business.

use std::ffi::OsString;
use std::fmt;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::process::{ChildStderr, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions};

use super::{Shell, ShellError};
use crate::cancel::Cancel;
use crate::wait;

/// How long it has to see that its input has ended.
const INPUT: Duration = Duration::from_millis(500);

/// What is started.
#[derive(Clone, Debug, Default)]
pub struct ServerCommand {
    /// The program: a path, or a name that is looked for in the PATH of commands.
    pub program: OsString,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// What it sees beside the environment of commands, secrets among it.
    pub env: Vec<(OsString, OsString)>,
}

/// Why a server does not run.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct NotStarted(String);

impl NotStarted {
    /// The run is to end.
    pub(crate) fn cancelled() -> NotStarted {
        NotStarted("the run is to end".to_owned())
    }

    /// In the words of a server; those of the shell are about commands.
    pub(crate) fn of(server: &ServerCommand, error: ShellError) -> NotStarted {
        NotStarted(match error {
            ShellError::Refused { why, hint } => format!("it may not run: {why}; {hint}"),
            ShellError::Ended => {
                "it may not run: all processes of this run had to be ended at once".to_owned()
            }
            ShellError::Io { source, .. } => {
                format!("{} cannot be started: {source}", server.program.display())
            }
        })
    }
}

/// One that was started. It is ended when this is dropped.
pub struct ServerProcess {
    pid: Pid,
    handle: OwnedFd,
    /// How long it has to end by itself after TERM.
    grace: Duration,
    has_ended: bool,
    /// Its input.
    pub stdin: Option<ChildStdin>,
    /// Its output.
    pub stdout: Option<ChildStdout>,
    /// Where it complains.
    pub stderr: Option<ChildStderr>,
}

impl Shell {
    /// Starts a server in `cwd`.
    ///
    /// # Errors
    /// It does not run.
    pub(crate) fn start_server(
        &self,
        server: &ServerCommand,
        cwd: &Path,
        cancel: &Cancel,
    ) -> Result<ServerProcess, ShellError> {
        let mut command = Command::new(&server.program);
        command.args(&server.args).current_dir(cwd).env_clear().envs(self.env.iter().cloned());
        command.envs(server.env.iter().cloned()).stdin(Stdio::piped());
        let (running, tree) = self.launch(command, cancel)?;
        let handle = rustix::process::pidfd_open(running.pid, PidfdFlags::empty());
        let handle = handle.inspect_err(|_| {
            kill(running.pid);
            reap(running.pid);
        });
        // From here on it is what a command left running: watched, and no part of the next command.
        self.command_ended(&tree, true);
        let (pid, stdin, stdout, stderr) = (running.pid, running.stdin, running.stdout, running.stderr);
        let handle = handle.map_err(|error| ShellError::io("it could not be watched")(error.into()))?;
        Ok(ServerProcess { pid, handle, grace: self.grace, has_ended: false, stdin, stdout, stderr })
    }
}

impl ServerProcess {
    /// Whether it has ended by itself.
    pub fn is_over(&self) -> bool {
        self.ends_within(Duration::ZERO)
    }

    /// Ends it: by the end of its input, by TERM, by KILL; in a `hurry` by the last alone. What else holds its input is to
    /// be gone.
    pub fn end(mut self, hurry: bool) {
        self.stop(if hurry { Duration::ZERO } else { self.grace });
    }

    fn stop(&mut self, grace: Duration) {
        if std::mem::replace(&mut self.has_ended, true) {
            return;
        }
        drop(self.stdin.take());
        if !self.ends_within(grace.min(INPUT)) {
            // Until it is waited for, no other group can have its number.
            let _ = rustix::process::kill_process_group(self.pid, Signal::TERM);
            self.ends_within(grace);
        }
        kill(self.pid);
        reap(self.pid);
    }

    fn ends_within(&self, time: Duration) -> bool {
        wait::for_any([Some(self.handle.as_fd())], time).is_ok_and(|[ended]| ended)
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        self.stop(self.grace);
    }
}

impl fmt::Debug for ServerProcess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerProcess").field("pid", &self.pid).finish_non_exhaustive()
    }
}

/// KILL to the group: what is left of it.
fn kill(server: Pid) {
    let _ = rustix::process::kill_process_group(server, Signal::KILL);
}

fn reap(server: Pid) {
    while matches!(rustix::process::waitpid(Some(server), WaitOptions::empty()), Err(Errno::INTR)) {}
}

#[cfg(test)]
#[path = "server_tests.rs"]
mod tests;
