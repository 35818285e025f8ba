//! The processes of one command: which still live, and their end. By what holds them in the kernel where there is something,
//! else by looking for them ([`super::tracking`]).

use std::collections::HashSet;
use std::time::Duration;

use rustix::process::{Pid, Signal};

use super::disk::DiskBudget;
use super::memory::MemoryBudget;
use super::names::{NAMED, names};
use super::tracking::{self, ProcessMarks};
use crate::process_table::{Process, ProcessTable};
use crate::sandbox::Holder;
use crate::wait;

const PAUSE: Duration = Duration::from_millis(10);
/// How long processes of a command may take to end, one after the other, where others of the run are to live on.
const PICKING: Duration = Duration::from_millis(100);

/// The processes that one command started.
#[derive(Clone, Debug)]
pub(crate) struct ProcessTree {
    /// The shell: its pid is also the number of its group.
    pub(crate) shell: Pid,
    /// How many processes and threads it may be. The kernel holds others than root to that; root is held to it by being
    /// watched.
    pub(crate) most: u64,
    /// How much memory they may hold together, where the kernel does not limit it.
    pub(crate) memory: Option<MemoryBudget>,
    /// How much disk space the run may use up.
    pub(crate) disk: DiskBudget,
    pub(crate) tracking: Tracking,
}

/// How its processes are tracked.
#[derive(Clone, Debug)]
pub(crate) enum Tracking {
    /// The kernel holds them together: all processes of `holder` but those of `before`, which earlier commands left.
    /// `shell` is the shell's pid there.
    Contained { holder: Holder, shell: i32, before: Vec<Process> },
    /// The kernel does not: by marks and descent.
    Marked(ProcessMarks),
}

impl ProcessTree {
    /// The processes that live, the shell among them, by pid.
    pub(crate) fn members(&self) -> Vec<Process> {
        match &self.tracking {
            Tracking::Contained { holder, before, .. } => others(holder.living(), before),
            Tracking::Marked(marks) => marks.members(),
        }
    }

    /// The processes that count against the limit: one that has ended does until it is reaped.
    pub(crate) fn counted(&self) -> Vec<Process> {
        match &self.tracking {
            Tracking::Contained { holder, before, .. } => others(holder.all(), before),
            Tracking::Marked(marks) => marks.members(),
        }
    }

    /// The processes beside the shell, and the names of the first [`NAMED`].
    pub(crate) fn beside(&self) -> (Vec<Process>, Vec<String>) {
        let shell = match &self.tracking {
            Tracking::Contained { shell, .. } => *shell,
            Tracking::Marked(_) => self.shell.as_raw_pid(),
        };
        let name = |process: &Process| match &self.tracking {
            Tracking::Contained { holder, .. } => holder.name(process),
            Tracking::Marked(_) => tracking::name(process),
        };
        let beside: Vec<_> = self.members().into_iter().filter(|process| process.pid != shell).collect();
        let names = beside.iter().take(NAMED).map(name).collect();
        (beside, names)
    }

    /// Whether it is certain, without counting, that there are not more processes and threads than there may be. To look for
    /// them takes long, so it is done only where the whole machine has so many.
    pub(crate) fn is_small(&self) -> bool {
        match &self.tracking {
            Tracking::Contained { .. } => false,
            Tracking::Marked(_) => tracking::all_threads() <= self.most,
        }
    }

    /// The table to read about them in; nothing where there is no /proc.
    pub(crate) fn table(&self) -> Option<&ProcessTable> {
        match &self.tracking {
            Tracking::Contained { holder, .. } => Some(holder.table()),
            Tracking::Marked(_) => tracking::machine(),
        }
    }

    /// TERM to the shell's group. The shell must not have been waited for yet.
    pub(crate) fn terminate(&self) {
        // Nothing left to signal is fine.
        let _ = rustix::process::kill_process_group(self.shell, Signal::TERM);
    }

    /// Kills all processes; those that were `known` before may have lost their marks.
    pub(crate) fn kill(&self, known: &[Process]) {
        match &self.tracking {
            Tracking::Marked(marks) => marks.kill(known),
            Tracking::Contained { holder, before, .. } if before.is_empty() => holder.kill_all(),
            Tracking::Contained { holder, before, .. } => end_others(holder, before),
        }
    }
}

/// TERM to all that are held, KILL to what still lives after `grace`; gives back their names.
pub(crate) fn end_contained(holder: &Holder, grace: Duration) -> Vec<String> {
    let living = holder.living();
    if living.is_empty() {
        return Vec::new();
    }
    let names = names(&living, |process| holder.name(process));
    holder.terminate_all();
    wait::until(grace, PAUSE, || holder.living().is_empty());
    holder.kill_all();
    names
}

/// Kills all that are held but those of `before` and what these started.
fn end_others(holder: &Holder, before: &[Process]) {
    end_those(holder, |living| others(living, before));
}

/// Kills those held processes that [`left`] gives.
pub(crate) fn end_left(holder: &Holder, before: Option<&[Process]>) {
    end_those(holder, |living| left(living, before));
}

/// Kills those of the living processes that `pick` gives. If they fork faster than they are killed, all are.
fn end_those(holder: &Holder, pick: impl Fn(Vec<Process>) -> Vec<Process>) {
    let have_ended = || {
        let left = pick(holder.living());
        holder.kill(&left);
        left.is_empty()
    };
    if !wait::until(PICKING, Duration::ZERO, have_ended) {
        holder.kill_all();
    }
}

/// Those of `living`, by pid, that are neither in `before` nor started by one of these.
fn others(mut living: Vec<Process>, before: &[Process]) -> Vec<Process> {
    let left = with_descendants(&living, before);
    living.retain(|process| !left.contains(&process.pid));
    living
}

/// Those of `living` that no running command started: it began when those of `before` were there. All where none runs.
pub(crate) fn left(mut living: Vec<Process>, before: Option<&[Process]>) -> Vec<Process> {
    if let Some(before) = before {
        let left = with_descendants(&living, before);
        living.retain(|process| left.contains(&process.pid));
    }
    living
}

/// The numbers of those that are `known` and live, and of what they started: it lives below them, or has lost its parent and
/// is in their session, as each command has one of its own.
fn with_descendants(living: &[Process], known: &[Process]) -> HashSet<i32> {
    let is_member = |process: &Process| process.session > 0 && process.session != process.pid;
    let is_known = |process: &&Process| {
        known.iter().any(|one| one.is(process) || is_member(process) && one.session == process.session)
    };
    let mut found: HashSet<i32> = living.iter().filter(is_known).map(|process| process.pid).collect();
    loop {
        let below = |process: &&Process| found.contains(&process.parent) && !found.contains(&process.pid);
        let more: Vec<i32> = living.iter().filter(below).map(|process| process.pid).collect();
        if more.is_empty() {
            return found;
        }
        found.extend(more);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(pid: i32, parent: i32) -> Process {
        Process { pid, parent, session: pid, start: 1, zombie: false, threads: 1 }
    }

    #[test]
    fn what_earlier_commands_left_and_what_that_started_is_not_the_command_s() {
        let living = || vec![process(2, 1), process(3, 2), process(4, 3), process(5, 1), process(6, 5)];
        let pids =
            |before: &[Process]| others(living(), before).iter().map(|one| one.pid).collect::<Vec<_>>();
        assert_eq!(pids(&[]), [2, 3, 4, 5, 6]);
        assert_eq!(pids(&[process(2, 1)]), [5, 6]);
        let left =
            |before: Option<&[Process]>| left(living(), before).iter().map(|one| one.pid).collect::<Vec<_>>();
        assert_eq!(left(Some(&[process(2, 1)])), [2, 3, 4]);
        assert_eq!((left(None).len(), left(Some(&[])).len()), (5, 0));
        // It has lost its parent, and is in the session of one that was there.
        let orphan = Process { session: 2, ..process(7, 1) };
        let found = with_descendants(&[process(5, 1), orphan], &[process(2, 1)]);
        assert_eq!(found, HashSet::from([7]));
        // Its number was given out again.
        assert_eq!(pids(&[Process { start: 9, ..process(2, 1) }]), [2, 3, 4, 5, 6]);
    }
    #[test]
    fn few_are_named_and_the_rest_is_counted() {
        let many: Vec<_> = (1..=14).map(|pid| process(pid, 0)).collect();
        let named = names(&many, |process| format!("sleep {}", process.pid));
        assert_eq!((named.len(), &named[0][..], &named[10][..]), (11, "1 sleep 1", "and 4 more"));
        assert_eq!(names(&many[..10], |_| String::new()).len(), 10);
    }
}
