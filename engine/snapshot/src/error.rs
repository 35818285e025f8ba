//! What can go wrong with a snapshot. The text names the thing and what was expected, and what to do where that is known.

use std::io;
use std::path::{Path, PathBuf};

use uwf_store::{Hash, StoreError};

/// Why a snapshot could not be made, read or restored. Nothing was changed then, unless a variant says otherwise.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A file operation failed. While a workspace is restored, what came before it may be done: restoring again goes on
    /// from there.
    #[error("could not {doing} '{}': {source}", path.display())]
    Io {
        /// The verb.
        doing: &'static str,
        /// Of which file or directory.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The workspace is larger than a snapshot may be.
    #[error(
        "the workspace is too large for a snapshot: at '{}' it has more than {allowed} {}: leave more out (`leave_out`) \
         or raise `{}`", path.display(), limit.unit(), limit.setting()
    )]
    TooLarge {
        /// Which limit.
        limit: Limit,
        /// What it is.
        allowed: u64,
        /// What was looked at when it was exceeded.
        path: PathBuf,
    },
    /// Directories within each other, more than can be walked.
    #[error(
        "the directory '{}' is too deep for a snapshot: more than {allowed} levels; leave it out (`leave_out`)",
        path.display()
    )]
    TooDeep {
        /// The directory.
        path: PathBuf,
        /// How many levels are allowed.
        allowed: usize,
    },
    /// A pattern of files to leave out that is none.
    #[error("{pattern:?} in `leave_out` is no pattern: {why}")]
    Pattern {
        /// The pattern.
        pattern: String,
        /// What is wrong with it.
        why: String,
    },
    /// A node that should be a directory cannot be one.
    #[error("node {tree} is no directory of a snapshot: {why}")]
    Damaged {
        /// The node.
        tree: Hash,
        /// What is wrong with it.
        why: String,
    },
    /// A change that is none of this workspace.
    #[error("'{}' is no path within a workspace", path.display())]
    BadPath {
        /// Its path.
        path: PathBuf,
    },
    /// A snapshot was to be checked out where there is something.
    #[error("the directory '{}' is not empty: check a snapshot out into a new one", path.display())]
    NotEmpty {
        /// The directory.
        path: PathBuf,
    },
    /// The reader of a patch has gone, or its disk is full.
    #[error("could not write the patch: {0}")]
    Output(io::Error),
}

/// What a snapshot may not have more of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// Files, symlinks and directories.
    Entries,
    /// Bytes in all files.
    Bytes,
}

impl Limit {
    fn unit(self) -> &'static str {
        match self {
            Limit::Entries => "files and directories",
            Limit::Bytes => "bytes",
        }
    }

    /// The name of the field in [`crate::Options`].
    pub fn setting(self) -> &'static str {
        match self {
            Limit::Entries => "max_entries",
            Limit::Bytes => "max_bytes",
        }
    }
}

pub(crate) fn io_error<E: Into<io::Error>>(
    doing: &'static str,
    path: &Path,
) -> impl FnOnce(E) -> SnapshotError + use<E> {
    let path = path.to_owned();
    move |error| SnapshotError::Io { doing, path, source: error.into() }
}
