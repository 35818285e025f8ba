//! What was really enforced, and why nothing could be: for the record, for `doctor`, and for the model.

use std::fmt;
use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::policy::Level;

/// What commands really run under. In the record as it is serialized.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Enforced {
    /// The level that was asked for.
    pub level: Level,
    /// The version of Landlock that confines files, signals (from 6) and abstract sockets (from 6).
    pub landlock: Option<u32>,
    /// Whether system calls are filtered.
    pub seccomp: bool,
    /// Whether they have mounts of their own, in which all but what is writable is read-only and secrets are not there.
    /// Without, the modes, owners and times of files outside are not protected: Landlock does not govern those.
    #[serde(default)]
    pub mounts: bool,
    /// What ends their processes.
    #[serde(default)]
    pub processes: Processes,
    /// What keeps commands off the network.
    pub network: Network,
    /// What is promised and not kept ([`Enforced::promises`]), by its causes. Empty under a strict level that holds.
    pub missing: Vec<String>,
}

impl Enforced {
    /// Nothing at all.
    pub fn nothing(level: Level) -> Enforced {
        let (network, missing) = (Network::Open, Vec::new());
        Enforced {
            level,
            landlock: None,
            seccomp: false,
            mounts: false,
            processes: Processes::Found,
            network,
            missing,
        }
    }
}

/// What ends the processes of commands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Processes {
    /// The kernel, with the namespace they are in.
    Namespace,
    /// The kernel, with the control group they are in.
    Cgroup,
    /// The agent, by looking for them: what hides well enough lives on.
    #[default]
    Found,
}

/// What keeps commands off the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Network {
    /// A network of their own: loopback and nothing else.
    Namespace,
    /// Sockets are refused, loopback too.
    Seccomp,
    /// Nothing, though it should be: the kernel has neither.
    None,
    /// Nothing: the network is allowed.
    Open,
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Network::Namespace => "namespace",
            Network::Seccomp => "seccomp",
            Network::None => "none",
            Network::Open => "open",
        })
    }
}

/// Why commands cannot be run under the sandbox that was asked for.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// Parts of the strict sandbox are missing.
    #[error("the strict sandbox cannot be enforced here: {}", .missing.join("; "))]
    Missing {
        /// Each part, with the reason.
        missing: Vec<String>,
    },
    /// Landlock allows whole trees and cannot leave a part out of one.
    #[error(
        "the workspace {} cannot be confined: {} lies within it, and what lies within the workspace cannot be kept \
         from commands", .workspace.display(), .inside.display()
    )]
    Workspace {
        /// The workspace.
        workspace: PathBuf,
        /// What must stay closed.
        inside: PathBuf,
    },
    /// A system call failed that should not.
    #[error("the sandbox could not be set up: {what}: {source}")]
    Setup {
        /// What was tried.
        what: &'static str,
        /// What the system said.
        source: io::Error,
    },
}

impl SandboxError {
    /// What people can do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            SandboxError::Workspace { .. } => {
                "work in a directory further down, or move UWF_HOME and OCAS_HOME out of it; --sandbox best-effort \
                 (of `uwf thread exec`, resume and poke, or of `uwf-builtin`) leaves them open to commands"
            }
            _ => {
                "`uwf-builtin doctor` shows what the kernel can enforce; --sandbox best-effort (of `uwf thread exec`, \
                 resume and poke, or of `uwf-builtin`) takes what there is, and a role without run_command (`tools` \
                 of the role in agents/builtin.yaml) needs none of it"
            }
        }
    }

    pub(crate) fn setup(what: &'static str) -> impl FnOnce(io::Error) -> SandboxError {
        move |source| SandboxError::Setup { what, source }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_name_the_programs_that_take_the_option() {
        let missing = SandboxError::Missing { missing: Vec::new() };
        let workspace = SandboxError::Workspace { workspace: PathBuf::new(), inside: PathBuf::new() };
        for error in [missing, workspace] {
            let hint = error.hint();
            let option = "--sandbox best-effort (of `uwf thread exec`, resume and poke, or of `uwf-builtin`)";
            assert!(hint.contains(option), "{hint}");
        }
    }
}
