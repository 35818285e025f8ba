//! Texts that commands print, with what they are about: for programs that asked for a value in place of the text.

use serde::Serialize;
use serde_json::Value;
use uwf_store::Hash;

use crate::ask::Answer;
use crate::record::Change;
use crate::thread::{StepNode, ThreadId};

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
    /// Of a step whose agent kept none.
    pub fn missing(step: Hash, node: &StepNode) -> StepPrompt {
        let hint = format!("step {step} has no record of its prompt: {} kept none", node.agent);
        StepPrompt { step, prompt: Value::Null, hint: Some(hint) }
    }

    /// The text.
    pub fn text(&self) -> String {
        let text = self.hint.as_deref().or(self.prompt.as_str()).unwrap_or_default();
        format!("{}\n", text.trim_end())
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

/// What a step's editing tools changed in the workspace: `step diff`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StepDiff {
    /// The StepNode.
    pub step: Hash,
    /// File by file.
    pub changes: Vec<FileDiff>,
}

impl StepDiff {
    /// One patch of all files.
    pub fn patch(&self) -> String {
        self.changes.iter().map(|file| file.diff.as_str()).collect()
    }
}

/// What was changed of one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FileDiff {
    /// What is recorded of it.
    #[serde(flatten)]
    pub change: Change,
    /// As a patch that `git apply` takes; empty where nothing changed.
    pub diff: String,
}

/// A workflow as a picture: `workflow graph`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WorkflowGraph {
    /// What it is called.
    pub name: String,
    /// `mermaid` or `dot`.
    pub language: &'static str,
    /// The picture in that language.
    pub graph: String,
}
