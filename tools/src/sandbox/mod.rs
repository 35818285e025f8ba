//! The sandbox: what commands may reach, enforced by the kernel, and what the agent itself may.
//!
//! [`Policy`] says what is wanted; [`Sandbox::prepare`] finds out what the kernel can do and makes everything ready;
//! `run_command` starts its children in it; [`Sandbox::enforced`] is what goes on record. [`confine_self`] closes in the
//! program that calls it, so that a bug in its own path handling cannot escape either.
//!
//! | what | by |
//! |---|---|
//! | files: writable the workspace and TMPDIR, readable all but homes and secrets | `reach` → `view` → `mounts`, and `landlock` |
//! | modes, owners and times of files outside | mounts |
//! | processes: nothing outlives the run, nothing outside is seen or signalled | `namespace` → `pid_namespace` |
//! | shared memory and message queues | `namespace` |
//! | network | `namespace`, else `seccomp` |
//! | sockets with paths and names | mounts and the network namespace, else `seccomp` |
//! | other sockets, ptrace, io_uring, kernel interfaces | `seccomp` |
//! | capabilities, limits, inherited handles | `child`, between fork and exec |
//!
//! `promises` is the table of what is promised, by which of these; strict is where each promise is kept by one of its means.
//! `maker` is the process that makes the namespaces and stays as their init.
//!
//! The order for an agent: `prepare` (it needs /proc), then `confine_self` (before any thread of its own), then run.

mod advice;
mod cgroup;
mod child;
mod holder;
mod home;
mod landlock;
mod maker;
mod mountinfo;
mod mounts;
mod namespace;
mod pid_namespace;
mod pipe;
mod places;
mod policy;
mod promises;
mod reach;
mod report;
mod seccomp;
mod shared_memory;
mod view;
mod worktree;

use std::fmt;
use std::fs::{self, Permissions};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{ChildStderr, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::{self, JoinHandle};

use ::landlock::{BitFlags, RulesetCreated, Scope};
use rustix::pipe::PipeFlags;
use rustix::process::{DumpableBehavior, Pid, WaitOptions};
use rustix::thread::LinkNameSpaceType;

use self::cgroup::Cgroup;
pub(crate) use self::child::own_session;
use self::child::{Born, Garment};
pub(crate) use self::holder::Holder;
use self::landlock::Inside;
use self::mountinfo::Mounted;
use self::namespace::{Namespaces, Refused};
pub use self::policy::{Level, Policy, ProcessLimits};
use self::promises::SCOPED_LANDLOCK;
pub use self::promises::{Kept, Promise, Wall};
use self::reach::Reach;
pub use self::report::{Enforced, Network, Processes, SandboxError};
use self::seccomp::Sockets;
pub(crate) use self::shared_memory::SharedMemory;
use self::view::View;
use crate::seen::lock;

/// Landlock's version from which files can be moved and linked from one directory to another (Linux 5.19).
const MOVING_LANDLOCK: u32 = 2;

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
    own: Mutex<Option<io::Result<Option<RulesetCreated>>>>,
    /// Everything in them ends when this is dropped.
    namespaces: Option<Namespaces>,
    cgroup: Option<Arc<Cgroup>>,
    copies: Copies,
}

/// A command that was started.
pub(crate) struct Running {
    pub(crate) pid: Pid,
    /// Its number in the namespace of processes, if it is in one.
    pub(crate) inside: Option<i32>,
    pub(crate) stdout: Option<ChildStdout>,
    pub(crate) stderr: Option<ChildStderr>,
}

/// Why a command was not started.
pub(crate) enum StartError<'a> {
    Refused(&'a SandboxError),
    Io(io::Error),
}

impl Sandbox {
    /// Makes the sandbox ready, and tries it on a process that does nothing. That it cannot be enforced is no error here:
    /// then [`Sandbox::refusal`] says why no command will run. Where nothing can be given up, that is found out while the
    /// caller goes on; whoever asks waits for it.
    pub fn prepare(policy: Policy) -> Sandbox {
        if policy.level == Level::Off {
            return Sandbox::off(policy);
        }
        let mounts = mountinfo::parse(&fs::read_to_string("/proc/self/mountinfo").unwrap_or_default());
        let made = make_temporary(&policy);
        let reach = Reach::of_commands(&policy, &mounts);
        let mut parts = Parts::find(&policy, &reach, &mounts);
        let own = parts.own(&policy, &reach);
        let mut garment = made.and_then(|()| parts.garment(&policy));
        if policy.level == Level::BestEffort {
            let mut tried = garment.and_then(try_on);
            while tried.is_err() && parts.give_up_one(&policy, &reach) {
                tried = parts.garment(&policy).and_then(try_on);
            }
            garment = tried;
        }
        if let Some(home) = policy.home.as_ref().filter(|_| !parts.has_mounts()) {
            // Git refuses to work beside a configuration that it may not read. Without a copy it does so still.
            let _ = home::furnish(home, &policy.temporary());
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
            (Level::Strict, None, Ok(garment)) => match try_beside(&garment) {
                Ok(beside) => trial = Some(beside),
                Err(_) => drop(state.set(try_on(garment).map(Some))),
            },
            (_, _, tried) => drop(state.set(tried.map(Some))),
        }
        let (trial, own) = (Mutex::new(trial), Mutex::new(Some(own)));
        let copies = if parts.has_mounts() { parts.copies } else { Vec::new() };
        let (namespaces, cgroup) = (parts.namespaces.ok(), parts.cgroup);
        Sandbox { policy, reach, enforced, state, trial, own, namespaces, cgroup, copies }
    }

    fn off(policy: Policy) -> Sandbox {
        let (enforced, reach) = (Enforced::nothing(Level::Off), Reach::default());
        let state = make_temporary(&policy).map(|()| None).into();
        let (trial, own, copies) = (Mutex::default(), Mutex::default(), Vec::new());
        Sandbox { policy, reach, enforced, state, trial, own, namespaces: None, cgroup: None, copies }
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

    /// How many bytes of memory a command may hold, and what is in no process of it; nothing where the kernel sees to it, and
    /// without a sandbox.
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
    pub(crate) fn start(&self, command: Command) -> Result<Running, StartError<'_>> {
        match self.state() {
            Ok(Some(garment)) => {
                let start = || start_in(command, garment).map_err(StartError::Io);
                match &self.namespaces {
                    Some(namespaces) => namespaces.watched(start),
                    None => start(),
                }
            }
            Ok(None) => start_bare(command).map_err(StartError::Io),
            Err(error) => Err(StartError::Refused(error)),
        }
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

fn restrict(rules: Option<RulesetCreated>) -> io::Result<bool> {
    let Some(rules) = rules else { return Ok(false) };
    let status = rules.restrict_self().map_err(landlock::to_io)?;
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

/// What the kernel can do, each part or why not.
struct Parts {
    landlock: Result<(u32, OwnedFd), String>,
    seccomp: Result<(), String>,
    namespaces: Result<Namespaces, String>,
    cgroup: Option<Arc<Cgroup>>,
    copies: Copies,
    inside: Inside,
}

impl Parts {
    fn find(policy: &Policy, reach: &Reach, mounts: &[Mounted]) -> Parts {
        let seccomp = match rustix::thread::secure_computing_mode() {
            Ok(_) if seccomp::programs(Sockets::default(), false).is_some() => Ok(()),
            Ok(_) => Err("no filters are known for this processor".to_owned()),
            Err(error) => Err(error.to_string()),
        };
        let made = match policy.namespaces {
            false => Err("namespaces are switched off".to_owned()),
            true => make_namespaces(policy, reach, mounts).map_err(|error| error.to_string()),
        };
        let (namespaces, inside, copies) = match made {
            Ok((namespaces, inside, copies)) => (Ok(namespaces), inside, copies),
            Err(why) => (Err(why), Inside::default(), Vec::new()),
        };
        let to_limit = namespaces.as_ref().is_ok_and(|namespaces| namespaces.processes.is_some());
        // Where this is refused, the filter is a container's, and so are the groups.
        let cgroup =
            child::has_clone3().then(|| Cgroup::make(mounts, policy, to_limit).map(Arc::new)).flatten();
        let landlock = find_landlock(reach, &inside, (policy, namespaces.as_ref().ok()));
        Parts { landlock, seccomp, namespaces, cgroup, copies, inside }
    }

    /// Whether signals and abstract sockets end at Landlock's walls.
    fn is_scoped(&self) -> bool {
        self.landlock.as_ref().is_ok_and(|(version, _)| *version >= SCOPED_LANDLOCK)
    }

    /// Whether processes have a namespace of their own.
    fn is_apart(&self) -> bool {
        self.namespaces.as_ref().is_ok_and(|namespaces| namespaces.processes.is_some())
    }

    /// What the agent itself is to be closed in by.
    fn own(&self, policy: &Policy, reach: &Reach) -> io::Result<Option<RulesetCreated>> {
        if self.is_immovable() {
            return Ok(None);
        }
        let around = self.cgroup.iter().filter_map(|cgroup| cgroup.around());
        let emptied: Vec<PathBuf> =
            policy.run_dir.parent().into_iter().chain(around).map(Path::to_owned).collect();
        let rules = landlock::for_agent(&reach.of_agent(policy), &self.inside, &emptied);
        rules.map(Some).map_err(landlock::to_io)
    }

    /// Whether Landlock would do more harm than good: its first version lets nothing move from one directory to another, in
    /// the agent or below it, and the mounts hold without it.
    fn is_immovable(&self) -> bool {
        self.has_mounts() && child::landlock_version().is_some_and(|version| version < MOVING_LANDLOCK)
    }

    fn has_mounts(&self) -> bool {
        self.namespaces.as_ref().is_ok_and(|namespaces| namespaces.mounts)
    }

    /// Which sockets are harmless. Names without a path belong to the network; paths are those that are mounted.
    fn sockets(&self, policy: &Policy) -> Sockets {
        let internet = policy.network || self.namespaces.is_ok();
        Sockets { internet, local: self.has_mounts() && (!policy.network || self.is_scoped()) }
    }

    /// What a process puts on.
    fn garment(&self, policy: &Policy) -> Tried {
        let copy = |fd: &OwnedFd| fd.try_clone().map_err(SandboxError::setup("a handle"));
        let namespaces = self.namespaces.iter().flat_map(|namespaces| &namespaces.handles);
        Ok(Arc::new(Garment {
            limits: policy.limits,
            namespaces: namespaces.map(|(fd, kind)| Ok((copy(fd)?, *kind))).collect::<Result<_, _>>()?,
            cgroup: self.cgroup.as_ref().and_then(|cgroup| cgroup.entrance()),
            ruleset: self.landlock.as_ref().ok().map(|(_, fd)| copy(fd)).transpose()?,
            filters: match self.seccomp {
                Ok(()) => seccomp::programs(self.sockets(policy), self.is_apart()).unwrap_or_default(),
                Err(_) => Vec::new(),
            },
        }))
    }

    /// Does without the part that most often cannot be put on. `false` when there is none left.
    fn give_up_one(&mut self, policy: &Policy, reach: &Reach) -> bool {
        let refused = || "a process could not put it on".to_owned();
        if self.cgroup.take().is_some() {
            return true;
        }
        if self.namespaces.is_ok() {
            self.namespaces = Err(refused());
            // What they kept from commands is Landlock's part now.
            if self.landlock.is_ok() {
                self.landlock = find_landlock(reach, &Inside::default(), (policy, None));
            }
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
        let network = match (policy.network, &self.namespaces, &self.seccomp) {
            (true, ..) => Network::Open,
            (false, Ok(_), _) => Network::Namespace,
            (false, Err(_), Ok(())) => Network::Seccomp,
            (false, Err(_), Err(_)) => Network::None,
        };
        let processes = match (&self.namespaces, &self.cgroup) {
            (Ok(Namespaces { processes: Some(_), .. }), _) => Processes::Namespace,
            (_, Some(_)) => Processes::Cgroup,
            (_, None) => Processes::Found,
        };
        let (landlock, seccomp) =
            (self.landlock.as_ref().ok().map(|(version, _)| *version), self.seccomp.is_ok());
        let (mounts, missing) = (self.has_mounts(), Vec::new());
        let enforced =
            Enforced { level: policy.level, landlock, seccomp, mounts, processes, network, missing };
        Enforced { missing: enforced.broken(|wall| self.why_not(wall)), ..enforced }
    }

    /// Why a wall is not there.
    fn why_not(&self, wall: Wall) -> Option<String> {
        let refused = |kind: &str, of: fn(&Refused) -> &Option<String>| match &self.namespaces {
            Ok(namespaces) => of(&namespaces.refused).as_ref().map(|why| format!("{kind}: {why}")),
            Err(why) => Some(format!("namespaces: {why}")),
        };
        match wall {
            Wall::Mounts => refused("mounts of its own", |refused| &refused.mounts),
            Wall::ProcessNamespace => refused("a process namespace", |refused| &refused.processes),
            Wall::IpcNamespace | Wall::NetworkNamespace => refused("", |_| &None),
            Wall::Seccomp => self.seccomp.as_ref().err().map(|why| format!("seccomp: {why}")),
            Wall::Landlock => self.landlock.as_ref().err().map(|why| format!("Landlock: {why}")),
            Wall::ControlGroup => None,
        }
    }
}

/// Files, and what commands see in their place.
type Copies = Vec<(PathBuf, PathBuf)>;

/// The namespaces, and what is open in them alone.
fn make_namespaces(
    policy: &Policy,
    reach: &Reach,
    mounts: &[Mounted],
) -> io::Result<(Namespaces, Inside, Copies)> {
    let View { program, private, copies } = View::make(policy, reach, mounts)?;
    let namespaces = Namespaces::make(policy.network, program)?;
    let paths =
        |names: &[&str]| -> Vec<PathBuf> { names.iter().map(|name| namespaces.inside(name)).collect() };
    let inside = match namespaces.mounts {
        true => Inside {
            private,
            memory: paths(&["dev/shm", "dev/mqueue"]),
            terminals: paths(&["dev/pts"]),
            readable: paths(&["proc"]),
        },
        false => Inside::default(),
    };
    Ok((namespaces, inside, copies))
}

/// Starts a command in a garment. Where that has a namespace of processes, what was started is not what was forked.
fn start_in(mut command: Command, garment: &Arc<Garment>) -> io::Result<Running> {
    let (reports, report) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
    let started = child::confine(&mut command, Arc::clone(garment), report).spawn();
    // Its end of the pipe goes with it.
    drop(command);
    let born = Born::read(reports);
    let beside = Pid::from_raw(born.outside).filter(|_| born.outside > 0);
    match (started, beside) {
        (Ok(mut child), Some(pid)) => {
            child.wait()?;
            Ok(Running {
                pid,
                inside: Some(born.inside),
                stdout: child.stdout.take(),
                stderr: child.stderr.take(),
            })
        }
        (Ok(child), None) => running(child),
        (Err(error), beside) => {
            // It has ended, with the error.
            beside.map(|pid| rustix::process::waitpid(Some(pid), WaitOptions::empty())).transpose()?;
            Err(error)
        }
    }
}

fn start_bare(mut command: Command) -> io::Result<Running> {
    running(own_session(&mut command).spawn()?)
}

fn running(mut child: std::process::Child) -> io::Result<Running> {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let pid = pid.ok_or_else(|| io::Error::other("the process has no usable pid"))?;
    Ok(Running { pid, inside: None, stdout: child.stdout.take(), stderr: child.stderr.take() })
}

/// Starts a process in a garment.
fn try_on(garment: Arc<Garment>) -> Tried {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", ":"]).env_clear().current_dir("/");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let failed = SandboxError::setup("a process in it could not be started");
    let ended = start_in(command, &garment).and_then(|running| {
        let status = rustix::process::waitpid(Some(running.pid), WaitOptions::empty())?;
        Ok(status.and_then(|(_, status)| status.exit_status()))
    });
    match ended {
        Ok(Some(0)) => Ok(garment),
        Ok(status) => Err(failed(io::Error::other(format!("it ended with {status:?}")))),
        Err(error) => Err(failed(error)),
    }
}

/// The same while the caller goes on.
fn try_beside(garment: &Arc<Garment>) -> io::Result<JoinHandle<Tried>> {
    let garment = Arc::clone(garment);
    thread::Builder::new().name("sandbox".to_owned()).spawn(|| try_on(garment))
}

fn find_landlock(
    reach: &Reach,
    inside: &Inside,
    (policy, namespaces): (&Policy, Option<&Namespaces>),
) -> Result<(u32, OwnedFd), String> {
    let version = child::landlock_version().ok_or("the kernel has it not, or not switched on")?;
    if version < MOVING_LANDLOCK && namespaces.is_some_and(|namespaces| namespaces.mounts) {
        return Err("version 1 lets nothing move between directories".to_owned());
    }
    let mut scopes = BitFlags::empty();
    if namespaces.is_none_or(|namespaces| namespaces.processes.is_none()) {
        scopes |= Scope::Signal;
    }
    if namespaces.is_none() || policy.network {
        scopes |= Scope::AbstractUnixSocket;
    }
    match landlock::for_commands(reach, inside, scopes) {
        Ok(Some(ruleset)) => Ok((version, ruleset)),
        Ok(None) => Err("the kernel made no ruleset".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

#[cfg(test)]
mod tests;
