//! The processes of a run, in a namespace of their own: which there are, and how they are ended. The kernel keeps the list,
//! nothing can leave it, and all of it ends with its init.
//!
//! Numbers of processes are those inside, as commands see them.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use rustix::thread::LinkNameSpaceType;

use super::child;
use super::maker::Init;
use crate::cancel::Cancel;
use crate::process_table::{Process, ProcessTable};
use crate::wait;

/// The pid of the init, inside.
const INIT: i32 = 1;
/// How long the start of a command may take, which processes inside may stop.
const STARTING: Duration = Duration::from_secs(10);
/// How long the start of a command may take that is cancelled.
const CANCELLED: Duration = Duration::from_secs(1);
/// How often the time and the cancel are looked at.
const LOOKING: Duration = Duration::from_millis(50);
/// How long the process that kills from inside may take.
const INSIDE: Duration = Duration::from_millis(500);
const PAUSE: Duration = Duration::from_millis(2);
/// How long the kernel may take to end what was killed.
const KILLING: Duration = Duration::from_secs(2);

/// A PID namespace.
#[derive(Debug)]
pub(crate) struct PidNamespace {
    table: ProcessTable,
    /// A pidfd of the init: when that ends, the kernel ends all processes of the namespace.
    init: Arc<OwnedFd>,
    /// The descriptor that keeps the init alive.
    init_input: RawFd,
    /// The namespaces that lead to it.
    handles: Vec<(OwnedFd, LinkNameSpaceType)>,
}

impl PidNamespace {
    /// The namespace of `init`, entered by `handles`; `proc` is the path from outside of its /proc.
    pub(super) fn new(
        proc: &Path,
        init: &Init,
        handles: &[(OwnedFd, LinkNameSpaceType)],
    ) -> io::Result<Self> {
        let handles = handles.iter().map(|(handle, kind)| Ok((handle.try_clone()?, *kind)));
        let handles = handles.collect::<io::Result<_>>()?;
        let (table, init_input) = (ProcessTable::open(proc)?, init.input.as_raw_fd());
        Ok(Self { table, init: Arc::clone(&init.handle), init_input, handles })
    }

    /// The table of its processes; ended ones and init are in it too.
    pub(crate) fn table(&self) -> &ProcessTable {
        &self.table
    }

    /// The living processes, without init.
    pub(crate) fn living(&self) -> Vec<Process> {
        let mut living = self.all();
        living.retain(|process| !process.zombie);
        living
    }

    /// The living processes, and those that have ended and were not reaped; without init.
    pub(crate) fn all(&self) -> Vec<Process> {
        let mut all = self.table.processes();
        all.retain(|process| process.pid != INIT);
        all
    }

    /// KILL to all processes until none lives: first from inside, at once; what is left, because it stopped the process
    /// that did that, from outside, where it can do nothing. If that is not enough, init is killed, and with it all
    /// processes: then no command runs any more in this run.
    pub(crate) fn kill_all(&self) {
        if !self.living().is_empty() {
            // Where no process can be had for it, the other ways are left.
            let _ = child::kill_inside(&self.handles, self.init_input, INSIDE);
        }
        let have_ended = || {
            let living = self.living();
            self.table.signal(&living, Signal::KILL);
            living.is_empty()
        };
        if !wait::until(KILLING, PAUSE, have_ended) {
            self.end();
        }
    }

    fn end(&self) {
        // It may have ended already.
        let _ = rustix::process::pidfd_send_signal(&self.init, Signal::KILL);
        wait::until(KILLING, PAUSE, || self.table.processes().is_empty());
    }

    /// Does `work`, in which a process inside takes part, and kills the init when that takes too long: processes inside can
    /// stop it. It may take less long once it is cancelled.
    pub(super) fn within_time<T>(init: &Arc<OwnedFd>, cancel: &Cancel, work: impl FnOnce() -> T) -> T {
        let (done, doing) = mpsc::channel::<()>();
        let (init, cancel, begun) = (Arc::clone(init), cancel.clone(), Instant::now());
        let monitor = move || {
            while doing.recv_timeout(LOOKING) == Err(RecvTimeoutError::Timeout) {
                let timeout = if cancel.is_cancelled() { CANCELLED } else { STARTING };
                if begun.elapsed() >= timeout {
                    let _ = rustix::process::pidfd_send_signal(&init, Signal::KILL);
                    return;
                }
            }
        };
        // Without a thread the start is not watched, which matters only where a process inside stops it.
        let _ = thread::Builder::new().name("starting".to_owned()).spawn(monitor);
        let result = work();
        drop(done);
        result
    }
}
