//! The namespaces for all commands of a run, shared by them, so that a server that one command left running is reached by
//! the next: processes of their own, which end with the run; a network of loopback and nothing else; mounts as
//! [`super::view`] has them; message queues and shared memory of their own.
//!
//! A process of ours makes them and stays as their init. All users that the agent knows keep their numbers inside, so that
//! files belong to whom they belonged to; an ordinary user knows only himself.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustix::process::Pid;
use rustix::thread::LinkNameSpaceType;

use super::maker::{self, Init, WantedNamespaces};
use super::mounts::MountProgram;
use super::pid_namespace::PidNamespace;
use super::shared_memory::SharedMemory;
use crate::cancel::Cancel;
use crate::wait;

/// The namespaces of a run.
#[derive(Debug)]
pub(crate) struct Namespaces {
    /// Handles of the namespaces, to be entered in this order.
    pub(crate) handles: Vec<(OwnedFd, LinkNameSpaceType)>,
    /// The processes inside, where they have a namespace of their own.
    pub(crate) processes: Option<Arc<PidNamespace>>,
    /// Whether there is a mount namespace.
    pub(crate) mounts: bool,
    /// The memory of the namespaces that is in no process.
    pub(crate) shared: SharedMemory,
    /// Which namespaces could not be made.
    pub(super) missing: MissingNamespaces,
    /// The first process: when it is dropped, the kernel ends all that is inside.
    init: Init,
}

/// Why a PID namespace or a mount namespace could not be made, in words; `None` for one that was.
#[derive(Clone, Debug, Default)]
pub(super) struct MissingNamespaces {
    pub(super) processes: Option<String>,
    pub(super) mounts: Option<String>,
}

impl Namespaces {
    /// Makes the namespaces; with `network`, commands stay in the machine's network. What cannot be had is done without
    /// and named. The caller must not be confined by Landlock yet: it writes into /proc, and the maker mounts.
    pub(crate) fn make(network: bool, mounts: MountProgram) -> io::Result<Namespaces> {
        let mut wanted = WantedNamespaces { network: !network, mounts: Some(mounts), processes: true };
        let mut missing = MissingNamespaces::default();
        let mut made = maker::make(&wanted, map_users);
        if let Err(error) = &made {
            missing.processes = Some(error.to_string());
            wanted.processes = false;
            made = maker::make(&wanted, map_users);
        }
        if let Err(error) = &made {
            missing.mounts = Some(error.to_string());
            wanted.mounts = None;
            made = maker::make(&wanted, map_users);
        }
        Namespaces::of(made?, &wanted, missing)
    }

    fn of(mut init: Init, wanted: &WantedNamespaces, missing: MissingNamespaces) -> io::Result<Namespaces> {
        let (pid, mounts) = (init.pid, wanted.mounts.is_some());
        let handles = handles(pid, wanted)?;
        // Without mounts of its own it is the machine's.
        let files = if mounts { inside(pid, "dev/shm") } else { PathBuf::new() };
        let shared = SharedMemory::open(&files, init.segments.take());
        let processes = match wanted.processes {
            true => Some(Arc::new(PidNamespace::new(&inside(pid, "proc"), &init, &handles)?)),
            false => None,
        };
        Ok(Namespaces { handles, processes, mounts, shared, missing, init })
    }

    /// Does `work`, the start of a process inside; ends all namespaces where processes inside keep it from ending.
    pub(crate) fn within_time<T>(&self, cancel: &Cancel, work: impl FnOnce() -> T) -> T {
        match self.processes {
            Some(_) => PidNamespace::within_time(&self.init.handle, cancel, work),
            None => work(),
        }
    }

    /// Whether the init has ended, and with it all that was inside.
    pub(crate) fn have_ended(&self) -> bool {
        wait::for_any([Some(self.init.handle.as_fd())], Duration::ZERO).is_ok_and(|[ended]| ended)
    }

    /// The descriptor that keeps the init alive.
    pub(crate) fn init_input(&self) -> RawFd {
        self.init.input.as_raw_fd()
    }

    /// A path as it is inside.
    pub(crate) fn inside(&self, path: &str) -> PathBuf {
        inside(self.init.pid, path)
    }
}

fn inside(init: Pid, path: &str) -> PathBuf {
    Path::new("/proc").join(init.as_raw_pid().to_string()).join("root").join(path)
}

/// The machine's own are no namespaces that could be entered from within.
fn handles(init: Pid, wanted: &WantedNamespaces) -> io::Result<Vec<(OwnedFd, LinkNameSpaceType)>> {
    let kinds = [
        ("user", LinkNameSpaceType::User, true),
        ("net", LinkNameSpaceType::Network, wanted.network),
        ("ipc", LinkNameSpaceType::InterProcessCommunication, true),
        ("pid", LinkNameSpaceType::ProcessID, wanted.processes),
        ("mnt", LinkNameSpaceType::Mount, wanted.mounts.is_some()),
    ];
    let open = |(name, kind, _)| {
        File::open(format!("/proc/{}/ns/{name}", init.as_raw_pid())).map(|file| (OwnedFd::from(file), kind))
    };
    kinds.into_iter().filter(|(.., own)| *own).map(open).collect()
}

/// Everybody under the same number, where the agent may say so (root may); else the agent's own user and group alone.
fn map_users(process: Pid) -> io::Result<()> {
    let write = |name: &str, text: &str| {
        let path = format!("/proc/{}/{name}", process.as_raw_pid());
        File::options().write(true).open(path)?.write_all(text.as_bytes())
    };
    let everybody =
        |name: &str| write(name, &same_numbers(&fs::read_to_string(format!("/proc/self/{name}"))?));
    let user = rustix::process::geteuid().as_raw();
    let group = rustix::process::getegid().as_raw();
    everybody("uid_map").or_else(|_| write("uid_map", &format!("{user} {user} 1")))?;
    everybody("gid_map").or_else(|_| {
        // A group that was taken from a user to keep him out could be given up otherwise.
        write("setgroups", "deny")?;
        write("gid_map", &format!("{group} {group} 1"))
    })
}

/// The map of the agent's own namespace, as one that changes no number: `inside outside count` a line.
fn same_numbers(map: &str) -> String {
    let line = |line: &str| {
        let mut fields = line.split_ascii_whitespace();
        let (inside, _outside, count) = (fields.next()?, fields.next()?, fields.next()?);
        Some(format!("{inside} {inside} {count}\n"))
    };
    map.lines().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_had_is_done_without_and_named() {
        let all = Namespaces::make(false, MountProgram::default()).unwrap();
        assert!(all.mounts && all.processes.is_some() && all.handles.len() == 5);
        assert!(all.missing.mounts.is_none() && all.missing.processes.is_none());
        let absent = super::super::mounts::Operation::Take { path: c"/not/there".to_owned(), slot: 0 };
        let program = MountProgram { steps: vec![absent], slots: 1, ..MountProgram::default() };
        let some = Namespaces::make(false, program).unwrap();
        assert!(!some.mounts && some.handles.len() == 3, "{some:?}");
        let MissingNamespaces { processes, mounts } = &some.missing;
        for why in [processes, mounts] {
            assert!(why.as_ref().unwrap().contains("to take /not/there: No such file"), "{some:?}");
        }
    }

    #[test]
    fn numbers_stay_what_they_are_inside() {
        assert_eq!(same_numbers("         0          0 4294967295\n"), "0 0 4294967295\n");
        assert_eq!(same_numbers("0 100000 65536\n65536 7 1\n"), "0 0 65536\n65536 65536 1\n");
    }
}
