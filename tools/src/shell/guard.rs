//! What ends the commands when the agent itself is killed, where they have no PID namespace that ends with it.
//!
//! A small process of its own session, outside of the commands' sandbox, holds the read end of a pipe whose write end the
//! agent alone holds. When the agent ends, in whatever way, the pipe closes, and the guard kills the group that was
//! running, every process that carries the run's mark or is in its namespace. An orderly end writes `done` first.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write};
use std::process::{Child, ChildStdin, Command, Stdio};

use crate::sandbox;
use crate::shell::tracking::MARK;

/// `$1` is what the marks begin with, `$2` the namespace if there is one; what is written to stdout ends a control group.
/// Each line read is the group that runs now, 0 for none.
const SCRIPT: &str = include_str!("guard.sh");

/// The running guard.
pub(crate) struct Guard {
    child: Child,
    pipe: ChildStdin,
}

impl Guard {
    /// Starts the guard over processes whose mark begins with `mark` or whose IPC namespace is `namespace` (none when it
    /// is empty), and all in a control group, by `kill`, its file for that, opened before the agent was closed in. Its
    /// programs are those of `path`, which commands must not change.
    pub(crate) fn start(
        mark: &str,
        (namespace, kill): (&str, Option<File>),
        path: &OsStr,
    ) -> io::Result<Self> {
        let mut command = Command::new("/bin/sh");
        command.arg("-c").arg(SCRIPT).arg("guard").arg(format!("{MARK}={mark}/")).arg(namespace);
        command.env_clear().env("PATH", path).current_dir("/");
        command
            .stdin(Stdio::piped())
            .stdout(kill.map_or_else(Stdio::null, Stdio::from))
            .stderr(Stdio::null());
        let mut child = sandbox::own_session(&mut command).spawn()?;
        let pipe = child.stdin.take().ok_or_else(|| io::Error::other("the guard has no pipe"))?;
        Ok(Self { child, pipe })
    }

    /// Tells which group runs now.
    pub(crate) fn running(&mut self, group: i32) {
        // A guard that was killed protects no more, but that is no reason not to run commands.
        let _ = writeln!(self.pipe, "{group}");
    }

    /// The run ends in order: there is nothing to guard.
    pub(crate) fn dismiss(self) {
        let Self { mut child, mut pipe } = self;
        let _ = writeln!(pipe, "done");
        drop(pipe);
        let _ = child.wait();
    }
}
