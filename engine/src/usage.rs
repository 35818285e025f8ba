//! What a run used, as agents tell it and steps keep it.
//!
//! Apart because both the reply of an agent and the StepNode have it.

use serde::{Deserialize, Serialize};

/// What one run used.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// Model calls.
    pub turns: u64,
    /// Tokens sent.
    pub input_tokens: u64,
    /// Tokens received.
    pub output_tokens: u64,
    /// Seconds.
    pub duration: f64,
}

impl Usage {
    /// Both together.
    #[must_use]
    pub fn with(self, other: Usage) -> Usage {
        Usage {
            turns: self.turns.saturating_add(other.turns),
            input_tokens: self.input_tokens.saturating_add(other.input_tokens),
            output_tokens: self.output_tokens.saturating_add(other.output_tokens),
            duration: self.duration + other.duration,
        }
    }
}
