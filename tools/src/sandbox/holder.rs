//! What the kernel holds the processes of a run together by: a namespace or a control group. Which there are, and their end.

use std::fs::File;
use std::sync::Arc;

use rustix::process::Signal;

use super::cgroup::Cgroup;
use super::pid_namespace::PidNamespace;
use crate::process_table::{Process, ProcessTable};

/// A namespace or a control group; clones are handles to the same one.
#[derive(Clone, Debug)]
pub(crate) enum Holder {
    Namespace(Arc<PidNamespace>),
    Cgroup(Arc<Cgroup>),
}

impl Holder {
    /// The living processes, by pid.
    pub(crate) fn living(&self) -> Vec<Process> {
        match self {
            Holder::Namespace(namespace) => namespace.living(),
            Holder::Cgroup(cgroup) => cgroup.living(),
        }
    }

    /// The living processes, and those that have ended and are still counted.
    pub(crate) fn all(&self) -> Vec<Process> {
        match self {
            Holder::Namespace(namespace) => namespace.all(),
            // Its list is of the living.
            Holder::Cgroup(cgroup) => cgroup.living(),
        }
    }

    /// What a process is called.
    pub(crate) fn name(&self, process: &Process) -> String {
        self.table().name(process)
    }

    /// KILL to `processes`.
    pub(crate) fn kill(&self, processes: &[Process]) {
        self.table().signal(processes, Signal::KILL);
    }

    /// TERM to all living processes.
    pub(crate) fn terminate_all(&self) {
        self.table().signal(&self.living(), Signal::TERM);
    }

    /// KILL to all processes at once: nothing can fork away meanwhile. Waits until the kernel has ended them.
    pub(crate) fn kill_all(&self) {
        match self {
            Holder::Namespace(namespace) => namespace.kill_all(),
            Holder::Cgroup(cgroup) => cgroup.kill_all(),
        }
    }

    /// The file by which all processes are killed when the agent cannot, by writing `1` to it; nothing where the kernel does
    /// it by itself.
    pub(crate) fn kill_file(&self) -> Option<File> {
        match self {
            Holder::Namespace(_) => None,
            Holder::Cgroup(cgroup) => cgroup.kill_file(),
        }
    }

    /// The table to read about its processes in.
    pub(crate) fn table(&self) -> &ProcessTable {
        match self {
            Holder::Namespace(namespace) => namespace.table(),
            Holder::Cgroup(cgroup) => cgroup.table(),
        }
    }
}
