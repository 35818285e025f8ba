//! What commands left running: watched as a command is that runs, and ended for taking more than one may.
//!
//! Only where the kernel holds processes together; where they must be looked for, nobody watches them between commands.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex};
use std::thread::Builder;
use std::time::{Duration, Instant};

use super::disk::Disk;
use super::overuse::{Overuse, Tally, pause};
use super::processes;
use crate::process_table::Process;
use crate::sandbox::Holder;
use crate::seen::lock;

/// The background of a run.
#[derive(Debug, Default)]
pub(crate) struct Background {
    shared: Arc<Mutex<Shared>>,
    /// Whether anything lived on when the last command ended.
    lives: bool,
    /// Dropped, it ends the watch.
    watch: Option<Sender<()>>,
}

/// What the watch and the commands both know.
#[derive(Debug, Default)]
struct Shared {
    /// While a command runs, what was there before it.
    before: Option<Vec<Process>>,
    /// Since no command runs: what one writes cannot be told from what others do.
    disk: Disk,
    ended: Option<Overuse>,
}

impl Background {
    /// A command is about to begin: what is there before it. Nothing is ended meanwhile.
    pub(crate) fn step_back(&mut self, holder: &Holder) -> Vec<Process> {
        let mut shared = lock(&self.shared);
        let before = if self.lives { holder.living() } else { Vec::new() };
        shared.before = Some(before.clone());
        before
    }

    /// A command has ended. If anything lives on, it is watched from now on: `tally` is for all of it together.
    pub(crate) fn take_over(&mut self, holder: &Holder, tally: impl FnOnce() -> Tally, disk: Disk) {
        let mut shared = lock(&self.shared);
        (shared.before, shared.disk) = (None, disk);
        drop(shared);
        self.lives = !holder.living().is_empty();
        match &self.watch {
            Some(_) if !self.lives => self.watch = None,
            None if self.lives => {
                let (sender, end) = mpsc::channel();
                let watch =
                    Watch { holder: holder.clone(), shared: Arc::clone(&self.shared), tally: tally() };
                let thread = Builder::new().name("background".to_owned()).spawn(|| watch.run(end));
                // Without a thread nobody watches; what a command may take it may take again.
                self.watch = thread.is_ok().then_some(sender);
            }
            _ => {}
        }
    }

    /// Why what commands left running was ended, told once.
    pub(crate) fn ended(&self) -> Option<Overuse> {
        lock(&self.shared).ended.take()
    }
}

/// The side of the thread.
struct Watch {
    holder: Holder,
    shared: Arc<Mutex<Shared>>,
    tally: Tally,
}

impl Watch {
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
        let over = self.tally.over(members, Some(self.holder.table()));
        let disk = || shared.before.is_none().then(|| shared.disk.overuse()).flatten();
        if let Some(over) = over.or_else(disk) {
            processes::end_left(&self.holder, shared.before.as_deref());
            shared.ended = Some(over);
        }
    }
}
