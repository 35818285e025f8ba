//! How likely one of k tries passes, and all of k.

use serde::Serialize;

use super::units::mean;

/// What k tries at a task come to, over all tasks.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Passes {
    /// How many tries.
    pub k: u64,
    /// At least one of them passes.
    pub at_least_one: f64,
    /// All of them pass.
    pub all: f64,
}

/// How likely at least one of `k` tries passes, from `n` tries of which `passed` did, without bias (Chen et al. 2021).
/// None with fewer tries than that.
pub fn pass_at_k(n: u64, passed: u64, k: u64) -> Option<f64> {
    let failed = n.checked_sub(passed)?;
    Some(1.0 - none_left_out(n, failed, k)?)
}

/// How likely all of `k` tries pass, from `n` tries of which `passed` did, without bias. None with fewer tries than that.
pub fn pass_all_k(n: u64, passed: u64, k: u64) -> Option<f64> {
    none_left_out(n, passed, k).filter(|_| passed <= n)
}

/// How likely `k` of `n`, drawn without replacement, are all among `among` of them.
fn none_left_out(n: u64, among: u64, k: u64) -> Option<f64> {
    (k <= n).then(|| (0..k).map(|at| among.saturating_sub(at) as f64 / (n - at) as f64).product())
}

/// Both for tasks of `(tries, passed)`: for 1, 2, 3, 5, 10, 20 … tries, as far as every task has them.
pub fn passes(tasks: &[(u64, u64)]) -> Vec<Passes> {
    let fewest = tasks.iter().map(|(n, _)| *n).min().unwrap_or(0);
    let counts = [1, 2, 3, 5, 10, 20, 50, 100].into_iter().take_while(|k| *k <= fewest);
    let over = |of: fn(u64, u64, u64) -> Option<f64>, k| {
        mean(&tasks.iter().filter_map(|(n, passed)| of(*n, *passed, k)).collect::<Vec<_>>()).unwrap_or(0.0)
    };
    counts.map(|k| Passes { k, at_least_one: over(pass_at_k, k), all: over(pass_all_k, k) }).collect()
}
