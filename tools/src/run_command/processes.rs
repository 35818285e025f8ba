//! The processes of one command: who still lives, and their end. By what holds them in the kernel where there is something,
//! else by looking for them.

use std::collections::HashSet;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal};

use super::disk::Disk;
use super::hunt::{self, Trail};
use super::memory::Memory;
use crate::process_table::{Process, ProcessTable};
use crate::sandbox::Holder;

const PAUSE: Duration = Duration::from_millis(10);
/// Processes that are called by their names; more are counted. To read the names of a swarm takes long.
pub(crate) const NAMED: usize = 10;
/// How long processes of a command may take to end, one after the other, where others of the run are to live on.
const PICKING: Duration = Duration::from_millis(100);

/// What one command started.
#[derive(Clone, Debug)]
pub(crate) struct Family {
    /// The shell: its pid is also the number of its group.
    pub(crate) shell: Pid,
    /// How many processes and threads it may be. The kernel holds others than root to that; root is held to it by being
    /// watched.
    pub(crate) most: u64,
    /// What they may hold together, where the kernel does not see to it.
    pub(crate) memory: Option<Memory>,
    pub(crate) disk: Disk,
    pub(crate) found: Found,
}

/// How its processes are found.
#[derive(Clone, Debug)]
pub(crate) enum Found {
    /// They are held, the shell under this number: all but those that earlier commands left.
    Held { holder: Holder, shell: i32, before: Vec<Process> },
    /// By what they have in common.
    Hunted(Trail),
}

impl Family {
    /// Those that live, the shell among them, by pid.
    pub(crate) fn members(&self) -> Vec<Process> {
        match &self.found {
            Found::Held { holder, before, .. } => others(holder.living(), before),
            Found::Hunted(trail) => trail.members(),
        }
    }

    /// Those that count: a process that has ended does until somebody asks for its status.
    pub(crate) fn counted(&self) -> Vec<Process> {
        match &self.found {
            Found::Held { holder, before, .. } => others(holder.all(), before),
            Found::Hunted(trail) => trail.members(),
        }
    }

    /// Those beside the shell, and what the first [`NAMED`] are called.
    pub(crate) fn beside(&self) -> (Vec<Process>, Vec<String>) {
        let shell = match &self.found {
            Found::Held { shell, .. } => *shell,
            Found::Hunted(_) => self.shell.as_raw_pid(),
        };
        let name = |process: &Process| match &self.found {
            Found::Held { holder, .. } => holder.name(process),
            Found::Hunted(_) => hunt::name(process),
        };
        let beside: Vec<_> = self.members().into_iter().filter(|process| process.pid != shell).collect();
        let names = beside.iter().take(NAMED).map(name).collect();
        (beside, names)
    }

    /// Whether it is certain, without counting, that there are not more processes and threads than there may be. To look for
    /// them takes long, so it is done only where the whole machine has so many.
    pub(crate) fn is_small(&self) -> bool {
        match &self.found {
            Found::Held { .. } => false,
            Found::Hunted(_) => hunt::all_threads() <= self.most,
        }
    }

    /// Where to read about them; nothing where there is no /proc.
    pub(crate) fn table(&self) -> Option<&ProcessTable> {
        match &self.found {
            Found::Held { holder, .. } => Some(holder.table()),
            Found::Hunted(_) => hunt::machine(),
        }
    }

    /// TERM to the shell's group. The shell must not have been waited for yet.
    pub(crate) fn terminate(&self) {
        // Nothing left to signal is fine.
        let _ = rustix::process::kill_process_group(self.shell, Signal::TERM);
    }

    /// Ends all of it; those that were `known` before may have lost what they are recognised by.
    pub(crate) fn kill(&self, known: &[Process]) {
        match &self.found {
            Found::Hunted(trail) => trail.kill(known),
            Found::Held { holder, before, .. } if before.is_empty() => holder.kill_all(),
            Found::Held { holder, before, .. } => pick_out(holder, before),
        }
    }
}

/// TERM to all that are held, KILL to what still lives after `grace`; gives back their names.
pub(crate) fn end_held(holder: &Holder, grace: Duration) -> Vec<String> {
    let living = holder.living();
    if living.is_empty() {
        return Vec::new();
    }
    let names = names(&living, |process| holder.name(process));
    holder.terminate_all();
    let until = Instant::now() + grace;
    while !holder.living().is_empty() && Instant::now() < until {
        thread::sleep(PAUSE);
    }
    holder.kill_all();
    names
}

/// The first [`NAMED`] by number and name, and how many more there are.
pub(crate) fn names(processes: &[Process], name: impl Fn(&Process) -> String) -> Vec<String> {
    let named = processes.iter().take(NAMED).map(|process| format!("{} {}", process.pid, name(process)));
    let more = processes.len().saturating_sub(NAMED);
    named.chain((more > 0).then(|| format!("and {more} more"))).collect()
}

/// Ends all that are held but those of `before` and what these started.
fn pick_out(holder: &Holder, before: &[Process]) {
    end_those(holder, |living| others(living, before));
}

/// Ends what [`left`] gives.
pub(crate) fn end_left(holder: &Holder, before: Option<&[Process]>) {
    end_those(holder, |living| left(living, before));
}

/// Ends those of the living that are picked. What forks faster than it is ended takes all others with it.
fn end_those(holder: &Holder, pick: impl Fn(Vec<Process>) -> Vec<Process>) {
    let until = Instant::now() + PICKING;
    loop {
        let left = pick(holder.living());
        if left.is_empty() {
            return;
        }
        if Instant::now() >= until {
            return holder.kill_all();
        }
        holder.kill(&left);
    }
}

/// Those of `living`, by pid, that are neither in `before` nor started by one of these.
fn others(mut living: Vec<Process>, before: &[Process]) -> Vec<Process> {
    let left = with_what_they_started(&living, before);
    living.retain(|process| !left.contains(&process.pid));
    living
}

/// Those of `living` that no running command started: it began when those of `before` were there. All where none runs.
pub(crate) fn left(mut living: Vec<Process>, before: Option<&[Process]>) -> Vec<Process> {
    if let Some(before) = before {
        let left = with_what_they_started(&living, before);
        living.retain(|process| left.contains(&process.pid));
    }
    living
}

/// The numbers of those that are `known` and live, and of what they started: it lives below them, or has lost its parent and
/// is in their session, as each command has one of its own.
fn with_what_they_started(living: &[Process], known: &[Process]) -> HashSet<i32> {
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
        let found = with_what_they_started(&[process(5, 1), orphan], &[process(2, 1)]);
        assert_eq!(found, HashSet::from([7]));
        // Its number was given out again.
        assert_eq!(pids(&[Process { start: 9, ..process(2, 1) }]), [2, 3, 4, 5, 6]);
    }
    #[test]
    fn few_are_named_and_the_rest_is_counted() {
        let many: Vec<_> = (1..=14).map(|pid| process(pid, 0)).collect();
        let told = names(&many, |process| format!("sleep {}", process.pid));
        assert_eq!((told.len(), &told[0][..], &told[10][..]), (11, "1 sleep 1", "and 4 more"));
        assert_eq!(names(&many[..10], |_| String::new()).len(), 10);
    }
}
