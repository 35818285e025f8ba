//! What a process has left behind that this program started: its descendants, be they in sessions of their own.
//!
//! Only of a program that is a subreaper: what has lost its parent is its child then. A program that runs one thing at a time knows by
//! that alone what belongs to it; `shell` has marks, since several commands run there at once.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitOptions};

use crate::process_table::{Process, ProcessTable};
use crate::wait;

const PAUSE: Duration = Duration::from_millis(10);
/// How long they have from TERM to KILL.
const GRACE: Duration = Duration::from_millis(300);
/// How long it is tried to kill those that fork meanwhile.
const KILLING: Duration = Duration::from_secs(2);

/// Ends all descendants of this process: TERM, and KILL for what lives on. Gives how many there were. To be called only while this
/// process has no child that is to live.
pub fn end_descendants() -> usize {
    let Ok(table) = ProcessTable::open(Path::new("/proc")) else { return 0 };
    let living = descendants(&table);
    if living.is_empty() {
        return 0;
    }
    table.signal(&living, Signal::TERM);
    wait::until(GRACE, PAUSE, || descendants(&table).is_empty());
    wait::until(KILLING, PAUSE, || {
        let left = descendants(&table);
        table.signal(&left, Signal::KILL);
        left.is_empty()
    });
    living.len()
}

/// The descendants that live; children that have ended are reaped on the way.
fn descendants(table: &ProcessTable) -> Vec<Process> {
    let own = rustix::process::getpid().as_raw_pid();
    let all = table.processes();
    let parents: HashMap<i32, i32> = all.iter().map(|process| (process.pid, process.parent)).collect();
    let (ended, living): (Vec<Process>, Vec<Process>) = all
        .into_iter()
        .filter(|process| descends(process.pid, own, &parents))
        .partition(|process| process.zombie);
    for process in ended.iter().filter(|process| process.parent == own) {
        let pid = Pid::from_raw(process.pid);
        let _ = rustix::process::waitpid(pid, WaitOptions::NOHANG);
    }
    living
}

fn descends(pid: i32, from: i32, parents: &HashMap<i32, i32>) -> bool {
    let (mut at, mut seen) = (pid, HashSet::new());
    while let Some(parent) = parents.get(&at).copied().filter(|parent| *parent > 0 && seen.insert(*parent)) {
        if parent == from {
            return true;
        }
        at = parent;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descent_is_followed_to_its_end() {
        let parents = HashMap::from([(2, 1), (3, 2), (4, 3), (5, 1), (6, 6)]);
        let below: Vec<i32> = (1..=7).filter(|pid| descends(*pid, 2, &parents)).collect();
        assert_eq!(below, [3, 4]);
    }
}
