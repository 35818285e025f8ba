//! How much a command uses beside its time: processes, memory, disk. Looked at while it runs, since the kernel holds single
//! processes to their limits, and not all of them together.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use super::memory::MemoryBudget;
use super::overuse::Overuse;
use super::processes::ProcessTree;
use crate::process_table::{Process, ProcessTable};

/// The shortest time between two looks.
const LOOKING: Duration = Duration::from_millis(100);
/// The longest time between two looks, however long one takes.
const SELDOM: Duration = Duration::from_secs(1);
/// A look that takes long is followed by a pause of so many times that, so that it never takes a processor.
const PAUSE: u32 = 5;

/// Checks from time to time what a running command uses.
#[derive(Debug)]
pub(crate) struct UsageMonitor<'a> {
    tree: &'a ProcessTree,
    /// When to look next.
    next: Instant,
    usage: UsageCheck,
}

impl<'a> UsageMonitor<'a> {
    pub(crate) fn new(tree: &'a ProcessTree) -> Self {
        Self { tree, next: Instant::now(), usage: UsageCheck::new(tree.most, tree.memory.clone()) }
    }

    /// What there is too much of, if it is time to look.
    pub(crate) fn look(&mut self) -> Option<Overuse> {
        let begun = Instant::now();
        if begun < self.next {
            return None;
        }
        let overuse = self.look_now();
        self.next = begun + pause(begun.elapsed());
        overuse
    }

    fn look_now(&mut self) -> Option<Overuse> {
        let tree = self.tree;
        let need_not_be_listed = tree.is_small() && !self.usage.may_be_short();
        let members = if need_not_be_listed { Vec::new() } else { tree.counted() };
        self.usage.over(members, tree.table()).or_else(|| tree.disk.overuse())
    }
}

/// How long to wait after a look that took so long.
pub(crate) fn pause(look: Duration) -> Duration {
    (look * PAUSE).clamp(LOOKING, SELDOM)
}

/// The check of processes and memory against what they may use: one for all looks at the same processes.
#[derive(Debug)]
pub(crate) struct UsageCheck {
    /// How many processes and threads there may be.
    most: u64,
    /// Where the kernel does not limit memory of all together.
    memory: Option<MemoryBudget>,
    /// The processes of the last look, by number and start.
    known: HashSet<(i32, u64)>,
}

impl UsageCheck {
    pub(crate) fn new(most: u64, memory: Option<MemoryBudget>) -> UsageCheck {
        UsageCheck { most, memory, known: HashSet::new() }
    }

    fn may_be_short(&self) -> bool {
        self.memory.as_ref().is_some_and(MemoryBudget::may_be_short)
    }

    /// What `members` use too much of together; `table` is where they are read about.
    pub(crate) fn over(&mut self, members: Vec<Process>, table: Option<&ProcessTable>) -> Option<Overuse> {
        if members.iter().map(|process| process.threads.max(1)).sum::<u64>() > self.most {
            return Some(Overuse::Processes);
        }
        let memory = self.memory.as_ref().filter(|memory| memory.may_be_short())?;
        // One that was not there at the last look may still be in its parent's memory, until it executes a program: it is
        // counted from the next look on.
        let is_known = |process: &Process| self.known.contains(&(process.pid, process.start));
        let (old, young): (Vec<_>, Vec<_>) = members.into_iter().partition(is_known);
        let over = memory.is_over(&old, table?).then_some(Overuse::Memory(memory.limit));
        self.known = old.iter().chain(&young).map(|process| (process.pid, process.start)).collect();
        over
    }
}
