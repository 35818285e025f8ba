//! What a step puts out, as far as it is the same for every role: a status, and of those that failed or ask, why.
//!
//! The rest of an output is the role's own, by its schema: it stays a JSON value.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The output of a step that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorOutput {
    /// `error`.
    #[serde(rename = "$status")]
    pub status: String,
    /// Why it failed.
    pub error: String,
    /// Where, in a word of the agent's.
    pub phase: String,
}

impl ErrorOutput {
    /// A failure in that phase.
    pub fn new(error: impl Into<String>, phase: impl Into<String>) -> ErrorOutput {
        ErrorOutput { status: "error".to_owned(), error: error.into(), phase: phase.into() }
    }
}

/// The status that an output gives: where the thread goes from there.
pub fn status(output: &Value) -> Option<&str> {
    output["$status"].as_str()
}

/// What an output that asks a person wants to know.
pub fn reason(output: &Value) -> Option<&str> {
    output["reason"].as_str()
}

/// Why the step failed, by its output.
pub fn error(output: &Value) -> Option<&str> {
    output["error"].as_str()
}

/// Where the step failed, by its output.
pub fn phase(output: &Value) -> Option<&str> {
    output["phase"].as_str()
}
