//! The processes of a command, found in /proc: all of them, also those that left its session.
//!
//! The agent is a child subreaper, so whatever a command starts is below it, and what lost its parent is its own
//! child. Of those, a command's are known by its session or by its mark, a variable in their environment. What left the
//! session, lost its parent *and* cleared its environment is known by the sandbox's IPC namespace, which nothing in it
//! can leave; without a sandbox it is not found.
//!
//! It never waits for a process that it was not asked to end: other parts of the program have children too.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions};

use crate::sandbox::Sandbox;

/// The variable that marks a command's processes.
pub(crate) const MARK: &str = "UWF_COMMAND";

const NAME_CHARS: usize = 80;
const PAUSE: Duration = Duration::from_millis(10);
/// How long to try to kill: a process that forks while it is looked for needs some rounds.
const KILLING: Duration = Duration::from_secs(2);

/// One row of the process table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Process {
    pub(crate) pid: i32,
    parent: i32,
    session: i32,
    /// When it started; with the pid, its identity.
    start: u64,
    zombie: bool,
}

/// Asks that processes whose parent ends become children of this one. Holds for the whole program.
pub(crate) fn adopt_orphans() -> std::io::Result<()> {
    Ok(rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?)
}

/// What one command started.
#[derive(Clone, Debug)]
pub(crate) struct Family {
    /// The shell: its pid is also the number of its session and of its group.
    pub(crate) shell: Pid,
    /// The value of [`MARK`] in the environment.
    pub(crate) mark: String,
    /// How many processes it may be. The kernel holds others than root to that; root is held to it by being watched.
    most: u64,
    /// The IPC namespace that the processes of the run are in, if they are in one of their own.
    namespace: Option<String>,
    /// When the shell started.
    since: u64,
}

impl Family {
    /// Of a shell that was just started in `sandbox`.
    pub(crate) fn new(shell: Pid, mark: String, sandbox: &Sandbox) -> Self {
        let since = Process::read(shell.as_raw_pid()).map_or(0, |shell| shell.start);
        Self { shell, mark, most: sandbox.process_limit(), namespace: sandbox.ipc_namespace(), since }
    }

    /// Those that live, the shell among them, by pid. Those of the session that were adopted and have ended are
    /// collected on the way.
    pub(crate) fn members(&self) -> Vec<Process> {
        let table = table();
        let own = rustix::process::getpid().as_raw_pid();
        let parents: HashMap<i32, i32> = table.iter().map(|process| (process.pid, process.parent)).collect();
        let children = table.iter().filter(|process| process.parent == own);
        let roots: HashSet<i32> =
            children.filter(|process| self.is_root(process)).map(|process| process.pid).collect();
        let (ended, mut members): (Vec<_>, Vec<_>) = table
            .into_iter()
            .filter(|process| descends(process.pid, &roots, &parents))
            .partition(|process| process.zombie);
        let shell = self.shell.as_raw_pid();
        for process in ended.iter().filter(|process| process.pid != shell) {
            process.is_reaped();
        }
        members.sort_by_key(|process| process.pid);
        members
    }

    /// Whether there are more than there may be. To count them takes long, so it is done only where the whole machine
    /// has so many.
    pub(crate) fn is_swarm(&self) -> bool {
        all_threads() > self.most && self.members().len() as u64 > self.most
    }

    fn is_root(&self, process: &Process) -> bool {
        let shell = self.shell.as_raw_pid();
        process.pid == shell
            || (process.session == shell && process.pid != process.session)
            || marked(process.pid, &self.mark)
            || self.is_stray(process)
    }

    /// Nothing tells whose it is but that it is of this run and younger than the shell.
    fn is_stray(&self, process: &Process) -> bool {
        process.start >= self.since
            && self.namespace.as_deref().is_some_and(|namespace| process.is_in(namespace))
            && !marked(process.pid, "")
    }

    /// TERM to the shell's group. The shell must not have been waited for yet.
    pub(crate) fn terminate(&self) {
        // Nothing left to signal is fine.
        let _ = rustix::process::kill_process_group(self.shell, Signal::TERM);
    }

    /// KILL to the group, then to whatever is left, until nothing is; what cannot be killed within 2 s is let be. Those
    /// that were `known` before may have lost what they are recognised by, and are collected too.
    pub(crate) fn kill(&self, known: &[Process]) {
        let shell = self.shell.as_raw_pid();
        // All at once, as long as the group is surely the command's: without members its number may be another's.
        if self.members().iter().any(|process| process.session == shell) {
            let _ = rustix::process::kill_process_group(self.shell, Signal::KILL);
        }
        let until = Instant::now() + KILLING;
        let mut left: HashSet<Process> = known.iter().copied().collect();
        loop {
            left.extend(self.members());
            left.iter().for_each(|process| process.signal(Signal::KILL));
            left.retain(|process| process.pid != shell && !process.is_reaped());
            if (left.is_empty() && self.members().iter().all(|process| process.pid == shell))
                || Instant::now() >= until
            {
                return;
            }
            thread::sleep(PAUSE);
        }
    }
}

/// TERM to all of several families and to whatever else is in `namespace`, and KILL to what still lives after `grace`.
/// Gives back their names.
pub(crate) fn end_all(families: &[Family], namespace: Option<&str>, grace: Duration) -> Vec<String> {
    let living = || {
        let members = families.iter().flat_map(Family::members);
        let mut living: Vec<Process> = members.chain(namespace.into_iter().flat_map(inhabitants)).collect();
        living.sort_by_key(|process| process.pid);
        living.dedup_by_key(|process| process.pid);
        living
    };
    let known = living();
    let names = known.iter().map(|process| format!("{} {}", process.pid, process.name())).collect();
    known.iter().for_each(|process| process.signal(Signal::TERM));
    let until = Instant::now() + grace;
    while !living().is_empty() && Instant::now() < until {
        thread::sleep(PAUSE);
    }
    families.iter().for_each(|family| family.kill(&known));
    if let Some(namespace) = namespace {
        depopulate(namespace);
    }
    names
}

/// Those that live in an IPC namespace.
fn inhabitants(namespace: &str) -> Vec<Process> {
    table().into_iter().filter(|process| !process.zombie && process.is_in(namespace)).collect()
}

/// KILL to all in an IPC namespace until nobody is, for 2 s at most.
fn depopulate(namespace: &str) {
    let until = Instant::now() + KILLING;
    let mut left = inhabitants(namespace);
    while !left.is_empty() && Instant::now() < until {
        left.iter().for_each(|process| process.signal(Signal::KILL));
        thread::sleep(PAUSE);
        left.retain(|process| !process.is_reaped());
        left.extend(inhabitants(namespace));
    }
}

impl Process {
    /// The command line on one line, else the program's name.
    pub(crate) fn name(&self) -> String {
        let line = fs::read(format!("/proc/{}/cmdline", self.pid)).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        let line = if line.trim().is_empty() { self.program() } else { line };
        let line: String = line.trim().chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        match line.char_indices().nth(NAME_CHARS) {
            Some((at, _)) => format!("{}…", &line[..at]),
            None => line,
        }
    }

    fn program(&self) -> String {
        fs::read_to_string(format!("/proc/{}/comm", self.pid)).unwrap_or_default()
    }

    /// Signals this very process: a handle keeps its pid from being another's, and the start time tells that it is not
    /// another's already.
    fn signal(&self, signal: Signal) {
        let Some(pid) = Pid::from_raw(self.pid) else { return };
        let Ok(handle) = rustix::process::pidfd_open(pid, PidfdFlags::empty()) else { return };
        if Process::read(self.pid).is_some_and(|now| now.start == self.start) {
            // It may have ended in between.
            let _ = rustix::process::pidfd_send_signal(&handle, signal);
        }
    }

    /// Whether nothing of it is left. Its status is collected here when this program is its (adopted) parent; else its
    /// parent does that.
    fn is_reaped(&self) -> bool {
        let Some(now) = Process::read(self.pid).filter(|now| now.start == self.start) else { return true };
        let own = rustix::process::getpid().as_raw_pid();
        match Pid::from_raw(self.pid).filter(|_| now.zombie && now.parent == own) {
            Some(pid) => !matches!(rustix::process::waitpid(Some(pid), WaitOptions::NOHANG), Ok(None)),
            None => false,
        }
    }

    /// Whether it is in this IPC namespace, named as /proc does.
    fn is_in(&self, namespace: &str) -> bool {
        fs::read_link(format!("/proc/{}/ns/ipc", self.pid)).is_ok_and(|link| link.as_os_str() == namespace)
    }

    fn read(pid: i32) -> Option<Self> {
        let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
        Self::parse(pid, &String::from_utf8_lossy(&stat))
    }

    /// `pid (comm) state ppid pgrp session …`, the start time being field 22; comm may hold anything.
    fn parse(pid: i32, stat: &str) -> Option<Self> {
        let mut fields = stat.get(stat.rfind(')')? + 1..)?.split_ascii_whitespace();
        let state = fields.next()?;
        let parent = fields.next()?.parse().ok()?;
        let session = fields.nth(1)?.parse().ok()?;
        let start = fields.nth(15)?.parse().ok()?;
        Some(Self { pid, parent, session, start, zombie: matches!(state, "Z" | "X") })
    }
}

/// How many threads there are on the machine; 0 where it does not say.
fn all_threads() -> u64 {
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    parse_threads(&load).unwrap_or_default()
}

/// `0.20 0.18 0.12 1/80 11206`: of 80 threads one runs.
fn parse_threads(load: &str) -> Option<u64> {
    load.split_ascii_whitespace().nth(3)?.split_once('/')?.1.parse().ok()
}

fn table() -> Vec<Process> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| Process::read(entry.file_name().to_str()?.parse().ok()?)).collect()
}

/// Whether `pid` is one of `roots` or below one.
fn descends(mut pid: i32, roots: &HashSet<i32>, parents: &HashMap<i32, i32>) -> bool {
    // The table is no snapshot: a chain that seems to be a circle ends.
    for _ in 0..parents.len() {
        if roots.contains(&pid) {
            return true;
        }
        match parents.get(&pid) {
            Some(parent) => pid = *parent,
            None => return false,
        }
    }
    false
}

/// Whether its environment bears this mark, or any when that is empty.
fn marked(pid: i32, mark: &str) -> bool {
    let wanted = format!("{MARK}={mark}");
    let environ = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    let mut variables = environ.split(|byte| *byte == 0);
    variables.any(|variable| {
        if mark.is_empty() { variable.starts_with(wanted.as_bytes()) } else { variable == wanted.as_bytes() }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_read_whatever_the_program_is_called() {
        let stat = "12 (a) b (c) S 3 12 7 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 4321 9 9";
        let process = Process::parse(12, stat).unwrap();
        assert_eq!((process.parent, process.session, process.start, process.zombie), (3, 7, 4321, false));
        assert_eq!(Process::parse(12, "12 (a"), None);
    }

    #[test]
    fn the_number_of_threads_is_read() {
        assert_eq!(parse_threads("0.20 0.18 0.12 1/80 11206\n"), Some(80));
        assert_eq!(parse_threads("0.20"), None);
        assert!(all_threads() > 0);
    }

    #[test]
    fn descent_ends_in_a_circle() {
        let parents = HashMap::from([(1, 2), (2, 1), (3, 1)]);
        assert!(!descends(3, &HashSet::new(), &parents));
        assert!(descends(3, &HashSet::from([2]), &parents));
    }
}
