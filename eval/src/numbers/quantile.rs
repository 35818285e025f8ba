//! Quantiles of the distributions that intervals are made with.

use statrs::distribution::{Binomial, ContinuousCDF, DiscreteCDF, Normal, StudentsT};

/// The `p` quantile of Student's t with so many degrees of freedom, which need not be whole.
pub(super) fn t(p: f64, degrees: f64) -> f64 {
    // statrs has four digits at a million; the expansion has ten from here on.
    const LARGE: f64 = 1_000.0;
    if degrees > LARGE {
        return near_normal(normal(p), degrees);
    }
    StudentsT::new(0.0, 1.0, degrees).map_or(f64::INFINITY, |t| t.inverse_cdf(p))
}

/// The quantile of t, from that of the normal distribution (Abramowitz and Stegun 26.7.5).
fn near_normal(z: f64, degrees: f64) -> f64 {
    let first = (z.powi(3) + z) / 4.0;
    let second = (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / 96.0;
    z + first / degrees + second / degrees.powi(2)
}

/// The `p` quantile of the standard normal distribution.
pub(super) fn normal(p: f64) -> f64 {
    Normal::standard().inverse_cdf(p)
}

/// How likely the standard normal distribution is to be below `z`.
pub(super) fn below(z: f64) -> f64 {
    Normal::standard().cdf(z)
}

/// How likely at most `successes` of `trials` tosses of a coin are.
pub(super) fn at_most(successes: u64, trials: u64) -> f64 {
    Binomial::new(0.5, trials).map_or(1.0, |coin| coin.cdf(successes))
}
