//! What is wanted of the sandbox: the values people and callers give. No file is looked at here.
//!
//! Apart from [`super::access_paths`], which finds out what the wishes mean for the tree that is there.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// How much of the sandbox must be there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// All of it, or no command runs.
    #[default]
    Strict,
    /// Whatever the kernel can enforce; what it cannot is in the report.
    BestEffort,
    /// None of it.
    Off,
}

/// What commands (and the agent around them) may reach.
#[derive(Clone, Debug)]
pub struct Policy {
    /// How much must be there.
    pub level: Level,
    /// Commands may use the network of the machine.
    pub network: bool,
    /// The directory to work in: readable and writable.
    pub workspace: PathBuf,
    /// The private directory of this run, empty: what commands have for themselves (TMPDIR, a home) is made in it. The
    /// caller makes it and removes it: see [`crate::RunDir`].
    pub run_dir: PathBuf,
    /// The home of the user. Commands see of it what is known to hold no secret: toolchains, caches, who commits.
    pub home: Option<PathBuf>,
    /// Directories of programs (those of PATH): where they lie below a home, commands read them.
    pub programs: Vec<PathBuf>,
    /// Directories of the agent itself (`$UWF_HOME`, the store): closed to commands, open to the agent.
    pub private: Vec<PathBuf>,
    /// The paths of the workspace that commands may write, relative to it; `None` is all of it, and the directories of git
    /// that a linked worktree has elsewhere. The agent's own process is not held to it.
    pub within: Option<Vec<PathBuf>>,
    /// More paths that commands may write, such as `~/.cargo`. What does not exist is left out.
    pub writable: Vec<PathBuf>,
    /// More paths that commands may read although they lie in a home or a secret's place.
    pub readable: Vec<PathBuf>,
    /// Commands may change which programs git runs: its hooks and configuration are the workspace's own. Else commands see
    /// hooks that they cannot change, and change a copy of the configuration.
    pub git_programs: bool,
    /// What one command's processes may use up.
    pub limits: ProcessLimits,
    /// Whether to use namespaces, where the kernel allows it. Without, less can be enforced: no strict level is.
    pub namespaces: bool,
}

impl Policy {
    /// Strict, without network, nothing beside the two directories.
    pub fn new(workspace: impl Into<PathBuf>, run_dir: impl Into<PathBuf>) -> Policy {
        Policy {
            level: Level::Strict,
            network: false,
            workspace: workspace.into(),
            run_dir: run_dir.into(),
            home: None,
            programs: Vec::new(),
            private: Vec::new(),
            within: None,
            writable: Vec::new(),
            readable: Vec::new(),
            git_programs: false,
            limits: ProcessLimits::default(),
            namespaces: true,
        }
    }

    /// TMPDIR of commands.
    pub fn temporary(&self) -> PathBuf {
        self.run_dir.join("tmp")
    }

    /// Where copies of git's configuration are that commands change.
    pub(crate) fn copies(&self) -> PathBuf {
        self.run_dir.join("git")
    }
}

/// Limits of a command: of each process by the kernel (setrlimit), of all together by a control group or by being
/// watched. The defaults are far above what a build uses, and below what takes a machine down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct ProcessLimits {
    /// Processes and threads of the user (`RLIMIT_NPROC`). The kernel does not apply it to root: a command of root's that
    /// has more processes is ended.
    pub processes: u64,
    /// The longest file that can be written, in bytes (`RLIMIT_FSIZE`).
    pub file_bytes: u64,
    /// Memory of a command's processes together, in bytes, and private memory of each (`RLIMIT_DATA`; address space
    /// alone, as runtimes reserve it, is free). Shared memory counts, mapped files do not.
    pub memory_bytes: u64,
    /// Disk space that the run uses up, in bytes: what the file systems of the workspace and of the private directory
    /// have less of than when the run began. A command that goes on over it is ended, and one that leaves less than 64 MB
    /// free. What other programs write meanwhile counts too.
    pub disk_bytes: u64,
}

impl Default for ProcessLimits {
    fn default() -> Self {
        ProcessLimits { processes: 8_192, file_bytes: 16 << 30, memory_bytes: 16 << 30, disk_bytes: 64 << 30 }
    }
}
