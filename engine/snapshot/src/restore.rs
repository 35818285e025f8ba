//! A workspace made like a snapshot, where it still is like another one.
//!
//! First everything is looked at: what is neither as it was nor as it shall be is somebody's work, and a conflict. Then
//! new contents are written beside what they replace and synced; until then nothing has changed, and what fails leaves
//! nothing behind. Then each path changes at once: renamed into place, or removed. Whenever that is cut off, doing it
//! again finishes it: every state on the way is one of those it starts from.

mod apply;
mod check;
mod place;
mod stage;

use std::path::{Path, PathBuf};

use uwf_store::{Hash, Store};

use crate::change::TreeChange;
use crate::diff;
use crate::error::SnapshotError;
use check::Checked;
use place::OpenWorkspace;

/// What became of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Restored {
    /// Paths that were changed.
    pub restored: u64,
    /// Paths that were as they shall be.
    pub already: u64,
    /// Paths that are neither as they were nor as they shall be; they are left alone.
    pub conflicts: Vec<Conflict>,
    /// Directories that should go and are not empty: there is something in them that is in no snapshot.
    pub kept: Vec<PathBuf>,
}

/// A path that is not restored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// Relative to the workspace.
    pub path: PathBuf,
    /// Why not.
    pub why: ConflictReason,
}

/// See [`Conflict`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ConflictReason {
    /// It should be there.
    #[error("it is missing")]
    Missing,
    /// Nothing should be there.
    #[error("something is there")]
    Exists,
    /// Its content or target is another one.
    #[error("its content has changed")]
    Content,
    /// Its permissions are others.
    #[error("its permissions have changed")]
    Mode,
    /// It is something else than it was.
    #[error("it has become something else")]
    Type,
    /// What should be a directory on its path is none.
    #[error("it is in something that is no directory any more")]
    Parent,
    /// It is a directory that something else shall replace, with something in it that is in no snapshot.
    #[error("there is something in it that is in no snapshot")]
    NotEmpty,
    /// It was touched while the workspace was restored.
    #[error("it changed meanwhile")]
    Changed,
}

/// What [`restore`] would do with each path, of which it changes none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RestorePreview {
    /// Paths that would be changed, in order.
    pub todo: Vec<PathBuf>,
    /// Paths that are as they shall be.
    pub already: Vec<PathBuf>,
    /// Paths that would be left alone.
    pub conflicts: Vec<Conflict>,
}

/// What [`restore`] would do.
///
/// # Errors
/// As [`restore`], as far as nothing is written.
pub fn preview(store: &Store, changes: &[TreeChange], dir: &Path) -> Result<RestorePreview, SnapshotError> {
    let place = OpenWorkspace::open(dir)?;
    let Checked { todo, already, conflicts } = check::all(store, &place, check::steps(changes)?)?;
    Ok(RestorePreview { todo: todo.into_iter().map(|step| step.path).collect(), already, conflicts })
}

/// Makes the workspace in `dir` like the second of two snapshots, wherever it is still like the first: `changes` are what
/// [`crate::diff`] tells of the two, or some of it. Where there are conflicts nothing is changed, unless `partial` says
/// that the rest is.
///
/// # Errors
/// A change has a path that leaves the workspace, a content is missing in the store, or a file cannot be read or written.
/// What cannot be written for want of space or permission is mostly found before anything has changed; else restoring
/// again finishes it.
pub fn restore(
    store: &Store,
    changes: &[TreeChange],
    dir: &Path,
    partial: bool,
) -> Result<Restored, SnapshotError> {
    let place = OpenWorkspace::open(dir)?;
    let steps = check::steps(changes)?;
    let Checked { todo, already, conflicts } = check::all(store, &place, steps)?;
    let restored = Restored { already: already.len() as u64, conflicts, ..Restored::default() };
    if !restored.conflicts.is_empty() && !partial {
        return Ok(restored);
    }
    let paths = todo.iter().map(|step| &step.path).chain(&already);
    stage::clear_leftovers(&place, paths.map(PathBuf::as_path));
    apply::all(store, &place, &todo, restored)
}

/// Makes an empty directory like a snapshot.
///
/// # Errors
/// As [`restore`]; and [`SnapshotError::NotEmpty`].
pub fn checkout(store: &Store, tree: &Hash, dir: &Path) -> Result<Restored, SnapshotError> {
    if !OpenWorkspace::open(dir)?.is_empty()? {
        return Err(SnapshotError::NotEmpty { path: dir.to_owned() });
    }
    restore(store, &diff::everything(store, tree)?, dir, false)
}

#[cfg(test)]
#[path = "restore_killed_tests.rs"]
mod killed_tests;
#[cfg(test)]
#[path = "restore_tests.rs"]
mod tests;
#[cfg(test)]
#[path = "restore_undo_tests.rs"]
mod undo_tests;
