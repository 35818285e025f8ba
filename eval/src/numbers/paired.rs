//! Two runs of the same tasks: the difference, task by task.

use fastrand::Rng;
use serde::Serialize;

use super::estimate::{self, Estimate};
use super::interval::Possible;
use super::units::{self, Unit};
use super::{CONFIDENCE, FEWEST_TASKS, SAME, quantile};

/// With which chance a difference of the least size is seen.
const POWER: f64 = 0.8;

/// One task in both runs: its repeats in the one, and in the other.
#[derive(Clone, Copy, Debug)]
pub struct Pair<'a> {
    /// In the run that is compared with.
    pub before: &'a [f64],
    /// In the run that is compared.
    pub after: &'a [f64],
}

/// What two runs of the same tasks differ by.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Paired {
    /// The mean of the tasks' differences: `after` less `before`.
    pub delta: Estimate,
    /// Tasks that are higher after.
    pub wins: usize,
    /// Tasks that are lower after.
    pub losses: usize,
    /// Tasks that are the same.
    pub ties: usize,
    /// The least difference that four of five such comparisons would see; none where that is not known.
    pub least_seen: Option<f64>,
}

/// The differences of tasks that both runs have; pairs that miss one are left out. None without any pair.
pub fn paired(pairs: &[Pair<'_>], possible: Possible, rng: &mut Rng) -> Option<Paired> {
    let unit = |pair: &Pair<'_>| Some(Unit::of(pair.after)?.above(Unit::of(pair.before)?));
    let units: Vec<Unit> = pairs.iter().filter_map(unit).collect();
    let delta = estimate::of_units(&units, possible, rng)?;
    let count = |is: fn(f64) -> bool| units.iter().filter(|unit| is(unit.value)).count();
    let (wins, losses) = (count(|delta| delta > SAME), count(|delta| delta < -SAME));
    let ties = units.len() - wins - losses;
    Some(Paired { delta, wins, losses, ties, least_seen: least_seen(&units) })
}

impl Paired {
    /// Whether it is told to be lower after: on tasks like these, or on these very tasks, which is what a gate runs again.
    pub fn is_regression(&self) -> bool {
        let intervals =
            [self.delta.interval.filter(|_| self.delta.tasks >= FEWEST_TASKS), self.delta.these_tasks];
        intervals.into_iter().flatten().any(|interval| interval.is_below())
    }
}

fn least_seen(units: &[Unit]) -> Option<f64> {
    let values: Vec<f64> = units.iter().map(|unit| unit.value).collect();
    let error = (units::variance(&values)? / values.len() as f64).sqrt();
    let error = units::error_of_repeats(units).map_or(error, |(repeats, _)| error.max(repeats));
    let degrees = (values.len() - 1) as f64;
    let reach = quantile::t((1.0 + CONFIDENCE) / 2.0, degrees) + quantile::t(POWER, degrees);
    (error > 0.0).then_some(reach * error)
}
