//! What a command that changes something says of it: a thread, or what a workflow's name means.

use serde::Serialize;
use uwf_store::Hash;

use crate::export::ExportedThread;
use crate::thread::ThreadId;

/// A thread was started: `thread start`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ThreadStarted {
    /// Its Workflow node.
    pub workflow: Hash,
    /// The thread.
    pub thread: ThreadId,
}

/// A thread is to make no further step: `thread pause`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ThreadPaused {
    /// The thread.
    pub thread: ThreadId,
    /// Whether it is so; not where it waits for an answer.
    pub paused: bool,
    /// Whether a step of it runs, which is let finish.
    pub running: bool,
}

/// A run was asked to end: `thread stop`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ThreadStopped {
    /// The thread.
    pub thread: ThreadId,
    /// Whether there was a run.
    pub stopped: bool,
}

/// A thread was given up: `thread cancel`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ThreadCancelled {
    /// The thread.
    pub thread: ThreadId,
    /// Always true; a thread that cannot be cancelled is an error.
    pub cancelled: bool,
}

/// A thread was forgotten: `thread rm`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ThreadRemoved {
    /// The thread.
    pub thread: ThreadId,
    /// Always true; a thread that cannot be removed is an error.
    pub removed: bool,
}

/// A thread was begun at a node of another: `step fork`, `thread fork`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadForked {
    /// The new thread.
    pub thread: ThreadId,
    /// Where it was begun.
    pub forked_from: ForkedFrom,
    /// The directory it works in; absent where that is the one of the thread it is from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
}

/// Where a thread was begun that is a fork.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ForkedFrom {
    /// A StepNode, or a StartNode.
    pub step: Hash,
}

/// A thread was written to a file: `thread export`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ThreadExported {
    /// The thread.
    pub thread: ThreadId,
    /// The node it stands at.
    pub head: Hash,
    /// How many nodes the file has.
    pub nodes: u64,
    /// The file, as it was named.
    pub file: String,
}

impl ThreadExported {
    /// A thread that was written to `file`.
    pub fn of(written: &ExportedThread, file: String) -> ThreadExported {
        let ExportedThread { thread, head, nodes, .. } = *written;
        ThreadExported { thread, head, nodes, file }
    }
}

/// A thread was read from a file: `thread import`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ThreadImported {
    /// The thread.
    pub thread: ThreadId,
    /// The node it stands at.
    pub head: Hash,
    /// How many nodes the file has.
    pub nodes: u64,
    /// Whether the thread was not there before.
    pub imported: bool,
    /// Whether it was there before, and its head has moved on to that of the file.
    pub forwarded: bool,
}

impl From<ExportedThread> for ThreadImported {
    fn from(ExportedThread { thread, head, nodes, new, forwarded, .. }: ExportedThread) -> ThreadImported {
        ThreadImported { thread, head, nodes, imported: new, forwarded }
    }
}

/// Threads were removed, or would be: `thread prune`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadsPruned {
    /// The threads, the youngest first; those that were called for them went with them.
    pub removed: Vec<ThreadId>,
    /// Whether they are only named.
    pub dry_run: bool,
}

/// A workflow was registered by its name: `workflow add`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WorkflowAdded {
    /// What it is called.
    pub name: String,
    /// Its node.
    pub hash: Hash,
}

/// A workflow file has no mistake: `workflow validate`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WorkflowValid {
    /// Always true; a mistake is an error.
    pub valid: bool,
    /// What it is called.
    pub name: String,
    /// The node that it would be.
    pub hash: Hash,
}

/// A registered name was given up: `workflow rm`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WorkflowRemoved {
    /// The name.
    pub name: String,
    /// What it meant.
    pub hash: Hash,
    /// Always true; a name that is not there is an error.
    pub removed: bool,
}

/// A variable was given up: `var rm`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct VariableRemoved {
    /// The variable.
    pub name: String,
    /// What it stood for, the newest row first.
    pub values: Vec<Hash>,
    /// Always true; a variable that is not there is an error.
    pub removed: bool,
}

/// A name means an earlier workflow again: `workflow rollback`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WorkflowRolledBack {
    /// The name.
    pub name: String,
    /// What it means now.
    pub hash: Hash,
    /// What it meant.
    pub before: Hash,
}
