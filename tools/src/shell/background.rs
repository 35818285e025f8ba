//! What commands left running: watched as a running command is, and ended for taking more than one may.
//!
//! Only where the kernel holds processes together; where they must be looked for, nobody watches them between commands.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex};
use std::thread::Builder;
use std::time::{Duration, Instant};

use super::disk::DiskBudget;
use super::overuse::Overuse;
use super::processes;
use super::usage::{UsageCheck, pause};
use crate::lock::lock;
use crate::process_table::Process;
use crate::sandbox::Holder;

/// The background of a run.
#[derive(Debug, Default)]
pub(crate) struct Background {
    shared: Arc<Mutex<SharedState>>,
    /// Whether anything lived on when the last command ended.
    lives: bool,
    /// When this is dropped, the monitor ends.
    monitor: Option<Sender<()>>,
}

/// What the monitor and the commands share.
#[derive(Debug, Default)]
struct SharedState {
    /// While a command runs, the processes that were there before it.
    before: Option<Vec<Process>>,
    /// Since no command runs: what one writes cannot be told from what others do.
    disk: DiskBudget,
    /// Why the monitor ended what commands left running, until it is told.
    ended: Option<Overuse>,
}

impl Background {
    /// A command is about to begin: gives the processes that are there before it. The monitor ends none of the command's.
    pub(crate) fn command_begins(&mut self, holder: &Holder) -> Vec<Process> {
        let mut shared = lock(&self.shared);
        let before = if self.lives { holder.living() } else { Vec::new() };
        shared.before = Some(before.clone());
        before
    }

    /// A command has ended. If anything lives on, it is watched from now on: `usage` is for all of it together.
    pub(crate) fn command_ended(
        &mut self,
        holder: &Holder,
        usage: impl FnOnce() -> UsageCheck,
        disk: DiskBudget,
    ) {
        let mut shared = lock(&self.shared);
        (shared.before, shared.disk) = (None, disk);
        drop(shared);
        self.lives = !holder.living().is_empty();
        match &self.monitor {
            Some(_) if !self.lives => self.monitor = None,
            None if self.lives => {
                let (sender, end) = mpsc::channel();
                let monitor = BackgroundMonitor {
                    holder: holder.clone(),
                    shared: Arc::clone(&self.shared),
                    usage: usage(),
                };
                let thread = Builder::new().name("background".to_owned()).spawn(|| monitor.run(end));
                // Without a thread nobody watches; what a command may take it may take again.
                self.monitor = thread.is_ok().then_some(sender);
            }
            _ => {}
        }
    }

    /// Why what commands left running was ended, told once.
    pub(crate) fn ended(&self) -> Option<Overuse> {
        lock(&self.shared).ended.take()
    }
}

/// Runs in a thread until nothing is left that a command left running.
struct BackgroundMonitor {
    holder: Holder,
    shared: Arc<Mutex<SharedState>>,
    usage: UsageCheck,
}

impl BackgroundMonitor {
    fn run(mut self, end: Receiver<()>) {
        let mut wait = Duration::ZERO;
        while end.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
            let begun = Instant::now();
            self.look();
            wait = pause(begun.elapsed());
        }
    }

    fn look(&mut self) {
        // Held until it is ended, so that no command begins among what is ended.
        let mut shared = lock(&self.shared);
        let members = processes::left(self.holder.all(), shared.before.as_deref());
        if members.is_empty() {
            return;
        }
        let over = self.usage.over(members, Some(self.holder.table()));
        let disk = || shared.before.is_none().then(|| shared.disk.overuse()).flatten();
        if let Some(over) = over.or_else(disk) {
            processes::end_left(&self.holder, shared.before.as_deref());
            shared.ended = Some(over);
        }
    }
}
