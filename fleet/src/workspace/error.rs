//! Why a thread has no directory to work in, and whether another machine may have it.

use std::io;
use std::path::PathBuf;

use thiserror::Error;
use uwf_snapshot::SnapshotError;

/// Why a thread's directory could not be made, read or kept.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum WorkspaceError {
    /// What is said of it makes no sense.
    #[error("the workspace's {field} {why}")]
    Invalid {
        /// Which field.
        field: String,
        /// What is wrong with it.
        why: String,
    },
    /// This machine does not have it; another one may.
    #[error("{what}")]
    NotHere {
        /// What is missing here.
        what: String,
        /// What to do.
        hint: String,
    },
    /// A snapshot cannot be taken or made a directory.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    /// A directory cannot be made, moved or removed.
    #[error("cannot {doing} {}", path.display())]
    Disk {
        /// What was being done.
        doing: &'static str,
        /// Where.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
}

impl WorkspaceError {
    /// What to do about it, when that can be said.
    pub fn hint(&self) -> Option<String> {
        match self {
            WorkspaceError::NotHere { hint, .. } => Some(hint.clone()),
            _ => None,
        }
    }

    /// Whether it is no fault of the thread: another worker may have what this one lacks.
    pub fn is_of_this_machine(&self) -> bool {
        matches!(self, WorkspaceError::NotHere { .. })
    }
}
