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
