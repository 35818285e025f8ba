//! What the sandbox promises, and which mechanisms keep each promise: for the record, for `doctor`, and for what is refused.
//!
//! Pure. A promise is kept by one of several means, each of one mechanism or of several together; which there are is read
//! from what is enforced. Strict is where every promise is kept.

use serde::Serialize;

use super::report::{Enforced, Network, Processes};

/// Landlock's version from which a file cannot be cut short against its rules (Linux 6.2).
const TRUNCATING_LANDLOCK: u32 = 3;
/// Landlock's version from which signals and abstract sockets are scoped (Linux 6.12).
pub(super) const SCOPED_LANDLOCK: u32 = 6;

/// Something that commands cannot do. As it is serialized, its name is stable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Promise {
    /// They change no files but those that are writable.
    FilesOutside,
    /// They change no modes, owners and times of files outside.
    ModesOutside,
    /// They read no secrets.
    Secrets,
    /// Their processes do not outlive the run.
    ProcessesEnd,
    /// They signal no other processes.
    ProcessesOutside,
    /// They share no memory and no message queues with others.
    SharedMemory,
    /// They have no network; no promise where it is allowed.
    Network,
    /// They connect to no sockets of other programs.
    Sockets,
    /// They make no system calls that lead out.
    SystemCalls,
}

/// A mechanism of the kernel that keeps promises. As it is serialized, its name is stable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mechanism {
    /// Mounts of their own.
    Mounts,
    /// Rules about files, signals and abstract sockets.
    Landlock,
    /// Processes of their own.
    ProcessNamespace,
    /// Shared memory and message queues of their own.
    IpcNamespace,
    /// A network of their own.
    NetworkNamespace,
    /// A group in which the kernel ends them.
    ControlGroup,
    /// A filter of system calls.
    Seccomp,
}

/// A promise, and what keeps it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PromiseStatus {
    /// What is promised.
    pub promise: Promise,
    /// Whether it is kept.
    pub held: bool,
    /// The mechanisms that keep it; none where it is not kept.
    pub by: Vec<Mechanism>,
}

/// What a means of keeping a promise needs: a mechanism, and how it must be set up.
#[derive(Clone, Copy)]
enum Need {
    Mounts,
    Landlock(u32),
    Processes,
    Ipc,
    NetworkNamespace,
    ControlGroup,
    /// A filter that is there.
    Filter,
    /// A filter that refuses sockets of the internet.
    NoInternet,
    /// A filter that refuses sockets with paths and names. There is none where these lead nowhere, by the other means.
    NoLocal,
}

/// The means of each promise.
const TABLE: &[(Promise, &[&[Need]])] = &[
    (Promise::FilesOutside, &[&[Need::Mounts], &[Need::Landlock(TRUNCATING_LANDLOCK)]]),
    (Promise::ModesOutside, &[&[Need::Mounts]]),
    (Promise::Secrets, &[&[Need::Mounts], &[Need::Landlock(1)]]),
    (Promise::ProcessesEnd, &[&[Need::Processes], &[Need::ControlGroup]]),
    (Promise::ProcessesOutside, &[&[Need::Processes], &[Need::Landlock(SCOPED_LANDLOCK)]]),
    (Promise::SharedMemory, &[&[Need::Ipc, Need::Mounts], &[Need::Ipc, Need::Landlock(1)]]),
    (Promise::Network, &[&[Need::NetworkNamespace], &[Need::NoInternet]]),
    (
        Promise::Sockets,
        &[
            &[Need::Mounts, Need::NetworkNamespace],
            &[Need::Mounts, Need::Landlock(SCOPED_LANDLOCK)],
            &[Need::NoLocal],
        ],
    ),
    (Promise::SystemCalls, &[&[Need::Filter]]),
];

impl Promise {
    /// What commands cannot do while it is kept.
    pub fn kept(self) -> &'static str {
        match self {
            Promise::FilesOutside => "files outside the workspace cannot be changed",
            Promise::ModesOutside => "modes, owners and times of files outside cannot be changed",
            Promise::Secrets => "secrets (keys, tokens, the store) cannot be read",
            Promise::ProcessesEnd => "processes end with the run",
            Promise::ProcessesOutside => "processes outside the run cannot be signalled",
            Promise::SharedMemory => "shared memory and message queues of other programs cannot be reached",
            Promise::Network => "the network cannot be reached",
            Promise::Sockets => "sockets of other programs (docker, D-Bus, ssh-agent) cannot be reached",
            Promise::SystemCalls => "system calls that lead out (ptrace, mount, bpf, io_uring) are refused",
        }
    }

    /// What commands can do while it is not kept.
    pub fn broken(self) -> &'static str {
        match self {
            Promise::FilesOutside => "files outside the workspace can be changed",
            Promise::ModesOutside => "modes, owners and times of files outside can be changed",
            Promise::Secrets => "secrets (keys, tokens, the store) can be read",
            Promise::ProcessesEnd => {
                "processes can outlive the run (they are looked for, and one that hides well is not found)"
            }
            Promise::ProcessesOutside => "processes outside the run can be signalled",
            Promise::SharedMemory => "shared memory and message queues of other programs can be reached",
            Promise::Network => "the network can be reached",
            Promise::Sockets => "sockets of other programs (docker, D-Bus, ssh-agent) can be reached",
            Promise::SystemCalls => "system calls that lead out (ptrace, mount, bpf, io_uring) are allowed",
        }
    }
}

impl Mechanism {
    /// In words; `landlock` is its version.
    pub fn describe(self, landlock: Option<u32>) -> String {
        match self {
            Mechanism::Mounts => "mounts".to_owned(),
            Mechanism::Landlock => format!("Landlock {}", landlock.unwrap_or_default()),
            Mechanism::ProcessNamespace => "a process namespace".to_owned(),
            Mechanism::IpcNamespace => "an IPC namespace".to_owned(),
            Mechanism::NetworkNamespace => "a network namespace".to_owned(),
            Mechanism::ControlGroup => "a control group".to_owned(),
            Mechanism::Seccomp => "seccomp".to_owned(),
        }
    }
}

impl Enforced {
    /// What is promised, and what keeps it.
    pub fn promises(&self) -> Vec<PromiseStatus> {
        let promised = TABLE.iter().filter(|(promise, _)| {
            // What is allowed is not promised.
            *promise != Promise::Network || self.network != Network::Open
        });
        let kept = |(promise, means): &(Promise, &[&[Need]])| {
            let whole = means.iter().filter(|needs| needs.iter().all(|need| self.has(*need)));
            let mut by: Vec<Mechanism> = Vec::new();
            for mechanism in whole.copied().flatten().map(|need| need.mechanism()) {
                if !by.contains(&mechanism) {
                    by.push(mechanism);
                }
            }
            PromiseStatus { promise: *promise, held: !by.is_empty(), by }
        };
        promised.map(kept).collect()
    }

    /// What is not kept, a line for each cause: why a mechanism is not available, by `why`, and what follows.
    pub(super) fn broken(&self, why: impl Fn(Mechanism) -> Option<String>) -> Vec<String> {
        let mut causes: Vec<(String, Vec<&str>)> = Vec::new();
        for PromiseStatus { promise, .. } in self.promises().into_iter().filter(|kept| !kept.held) {
            let means = TABLE.iter().find(|(known, _)| *known == promise).map_or(&[][..], |(_, means)| means);
            let mechanisms = means.iter().copied().flatten().map(|need| need.mechanism());
            let cause =
                mechanisms.filter_map(&why).next().unwrap_or_else(|| "the kernel has no means".to_owned());
            match causes.iter_mut().find(|(known, _)| *known == cause) {
                Some((_, what)) => what.push(promise.broken()),
                None => causes.push((cause, vec![promise.broken()])),
            }
        }
        causes.into_iter().map(|(cause, what)| format!("{cause}; so {}", what.join(", "))).collect()
    }

    fn has(&self, need: Need) -> bool {
        let has_network = self.network == Network::Namespace;
        let is_scoped = self.landlock >= Some(SCOPED_LANDLOCK);
        match need {
            Need::Mounts => self.mounts,
            Need::Landlock(version) => self.landlock >= Some(version),
            Need::Processes => self.processes == Processes::Namespace,
            // Where there is one of these namespaces, there is one of IPC.
            Need::Ipc => self.mounts || has_network,
            Need::NetworkNamespace => has_network,
            Need::ControlGroup => self.processes == Processes::Cgroup,
            Need::Filter => self.seccomp,
            Need::NoInternet => self.network == Network::Seccomp,
            Need::NoLocal => self.seccomp && !(self.mounts && (has_network || is_scoped)),
        }
    }
}

impl Need {
    fn mechanism(self) -> Mechanism {
        match self {
            Need::Mounts => Mechanism::Mounts,
            Need::Landlock(_) => Mechanism::Landlock,
            Need::Processes => Mechanism::ProcessNamespace,
            Need::Ipc => Mechanism::IpcNamespace,
            Need::NetworkNamespace => Mechanism::NetworkNamespace,
            Need::ControlGroup => Mechanism::ControlGroup,
            Need::Filter | Need::NoInternet | Need::NoLocal => Mechanism::Seccomp,
        }
    }
}

#[cfg(test)]
#[path = "promises_tests.rs"]
mod tests;
