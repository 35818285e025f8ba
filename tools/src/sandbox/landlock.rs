//! From the paths that are open to a Landlock ruleset: what the kernel checks on every access to a file.
//!
//! `/` as a whole may be listed (names, never contents), so that `ls /` and tools that walk up to find their root work.
//! No network rights are handled: Landlock knows TCP alone, and namespaces and seccomp know it all.

use std::os::fd::OwnedFd;
use std::path::PathBuf;

use landlock::{
    ABI, Access, AccessFs, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, RulesetError, Scope,
};

use super::access_paths::AccessPaths;

/// The version up to which we know what to ask for; newer kernels know more, and do at least this.
const KNOWN: ABI = ABI::V7;

/// The paths that are open only inside the namespaces of a run: directories, and paths by /proc of what is mounted there.
#[derive(Debug, Default)]
pub(crate) struct InsidePaths {
    /// Directories that commands write.
    pub(crate) private: Vec<PathBuf>,
    /// Shared memory and message queues.
    pub(crate) memory: Vec<PathBuf>,
    /// Terminals.
    pub(crate) terminals: Vec<PathBuf>,
    /// What commands read: /proc.
    pub(crate) readable: Vec<PathBuf>,
}

/// Rules for commands, with `scopes` only for what no namespace keeps from them: each command is in a Landlock domain of
/// its own, and a scope would keep it from signalling what an earlier command left running.
pub(crate) fn for_commands(
    access: &AccessPaths,
    inside: &InsidePaths,
    scopes: BitFlags<Scope>,
) -> Result<Option<OwnedFd>, RulesetError> {
    Ok(open_inside(ruleset(access, scopes)?, inside)?.into())
}

/// Rules for the agent, to which [`for_agent_inside`] adds: its own process must be able to end its commands, which are
/// inside.
pub(crate) fn for_agent(access: &AccessPaths) -> Result<RulesetCreated, RulesetError> {
    ruleset(access, BitFlags::empty())
}

/// Adds to [`for_agent`]'s rules what is inside. The agent may remove empty directories in `emptied`, since that is how it
/// removes that of the run.
pub(crate) fn for_agent_inside(
    ruleset: RulesetCreated,
    inside: &InsidePaths,
    emptied: &[PathBuf],
) -> Result<RulesetCreated, RulesetError> {
    rules(open_inside(ruleset, inside)?, emptied, AccessFs::RemoveDir.into())
}

fn read() -> BitFlags<AccessFs> {
    AccessFs::Execute | AccessFs::ReadFile | AccessFs::ReadDir
}

/// Without the right to refer, files could be neither linked nor moved from one directory to another.
fn write() -> BitFlags<AccessFs> {
    AccessFs::from_all(KNOWN) & !(AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::IoctlDev)
}

fn device() -> BitFlags<AccessFs> {
    AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::IoctlDev
}

fn ruleset(access: &AccessPaths, scopes: BitFlags<Scope>) -> Result<RulesetCreated, RulesetError> {
    let ruleset = Ruleset::default().set_compatibility(CompatLevel::BestEffort);
    let mut ruleset = ruleset.handle_access(AccessFs::from_all(KNOWN))?;
    if !scopes.is_empty() {
        ruleset = ruleset.scope(scopes)?;
    }
    let ruleset = rules(ruleset.create()?, &[PathBuf::from("/")], AccessFs::ReadDir.into())?;
    let ruleset = rules(ruleset, &access.readable, read())?;
    let ruleset = rules(ruleset, &access.devices, device())?;
    rules(ruleset, &access.writable, write())
}

fn open_inside(ruleset: RulesetCreated, inside: &InsidePaths) -> Result<RulesetCreated, RulesetError> {
    let ruleset = rules(ruleset, &inside.readable, read())?;
    let ruleset = rules(ruleset, &inside.terminals, device())?;
    let ruleset = rules(ruleset, &inside.memory, write())?;
    rules(ruleset, &inside.private, write())
}

/// Adds a rule for each path. What is gone by now needs none; what the kernel takes for no file has none.
fn rules(
    mut ruleset: RulesetCreated,
    paths: &[PathBuf],
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, RulesetError> {
    for path in paths {
        if let Ok(fd) = PathFd::new(path) {
            ruleset = ruleset.add_rule(PathBeneath::new(fd, access))?;
        }
    }
    Ok(ruleset)
}
