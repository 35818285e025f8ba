//! Where `--events` goes: a file, opened before the sandbox closes, or stderr.
//!
//! Apart because a run must survive it: what cannot be written is told once, and then no more is written.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::shell::{CliError, Ui};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::OFlags;
use uwf_store::Clock;

use uwf_agent::events::Events;
use uwf_agent::react::Notice;

/// The lines of one run, on their way.
pub(crate) struct EventLog {
    events: Events,
    to: Option<To>,
    clock: Clock,
}

enum To {
    Stderr,
    File(File, PathBuf),
}

impl EventLog {
    /// Opens what was typed, `-` for stderr; lines are added at the end of a file.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub(crate) fn open(named: Option<&Path>, cwd: &Path, clock: Clock) -> Result<EventLog, CliError> {
        let to = match named {
            None => None,
            Some(path) if path.as_os_str() == "-" => Some(To::Stderr),
            Some(path) => {
                let path = cwd.join(path);
                let file = File::options().append(true).create(true).open(&path).and_then(never_waiting);
                let failed =
                    |error| CliError::said(format!("cannot write events to {}", path.display()), error);
                Some(To::File(file.map_err(failed)?, path.clone()))
            }
        };
        Ok(EventLog { events: Events::default(), to, clock })
    }

    /// Whether stderr is taken by the lines.
    pub(super) fn is_stderr(&self) -> bool {
        matches!(self.to, Some(To::Stderr))
    }

    /// One event: one write, so that lines of runs that share a file do not mix.
    pub(super) fn tell(&mut self, event: &Notice<'_>, ui: &mut Ui<'_>) {
        let Some(to) = &mut self.to else { return };
        let Some(line) = self.events.lines(event, (self.clock)()) else { return };
        let written = match to {
            To::Stderr => ui.err.write_all(line.as_bytes()).and_then(|()| ui.err.flush()),
            To::File(file, _) => write_patiently(file, line.as_bytes()),
        };
        if let Err(error) = written {
            self.give_up(&error, ui);
        }
    }

    fn give_up(&mut self, error: &io::Error, ui: &mut Ui<'_>) {
        if let Some(To::File(_, path)) = self.to.take() {
            ui.warn(&format!("no more events are written to {}: {error}", path.display()));
        }
    }
}

/// A pipe whose reader stops reading must not stop the run; a file makes nobody wait.
fn never_waiting(file: File) -> io::Result<File> {
    let flags = rustix::fs::fcntl_getfl(&file)?;
    rustix::fs::fcntl_setfl(&file, flags | OFlags::NONBLOCK)?;
    Ok(file)
}

/// How long a full pipe is waited for.
const PATIENCE: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };

/// Writes it all, or fails when the reader takes nothing for a second.
fn write_patiently(file: &mut File, mut rest: &[u8]) -> io::Result<()> {
    while !rest.is_empty() {
        match file.write(rest) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => rest = &rest[count..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                let mut wait = [PollFd::new(file, PollFlags::OUT)];
                if rustix::event::poll(&mut wait, Some(&PATIENCE))? == 0 {
                    return Err(io::Error::new(io::ErrorKind::TimedOut, "its reader has stopped reading"));
                }
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
