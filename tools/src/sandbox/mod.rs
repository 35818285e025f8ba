//! The sandbox: what commands may reach, enforced by the kernel, and what the agent itself may.
//!
//! [`Policy`] says what is wanted; [`Sandbox::prepare`] finds out what the kernel can do and makes everything ready;
//! `run_command` starts its children in it; [`Sandbox::enforced`] is what goes on record. [`confine_self`] closes in the
//! program that calls it, so that a bug in its own path handling cannot escape either.
//!
//! | what | by |
//! |---|---|
//! | files: writable the workspace and TMPDIR, readable all but secrets | `reach` → `landlock` |
//! | signals and abstract sockets to the outside | Landlock's scopes |
//! | modes, owners and times of files outside | `namespace` (mounts) |
//! | network | `namespace`, else `seccomp` |
//! | other sockets, ptrace, io_uring, kernel interfaces | `seccomp` |
//! | capabilities, limits, inherited handles | `child`, between fork and exec |
//!
//! The order for an agent: `prepare` (it needs /proc), then `confine_self` (before any thread of its own), then run.

mod advice;
mod child;
mod landlock;
mod namespace;
mod policy;
mod reach;
mod report;
mod seccomp;
mod worktree;

use std::fmt;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::{self, JoinHandle};

use ::landlock::RulesetCreated;
use rustix::process::DumpableBehavior;
use rustix::thread::LinkNameSpaceType;

use self::child::Garment;
pub(crate) use self::child::own_session;
use self::namespace::Namespaces;
pub use self::policy::{Level, Policy, ProcessLimits};
use self::reach::Reach;
pub use self::report::{Enforced, Network, SandboxError};
use crate::seen::lock;

/// Landlock's version from which signals and abstract sockets are scoped (Linux 6.12): strict needs it, since a command
/// that can signal the agent can end what watches over it.
const STRICT_LANDLOCK: u32 = 6;

/// A garment that a process could put on.
type Tried = Result<Arc<Garment>, SandboxError>;

/// The sandbox of a run, ready for its commands.
pub struct Sandbox {
    policy: Policy,
    reach: Reach,
    enforced: Enforced,
    /// What commands put on, or why none runs; see [`Sandbox::state`].
    state: OnceLock<Result<Option<Arc<Garment>>, SandboxError>>,
    /// A garment that is being tried on.
    trial: Mutex<Option<JoinHandle<Tried>>>,
    /// What the agent itself will be closed in by, until it is.
    own: Mutex<Option<io::Result<RulesetCreated>>>,
}

impl Sandbox {
    /// Makes the sandbox ready, and tries it on a process that does nothing. That it cannot be enforced is no error here:
    /// then [`Sandbox::refusal`] says why no command will run. Where nothing can be given up, that is found out while the
    /// caller goes on; whoever asks waits for it.
    pub fn prepare(policy: Policy) -> Sandbox {
        if policy.level == Level::Off {
            let (enforced, reach) = (Enforced::nothing(Level::Off), Reach::default());
            let (state, trial) = (Ok(None).into(), Mutex::default());
            return Sandbox { policy, reach, enforced, state, trial, own: Mutex::default() };
        }
        let reach = Reach::of_commands(&policy);
        let mut parts = Parts::find(&policy, &reach);
        let mut garment = parts.garment(&policy);
        if policy.level == Level::BestEffort {
            let mut tried = garment.and_then(try_on);
            while tried.is_err() && parts.give_up_one() {
                tried = parts.garment(&policy).and_then(try_on);
            }
            garment = tried;
        }
        let mut enforced = parts.enforced(&policy);
        if let Some(inside) = &reach.exposed {
            enforced.missing.push(format!("{} lies within the workspace and is open", inside.display()));
        }
        let (state, mut trial) = (OnceLock::new(), None);
        match (policy.level, &reach.exposed, garment) {
            (Level::Strict, Some(inside), _) => {
                let (workspace, inside) = (policy.workspace.clone(), inside.clone());
                state.set(Err(SandboxError::Workspace { workspace, inside })).ok();
            }
            (Level::Strict, None, _) if !enforced.missing.is_empty() => {
                state.set(Err(SandboxError::Missing { missing: enforced.missing.clone() })).ok();
            }
            (Level::Strict, None, Ok(garment)) => trial = Some(thread::spawn(|| try_on(garment))),
            (_, _, tried) => drop(state.set(tried.map(Some))),
        }
        let own = landlock::for_agent(&reach.of_agent(&policy), &policy.temporary).map_err(landlock::to_io);
        Sandbox { policy, reach, enforced, state, trial: Mutex::new(trial), own: Mutex::new(Some(own)) }
    }

    fn state(&self) -> &Result<Option<Arc<Garment>>, SandboxError> {
        self.state.get_or_init(|| {
            let trial = lock(&self.trial).take().map(JoinHandle::join);
            trial.unwrap_or_else(|| Ok(Err(panicked()))).unwrap_or_else(|_| Err(panicked())).map(Some)
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

    /// Whether commands may write at `path`, which is absolute and free of symlinks.
    pub(crate) fn may_write(&self, path: &Path) -> bool {
        self.reach.may_write(path)
    }

    /// The IPC namespace that commands are in and cannot leave, named as /proc does; `None` when they have none of their
    /// own.
    pub(crate) fn ipc_namespace(&self) -> Option<String> {
        let garment = self.state().as_ref().ok()?.as_ref()?;
        let ipc = LinkNameSpaceType::InterProcessCommunication;
        let (handle, _) = garment.namespaces.iter().find(|(_, kind)| *kind == ipc)?;
        Some(format!("ipc:[{}]", rustix::fs::fstat(handle).ok()?.st_ino))
    }

    /// The private temporary directory.
    pub(crate) fn temporary(&self) -> &Path {
        &self.policy.temporary
    }

    /// Makes `command` run in a session of its own and in the sandbox.
    pub(crate) fn clothe<'a>(&self, command: &'a mut Command) -> Result<&'a mut Command, &SandboxError> {
        let command = own_session(command);
        Ok(match self.state().as_ref()? {
            Some(garment) => child::confine(command, Arc::clone(garment)),
            None => command,
        })
    }

    /// What a model should know about a command that failed with this output: empty when the sandbox has no part in it.
    pub(crate) fn advice(&self, output: &str) -> String {
        match self.state() {
            Ok(Some(_)) => advice::of(output, &self.reach, &self.enforced),
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
/// To be called before the program starts a thread of its own, after [`Sandbox::prepare`], whose trial may still be on.
/// Gives whether Landlock is on.
///
/// # Errors
/// Under the strict level, when the kernel does not do it.
pub fn confine_self(sandbox: &Sandbox) -> Result<bool, SandboxError> {
    let Some(rules) = lock(&sandbox.own).take() else { return Ok(false) };
    let confined = rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .map_err(io::Error::from)
        .and_then(|()| restrict(rules?));
    match (confined, sandbox.policy.level) {
        (Err(source), Level::Strict) => Err(SandboxError::Setup { what: "the agent itself", source }),
        (confined, _) => Ok(confined.unwrap_or(false)),
    }
}

fn panicked() -> SandboxError {
    SandboxError::setup("a process in it could not be started")(io::Error::other("it panicked"))
}

fn restrict(rules: RulesetCreated) -> io::Result<bool> {
    let status = rules.restrict_self().map_err(landlock::to_io)?;
    Ok(status.ruleset != ::landlock::RulesetStatus::NotEnforced)
}

/// What the kernel can do, each part or why not.
struct Parts {
    landlock: Result<(u32, OwnedFd), String>,
    seccomp: Result<(), String>,
    namespaces: Result<Namespaces, String>,
}

impl Parts {
    fn find(policy: &Policy, reach: &Reach) -> Parts {
        let seccomp = match rustix::thread::secure_computing_mode() {
            Ok(_) if seccomp::programs(false).is_some() => Ok(()),
            Ok(_) => Err("no filters are known for this processor".to_owned()),
            Err(error) => Err(error.to_string()),
        };
        let make_namespaces = || match policy.namespaces {
            false => Err("namespaces are switched off".to_owned()),
            true => Namespaces::make(policy.network, &reach.writable).map_err(|error| error.to_string()),
        };
        // Side by side: the one waits for a process, the other opens files.
        let (namespaces, landlock) = thread::scope(|scope| {
            let namespaces = scope.spawn(make_namespaces);
            let landlock = find_landlock(reach);
            (namespaces.join().unwrap_or_else(|_| Err("it panicked".to_owned())), landlock)
        });
        Parts { landlock, seccomp, namespaces }
    }

    /// What a process puts on.
    fn garment(&self, policy: &Policy) -> Tried {
        let copy = |fd: &OwnedFd| fd.try_clone().map_err(SandboxError::setup("a handle"));
        let without_sockets = !policy.network && self.namespaces.is_err();
        let namespaces = self.namespaces.iter().flat_map(|namespaces| &namespaces.handles);
        Ok(Arc::new(Garment {
            limits: policy.limits,
            namespaces: namespaces.map(|(fd, kind)| Ok((copy(fd)?, *kind))).collect::<Result<_, _>>()?,
            ruleset: self.landlock.as_ref().ok().map(|(_, fd)| copy(fd)).transpose()?,
            filters: match self.seccomp {
                Ok(()) => seccomp::programs(without_sockets).unwrap_or_default(),
                Err(_) => Vec::new(),
            },
        }))
    }

    /// Does without the part that most often cannot be put on. `false` when there is none left.
    fn give_up_one(&mut self) -> bool {
        let refused = || "a process could not put it on".to_owned();
        if self.namespaces.is_ok() {
            self.namespaces = Err(refused());
        } else if self.seccomp.is_ok() {
            self.seccomp = Err(refused());
        } else if self.landlock.is_ok() {
            self.landlock = Err(refused());
        } else {
            return false;
        }
        true
    }

    fn enforced(&self, policy: &Policy) -> Enforced {
        let mut missing = Vec::new();
        match &self.landlock {
            Ok((version, _)) if *version < STRICT_LANDLOCK => missing.push(format!(
                "Landlock {version} scopes no signals, which takes version {STRICT_LANDLOCK} (Linux 6.12)"
            )),
            Ok(_) => {}
            Err(why) => missing.push(format!("Landlock: {why}")),
        }
        if let Err(why) = &self.seccomp {
            missing.push(format!("seccomp: {why}"));
        }
        let network = match (policy.network, &self.namespaces, &self.seccomp) {
            (true, ..) => Network::Open,
            (false, Ok(_), _) => Network::Namespace,
            (false, Err(_), Ok(())) => Network::Seccomp,
            (false, Err(_), Err(_)) => Network::None,
        };
        let landlock = self.landlock.as_ref().ok().map(|(version, _)| *version);
        let mounts = self.namespaces.as_ref().is_ok_and(|namespaces| namespaces.mounts);
        Enforced { level: policy.level, landlock, seccomp: self.seccomp.is_ok(), mounts, network, missing }
    }
}

/// Starts a process in a garment.
fn try_on(garment: Arc<Garment>) -> Tried {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", ":"]).env_clear().current_dir("/");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let failed = SandboxError::setup("a process in it could not be started");
    match child::confine(&mut command, Arc::clone(&garment)).status() {
        Ok(status) if status.success() => Ok(garment),
        Ok(status) => Err(failed(io::Error::other(format!("it ended with {status}")))),
        Err(error) => Err(failed(error)),
    }
}

fn find_landlock(reach: &Reach) -> Result<(u32, OwnedFd), String> {
    let version = child::landlock_version().ok_or("the kernel has it not, or not switched on")?;
    match landlock::for_commands(reach) {
        Ok(Some(ruleset)) => Ok((version, ruleset)),
        Ok(None) => Err("the kernel made no ruleset".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

#[cfg(test)]
mod tests;
