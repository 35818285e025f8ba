//! What was done to a workspace with the changes of a step: taken back, or made again.

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

/// A path that was left alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LeftPath {
    /// Relative to the workspace.
    pub path: String,
    /// What is the matter with it.
    pub why: String,
}
