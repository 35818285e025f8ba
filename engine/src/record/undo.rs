//! One entry of a thread's log of what was undone in its workspace, and what of that was done again.

use serde::{Deserialize, Serialize};
use serde_json::json;
use uwf_store::{Hash, Store, StoreError};

use crate::builtin;

/// What a person had done to a workspace with a step of the thread: its changes taken back, or made again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UndoRecord {
    /// The thread, whose log it is in.
    pub thread: String,
    /// The StepNode.
    pub step: Hash,
    /// Which of the two.
    pub kind: UndoKind,
    /// The directory of the workspace.
    pub dir: String,
    /// What the paths were like: a node of type `uwf-tree`. Of other paths it tells nothing.
    pub before: Hash,
    /// What the paths are like since: a node of type `uwf-tree`.
    pub after: Hash,
    /// What it is about, each path as a `uwf-tree` writes names.
    pub paths: Vec<String>,
    /// Paths of the step that were to be changed and were left alone.
    pub left: Vec<String>,
    /// Of a redo: the undo that it takes back.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub takes_back: Option<Hash>,
    /// The entry before this one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub previous: Option<Hash>,
    /// When it was begun, in milliseconds since the epoch.
    pub at: u64,
}

/// See [`UndoRecord`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum UndoKind {
    /// What the step changed was taken back.
    Undo,
    /// What had been taken back was made again.
    Redo,
}

impl UndoRecord {
    /// Stores it.
    ///
    /// # Errors
    /// The node cannot be written.
    pub fn put(&self, store: &Store) -> Result<Hash, StoreError> {
        store.put(&builtin::UWF_UNDO, &json!(self))
    }
}
