//! A control group of the run's own, where the part of the tree that the agent is in was given to it: the kernel then ends
//! all that is in it at once, and counts memory and processes of all commands together.
//!
//! Control groups, version 2. Everything is best effort: [`super::Enforced`] tells whether there is one.

use std::fs::{self, File};
use std::io::Write;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::mountinfo::{self, Mounted};
use super::policy::{Policy, ProcessLimits};
use crate::process_table::{Process, ProcessTable};
use crate::wait;

const PAUSE: Duration = Duration::from_millis(2);
/// How long the kernel may take to end what was killed.
const KILLING: Duration = Duration::from_secs(2);

/// A control group; dropping it removes it.
#[derive(Debug)]
pub(crate) struct Cgroup {
    dir: PathBuf,
    /// `cgroup.procs`: a process that writes `0` to it becomes a member.
    entrance: File,
    /// `cgroup.kill`: writing `1` to it kills all members.
    kill: File,
    /// `cgroup.procs`, to be read.
    members: File,
    machine: ProcessTable,
    /// Whether the kernel counts memory and processes for it.
    pub(crate) limited: bool,
}

impl Cgroup {
    /// Makes one below the agent's own, named as the directory of the run; `None` where that is not allowed, where the
    /// kernel cannot end a group at once (before Linux 5.14), or where it would be of no use: to `limit` only, and
    /// nothing is counted.
    pub(super) fn make(mounts: &[Mounted], policy: &Policy, to_limit: bool) -> Option<Cgroup> {
        let own = fs::read_to_string("/proc/self/cgroup").ok()?;
        let around = mountinfo::cgroup(mounts, &own)?;
        let counted = fs::read_to_string(around.join("cgroup.controllers")).unwrap_or_default();
        let counts = |name: &str| counted.split_ascii_whitespace().any(|known| known == name);
        if to_limit && !(counts("memory") && counts("pids")) {
            return None;
        }
        let dir = around.join(policy.run_dir.file_name()?);
        fs::create_dir(&dir).ok()?;
        let made = Cgroup::open(&dir, &around, &policy.limits).filter(|made| made.limited || !to_limit);
        if made.is_none() {
            let _ = fs::remove_dir(&dir);
        }
        made
    }

    fn open(dir: &Path, around: &Path, limits: &ProcessLimits) -> Option<Cgroup> {
        let write = |name: &str| File::options().write(true).open(dir.join(name)).ok();
        // Refused where the agent itself is in the group around: then there are no limits, and the rest works.
        let _ = fs::write(around.join("cgroup.subtree_control"), "+memory +pids");
        let limit = |name: &str, most: u64| fs::write(dir.join(name), most.to_string()).is_ok();
        let limited = limit("memory.max", limits.memory_bytes) && limit("pids.max", limits.processes);
        // What is swapped out is held as well. Where nothing is, there is no such file.
        let _ = fs::write(dir.join("memory.swap.max"), "0");
        let _ = fs::write(dir.join("memory.oom.group"), "0");
        Some(Cgroup {
            dir: dir.to_owned(),
            entrance: write("cgroup.procs")?,
            kill: write("cgroup.kill")?,
            members: File::open(dir.join("cgroup.procs")).ok()?,
            machine: ProcessTable::open(Path::new("/proc")).ok()?,
            limited,
        })
    }

    /// A handle for a process that is to be in it.
    pub(super) fn entrance(&self) -> Option<OwnedFd> {
        self.entrance.try_clone().ok().map(OwnedFd::from)
    }

    /// The file to which a guard writes `1` to kill all members.
    pub(crate) fn kill_file(&self) -> Option<File> {
        self.kill.try_clone().ok()
    }

    /// The directory of the control group around it.
    pub(super) fn around(&self) -> Option<&Path> {
        self.dir.parent()
    }

    /// The machine's processes.
    pub(crate) fn table(&self) -> &ProcessTable {
        &self.machine
    }

    /// Its living members.
    pub(crate) fn living(&self) -> Vec<Process> {
        use std::io::{Read, Seek};
        let (mut members, mut text) = (&self.members, String::new());
        // A list that cannot be read counts as empty: all members are killed all the same.
        let _ = members.rewind().and_then(|()| members.read_to_string(&mut text));
        let mut pids: Vec<i32> = text.lines().filter_map(|line| line.parse().ok()).collect();
        pids.sort_unstable();
        let processes = pids.into_iter().filter_map(|pid| self.machine.process(pid));
        processes.filter(|process| !process.zombie).collect()
    }

    /// KILL to all members at once. Waits until the kernel has ended them.
    pub(crate) fn kill_all(&self) {
        let _ = (&self.kill).write_all(b"1");
        wait::until(KILLING, PAUSE, || self.living().is_empty());
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        self.kill_all();
        let _ = fs::remove_dir(&self.dir);
    }
}
