//! `token-stats`: what the steps used. It scores nothing.

use super::{Bench, Said, Silent};
use crate::record::{StepTokens, TokenStats};

pub(super) fn judge(bench: &Bench<'_>) -> Result<Said, Silent> {
    let mut found = TokenStats::default();
    for step in &bench.seen.steps {
        let (input, output, turns) =
            step.usage.as_ref().map_or((0, 0, 0), |used| (used.input_tokens, used.output_tokens, used.turns));
        found.total_input += input;
        found.total_output += output;
        found.total_turns += turns;
        found.per_step.push(StepTokens {
            role: step.role.clone(),
            input,
            output,
            turns,
            duration: step.seconds,
        });
    }
    Ok(Said::of(None, bench.keep(&bench.records.token_stats, &found)?))
}
