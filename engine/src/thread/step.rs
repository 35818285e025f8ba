//! The two nodes a thread is made of, as they lie in the store: the start and the step. Each has two types: what says no
//! more than the first can hold is of that, so that older engines go on reading it.
//!
//! Shapes only: field names, what may be absent and what is always written. Reading and writing nodes is the store's
//! business, what a chain of them means is the chain's.

use serde::{Deserialize, Deserializer, Serialize};

use uwf_store::Hash;

use crate::builtin;
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
    /// Where the thread that called this one stood, if one did.
    #[serde(flatten, deserialize_with = "call")]
    pub call: Option<CalledFrom>,
}

/// Who called, if anybody did; a `parentState` with a depth that is none is an error, not a thread that nobody called.
fn call<'de, D: Deserializer<'de>>(fields: D) -> Result<Option<CalledFrom>, D::Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct CalledFromFields {
        #[serde(default)]
        parent_state: Option<Hash>,
        #[serde(default)]
        depth: u32,
    }
    let CalledFromFields { parent_state, depth } = CalledFromFields::deserialize(fields)?;
    Ok(parent_state.map(|parent_state| CalledFrom { parent_state, depth }))
}

/// The frame in which a thread was called by another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CalledFrom {
    /// The head of the caller: its last step, or its StartNode when it had none yet.
    pub parent_state: Hash,
    /// How many threads are above this one; at least 1.
    pub depth: u32,
}

impl StartNode {
    /// The type of its node.
    pub fn type_(&self) -> Hash {
        if self.call.is_some() { builtin::UWF_START } else { builtin::START_NODE }
    }

    /// How many threads are above this one.
    pub fn depth(&self) -> u32 {
        self.call.map_or(0, |call| call.depth)
    }
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
    /// What only the newer type of step can hold.
    #[serde(flatten)]
    pub links: StepLinks,
}

/// What a step refers to where threads call each other, are summed up, or keep artifacts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StepLinks {
    /// The steps before this one, the newest first: its parent and ten before that.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ancestors: Vec<Hash>,
    /// The last step of the thread that was called for this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child_thread: Option<Hash>,
    /// A text node: the summary of everything before this step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compact: Option<Hash>,
    /// The step that made that summary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compacted_by: Option<Hash>,
    /// A `uwf-content` node: the artifacts of the step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Hash>,
}

impl StepLinks {
    /// How many ancestors a step names at most: its parent and ten before that.
    pub const ANCESTORS: usize = 11;
}

impl StepNode {
    /// The ancestors of a step that comes after this one, which is stored as `hash`; a step that names none of its own
    /// tells at least its parent.
    pub fn ancestors_after(&self, hash: Hash) -> Vec<Hash> {
        let own: &[Hash] = match self.links.ancestors.is_empty() {
            true => self.prev.as_slice(),
            false => &self.links.ancestors,
        };
        std::iter::once(hash).chain(own.iter().copied()).take(StepLinks::ANCESTORS).collect()
    }

    /// The type of its node: the one that every engine reads, unless it refers to more than that can hold.
    pub fn type_(&self) -> Hash {
        if self.links == StepLinks::default() { builtin::STEP_NODE } else { builtin::UWF_STEP }
    }

    /// Whether both are of the same visit: one may be stored again, behind another step or with more links.
    pub fn is_of_visit(&self, other: &StepNode) -> bool {
        let times = |step: &StepNode| (step.started_at_ms, step.completed_at_ms);
        self.start == other.start
            && (&self.role, self.output, self.detail) == (&other.role, other.output, other.detail)
            && (times(self), &self.edge_prompt) == (times(other), &other.edge_prompt)
    }

    /// How long the visit took, in milliseconds; 0 when the clock went backwards.
    pub fn duration_ms(&self) -> u64 {
        self.completed_at_ms.saturating_sub(self.started_at_ms)
    }

    /// How long it was worked at, in seconds: what its agent says, which leaves the pauses of an interrupted visit out, and at
    /// most the time from its beginning to its end.
    pub fn worked(&self) -> f64 {
        let whole = self.duration_ms() as f64 / 1000.0;
        let told = self.usage.as_ref().map(|usage| usage.duration).filter(|told| *told > 0.0);
        told.map_or(whole, |told| told.min(whole))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_says_no_more_than_the_older_type_can_hold_is_of_that() {
        let reference: Hash = REF.parse().unwrap();
        let start = json!({"workflow": REF, "prompt": "p", "cwd": "/"});
        let read: StartNode = serde_json::from_value(start.clone()).unwrap();
        assert_eq!((read.type_(), read.depth(), json!(read)), (builtin::START_NODE, 0, start));
        let called = json!({"workflow": REF, "prompt": "p", "cwd": "/", "parentState": REF, "depth": 2});
        let read: StartNode = serde_json::from_value(called.clone()).unwrap();
        assert_eq!((read.type_(), read.depth(), json!(read)), (builtin::UWF_START, 2, called));
        let top: StartNode = serde_json::from_value(
            json!({"workflow": REF, "prompt": "p", "cwd": "/", "parentState": null, "depth": 0}),
        )
        .unwrap();
        assert_eq!(top.call, None);
        for depth in [json!(-1), json!(4_294_967_296_u64), json!("1")] {
            let odd = json!({"workflow": REF, "prompt": "p", "cwd": "/", "parentState": REF, "depth": depth});
            assert!(serde_json::from_value::<StartNode>(odd).is_err());
        }

        let step = json!({
            "start": REF, "prev": null, "role": "r", "output": REF, "detail": REF, "agent": "a", "edgePrompt": "",
            "startedAtMs": 1, "completedAtMs": 2, "cwd": "/", "assembledPrompt": null, "usage": null,
            "previousAttempts": null,
        });
        let read: StepNode = serde_json::from_value(step.clone()).unwrap();
        assert_eq!((read.type_(), json!(read)), (builtin::STEP_NODE, step.clone()));
        for link in ["childThread", "compact", "compactedBy", "content"] {
            let mut step = step.clone();
            step[link] = json!(REF);
            let read: StepNode = serde_json::from_value(step.clone()).unwrap();
            assert_eq!((read.type_(), json!(read)), (builtin::UWF_STEP, step));
        }
        assert_eq!(read.ancestors_after(reference), [reference]);
        let mut long = read.clone();
        for n in 0..20_u64 {
            let hash = Hash::of(&builtin::TEXT, &json!(n));
            long.links.ancestors = long.ancestors_after(hash);
            assert_eq!(long.links.ancestors.len(), 11.min(n as usize + 1));
            assert_eq!(long.links.ancestors[0], hash);
        }
    }

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
            links: StepLinks::default(),
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

    #[test]
    fn the_pause_of_an_interrupted_step_is_no_work() {
        let step = |usage| -> StepNode {
            serde_json::from_value(json!({
                "start": REF, "prev": null, "role": "r", "output": REF, "detail": REF, "agent": "a",
                "startedAtMs": 1000, "completedAtMs": 61_000, "cwd": "/", "usage": usage,
            }))
            .unwrap()
        };
        let told = |duration: f64| {
            step(json!({"turns": 1, "inputTokens": 1, "outputTokens": 1, "duration": duration}))
        };
        assert_eq!([told(2.5).worked(), told(90.0).worked(), told(0.0).worked()], [2.5, 60.0, 60.0]);
        assert_eq!(step(json!(null)).worked(), 60.0);
    }
}
