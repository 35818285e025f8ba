//! One path that differs between two snapshots.

use std::path::PathBuf;

use crate::tree::SnapshotEntry;

/// What is different at a path, or moved there.
///
/// Directories are told where they come or go and where their permissions differ, so that a workspace can be restored from
/// changes alone; what is in them is told by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeChange {
    /// Relative to the workspace.
    pub path: PathBuf,
    /// Where the file was, if it was moved: then `before` is what was there.
    pub renamed_from: Option<PathBuf>,
    /// What it was; none where nothing was.
    pub before: Option<SnapshotEntry>,
    /// What it is; none where nothing is.
    pub after: Option<SnapshotEntry>,
}

/// See [`TreeChange::kind`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ChangeKind {
    /// It was not there.
    Added,
    /// It is not there any more.
    Removed,
    /// It has another content, another target or other permissions.
    Modified,
    /// It became something else: a file a directory, a symlink a file.
    Retyped,
    /// It was elsewhere, with the same content.
    Renamed,
}

impl TreeChange {
    /// What happened.
    pub fn kind(&self) -> ChangeKind {
        match (&self.before, &self.after) {
            _ if self.renamed_from.is_some() => ChangeKind::Renamed,
            (None, _) => ChangeKind::Added,
            (_, None) => ChangeKind::Removed,
            (Some(before), Some(after)) if same_type(before, after) => ChangeKind::Modified,
            _ => ChangeKind::Retyped,
        }
    }

    /// Whether only directories are concerned: what git does not tell.
    pub fn is_directory(&self) -> bool {
        [&self.before, &self.after].into_iter().flatten().all(SnapshotEntry::is_directory)
    }
}

/// Whether both are files, both are symlinks or both are directories.
pub(crate) fn same_type(one: &SnapshotEntry, other: &SnapshotEntry) -> bool {
    std::mem::discriminant(one) == std::mem::discriminant(other)
}
