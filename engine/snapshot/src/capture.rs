//! A workspace into the store: walked by open directories, read where it has changed, put from the leaves up.
//!
//! Nobody holds still meanwhile. No symlink is followed: every name is looked up in the handle of its directory. What
//! changes while it is read is read again, and said to have changed where it does not come to rest; what vanishes is not
//! there. So a snapshot of a workspace at work is one of moments close together, not of one moment.

mod content;
mod ignored;
mod listing;
mod walk;

use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, openat};
use uwf_store::{Hash, Store};

use crate::cache::CaptureCache;
use crate::error::{SnapshotError, io_error};
use crate::options::Options;
use walk::CaptureWalk;

/// A workspace as it was, in a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// The directory: a node of type [`crate::TREE`]. Equal workspaces have the same.
    pub tree: Hash,
    /// How many files, symlinks and directories it has, the workspace itself not counted.
    pub entries: u64,
    /// How many bytes its files have together.
    pub bytes: u64,
    /// What was left out because an ignore file or [`Options::leave_out`] says so; a directory counts as one.
    pub left_out: u64,
    /// Sockets, FIFOs and devices, which are left out.
    pub special: u64,
    /// What is not in it, or not surely as it was, in the order it was found.
    pub notices: Vec<CaptureNotice>,
    /// What it took.
    pub work: CaptureWork,
}

/// How much had to be done, where the cache did not know.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CaptureWork {
    /// Files that were read.
    pub files_read: u64,
    /// Directories that were put into the store.
    pub trees_put: u64,
}

/// Something that a snapshot does not show as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaptureNotice {
    /// Relative to the workspace.
    pub path: PathBuf,
    /// What about it.
    pub why: Why,
}

/// See [`CaptureNotice`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Why {
    /// Kept as it was read last, though it was written to meanwhile.
    #[error("it changed whenever it was read")]
    Changing,
    /// Not there: it was listed, and then it was not.
    #[error("it vanished while the workspace was walked")]
    Vanished,
    /// Left out: it may not be read.
    #[error("left out: it cannot be read: {0}")]
    Unreadable(String),
    /// Left out: its content, its name or its target has a text of [`Options::withheld`].
    #[error("left out: it holds a secret")]
    Secret,
    /// Left out: it is larger than a file may be.
    #[error("left out: it has {size} bytes, more than the {allowed} of `max_file_bytes`")]
    TooLarge {
        /// How many bytes it has.
        size: u64,
        /// How many a file may have.
        allowed: u64,
    },
}

/// Puts the workspace in `dir` into the store. What `cache` has of the last snapshot is not read again; then it has this
/// one, and is not saved yet.
///
/// # Errors
/// The workspace is missing, larger than the options allow or deeper than can be walked, a pattern to leave out is none,
/// or the store cannot be written. The cache is what it was then.
pub fn capture(
    dir: &Path,
    options: &Options,
    cache: &mut CaptureCache,
    store: &Store,
) -> Result<Snapshot, SnapshotError> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let handle = openat(CWD, dir, flags, Mode::empty()).map_err(io_error("open the directory", dir))?;
    let mut walk = CaptureWalk::new(dir, options, store)?;
    let (root, is_same) = walk.root(&handle, cache.kept_in(store))?;
    let snapshot = walk.finish(root.tree)?;
    if !(is_same && cache.is_of(dir)) {
        cache.replace(dir, root);
    }
    Ok(snapshot)
}

/// Whether everything that is to be left out is named by a pattern: for those who would know before they capture.
///
/// # Errors
/// [`SnapshotError::Pattern`] for the first that is none.
pub fn check(options: &Options) -> Result<(), SnapshotError> {
    ignored::Ignored::new(options).map(drop)
}

#[cfg(test)]
#[path = "capture_tests.rs"]
mod tests;
