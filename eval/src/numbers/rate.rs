//! A share of independent cases.

use super::interval::{Interval, Possible};
use super::{CONFIDENCE, quantile};

/// Wilson's interval of a share; none of nothing. For cases that do not hang together: repeats of a task do.
pub fn wilson(successes: u64, cases: u64) -> Option<Interval> {
    if cases == 0 || successes > cases {
        return None;
    }
    let (count, share) = (cases as f64, successes as f64 / cases as f64);
    let z = quantile::normal((1.0 + CONFIDENCE) / 2.0);
    let shrunk = 1.0 + z * z / count;
    let centre = (share + z * z / (2.0 * count)) / shrunk;
    let half = z / shrunk * (share * (1.0 - share) / count + z * z / (4.0 * count * count)).sqrt();
    Some(Interval::around(centre, half).within(Possible::Score))
}
