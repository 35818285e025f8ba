//! Which mechanisms of the sandbox the kernel has available, each or why not, and the setup of commands that uses them.

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use landlock::{BitFlags, RulesetCreated, RulesetError, Scope};

use super::access_paths::AccessPaths;
use super::cgroup::Cgroup;
use super::child::{self, ChildSetup};
use super::landlock::{self as rules, InsidePaths};
use super::mountinfo::Mounted;
use super::namespace::{MissingNamespaces, Namespaces};
use super::policy::Policy;
use super::promises::{Mechanism, SCOPED_LANDLOCK};
use super::report::{Enforced, Network, Processes, SandboxError};
use super::seccomp::{self, Sockets};
use super::start::SetupResult;
use super::view::View;

/// Landlock's version from which files can be moved and linked from one directory to another (Linux 5.19).
const MOVING_LANDLOCK: u32 = 2;

/// Files, and what commands see in their place.
pub(super) type CopiedFiles = Vec<(PathBuf, PathBuf)>;

/// Which mechanisms are available, each or why not.
pub(super) struct Available {
    /// Landlock's version and the ruleset of commands.
    landlock: Result<(u32, OwnedFd), String>,
    seccomp: Result<(), String>,
    pub(super) namespaces: Result<Namespaces, String>,
    pub(super) cgroup: Option<Arc<Cgroup>>,
    pub(super) copies: CopiedFiles,
    inside: InsidePaths,
}

impl Available {
    pub(super) fn find(policy: &Policy, access: &AccessPaths, mounts: &[Mounted]) -> Available {
        let seccomp = match rustix::thread::secure_computing_mode() {
            Ok(_) if seccomp::programs(Sockets::default(), false).is_some() => Ok(()),
            Ok(_) => Err("no filters are known for this processor".to_owned()),
            Err(error) => Err(error.to_string()),
        };
        let made = match policy.namespaces {
            false => Err("namespaces are switched off".to_owned()),
            true => make_namespaces(policy, access, mounts).map_err(|error| error.to_string()),
        };
        let (namespaces, inside, copies) = match made {
            Ok((namespaces, inside, copies)) => (Ok(namespaces), inside, copies),
            Err(why) => (Err(why), InsidePaths::default(), Vec::new()),
        };
        let to_limit = namespaces.as_ref().is_ok_and(|namespaces| namespaces.processes.is_some());
        // Where this is refused, the filter is a container's, and so are the groups.
        let cgroup =
            child::has_clone3().then(|| Cgroup::make(mounts, policy, to_limit).map(Arc::new)).flatten();
        let landlock = find_landlock(access, &inside, (policy, namespaces.as_ref().ok()));
        Available { landlock, seccomp, namespaces, cgroup, copies, inside }
    }

    /// Whether Landlock keeps signals and abstract sockets from leaving the sandbox.
    fn is_scoped(&self) -> bool {
        self.landlock.as_ref().is_ok_and(|(version, _)| *version >= SCOPED_LANDLOCK)
    }

    /// Whether processes have a namespace of their own.
    fn is_apart(&self) -> bool {
        self.namespaces.as_ref().is_ok_and(|namespaces| namespaces.processes.is_some())
    }

    /// The ruleset that is to confine the agent itself: the rules for paths `outside` of the namespaces, and those for paths
    /// inside.
    pub(super) fn agent_ruleset(
        &self,
        policy: &Policy,
        outside: Result<RulesetCreated, RulesetError>,
    ) -> io::Result<Option<RulesetCreated>> {
        if self.is_immovable() {
            return Ok(None);
        }
        let around = self.cgroup.iter().filter_map(|cgroup| cgroup.around());
        let emptied: Vec<PathBuf> =
            policy.run_dir.parent().into_iter().chain(around).map(Path::to_owned).collect();
        let rules = outside.and_then(|rules| rules::for_agent_inside(rules, &self.inside, &emptied));
        rules.map(Some).map_err(io::Error::other)
    }

    /// Whether Landlock would do more harm than good: its first version lets nothing move from one directory to another, in
    /// the agent or below it, and the mounts hold without it.
    fn is_immovable(&self) -> bool {
        self.has_mounts() && child::landlock_version().is_some_and(|version| version < MOVING_LANDLOCK)
    }

    pub(super) fn has_mounts(&self) -> bool {
        self.namespaces.as_ref().is_ok_and(|namespaces| namespaces.mounts)
    }

    /// Which sockets are harmless. Names without a path belong to the network; paths are those that are mounted.
    fn sockets(&self, policy: &Policy) -> Sockets {
        let internet = policy.network || self.namespaces.is_ok();
        Sockets { internet, local: self.has_mounts() && (!policy.network || self.is_scoped()) }
    }

    /// The setup of a command's process.
    pub(super) fn setup(&self, policy: &Policy) -> SetupResult {
        let copy = |fd: &OwnedFd| fd.try_clone().map_err(SandboxError::setup("a handle"));
        let namespaces = self.namespaces.iter().flat_map(|namespaces| &namespaces.handles);
        Ok(Arc::new(ChildSetup {
            limits: policy.limits,
            namespaces: namespaces.map(|(fd, kind)| Ok((copy(fd)?, *kind))).collect::<Result<_, _>>()?,
            init_input: self.namespaces.as_ref().ok().map(Namespaces::init_input),
            cgroup: self.cgroup.as_ref().and_then(|cgroup| cgroup.entrance()),
            ruleset: self.landlock.as_ref().ok().map(|(_, fd)| copy(fd)).transpose()?,
            filters: match self.seccomp {
                Ok(()) => seccomp::programs(self.sockets(policy), self.is_apart()).unwrap_or_default(),
                Err(_) => Vec::new(),
            },
        }))
    }

    /// Does without the mechanism that most often cannot be applied. `false` when there is none left.
    pub(super) fn give_up_one(&mut self, policy: &Policy, access: &AccessPaths) -> bool {
        let refused = || "a process could not be confined by it".to_owned();
        if self.cgroup.take().is_some() {
            return true;
        }
        if self.namespaces.is_ok() {
            self.namespaces = Err(refused());
            // What they kept from commands is Landlock's part now.
            if self.landlock.is_ok() {
                self.landlock = find_landlock(access, &InsidePaths::default(), (policy, None));
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

    pub(super) fn enforced(&self, policy: &Policy) -> Enforced {
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
        Enforced { missing: enforced.broken(|mechanism| self.why_not(mechanism)), ..enforced }
    }

    /// Why a mechanism is not available.
    fn why_not(&self, mechanism: Mechanism) -> Option<String> {
        let refused = |kind: &str, of: fn(&MissingNamespaces) -> &Option<String>| match &self.namespaces {
            Ok(namespaces) => of(&namespaces.missing).as_ref().map(|why| format!("{kind}: {why}")),
            Err(why) => Some(format!("namespaces: {why}")),
        };
        match mechanism {
            Mechanism::Mounts => refused("mounts of its own", |refused| &refused.mounts),
            Mechanism::ProcessNamespace => refused("a process namespace", |refused| &refused.processes),
            Mechanism::IpcNamespace | Mechanism::NetworkNamespace => refused("", |_| &None),
            Mechanism::Seccomp => self.seccomp.as_ref().err().map(|why| format!("seccomp: {why}")),
            Mechanism::Landlock => self.landlock.as_ref().err().map(|why| format!("Landlock: {why}")),
            Mechanism::ControlGroup => None,
        }
    }
}

/// The namespaces, and what is open in them alone.
fn make_namespaces(
    policy: &Policy,
    access: &AccessPaths,
    mounts: &[Mounted],
) -> io::Result<(Namespaces, InsidePaths, CopiedFiles)> {
    let View { program, private, copies } = View::make(policy, access, mounts)?;
    let namespaces = Namespaces::make(policy.network, program)?;
    let paths =
        |names: &[&str]| -> Vec<PathBuf> { names.iter().map(|name| namespaces.inside(name)).collect() };
    let inside = match namespaces.mounts {
        true => InsidePaths {
            private,
            memory: paths(&["dev/shm", "dev/mqueue"]),
            terminals: paths(&["dev/pts"]),
            readable: paths(&["proc"]),
        },
        false => InsidePaths::default(),
    };
    Ok((namespaces, inside, copies))
}

fn find_landlock(
    access: &AccessPaths,
    inside: &InsidePaths,
    (policy, namespaces): (&Policy, Option<&Namespaces>),
) -> Result<(u32, OwnedFd), String> {
    let version = child::landlock_version().ok_or("the kernel does not have it, or it is not switched on")?;
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
    match rules::for_commands(access, inside, scopes) {
        Ok(Some(ruleset)) => Ok((version, ruleset)),
        Ok(None) => Err("the kernel made no ruleset".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn a_mechanism_that_cannot_be_applied_is_done_without_and_named() {
        let mut available = Available {
            landlock: Err("absent".to_owned()),
            seccomp: Ok(()),
            namespaces: Err("absent".to_owned()),
            cgroup: None,
            copies: Vec::new(),
            inside: InsidePaths::default(),
        };
        let place = Path::new("/not/there");
        let (policy, access) = (&Policy::new(place, place), AccessPaths::default());
        assert!(available.give_up_one(policy, &access) && !available.give_up_one(policy, &access));
        let enforced = available.enforced(policy);
        assert_eq!((enforced.network, enforced.landlock, enforced.seccomp), (Network::None, None, false));
        let error = SandboxError::Missing { missing: enforced.missing };
        assert!(error.to_string().contains("namespaces: absent") && error.hint().contains("doctor"));
    }
}
