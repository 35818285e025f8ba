//! `cost` and `diff-size`: what a thread cost, and how much it changed. With a budget, what is within it scores 1, and what is
//! beyond as much less as it is larger.

use serde_json::json;
use uwf_snapshot::{diff as changes, stat};

use super::{Bench, Said, Silent};

pub(super) fn cost(bench: &Bench<'_>, budget: Option<f64>) -> Result<Said, Silent> {
    let measured = bench.subject.measured;
    let found = json!({
        "costUsd": measured.cost_usd, "seconds": measured.seconds,
        "inputTokens": measured.tokens.input, "outputTokens": measured.tokens.output,
    });
    let data = bench.keep(&bench.records.data, &found)?;
    let score = match (budget, measured.cost_usd) {
        (None, _) => None,
        (Some(budget), Some(cost)) => Some(within(cost, budget)),
        (Some(_), None) => return Err(Silent::Error("nobody knows what the thread cost".to_owned())),
    };
    Ok(Said::of(score, data))
}

pub(super) fn diff(bench: &Bench<'_>, budget: Option<f64>) -> Result<Said, Silent> {
    let changed = changes(bench.store, &bench.subject.before, &bench.subject.after)?;
    let files: Vec<_> = stat(bench.store, &changed)?;
    let sum = |lines: fn(&uwf_snapshot::FileStat) -> u64| files.iter().map(lines).sum::<u64>();
    let (insertions, deletions) = (sum(|file| file.insertions), sum(|file| file.deletions));
    let per_file = files.iter().map(|file| {
        json!({"path": file.path.display().to_string(), "insertions": file.insertions, "deletions": file.deletions})
    });
    let found = json!({
        "files": files.len(), "insertions": insertions, "deletions": deletions, "perFile": per_file.collect::<Vec<_>>(),
    });
    let data = bench.keep(&bench.records.data, &found)?;
    Ok(Said::of(budget.map(|budget| within((insertions + deletions) as f64, budget)), data))
}

/// 1 up to the budget, then its part of what was used.
fn within(used: f64, budget: f64) -> f64 {
    if used <= budget { 1.0 } else { budget / used }
}

#[cfg(test)]
mod tests {
    use super::within;

    #[test]
    fn beyond_the_budget_the_score_falls() {
        assert_eq!([within(0.0, 2.0), within(2.0, 2.0), within(4.0, 2.0)], [1.0, 1.0, 0.5]);
    }
}
