//! The processes of a run, in a namespace of their own: who is there, and how they are ended. The kernel keeps the list,
//! nothing can leave it, and all of it ends with its init.
//!
//! Numbers of processes are those inside, as commands see them.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::process_table::{Process, ProcessTable};

/// The number of the init.
const INIT: i32 = 1;
/// How long the start of a command may take that somebody inside may have stopped.
const STARTING: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(2);
/// How long the kernel may take to end what was killed.
const KILLING: Duration = Duration::from_secs(2);

/// A namespace of processes.
#[derive(Debug)]
pub(crate) struct PidNamespace {
    table: ProcessTable,
    /// Whose end is the end of all.
    init: Arc<OwnedFd>,
}

impl PidNamespace {
    /// Of `init`; `proc` is its /proc, as others reach it.
    pub(super) fn new(proc: &Path, init: &Arc<OwnedFd>) -> io::Result<Self> {
        Ok(Self { table: ProcessTable::open(proc)?, init: Arc::clone(init) })
    }

    /// Its table; ended processes and init are in it too.
    pub(crate) fn table(&self) -> &ProcessTable {
        &self.table
    }

    /// Those that live, without init.
    pub(crate) fn living(&self) -> Vec<Process> {
        let mut living = self.table.processes();
        living.retain(|process| process.pid != INIT && !process.zombie);
        living
    }

    /// KILL to these.
    pub(crate) fn kill(&self, processes: &[Process]) {
        self.table.signal(processes, Signal::KILL);
    }

    /// TERM to everybody.
    pub(crate) fn terminate_all(&self) {
        self.table.signal(&self.living(), Signal::TERM);
    }

    /// KILL to everybody until nobody lives. Signals come from outside, where nobody inside can stop or end who sends them.
    /// What forks faster than that loses init, and with it everything: then no command runs any more in this run.
    pub(crate) fn kill_all(&self) {
        let until = Instant::now() + KILLING;
        loop {
            let living = self.living();
            if living.is_empty() {
                return;
            }
            if Instant::now() >= until {
                return self.end();
            }
            self.kill(&living);
            thread::sleep(PAUSE);
        }
    }

    fn end(&self) {
        // It may have ended already.
        let _ = rustix::process::pidfd_send_signal(&self.init, Signal::KILL);
        let until = Instant::now() + KILLING;
        while !self.table.processes().is_empty() && Instant::now() < until {
            thread::sleep(PAUSE);
        }
    }

    /// Does what a process inside has a part in, and ends everything when that takes too long: whoever is inside already can
    /// stop it.
    pub(super) fn watched<T>(init: &Arc<OwnedFd>, work: impl FnOnce() -> T) -> T {
        let (done, doing) = mpsc::channel::<()>();
        let init = Arc::clone(init);
        let watch = move || {
            if doing.recv_timeout(STARTING) == Err(RecvTimeoutError::Timeout) {
                let _ = rustix::process::pidfd_send_signal(&init, Signal::KILL);
            }
        };
        // Without a thread nobody watches, as when nobody stops anything.
        let _ = thread::Builder::new().name("starting".to_owned()).spawn(watch);
        let result = work();
        drop(done);
        result
    }
}
