//! The table of processes, as a mounted /proc shows it: the machine's, or that of a namespace.
//!
//! A process is known by its number and the moment it started: numbers are given out again.

use std::collections::HashSet;
use std::ffi::CStr;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::process::Signal;
use uwf_store::excerpt;

use crate::open_flags::DIRECTORY;

/// How many characters of a command line are shown.
const NAME_CHARS: usize = 80;
/// How many bytes of a file are read: a process decides how long its command line is.
const MAX_BYTES: u64 = 1 << 20;

/// One row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Process {
    pub(crate) pid: i32,
    /// Its parent's pid.
    pub(crate) parent: i32,
    /// The pid of its session's leader.
    pub(crate) session: i32,
    /// When it started, in clock ticks since boot; with the pid, its identity.
    pub(crate) start: u64,
    /// It has ended, all its threads too, and its parent has not reaped it.
    pub(crate) zombie: bool,
    /// How many threads it has.
    pub(crate) threads: u64,
}

impl Process {
    /// Whether both are the same process, at whatever moment they were looked at.
    pub(crate) fn is(&self, other: &Process) -> bool {
        (self.pid, self.start) == (other.pid, other.start)
    }

    /// `pid (comm) state ppid pgrp session …`, field 20 being the number of threads and 22 the start time; comm may hold
    /// anything. A process whose first thread has ended shows as ended while its other threads go on.
    fn parse(pid: i32, stat: &str) -> Option<Self> {
        let mut fields = stat.get(stat.rfind(')')? + 1..)?.split_ascii_whitespace();
        let state = fields.next()?;
        let parent = fields.next()?.parse().ok()?;
        let session = fields.nth(1)?.parse().ok()?;
        let threads = fields.nth(13)?.parse().ok()?;
        let start = fields.nth(1)?.parse().ok()?;
        let zombie = matches!(state, "Z" | "X") && threads <= 1;
        Some(Self { pid, parent, session, start, zombie, threads })
    }
}

/// A mounted /proc.
#[derive(Debug)]
pub(crate) struct ProcessTable(OwnedFd);

impl ProcessTable {
    /// The one at this path.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self(rustix::fs::open(path, DIRECTORY, Mode::empty())?))
    }

    /// All processes, by pid; ended ones too.
    pub(crate) fn processes(&self) -> Vec<Process> {
        let entries = rustix::fs::Dir::read_from(&self.0).into_iter().flatten().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str().ok()?.parse().ok());
        let mut processes: Vec<Process> = pids.filter_map(|pid| self.process(pid)).collect();
        processes.sort_by_key(|process| process.pid);
        processes
    }

    /// The process with this pid, if there is one.
    pub(crate) fn process(&self, pid: i32) -> Option<Process> {
        Process::parse(pid, &String::from_utf8_lossy(&self.read(pid, "stat")?))
    }

    /// The command line on one line, else the program's name.
    pub(crate) fn name(&self, process: &Process) -> String {
        let line = self.read(process.pid, "cmdline").unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        let program = || self.read(process.pid, "comm").unwrap_or_default();
        let line =
            if line.trim().is_empty() { String::from_utf8_lossy(&program()).into_owned() } else { line };
        let line: String = line.trim().chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        excerpt(&line, NAME_CHARS).into_owned()
    }

    /// Signals these very processes: by a handle of their directory, which is not given to another, and the start time tells
    /// that it was not before. They may be in a namespace of their own, whose table this is.
    pub(crate) fn signal(&self, processes: &[Process], signal: Signal) {
        for process in processes {
            let handle = rustix::fs::openat(&self.0, process.pid.to_string(), DIRECTORY, Mode::empty());
            let Ok(handle) = handle else { continue };
            if self.process(process.pid).is_some_and(|now| now.is(process)) {
                // It may have ended in between.
                let _ = rustix::process::pidfd_send_signal(&handle, signal);
            }
        }
    }

    /// A file of a process; nothing when it, or the process, is not there any more.
    pub(crate) fn read(&self, pid: i32, name: &str) -> Option<Vec<u8>> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&self.0, format!("{pid}/{name}"), flags, Mode::empty()).ok()?;
        let mut content = Vec::new();
        File::from(file).take(MAX_BYTES).read_to_end(&mut content).ok()?;
        Some(content)
    }

    /// The number under which /proc tells the memory of a process: its pid, or, where its first thread has ended, that of
    /// another thread.
    pub(crate) fn memory_pid(&self, process: &Process) -> i32 {
        let has_memory = |pid: i32| self.link(pid, "exe").is_some();
        if process.threads <= 1 || has_memory(process.pid) {
            return process.pid;
        }
        let tasks = rustix::fs::openat(&self.0, format!("{}/task", process.pid), DIRECTORY, Mode::empty());
        let tasks = tasks.and_then(rustix::fs::Dir::new).into_iter().flatten().flatten();
        let mut threads = tasks.filter_map(|entry| entry.file_name().to_str().ok()?.parse().ok());
        threads.find(|thread| has_memory(*thread)).unwrap_or(process.pid)
    }

    /// How many bytes the files without a name in memory have (memfd) that these processes hold open, each once.
    pub(crate) fn memory_files(&self, processes: &[Process]) -> u64 {
        let mut known = HashSet::new();
        processes
            .iter()
            .flat_map(|process| self.open_memory_files(process.pid))
            .filter(|(id, _)| known.insert(*id))
            .map(|(_, bytes)| bytes)
            .sum()
    }

    /// Each with its device and inode. The links are asked first: a file of any other kind may be on a server that does
    /// not answer.
    fn open_memory_files(&self, pid: i32) -> Vec<((u64, u64), u64)> {
        let Ok(dir) = rustix::fs::openat(&self.0, format!("{pid}/fd"), DIRECTORY, Mode::empty()) else {
            return Vec::new();
        };
        let size = |name: &CStr| {
            let target = rustix::fs::readlinkat(&dir, name, Vec::new()).ok()?;
            let of = target.as_bytes().starts_with(b"/memfd:").then_some(&dir)?;
            let stat = rustix::fs::statat(of, name, AtFlags::empty()).ok()?;
            Some(((stat.st_dev, stat.st_ino), stat.st_blocks.unsigned_abs() * 512))
        };
        let entries = rustix::fs::Dir::read_from(&dir).into_iter().flatten().flatten();
        entries.filter_map(|entry| size(entry.file_name())).collect()
    }

    /// What a symbolic link of a process says.
    pub(crate) fn link(&self, pid: i32, name: &str) -> Option<String> {
        let target = rustix::fs::readlinkat(&self.0, format!("{pid}/{name}"), Vec::new()).ok()?;
        target.into_string().ok()
    }
}

/// A line of what /proc tells of memory, as `RssAnon:     1024 kB`, in bytes.
pub(crate) fn kilobytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_ascii_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_read_whatever_the_program_is_called() {
        let stat = |state: &str, threads: u32| {
            format!("12 (a) b (c) {state} 3 12 7 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 {threads} 0 4321 9 9")
        };
        let process = Process::parse(12, &stat("S", 1)).unwrap();
        assert_eq!((process.parent, process.session, process.start, process.zombie), (3, 7, 4321, false));
        assert!(Process::parse(12, &stat("Z", 1)).unwrap().zombie);
        let headless = Process::parse(12, &stat("Z", 2)).unwrap();
        assert!(!headless.zombie && headless.threads == 2, "its first thread has ended, another runs");
        assert_eq!(Process::parse(12, "12 (a"), None);
    }
}
