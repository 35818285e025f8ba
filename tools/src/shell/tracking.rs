//! The processes of a command, found in /proc by marks and descent: where no PID namespace holds them.
//!
//! The agent is a child subreaper, so whatever a command starts is below it, and what lost its parent is its own
//! child. Of those, a command's are known by its session or by its mark, a variable in their environment. What left the
//! session, lost its parent *and* cleared its environment is known by the sandbox's IPC namespace, which nothing in it
//! can leave; without a sandbox it is not found.
//!
//! It never waits for a process that it was not asked to end: other parts of the program have children too.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitOptions};

use super::names::names;
use crate::process_table::{Process, ProcessTable};
use crate::wait;

/// The variable that marks a command's processes.
pub(crate) const MARK: &str = "UWF_COMMAND";

const PAUSE: Duration = Duration::from_millis(10);
/// How long to try to kill: processes that fork while they are looked for take some rounds.
const KILLING: Duration = Duration::from_secs(2);

/// Asks that processes whose parent ends become children of this one. Holds for the whole program.
pub(crate) fn adopt_orphans() -> std::io::Result<()> {
    Ok(rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?)
}

/// The marks by which one command's processes are recognised.
#[derive(Clone, Debug)]
pub(crate) struct ProcessMarks {
    /// The shell: its pid is also the number of its session and of its group.
    shell: Pid,
    /// The value of [`MARK`] in the environment.
    mark: String,
    /// The IPC namespace that the processes of the run are in, if they are in one of their own.
    namespace: Option<String>,
    /// When the shell started, in clock ticks since boot.
    since: u64,
}

impl ProcessMarks {
    /// The marks of a command whose shell was just started.
    pub(crate) fn new(shell: Pid, mark: String, namespace: Option<String>) -> Self {
        let since = find(shell.as_raw_pid()).map_or(0, |shell| shell.start);
        Self { shell, mark, namespace, since }
    }

    /// Whether both are of the same command.
    pub(crate) fn is(&self, other: &ProcessMarks) -> bool {
        self.mark == other.mark
    }

    /// The processes that live, the shell among them, by pid. Adopted ones that have ended are reaped on the way.
    pub(crate) fn members(&self) -> Vec<Process> {
        let table = table();
        let own = rustix::process::getpid().as_raw_pid();
        let parents: HashMap<i32, i32> = table.iter().map(|process| (process.pid, process.parent)).collect();
        let children = table.iter().filter(|process| process.parent == own);
        let roots: HashSet<i32> =
            children.filter(|process| self.is_root(process)).map(|process| process.pid).collect();
        let (ended, members): (Vec<_>, Vec<_>) = table
            .into_iter()
            .filter(|process| descends(process.pid, &roots, &parents))
            .partition(|process| process.zombie);
        let shell = self.shell.as_raw_pid();
        for process in ended.iter().filter(|process| process.pid != shell) {
            is_reaped(process);
        }
        members
    }

    fn is_root(&self, process: &Process) -> bool {
        let shell = self.shell.as_raw_pid();
        process.pid == shell
            || (process.session == shell && process.pid != process.session)
            || marked(process.pid, &self.mark)
            || self.is_orphan(process)
    }

    /// Whether it has lost parent, session and mark: it is taken for this command's by the namespace of the run and by being
    /// younger than the shell.
    fn is_orphan(&self, process: &Process) -> bool {
        process.start >= self.since
            && self.namespace.as_deref().is_some_and(|namespace| is_in(process, namespace))
            && !marked(process.pid, "")
    }

    /// KILL to the group, then to whatever is left, until nothing is; what cannot be killed within 2 s is let be. Those
    /// that were `known` before may have lost their marks, and are reaped too.
    pub(crate) fn kill(&self, known: &[Process]) {
        let shell = self.shell.as_raw_pid();
        // All at once, as long as the group is surely the command's: without members its number may be another's.
        if self.members().iter().any(|process| process.session == shell) {
            let _ = rustix::process::kill_process_group(self.shell, Signal::KILL);
        }
        let mut left: HashSet<Process> = known.iter().copied().collect();
        wait::until(KILLING, PAUSE, || {
            left.extend(self.members());
            signal(&left.iter().copied().collect::<Vec<_>>(), Signal::KILL);
            left.retain(|process| process.pid != shell && !is_reaped(process));
            left.is_empty() && self.members().iter().all(|process| process.pid == shell)
        });
    }
}

/// TERM to all of several commands and to whatever else is in `namespace`, and KILL to what still lives after `grace`.
/// Gives their names.
pub(crate) fn end_all(commands: &[ProcessMarks], namespace: Option<&str>, grace: Duration) -> Vec<String> {
    let living = || {
        let members = commands.iter().flat_map(ProcessMarks::members);
        let mut living: Vec<Process> = members.chain(namespace.into_iter().flat_map(members_of)).collect();
        living.sort_by_key(|process| process.pid);
        living.dedup_by_key(|process| process.pid);
        living
    };
    let known = living();
    let names = names(&known, name);
    signal(&known, Signal::TERM);
    wait::until(grace, PAUSE, || living().is_empty());
    commands.iter().for_each(|marks| marks.kill(&known));
    if let Some(namespace) = namespace {
        kill_members_of(namespace);
    }
    names
}

/// The living processes of an IPC namespace.
fn members_of(namespace: &str) -> Vec<Process> {
    table().into_iter().filter(|process| !process.zombie && is_in(process, namespace)).collect()
}

/// KILL to all processes of an IPC namespace until there is none, for 2 s at most.
fn kill_members_of(namespace: &str) {
    let mut left = Vec::new();
    wait::until(KILLING, PAUSE, || {
        left.retain(|process| !is_reaped(process));
        left.extend(members_of(namespace));
        signal(&left, Signal::KILL);
        left.is_empty()
    });
}

/// How many threads there are on the machine; 0 where it does not say.
pub(crate) fn all_threads() -> u64 {
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    parse_threads(&load).unwrap_or_default()
}

/// `0.20 0.18 0.12 1/80 11206`: of 80 threads one runs.
fn parse_threads(load: &str) -> Option<u64> {
    load.split_ascii_whitespace().nth(3)?.split_once('/')?.1.parse().ok()
}

/// The machine's processes.
pub(crate) fn machine() -> Option<&'static ProcessTable> {
    static MACHINE: OnceLock<Option<ProcessTable>> = OnceLock::new();
    MACHINE.get_or_init(|| ProcessTable::open(Path::new("/proc")).ok()).as_ref()
}

fn table() -> Vec<Process> {
    machine().map(ProcessTable::processes).unwrap_or_default()
}

fn find(pid: i32) -> Option<Process> {
    machine()?.process(pid)
}

/// See [`ProcessTable::name`].
pub(crate) fn name(process: &Process) -> String {
    machine().map(|table| table.name(process)).unwrap_or_default()
}

fn signal(processes: &[Process], signal: Signal) {
    if let Some(table) = machine() {
        table.signal(processes, signal);
    }
}

/// Whether nothing of it is left. It is reaped here when this program is its (adopted) parent; else its parent does that.
fn is_reaped(process: &Process) -> bool {
    let Some(now) = find(process.pid).filter(|now| now.is(process)) else { return true };
    let own = rustix::process::getpid().as_raw_pid();
    match Pid::from_raw(process.pid).filter(|_| now.zombie && now.parent == own) {
        Some(pid) => !matches!(rustix::process::waitpid(Some(pid), WaitOptions::NOHANG), Ok(None)),
        None => false,
    }
}

/// Whether it is in this IPC namespace, named as /proc does.
fn is_in(process: &Process, namespace: &str) -> bool {
    machine().and_then(|table| table.link(process.pid, "ns/ipc")).is_some_and(|link| link == namespace)
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
    let environ = machine().and_then(|table| table.read(pid, "environ")).unwrap_or_default();
    let mut variables = environ.split(|byte| *byte == 0);
    variables.any(|variable| {
        if mark.is_empty() { variable.starts_with(wanted.as_bytes()) } else { variable == wanted.as_bytes() }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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
