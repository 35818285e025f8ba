//! One program that is not a command of a model's, run in the sandbox to its end: its output goes where that of this process goes.

use std::io;
use std::os::fd::AsFd;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::{PidfdFlags, Signal, WaitOptions};

use super::{Sandbox, SandboxError, StartError};
use crate::cancel::Cancel;
use crate::git_guard::GitGuard;
use crate::wait;

/// A signal may arrive just before we sleep: how long it can go unnoticed.
const TICK: Duration = Duration::from_millis(100);

/// From the first polite signal to the kill.
const GRACE: Duration = Duration::from_millis(700);

/// Why a program did not run.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The sandbox cannot be had.
    #[error(transparent)]
    Refused(#[from] SandboxError),
    /// The program could not be started, or not be waited for.
    #[error("the program could not be run in the sandbox")]
    Io(#[from] io::Error),
}

/// A program that has run to its end.
#[derive(Clone, Debug, Default)]
pub struct FinishedProgram {
    /// Its exit code, as a shell tells it.
    pub code: i32,
    /// What it changed of git's hooks and configuration: as [`crate::Closed::undone`].
    pub undone: Vec<String>,
    /// As [`crate::Closed::standing`].
    pub standing: Vec<String>,
}

impl Sandbox {
    /// Runs `program` with these arguments in the workspace, to its end; what it starts and leaves ends with it. Its standard input is
    /// the file `input`, which it must be able to read; a sandbox has no other. `stop` tells the signal that is to be passed on. What
    /// it does to git is taken back as what commands do.
    ///
    /// # Errors
    /// See [`RunError`].
    pub fn run(
        &self,
        (program, args): (&str, &[String]),
        input: &Path,
        env: impl IntoIterator<Item = (std::ffi::OsString, std::ffi::OsString)>,
        stop: &dyn Fn() -> Option<i32>,
    ) -> Result<FinishedProgram, RunError> {
        let mut command = Command::new("/bin/sh");
        command
            .args(["-c", "input=$1; shift; exec \"$@\" < \"$input\"", "sh"])
            .arg(input)
            .arg(program)
            .args(args);
        command.env_clear().envs(env).env("TMPDIR", self.policy.temporary());
        command.current_dir(&self.policy.workspace);
        let root = self.policy.workspace.canonicalize()?;
        let git = GitGuard::new(&root, self.policy.git_programs, self.git_copies());
        let cancel = Cancel::default();
        git.begin(&cancel);
        let code = self.run_to_end(command, stop)?;
        if stop().is_some() {
            cancel.cancel();
        }
        let report = git.end(&cancel);
        Ok(FinishedProgram { code, standing: report.standing(), undone: report.lines() })
    }

    fn run_to_end(&self, command: Command, stop: &dyn Fn() -> Option<i32>) -> Result<i32, RunError> {
        let running = self.start(command, &Cancel::default()).map_err(|error| match error {
            StartError::Refused(refusal) => RunError::Io(io::Error::other(refusal.to_string())),
            StartError::Ended => RunError::Io(io::Error::other("its namespaces have ended")),
            StartError::Io(error) => RunError::Io(error),
        })?;
        let handle =
            rustix::process::pidfd_open(running.pid, PidfdFlags::empty()).map_err(io::Error::from)?;
        let mut killed_at = None;
        loop {
            let [ended] = wait::for_any([Some(handle.as_fd())], TICK)?;
            if ended {
                break;
            }
            match (stop(), killed_at) {
                (Some(signal), None) => {
                    let signal = Signal::from_named_raw(signal).unwrap_or(Signal::TERM);
                    let _ = rustix::process::kill_process_group(running.pid, signal);
                    killed_at = Some(Instant::now() + GRACE);
                }
                (_, Some(at)) if Instant::now() >= at => {
                    let _ = rustix::process::kill_process_group(running.pid, Signal::KILL);
                }
                _ => {}
            }
        }
        let status =
            rustix::process::waitpid(Some(running.pid), WaitOptions::empty()).map_err(io::Error::from)?;
        if let Some(holder) = self.holder() {
            holder.kill_all();
        }
        let code = |status: rustix::process::WaitStatus| {
            status.exit_status().or_else(|| status.terminating_signal().map(|signal| 128 + signal))
        };
        Ok(status.and_then(|(_, status)| code(status)).unwrap_or(1))
    }
}
