//! What is asked of whoever evaluates conditions, and what is answered: values that cross a process boundary.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::ExpressionError;

/// Expressions to be tried in order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Question {
    /// Their texts.
    pub expressions: Vec<String>,
    /// What they are about; see [`context`].
    pub context: Value,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "answer")]
pub enum Answer {
    /// This one is the first that is true.
    First {
        /// Its place, from 0.
        index: usize,
    },
    /// None is true.
    None,
    /// One could not be evaluated; those before it are not true.
    Failed {
        /// Its place, from 0.
        index: usize,
        /// What went wrong.
        error: Failure,
    },
}

/// An [`ExpressionError`] as it is sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// In the words of the language, with its code.
    pub message: String,
    /// Where, in characters from 0, if that is known.
    pub at: Option<usize>,
}

impl From<ExpressionError> for Failure {
    fn from(ExpressionError { message, at }: ExpressionError) -> Failure {
        Failure { message, at }
    }
}

impl From<Failure> for ExpressionError {
    fn from(Failure { message, at }: Failure) -> ExpressionError {
        ExpressionError { message, at }
    }
}

/// What an expression sees: `start` with the `workflow` (a hash) and the `prompt` of the thread, and `steps`, the oldest
/// first, each with its `role`, its `output`, its `detail` (a hash) and its `agent`.
pub fn context(workflow: &str, prompt: &str, steps: Vec<Value>) -> Value {
    json!({"start": {"workflow": workflow, "prompt": prompt}, "steps": steps})
}
