//! Tasks that pass or do not, in two runs: McNemar's test, exact.

use serde::Serialize;

use super::quantile;

/// How many tasks only one of two runs passes, and how likely so uneven a split is if both are as good.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct McNemar {
    /// Passed before alone.
    pub only_before: u64,
    /// Passed after alone.
    pub only_after: u64,
    /// Two-sided, by the binomial distribution.
    pub p: f64,
}

/// The test of tasks that only one of two runs passes.
pub fn mcnemar(only_before: u64, only_after: u64) -> McNemar {
    let tail = quantile::at_most(only_before.min(only_after), only_before + only_after);
    McNemar { only_before, only_after, p: (2.0 * tail).min(1.0) }
}
