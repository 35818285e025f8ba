//! Amounts of cases: cost, time, tokens.

use serde::Serialize;

use super::units::mean;

/// How an amount is distributed over cases.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Amounts {
    /// How many cases have one.
    pub known: usize,
    /// How many do not.
    pub unknown: usize,
    /// All together.
    pub total: f64,
    /// On the average.
    pub mean: f64,
    /// The least.
    pub min: f64,
    /// Half of the cases need at most this.
    pub p50: f64,
    /// Nine of ten.
    pub p90: f64,
    /// The most.
    pub max: f64,
}

/// The distribution of an amount; none if no case has one.
pub fn amounts(values: impl IntoIterator<Item = Option<f64>>) -> Option<Amounts> {
    let all: Vec<Option<f64>> = values.into_iter().collect();
    let mut known: Vec<f64> = all.iter().copied().flatten().filter(|value| value.is_finite()).collect();
    known.sort_by(f64::total_cmp);
    Some(Amounts {
        known: known.len(),
        unknown: all.len() - known.len(),
        total: known.iter().sum(),
        mean: mean(&known)?,
        min: quantile(&known, 0.0),
        p50: quantile(&known, 0.5),
        p90: quantile(&known, 0.9),
        max: quantile(&known, 1.0),
    })
}

/// The `p` quantile of sorted values, between the two that it lies between (the seventh definition of Hyndman and Fan, as
/// numpy and R have it); 0 of nothing.
pub(super) fn quantile(sorted: &[f64], p: f64) -> f64 {
    let place = p.clamp(0.0, 1.0) * sorted.len().saturating_sub(1) as f64;
    let at = |place: f64| sorted.get(place as usize).copied().unwrap_or(0.0);
    let (low, high) = (at(place.floor()), at(place.ceil()));
    low + (high - low) * place.fract()
}
