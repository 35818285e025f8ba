//! Why a thread has no directory to work in, and whether another machine may have it.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;
use uwf_snapshot::SnapshotError;

use super::{Commit, Repository};

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
    /// git did not do something with a repository: it cannot be reached, or lacks something.
    #[error("cannot {doing} {repository}: {why}")]
    Git {
        /// What was being done.
        doing: &'static str,
        /// With which repository.
        repository: Repository,
        /// What git says.
        why: String,
    },
    /// A repository does not take a commit.
    #[error("{repository} refuses the commit of the step: {why}")]
    Refused {
        /// Which repository.
        repository: Repository,
        /// What git says.
        why: String,
    },
    /// A thread's branch has a commit that no worker has made.
    #[error("somebody else moved the branch {branch} of {repository} to {there}; the thread is at {ours}")]
    Foreign {
        /// The branch.
        branch: String,
        /// Of which repository.
        repository: Repository,
        /// Where it is.
        there: Commit,
        /// Where the thread is.
        ours: Commit,
    },
    /// The worker wanted to be done with the thread before git was.
    #[error("the worker was told to stop, or lost the lease, before git was done")]
    Stopped,
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
            WorkspaceError::Foreign { branch, repository, ours, .. } => Some(format!(
                "keep that commit under another name, then `git push --force {repository} {ours}:refs/heads/{branch}`"
            )),
            WorkspaceError::Refused { .. } => Some(
                "see that workers may push branches uwf/*, then `uwf thread resume THREAD --remote NAME`"
                    .to_owned(),
            ),
            _ => None,
        }
    }

    /// Whether it is no fault of the thread: another worker may have what this one lacks.
    pub fn is_of_this_machine(&self) -> bool {
        matches!(self, WorkspaceError::NotHere { .. })
    }

    /// Whether the same may succeed later.
    pub fn is_passing(&self) -> bool {
        matches!(self, WorkspaceError::Git { .. } | WorkspaceError::Disk { .. })
    }
}

pub(super) fn disk(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> WorkspaceError + use<> {
    let path = path.to_owned();
    move |source| WorkspaceError::Disk { doing, path, source }
}
