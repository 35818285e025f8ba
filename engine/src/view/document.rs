//! Texts that commands print, with what they are about: for programs that asked for a value in place of the text.

use serde::Serialize;
use serde_json::Value;
use uwf_store::{Hash, Store};

use crate::ask::Answer;
use crate::record::{Change, Detail, RunSnapshots};
use crate::thread::{self, StepNode, ThreadError, ThreadId};
use crate::workflow;

/// What happened in a thread, in words: `thread read`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ThreadDocument {
    /// The thread.
    pub thread: ThreadId,
    /// The text.
    pub markdown: String,
}

/// What happened in a step, in words: `step read`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StepDocument {
    /// The StepNode.
    pub step: Hash,
    /// The text.
    pub markdown: String,
}

/// The messages that a step's run was opened with: `step read --prompt`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StepPrompt {
    /// The StepNode.
    pub step: Hash,
    /// The messages as one text, as recorded; null where its agent kept none.
    pub prompt: Value,
    /// Why there is none; absent where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl StepPrompt {
    /// Of a step whose agent kept none, or that another thread made.
    ///
    /// # Errors
    /// The record of the step, or the thread that made it, cannot be read.
    pub fn missing(store: &Store, step: Hash, node: &StepNode) -> Result<StepPrompt, ThreadError> {
        let hint = match PlayedBy::of(store, node)? {
            Some(PlayedBy { workflow, thread: Some(thread) }) => format!(
                "step {step} was played by workflow `{workflow}` in thread {thread}, whose steps have prompts of their own: \
                 `uwf step read {thread}:1 --prompt` shows the first"
            ),
            Some(PlayedBy { workflow, thread: None }) => {
                format!("step {step} was played by workflow `{workflow}`, in a thread that was removed")
            }
            None => format!("step {step} has no record of its prompt: {} kept none", node.agent),
        };
        Ok(StepPrompt { step, prompt: Value::Null, hint: Some(hint) })
    }

    /// The text.
    pub fn text(&self) -> String {
        let text = self.hint.as_deref().or(self.prompt.as_str()).unwrap_or_default();
        format!("{}\n", text.trim_end())
    }
}

/// Who played a step that another thread made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlayedBy {
    /// What the workflow of that thread is called.
    pub workflow: String,
    /// The thread; none where it was removed.
    pub thread: Option<ThreadId>,
}

impl PlayedBy {
    /// Of a step; none where an agent made it.
    ///
    /// # Errors
    /// The record of the step, or the thread that made it, cannot be read.
    pub fn of(store: &Store, node: &StepNode) -> Result<Option<PlayedBy>, ThreadError> {
        let Some(last) = thread::called_by(store, &node.detail)? else { return Ok(None) };
        let start = thread::start_node(store, &thread::step_node(store, &last)?.start)?;
        let workflow = workflow::get(store, &start.workflow)?.name;
        Ok(Some(PlayedBy { workflow, thread: thread::owner(store, &last)? }))
    }
}

/// What the agent of a step answered: `step ask`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StepAnswer {
    /// The StepNode.
    pub step: Hash,
    /// The session that was asked; null where the record alone was.
    pub session: Option<String>,
    /// In words.
    pub answer: String,
}

impl StepAnswer {
    /// The answer to a question about that step.
    pub fn of(step: Hash, Answer { session, text }: Answer) -> StepAnswer {
        StepAnswer { step, session, answer: text }
    }
}

/// What a step changed in the workspace: `step diff`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StepDiff {
    /// The StepNode.
    pub step: Hash,
    /// File by file.
    pub changes: Vec<FileDiff>,
    /// What was compared; absent where there are no snapshots, and the changes are those of the editing tools alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snapshots: Option<ComparedSnapshots>,
    /// Why it is not known what commands changed; absent where it is, or there were none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unknown: Option<String>,
}

/// What the steps of a thread changed in the workspace: `thread diff`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ThreadDiff {
    /// The thread.
    pub thread: ThreadId,
    /// File by file.
    pub changes: Vec<FileDiff>,
    /// What was compared.
    pub snapshots: ComparedSnapshots,
}

/// Two snapshots, by their trees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ComparedSnapshots {
    /// The earlier one.
    pub before: Hash,
    /// The later one.
    pub after: Hash,
}

impl ComparedSnapshots {
    /// Those before and after a run; none where one of them is missing.
    pub fn of(record: &Detail) -> Option<ComparedSnapshots> {
        let RunSnapshots { before, after, .. } = record.snapshots.as_ref()?;
        Some(ComparedSnapshots { before: before.as_ref()?.tree, after: after.as_ref()?.tree })
    }
}

/// What was changed of one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FileDiff {
    /// Its path, and its contents where they are a file's.
    #[serde(flatten)]
    pub change: Change,
    /// As a patch that `git apply` takes; empty where nothing changed.
    pub diff: String,
    /// What snapshots tell besides; absent where there are none.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub facts: Option<ChangeFacts>,
}

/// What two snapshots tell of one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ChangeFacts {
    /// `added`, `removed`, `modified`, `retyped` or `renamed`.
    pub kind: &'static str,
    /// Where it was, if it was moved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub renamed_from: Option<String>,
    /// Lines that came.
    pub insertions: u64,
    /// Lines that went.
    pub deletions: u64,
    /// Whether it is no text.
    pub binary: bool,
    /// Who changed it.
    #[serde(flatten)]
    pub by: ChangedBy,
}

/// Who changed a file, as far as that is known.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(tag = "by", rename_all = "kebab-case")]
pub enum ChangedBy {
    /// Editing tools: what they did explains it wholly.
    Tool,
    /// A command.
    Command {
        /// Its turn, as `step read` numbers it.
        turn: usize,
        /// Its first line.
        command: Option<String>,
    },
    /// A step of a thread.
    Step {
        /// Which of them, from 1.
        number: usize,
        /// The StepNode.
        step: Hash,
        /// Who played.
        role: String,
    },
    /// Nobody that is on record.
    Other {
        /// Who played the step by an adapter, which tells no more than that it was during the step; absent elsewhere.
        #[serde(skip_serializing_if = "Option::is_none")]
        agent: Option<String>,
    },
}

/// Where pages are served: `serve`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ServeView {
    /// What to open in a browser; it has the token.
    pub url: String,
    /// Where the server listens.
    pub address: String,
}

/// A thread was written to a page: `thread read --html`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ThreadWritten {
    /// The thread.
    pub thread: ThreadId,
    /// The file, as it was named.
    pub file: String,
    /// How many bytes it has.
    pub size: u64,
}

/// A workflow as a picture: `workflow graph`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WorkflowGraph {
    /// What it is called.
    pub name: String,
    /// `mermaid`, `dot` or `svg`.
    pub language: &'static str,
    /// The picture in that language.
    pub graph: String,
}
