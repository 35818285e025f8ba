//! The processes of a run, in a namespace of their own: who is there, and how they are ended. The kernel keeps the list,
//! nothing can leave it, and all of it ends with its init.
//!
//! Numbers of processes are those inside, as commands see them.

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use super::maker::Init;
use crate::process_table::{Process, ProcessTable};
use crate::seen::lock;

/// The number of the init.
const INIT: i32 = 1;
const PAUSE: Duration = Duration::from_millis(2);
/// How long the kernel may take to end what was killed.
const KILLING: Duration = Duration::from_secs(2);

/// A namespace of processes.
#[derive(Debug)]
pub(crate) struct PidNamespace {
    table: ProcessTable,
    init: Arc<Mutex<Init>>,
}

impl PidNamespace {
    /// Of `init`; `proc` is its /proc, as others reach it.
    pub(super) fn new(proc: &Path, init: &Arc<Mutex<Init>>) -> io::Result<Self> {
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

    /// Signals these. An init that is gone has taken all with it.
    pub(crate) fn signal(&self, signal: &str, processes: &[Process]) {
        let pids: Vec<String> = processes.iter().map(|process| process.pid.to_string()).collect();
        if !pids.is_empty() {
            let _ = lock(&self.init).signal(signal, &pids.join(" "));
        }
    }

    /// TERM to everybody.
    pub(crate) fn terminate_all(&self) {
        let _ = lock(&self.init).signal("TERM", "-1");
    }

    /// KILL to everybody at once: nothing can fork away meanwhile. Waits until the kernel has ended them.
    pub(crate) fn kill_all(&self) {
        let _ = lock(&self.init).signal("KILL", "-1");
        let until = Instant::now() + KILLING;
        while !self.living().is_empty() && Instant::now() < until {
            thread::sleep(PAUSE);
        }
    }
}
