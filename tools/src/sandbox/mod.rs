//! The sandbox: what commands may access, enforced by the kernel, and what the agent itself may.
//!
//! [`Policy`] says what is wanted; [`Sandbox::prepare`] finds out what the kernel can do and makes everything ready;
//! `run_command` starts its children in it; [`Sandbox::enforced`] is what goes on record. [`confine_self`] closes in the
//! program that calls it, so that a bug in its own path handling cannot escape either.
//!
//! | what | by |
//! |---|---|
//! | files: writable the workspace and TMPDIR, readable all but homes and secrets | `access_paths` → `view` → `mounts`, and `landlock` |
//! | modes, owners and times of files outside | mounts |
//! | processes: nothing outlives the run, nothing outside is seen or signalled | `namespace` → `pid_namespace` |
//! | shared memory and message queues | `namespace` |
//! | network | `namespace`, else `seccomp` |
//! | sockets with paths and names | mounts and the network namespace, else `seccomp` |
//! | other sockets, ptrace, io_uring, kernel interfaces | `seccomp` |
//! | capabilities, limits, inherited handles | `child`, between fork and exec |
//!
//! `run` runs one program in it to its end; `promises` is the table of what is promised, by which of these; strict is where each promise is kept by one of its means.
//! `available` finds out what the kernel can do, `start` starts a process in it; `maker` is the process that makes the namespaces
//! and stays as their init.
//!
//! The order for an agent: `prepare` (it needs /proc), then `confine_self` (before any thread of its own), then run.

mod access_paths;
mod advice;
mod available;
mod cgroup;
mod child;
mod holder;
mod home;
mod known_paths;
mod landlock;
mod maker;
mod mountinfo;
mod mounts;
mod namespace;
mod pid_namespace;
mod pipe;
mod policy;
mod promises;
mod report;
mod run;
mod seccomp;
mod shared_memory;
mod start;
mod view;
mod worktree;

use std::fmt;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::{self, JoinHandle};

use ::landlock::RulesetCreated;
use rustix::process::DumpableBehavior;
use rustix::thread::LinkNameSpaceType;

use self::access_paths::AccessPaths;
use self::available::{Available, CopiedFiles};
use self::cgroup::Cgroup;
use self::child::ChildSetup;
pub(crate) use self::child::own_session;
pub(crate) use self::holder::Holder;
use self::namespace::Namespaces;
pub use self::policy::{Level, Policy, ProcessLimits};
pub use self::promises::{Mechanism, Promise, PromiseStatus};
pub use self::report::{Enforced, Network, Processes, SandboxError};
pub use self::run::{FinishedProgram, RunError};
pub(crate) use self::shared_memory::SharedMemory;
pub(crate) use self::start::{RunningCommand, StartError};
use self::start::{SetupResult, probe, probe_in_thread, start_among, start_bare, start_in};
use crate::cancel::Cancel;
use crate::lock::lock;

/// The sandbox of a run, ready for its commands.
pub struct Sandbox {
    policy: Policy,
    access: AccessPaths,
    enforced: Enforced,
    /// The setup of commands (none at level off), or why no command runs; see [`Sandbox::state`].
    state: OnceLock<Result<Option<Arc<ChildSetup>>, SandboxError>>,
    /// The probe of a setup that is still under way.
    probe_thread: Mutex<Option<JoinHandle<SetupResult>>>,
    /// The ruleset that will confine the agent itself, until it does.
    agent_ruleset: Mutex<Option<io::Result<Option<RulesetCreated>>>>,
    /// When these are dropped, the kernel ends all processes in them.
    namespaces: Option<Namespaces>,
    cgroup: Option<Arc<Cgroup>>,
    copies: CopiedFiles,
}

impl Sandbox {
    /// Makes the sandbox ready, and tries it on a process that does nothing. That it cannot be enforced is no error here:
    /// then [`Sandbox::refusal`] says why no command will run. Where nothing can be given up, that is found out while the
    /// caller goes on; [`Sandbox::refusal`] waits for it.
    pub fn prepare(policy: Policy) -> Sandbox {
        if policy.level == Level::Off {
            return Sandbox::off(policy);
        }
        let mounts = mountinfo::parse(&fs::read_to_string("/proc/self/mountinfo").unwrap_or_default());
        let made = make_temporary(&policy);
        let access = AccessPaths::of_commands(&policy, &mounts);
        // Both take some milliseconds, most of them for others to be done.
        let agent = || landlock::for_agent(&access.of_agent(&policy));
        let (agent, mut available) = concurrently(&agent, || Available::find(&policy, &access, &mounts));
        let agent_ruleset = available.agent_ruleset(&policy, agent);
        let mut setup = made.and_then(|()| available.setup(&policy));
        if policy.level == Level::BestEffort {
            let mut probed = setup.and_then(probe);
            while probed.is_err() && available.give_up_one(&policy, &access) {
                probed = available.setup(&policy).and_then(probe);
            }
            setup = probed;
        }
        if let Some(home) = policy.home.as_ref().filter(|_| !available.has_mounts()) {
            // Git refuses to work beside a configuration that it may not read. Without a copy it does so still.
            let _ = home::copy_configuration(home, &policy.temporary());
        }
        let mut enforced = available.enforced(&policy);
        if let Some(inside) = &access.exposed {
            enforced.missing.push(format!("{} lies within the workspace and is open", inside.display()));
        }
        let (state, mut probe_thread) = (OnceLock::new(), None);
        match (policy.level, &access.exposed, setup) {
            (Level::Strict, Some(inside), _) => {
                let (workspace, inside) = (policy.workspace.clone(), inside.clone());
                state.set(Err(SandboxError::Workspace { workspace, inside })).ok();
            }
            (Level::Strict, None, _) if !enforced.missing.is_empty() => {
                state.set(Err(SandboxError::Missing { missing: enforced.missing.clone() })).ok();
            }
            (Level::Strict, None, Ok(setup)) => match probe_in_thread(&setup) {
                Ok(beside) => probe_thread = Some(beside),
                Err(_) => drop(state.set(probe(setup).map(Some))),
            },
            (_, _, probed) => drop(state.set(probed.map(Some))),
        }
        Sandbox {
            policy,
            access,
            enforced,
            state,
            probe_thread: Mutex::new(probe_thread),
            agent_ruleset: Mutex::new(Some(agent_ruleset)),
            copies: if available.has_mounts() { available.copies } else { Vec::new() },
            namespaces: available.namespaces.ok(),
            cgroup: available.cgroup,
        }
    }

    fn off(policy: Policy) -> Sandbox {
        Sandbox {
            state: make_temporary(&policy).map(|()| None).into(),
            policy,
            access: AccessPaths::default(),
            enforced: Enforced::nothing(Level::Off),
            probe_thread: Mutex::default(),
            agent_ruleset: Mutex::default(),
            namespaces: None,
            cgroup: None,
            copies: Vec::new(),
        }
    }

    fn state(&self) -> &Result<Option<Arc<ChildSetup>>, SandboxError> {
        self.state.get_or_init(|| {
            let probe_thread = lock(&self.probe_thread).take().map(JoinHandle::join);
            probe_thread.unwrap_or_else(|| Ok(Err(panicked()))).unwrap_or_else(|_| Err(panicked())).map(Some)
        })
    }

    /// What commands run under.
    pub fn enforced(&self) -> &Enforced {
        &self.enforced
    }

    /// Why commands do not run at all.
    pub fn refusal(&self) -> Option<&SandboxError> {
        self.state().as_ref().err()
    }

    /// What was asked for.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// How many processes a command may be; no limit without a sandbox.
    pub(crate) fn process_limit(&self) -> u64 {
        match self.state() {
            Ok(Some(_)) => self.policy.limits.processes,
            _ => u64::MAX,
        }
    }

    /// How many bytes of memory a command may hold, and what is in no process of it; nothing where the kernel sees to it,
    /// and without a sandbox.
    pub(crate) fn memory(&self) -> Option<(u64, SharedMemory)> {
        self.state().as_ref().ok()?.as_ref()?;
        if self.cgroup.as_ref().is_some_and(|cgroup| cgroup.limited) {
            return None;
        }
        let shared = self.namespaces.as_ref().map(|namespaces| namespaces.shared.clone());
        Some((self.policy.limits.memory_bytes, shared.unwrap_or_default()))
    }

    /// Whether commands may write at `path`, which is absolute and free of symlinks.
    pub(crate) fn may_write(&self, path: &Path) -> bool {
        self.access.may_write(path)
    }

    /// The IPC namespace that commands are in and cannot leave, named as /proc does; `None` when they have none of their
    /// own.
    pub(crate) fn ipc_namespace(&self) -> Option<String> {
        let setup = self.state().as_ref().ok()?.as_ref()?;
        let ipc = LinkNameSpaceType::InterProcessCommunication;
        let (handle, _) = setup.namespaces.iter().find(|(_, kind)| *kind == ipc)?;
        Some(format!("ipc:[{}]", rustix::fs::fstat(handle).ok()?.st_ino))
    }

    /// The user's configuration of git without credentials, where commands do not see a home of their own that has it.
    pub(crate) fn git_config(&self) -> Option<PathBuf> {
        let config = self.policy.temporary().join(".gitconfig");
        (!self.enforced.mounts && config.is_file()).then_some(config)
    }

    /// Files of git's configuration, and the copies that commands change in their place.
    pub(crate) fn git_copies(&self) -> &[(PathBuf, PathBuf)] {
        &self.copies
    }

    /// What holds the processes of commands together; `None` where they must be looked for.
    pub(crate) fn holder(&self) -> Option<Holder> {
        self.state().as_ref().ok()?.as_ref()?;
        let namespace = self.namespaces.as_ref().and_then(|namespaces| namespaces.processes.clone());
        let cgroup = || self.cgroup.clone().map(Holder::Cgroup);
        namespace.map(Holder::Namespace).or_else(cgroup)
    }

    /// Starts `command` in a session of its own and in the sandbox.
    pub(crate) fn start(&self, command: Command, cancel: &Cancel) -> Result<RunningCommand, StartError<'_>> {
        match self.state() {
            Ok(Some(setup)) => match &self.namespaces {
                Some(namespaces) => start_among(command, setup, (namespaces, cancel)),
                None => start_in(command, setup).map_err(StartError::Io),
            },
            Ok(None) => start_bare(command).map_err(StartError::Io),
            Err(error) => Err(StartError::Refused(error)),
        }
    }

    /// What a model should know about a command that failed with this output: empty when the sandbox has no part in it.
    pub(crate) fn advice(&self, output: &str) -> String {
        match self.state() {
            Ok(Some(_)) => advice::of(output, &self.access, &self.enforced),
            _ => String::new(),
        }
    }
}

impl fmt::Debug for Sandbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sandbox").field("enforced", &self.enforced).field("refusal", &self.refusal()).finish()
    }
}

/// Closes in the calling thread and whatever it starts from now on: it reaches what its commands reach, and the private
/// directories. Its memory and environment are closed to other processes of the same user. Nothing happens at level off.
///
/// To be called before the program starts a thread of its own, after [`Sandbox::prepare`], whose probe may still be under
/// way. Gives whether Landlock is on.
///
/// # Errors
/// Under the strict level, when the kernel does not do it.
pub fn confine_self(sandbox: &Sandbox) -> Result<bool, SandboxError> {
    let Some(rules) = lock(&sandbox.agent_ruleset).take() else { return Ok(false) };
    let confined = rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .map_err(io::Error::from)
        .and_then(|()| restrict(rules?));
    match (confined, sandbox.policy.level) {
        (Err(source), Level::Strict) => Err(SandboxError::Setup { what: "the agent itself", source }),
        (confined, _) => Ok(confined.unwrap_or(false)),
    }
}

/// The results of both: `first` runs in a thread beside `second`; where no thread can be started, after it.
fn concurrently<A: Send, B>(first: &(impl Fn() -> A + Sync), second: impl FnOnce() -> B) -> (A, B) {
    thread::scope(|scope| {
        let first_beside = thread::Builder::new().spawn_scoped(scope, first);
        let second = second();
        let first = first_beside.ok().and_then(|beside| beside.join().ok()).unwrap_or_else(first);
        (first, second)
    })
}

fn panicked() -> SandboxError {
    SandboxError::setup("a process in it could not be started")(io::Error::other("it panicked"))
}

fn restrict(rules: Option<RulesetCreated>) -> io::Result<bool> {
    let Some(rules) = rules else { return Ok(false) };
    let status = rules.restrict_self().map_err(io::Error::other)?;
    Ok(status.ruleset != ::landlock::RulesetStatus::NotEnforced)
}

/// TMPDIR of commands.
fn make_temporary(policy: &Policy) -> Result<(), SandboxError> {
    let path = policy.temporary();
    let made = fs::create_dir(policy.copies())
        .and_then(|()| fs::create_dir(&path))
        .and_then(|()| fs::set_permissions(&path, Permissions::from_mode(0o700)));
    made.map_err(SandboxError::setup("the temporary directory"))
}

#[cfg(test)]
mod tests;
