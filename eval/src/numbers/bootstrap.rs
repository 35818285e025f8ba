//! An interval of a mean by drawing the same number of tasks again, with replacement.

use fastrand::Rng;

use super::interval::Interval;
use super::{CONFIDENCE, amounts, quantile};

/// How often tasks are drawn.
const DRAWS: usize = 4_000;

/// The percentile interval, expanded: percentiles of the draws are too narrow by what a t quantile and the smaller
/// denominator are wider (Hesterberg 2015, "What Teachers Should Know About the Bootstrap", 4.1).
pub(super) fn interval(values: &[f64], rng: &mut Rng) -> Interval {
    let count = values.len() as f64;
    let draw = |rng: &mut Rng| values.iter().map(|_| values[rng.usize(..values.len())]).sum::<f64>() / count;
    let mut means: Vec<f64> = (0..DRAWS).map(|_| draw(rng)).collect();
    means.sort_by(f64::total_cmp);
    let tail = (1.0 - CONFIDENCE) / 2.0;
    let tail = quantile::below((count / (count - 1.0)).sqrt() * quantile::t(tail, count - 1.0));
    Interval { low: amounts::quantile(&means, tail), high: amounts::quantile(&means, 1.0 - tail) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_draws_the_same() {
        let values: Vec<f64> = (0..40).map(|at| f64::from(at % 7) / 7.0).collect();
        let one = interval(&values, &mut Rng::with_seed(1));
        assert_eq!(one, interval(&values, &mut Rng::with_seed(1)));
        assert_ne!(one, interval(&values, &mut Rng::with_seed(2)));
    }
}
