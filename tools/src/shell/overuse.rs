//! What a command may use up beside its time: processes, memory, disk; and what people can do about it.

use std::fmt;

use crate::limits::bytes;

/// What a command used more of than it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Overuse {
    Processes,
    /// The limit in bytes.
    Memory(u64),
    /// The limit in bytes.
    Disk(u64),
    /// What must be left, in bytes.
    DiskLeft(u64),
}

impl Overuse {
    /// What people can do about it.
    pub(crate) fn hint(self) -> &'static str {
        match self {
            Overuse::Processes => "; people allow more by sandbox.limits.processes in agents/builtin.yaml",
            Overuse::Memory(_) => "; people allow more by sandbox.limits.memoryBytes in agents/builtin.yaml",
            Overuse::Disk(_) => {
                "; what other programs wrote since the run began counts too. Remove what is not needed; people allow more \
                 by sandbox.limits.diskBytes in agents/builtin.yaml"
            }
            Overuse::DiskLeft(_) => {
                "; what other programs wrote counts too. Remove what is not needed before anything else is written"
            }
        }
    }
}

impl fmt::Display for Overuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Overuse::Processes => f.write_str("ended for starting more processes than a command may"),
            Overuse::Memory(limit) => {
                write!(f, "ended for using more memory than a command may ({})", bytes(*limit))
            }
            Overuse::Disk(limit) => {
                write!(f, "ended for using up more of the disk than a run may ({})", bytes(*limit))
            }
            Overuse::DiskLeft(left) => {
                write!(f, "ended because less than {} of the disk is free", bytes(*left))
            }
        }
    }
}
