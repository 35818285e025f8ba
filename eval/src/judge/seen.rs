//! A thread as judges read it: each step with what it was asked, what it said, what it did, and what came back.

use serde_json::{Value, json};
use uwf_engine::record::{Turn, error, phase};
use uwf_engine::thread::{self, StepNode, Usage, all_failures, chain, step_node};
use uwf_store::{Hash, Store};

use super::Subject;
use crate::EvalError;

/// A thread.
pub(super) struct Seen {
    /// The steps of its chain, the oldest first.
    pub(super) steps: Vec<SeenStep>,
    /// Visits that failed and that no success came after: role and reason.
    pub(super) failed: Vec<(String, String)>,
}

/// A step.
pub(super) struct SeenStep {
    pub(super) hash: Hash,
    pub(super) role: String,
    /// What it was asked for.
    pub(super) asked: String,
    /// What it puts out.
    pub(super) output: Value,
    /// What was said in it; empty where its agent keeps no such record.
    pub(super) turns: Vec<Turn>,
    /// What it said last, fields included.
    pub(super) answer: Option<String>,
    pub(super) usage: Option<Usage>,
    pub(super) seconds: f64,
    /// Why earlier attempts at it gave no valid answer.
    pub(super) refused: Vec<String>,
}

impl Seen {
    pub(super) fn of(store: &Store, subject: &Subject<'_>) -> Result<Seen, EvalError> {
        let chain = chain(store, &subject.head)?;
        let steps = chain.steps.into_iter().map(|(hash, step)| SeenStep::of(store, hash, step));
        let steps = steps.collect::<Result<_, _>>()?;
        let mut failed = Vec::new();
        for failures in all_failures(store, Some(&subject.thread))? {
            for hash in failures.steps? {
                let step = step_node(store, &hash)?;
                if let Some(why) = refused(store, &step)? {
                    failed.push((step.role, why));
                }
            }
        }
        Ok(Seen { steps, failed })
    }

    /// As scripts are given it.
    pub(super) fn to_json(&self, subject: &Subject<'_>) -> Value {
        let step = |step: &SeenStep| {
            json!({
                "hash": step.hash, "role": step.role, "prompt": step.asked, "output": step.output,
                "answer": step.answer, "durationSeconds": step.seconds, "usage": step.usage, "turns": step.turns,
            })
        };
        json!({
            "thread": subject.thread.to_string(), "head": subject.head, "task": subject.prompt,
            "steps": self.steps.iter().map(step).collect::<Vec<_>>(),
        })
    }
}

impl SeenStep {
    fn of(store: &Store, hash: Hash, step: StepNode) -> Result<SeenStep, EvalError> {
        let output = store.get(&step.output)?.payload;
        let turns = thread::detail_of(store, &step)?.conversation(store)?;
        let answer = thread::answer_of(store, &step.detail)?;
        let mut refusals = Vec::new();
        for attempt in step.previous_attempts.iter().flatten() {
            refusals.extend(refused(store, &step_node(store, attempt)?)?);
        }
        Ok(SeenStep {
            hash,
            seconds: step.duration_ms() as f64 / 1000.0,
            role: step.role,
            asked: step.edge_prompt,
            output,
            turns,
            answer,
            usage: step.usage,
            refused: refusals,
        })
    }

    /// The calls of tools in it: name, and arguments as JSON.
    pub(super) fn calls(&self) -> impl Iterator<Item = (&str, &str)> {
        let calls = self.turns.iter().flat_map(|turn| turn.tool_calls.iter().flatten());
        calls.map(|call| (call.name.as_deref().unwrap_or_default(), call.args.as_deref().unwrap_or_default()))
    }

    /// What its tools answered.
    pub(super) fn results(&self) -> impl Iterator<Item = &str> {
        self.turns
            .iter()
            .filter(|turn| turn.role.as_deref() == Some("tool"))
            .filter_map(|turn| turn.content.as_deref())
    }

    /// What it said.
    pub(super) fn words(&self) -> impl Iterator<Item = &str> {
        let said = self.turns.iter().filter(|turn| turn.role.as_deref() == Some("assistant"));
        said.filter_map(|turn| turn.content.as_deref()).chain(self.answer.as_deref())
    }
}

/// Why a visit failed, where that was for want of a valid answer.
fn refused(store: &Store, step: &StepNode) -> Result<Option<String>, EvalError> {
    let output = store.get(&step.output)?.payload;
    let is_answer = phase(&output) == Some("answer");
    Ok(is_answer.then(|| error(&output).unwrap_or("no valid answer").to_owned()))
}
