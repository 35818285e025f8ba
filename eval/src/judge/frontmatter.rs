//! `frontmatter-compliance`: the part of the visits whose first answer was valid.

use super::{Bench, Said, Silent};
use crate::record::{Frontmatter, InvalidStep};

/// What a turn is called that asks for a better answer.
const CORRECTION: &str = "correction";

pub(super) fn judge(bench: &Bench<'_>) -> Result<Said, Silent> {
    let seen = bench.seen;
    let mut found =
        Frontmatter { steps_total: (seen.steps.len() + seen.failed.len()) as u64, ..Frontmatter::default() };
    for (index, step) in seen.steps.iter().enumerate() {
        let corrections = step.turns.iter().filter(|turn| turn.kind.as_deref() == Some(CORRECTION));
        let corrections = corrections.filter_map(|turn| turn.content.clone());
        let errors: Vec<String> = corrections.chain(step.refused.iter().cloned()).collect();
        if errors.is_empty() {
            found.steps_valid += 1;
        } else {
            found.invalid_steps.push(InvalidStep {
                step_index: index as u64,
                role: step.role.clone(),
                errors,
            });
        }
    }
    for (at, (role, why)) in seen.failed.iter().enumerate() {
        let step_index = (seen.steps.len() + at) as u64;
        found.invalid_steps.push(InvalidStep { step_index, role: role.clone(), errors: vec![why.clone()] });
    }
    if found.steps_total == 0 {
        return Err(Silent::Nothing);
    }
    let score = found.steps_valid as f64 / found.steps_total as f64;
    Ok(Said::of(score, bench.keep(&bench.records.frontmatter, &found)?))
}
