//! The two nodes a thread is made of, as they lie in the store: the start and the step.
//!
//! Shapes only: field names, what may be absent and what is always written. Reading and writing nodes is the store's
//! business, what a chain of them means is the chain's.

use serde::{Deserialize, Serialize};

use uwf_store::Hash;

use crate::usage::Usage;

/// The first node of a thread: what is to be done, by which workflow, where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartNode {
    /// The Workflow node.
    pub workflow: Hash,
    /// The task in the user's words.
    pub prompt: String,
    /// The directory the thread works in, absolute.
    pub cwd: String,
}

/// One finished visit of one role. All thirteen keys are written; the last four and the edge prompt may be absent in
/// nodes of older writers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StepNode {
    /// The thread's StartNode.
    pub start: Hash,
    /// The step before this one; none on the first step.
    pub prev: Option<Hash>,
    /// The role that was played.
    pub role: String,
    /// The output node: the role's schema, ErrorOutput or SuspendOutput.
    pub output: Hash,
    /// The agent's record of the run; its shape is the agent's.
    pub detail: Hash,
    /// The agent's name.
    pub agent: String,
    /// What the edge that led here asked for.
    #[serde(default)]
    pub edge_prompt: String,
    /// Milliseconds since the epoch.
    pub started_at_ms: u64,
    /// Milliseconds since the epoch.
    pub completed_at_ms: u64,
    /// The directory the agent ran in.
    pub cwd: String,
    /// A text node: the opening messages as sent.
    #[serde(default)]
    pub assembled_prompt: Option<Hash>,
    /// What the run used, when the agent tells.
    #[serde(default)]
    pub usage: Option<Usage>,
    /// The failed steps of this role before this one.
    #[serde(default)]
    pub previous_attempts: Option<Vec<Hash>>,
}

impl StepNode {
    /// How long the visit took, in milliseconds; 0 when the clock went backwards.
    pub fn duration_ms(&self) -> u64 {
        self.completed_at_ms.saturating_sub(self.started_at_ms)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const REF: &str = "0123456789ABC";

    #[test]
    fn a_step_writes_all_thirteen_keys() {
        let step = StepNode {
            start: REF.parse().unwrap(),
            prev: None,
            role: "finder".into(),
            output: REF.parse().unwrap(),
            detail: REF.parse().unwrap(),
            agent: "uwf-builtin".into(),
            edge_prompt: "Find it.".into(),
            started_at_ms: 1,
            completed_at_ms: 3,
            cwd: "/srv".into(),
            assembled_prompt: None,
            usage: Some(Usage { turns: 1, input_tokens: 2, output_tokens: 3, duration: 0.5 }),
            previous_attempts: None,
        };
        let expected = json!({
            "start": REF, "prev": null, "role": "finder", "output": REF, "detail": REF, "agent": "uwf-builtin",
            "edgePrompt": "Find it.", "startedAtMs": 1, "completedAtMs": 3, "cwd": "/srv", "assembledPrompt": null,
            "usage": {"turns": 1, "inputTokens": 2, "outputTokens": 3, "duration": 0.5}, "previousAttempts": null,
        });
        assert_eq!(serde_json::to_value(&step).unwrap(), expected);
        assert_eq!(step.duration_ms(), 2);
    }

    #[test]
    fn an_older_writers_step_is_read() {
        let step: StepNode = serde_json::from_value(json!({
            "start": REF, "prev": null, "role": "finder", "output": REF, "detail": REF, "agent": "a",
            "startedAtMs": 5, "completedAtMs": 3, "cwd": "/srv",
        }))
        .unwrap();
        assert_eq!((step.edge_prompt.as_str(), step.usage.as_ref(), step.duration_ms()), ("", None, 0));
        assert_eq!((step.assembled_prompt, step.previous_attempts), (None, None));
    }
}
