//! What the built-in judges find.

use serde::{Deserialize, Serialize};

/// `frontmatter-compliance`: which answers had to be corrected, or failed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Frontmatter {
    /// How many steps there are.
    pub steps_total: u64,
    /// How many had a valid answer at once.
    pub steps_valid: u64,
    /// The others.
    pub invalid_steps: Vec<InvalidStep>,
}

/// A step whose first answer was not valid.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InvalidStep {
    /// Which step, from 0.
    pub step_index: u64,
    /// Who played.
    pub role: String,
    /// What was wrong.
    pub errors: Vec<String>,
}

/// `upstream-consumption`: what roles were given, and used.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Upstream {
    /// The steps that were given something.
    pub per_step: Vec<StepUpstream>,
}

/// What one step was given.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepUpstream {
    /// Who played.
    pub role: String,
    /// What of it is found in what the step said or did.
    pub consumed: Vec<String>,
    /// What is not.
    pub missed: Vec<String>,
    /// The part that was used.
    pub score: f64,
}

/// `hallucination`: what answers claim that the record does not have.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Hallucination {
    /// The steps that claim something.
    pub per_step: Vec<StepClaims>,
}

/// What one step claims.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StepClaims {
    /// Who played.
    pub role: String,
    /// What is not so.
    pub hallucinations: Vec<String>,
    /// The part of its claims that hold.
    pub score: f64,
    /// How many claims were checked.
    #[serde(default)]
    pub checked: u64,
    /// What a model said of claims that cannot be looked up, where one was asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_model: Vec<ClaimByModel>,
}

/// What a model said of a claim.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClaimByModel {
    /// The claim.
    pub claim: String,
    /// Whether it holds: `yes`, `no` or `unknown`.
    pub holds: String,
    /// Why, in its words.
    pub reason: String,
}

/// `token-stats`: what the steps used.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TokenStats {
    /// Tokens sent.
    pub total_input: u64,
    /// Tokens received.
    pub total_output: u64,
    /// Turns of the model.
    pub total_turns: u64,
    /// Step by step.
    pub per_step: Vec<StepTokens>,
}

/// What one step used.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepTokens {
    /// Who played.
    pub role: String,
    /// Tokens sent.
    pub input: u64,
    /// Tokens received.
    pub output: u64,
    /// Turns of the model.
    pub turns: u64,
    /// Seconds.
    pub duration: f64,
}
