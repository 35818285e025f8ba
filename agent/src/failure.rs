//! How a run ended that gave no valid answer.
//!
//! Apart because the run decides it, the journal keeps it and the record is made of it.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use uwf_engine::record;

/// Where a run failed; the word is in the failed step's output and decides the exit code of a stand-alone run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum FailedAt {
    /// No answer was valid, after all corrections.
    Answer,
    /// A limit, or the model went in circles.
    Budget,
    /// There was no completion.
    Provider,
    /// Commands cannot be confined as asked.
    Sandbox,
    /// Git may run what commands have left in the workspace.
    Git,
    /// An agent of another kind could not be started.
    Spawn,
    /// It took too long.
    Timeout,
    /// It failed by itself.
    Agent,
}

impl FailedAt {
    /// What the output of a failed step says.
    #[doc(hidden)]
    pub fn of(output: &Value) -> FailedAt {
        let word = record::phase(output).and_then(|word| serde_json::from_value(word.into()).ok());
        word.unwrap_or(FailedAt::Answer)
    }

    /// The word for it, as it is serialised.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            FailedAt::Answer => "answer",
            FailedAt::Budget => "budget",
            FailedAt::Provider => "provider",
            FailedAt::Sandbox => "sandbox",
            FailedAt::Git => "git",
            FailedAt::Spawn => "spawn",
            FailedAt::Timeout => "timeout",
            FailedAt::Agent => "agent",
        }
    }
}

/// A run that gave no valid answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// Where.
    pub phase: FailedAt,
    /// Why, in words.
    pub error: String,
}
