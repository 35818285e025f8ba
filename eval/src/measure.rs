//! What a thread took so far: steps, time, tokens, money; of the threads that it called, too.

use uwf_engine::ThreadId;
use uwf_engine::thread::{StepNode, ThreadError, chain, head};
use uwf_engine::view::{Spent, SpentBy};
use uwf_store::Store;

use crate::case::Tokens;

/// What a thread took so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Measured {
    /// How many steps its chain has.
    pub(crate) steps: u64,
    /// How long they took, with attempts that failed.
    pub(crate) seconds: f64,
    /// What they used.
    pub(crate) tokens: Tokens,
    /// What they cost; none where nobody knows.
    pub(crate) cost_usd: Option<f64>,
    /// The model, where one model alone is told.
    pub(crate) model: Option<String>,
}

impl Measured {
    /// Of a thread.
    pub(crate) fn of(store: &Store, thread: &ThreadId) -> Result<Measured, ThreadError> {
        let chain = chain(store, &head(store, thread)?.hash)?;
        let spent = Spent::of(store, Some(thread), None, SpentBy::Model)?;
        let seconds = chain.steps.iter().map(|(_, step)| worked(step)).sum();
        let mut models = spent.rows.iter().filter_map(|row| row.name.clone());
        let model = models.next().filter(|_| models.next().is_none());
        Ok(Measured {
            steps: chain.steps.len() as u64,
            seconds,
            tokens: Tokens {
                input: spent.total.input_tokens,
                output: spent.total.output_tokens,
                turns: spent.total.turns,
            },
            cost_usd: spent.total.cost,
            model,
        })
    }
}

/// How long a step was worked at, in seconds: what its agent says, which leaves the pauses of an interrupted one out, and at most
/// the time from its beginning to its end.
fn worked(step: &StepNode) -> f64 {
    let whole = step.duration_ms() as f64 / 1000.0;
    let told = step.usage.as_ref().map(|usage| usage.duration).filter(|told| *told > 0.0);
    told.map_or(whole, |told| told.min(whole))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_pause_of_an_interrupted_step_is_no_work() {
        let step = |usage| -> StepNode {
            let hash = "0123456789ABC";
            serde_json::from_value(json!({
                "start": hash, "prev": null, "role": "r", "output": hash, "detail": hash, "agent": "a",
                "edgePrompt": "e", "startedAtMs": 1000, "completedAtMs": 61_000, "cwd": "/", "assembledPrompt": null,
                "usage": usage, "previousAttempts": null,
            }))
            .unwrap()
        };
        let told = |duration: f64| {
            step(json!({"turns": 1, "inputTokens": 1, "outputTokens": 1, "duration": duration}))
        };
        assert_eq!([worked(&told(2.5)), worked(&told(90.0)), worked(&told(0.0))], [2.5, 60.0, 60.0]);
        assert_eq!(worked(&step(json!(null))), 60.0);
    }
}
