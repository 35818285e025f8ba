//! The processes of a run, in a namespace of their own: who is there, and how they are ended. The kernel keeps the list,
//! nothing can leave it, and all of it ends with its init.
//!
//! Numbers of processes are those inside, as commands see them.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use rustix::thread::LinkNameSpaceType;

use super::child;
use crate::process_table::{Process, ProcessTable};

/// The number of the init.
const INIT: i32 = 1;
/// Everybody but init.
const ALL: i32 = -1;
const PAUSE: Duration = Duration::from_millis(2);
/// How long the kernel may take to end what was killed.
const KILLING: Duration = Duration::from_secs(2);

/// A namespace of processes.
#[derive(Debug)]
pub(crate) struct PidNamespace {
    table: ProcessTable,
    /// The namespaces that lead to it.
    handles: Vec<(OwnedFd, LinkNameSpaceType)>,
}

impl PidNamespace {
    /// Reached by `handles`; `proc` is its /proc, as others reach it.
    pub(super) fn new(proc: &Path, handles: &[(OwnedFd, LinkNameSpaceType)]) -> io::Result<Self> {
        let copies = handles.iter().map(|(handle, kind)| Ok((handle.try_clone()?, *kind)));
        Ok(Self { table: ProcessTable::open(proc)?, handles: copies.collect::<io::Result<_>>()? })
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
        let pids: Vec<i32> = processes.iter().map(|process| process.pid).collect();
        self.signal(Signal::KILL, &pids);
    }

    /// TERM to everybody.
    pub(crate) fn terminate_all(&self) {
        self.signal(Signal::TERM, &[ALL]);
    }

    /// Where no process can be had for it, the end of init ends all, at the latest with the run.
    fn signal(&self, signal: Signal, pids: &[i32]) {
        let _ = child::signal_inside(&self.handles, signal, pids);
    }

    /// KILL to everybody at once: nothing can fork away meanwhile. Waits until the kernel has ended them.
    pub(crate) fn kill_all(&self) {
        self.signal(Signal::KILL, &[ALL]);
        let until = Instant::now() + KILLING;
        while !self.living().is_empty() && Instant::now() < until {
            thread::sleep(PAUSE);
        }
    }
}
