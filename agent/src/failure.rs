//! How a run ended that gave no valid answer.
//!
//! Apart because the run decides it, the journal keeps it and the record is made of it.

use serde::{Deserialize, Serialize};

/// Where a run failed; the word is in the failed step's output and decides the exit code of a stand-alone run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// No valid answer.
    Answer,
    /// A limit ended the run.
    Budget,
    /// The provider gave no completion.
    Provider,
    /// Commands cannot be confined as asked.
    Sandbox,
    /// Git may run programs that commands have left, and that could not be undone.
    Git,
}

impl Phase {
    /// The word for it, as it is serialised.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Phase::Answer => "answer",
            Phase::Budget => "budget",
            Phase::Provider => "provider",
            Phase::Sandbox => "sandbox",
            Phase::Git => "git",
        }
    }
}

/// A run that gave no valid answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// Where.
    pub phase: Phase,
    /// Why, in words.
    pub error: String,
}
