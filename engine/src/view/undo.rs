//! What was done with the changes of a step: taken back or made again in its workspace, or written elsewhere.

use serde::Serialize;
use uwf_store::Hash;

use crate::record::UndoKind;
use crate::thread::ThreadId;

/// What a step changed was taken back, or made again: `undo`, `redo`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UndoView {
    /// `undo` or `redo`.
    pub kind: UndoKind,
    /// The thread.
    pub thread: ThreadId,
    /// The StepNode.
    pub step: Hash,
    /// The entry in the log of the thread, a node; null where it was to be told alone what would be done.
    pub operation: Option<Hash>,
    /// Whether nothing was changed: it was to be told alone what would be done.
    pub dry_run: bool,
    /// The directory of the workspace.
    pub dir: String,
    /// What was changed, files and directories. In paths a byte that is no text is `\xff`, and a backslash two.
    pub paths: Vec<String>,
    /// What was to be changed and was left alone.
    pub left: Vec<LeftPath>,
    /// Directories that were to go and have something in them that is in no snapshot.
    pub kept: Vec<String>,
}

/// The workspace as it was before or after a step was written into a directory: `thread checkout`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CheckedOut {
    /// The thread.
    pub thread: ThreadId,
    /// The StepNode.
    pub step: Hash,
    /// What was written: a node of type `uwf-tree`.
    pub tree: Hash,
    /// The directory.
    pub dir: String,
    /// How many files, symlinks and directories it has.
    pub files: u64,
    /// What of the workspace is not in it, since no snapshot has it; a directory counts as one.
    pub left_out: u64,
}

/// A path that was left alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LeftPath {
    /// Relative to the workspace.
    pub path: String,
    /// What is the matter with it.
    pub why: String,
}
