//! Steps that were played again.

use serde::Serialize;
use uwf_store::Hash;

/// A step, or a question to it, that was played again: `replay` prints a list of these.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ReplayedStep {
    /// The StepNode.
    pub step: Hash,
    /// The question to the step that was put again; absent where it is the step itself that was played.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
    /// How many requests were the same, byte for byte.
    pub requests: usize,
    /// How many turns the model had in them.
    pub turns: usize,
    /// The first thing that was not the same; absent where all was. Nothing was played after it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub difference: Option<ReplayChange>,
}

/// Where a step that is played again is not as it was recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ReplayChange {
    /// In which turn of the model, from 1.
    pub turn: usize,
    /// At which entry of the log, from 0.
    pub entry: usize,
    /// What differs, in a line.
    pub what: String,
    /// What is on record; empty where there is nothing.
    pub recorded: String,
    /// What came now; empty where nothing did.
    pub found: String,
}
