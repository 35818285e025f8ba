//! A mean across tasks with its intervals.
//!
//! Two questions have two intervals. *Tasks like these*: how far off might the mean be as one of all tasks that might have
//! been chosen? Tasks are the units then, and few tasks say little however often they are repeated. *These tasks*: how far
//! would the mean over these very tasks move if all were repeated once more? Repeats alone tell that.

use fastrand::Rng;
use serde::Serialize;

use super::interval::{Interval, Possible};
use super::units::{self, Unit};
use super::{CONFIDENCE, bootstrap, quantile};

/// From so many tasks on, tasks are drawn again; below, the t distribution is asked.
const MANY_TASKS: usize = 30;

/// A mean across tasks.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Estimate {
    /// The mean of the tasks' means: each task counts the same, however often it was repeated.
    pub mean: f64,
    /// Where the mean over all tasks like these is; never narrower than `these_tasks`. None with a single task.
    pub interval: Option<Interval>,
    /// Where the mean over these very tasks is. None unless each was repeated.
    pub these_tasks: Option<Interval>,
    /// How `interval` was made.
    pub method: Method,
    /// How many tasks.
    pub tasks: usize,
    /// How many samples of them; of two runs, the pairs.
    pub samples: usize,
}

/// How an interval was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Method {
    /// By the t distribution.
    T,
    /// By drawing tasks again.
    Bootstrap,
    /// All tasks were alike: by how likely it is that another one never came.
    Alike,
    /// There is none.
    None,
}

/// The mean of scores over tasks, one slice of repeats each; tasks without any are left out. None without any sample.
pub fn estimate(tasks: &[impl AsRef<[f64]>], possible: Possible, rng: &mut Rng) -> Option<Estimate> {
    let units: Vec<Unit> = tasks.iter().filter_map(|scores| Unit::of(scores.as_ref())).collect();
    of_units(&units, possible, rng)
}

pub(super) fn of_units(units: &[Unit], possible: Possible, rng: &mut Rng) -> Option<Estimate> {
    let values: Vec<f64> = units.iter().map(|unit| unit.value).collect();
    let mean = units::mean(&values)?;
    let these_tasks = of_repeats(units, mean, possible);
    let (interval, method) = of_tasks(&values, mean, possible, rng);
    // Tasks differ at least by what repeats move; where they seem to differ less, that is luck.
    let interval = interval.map(|interval| these_tasks.map_or(interval, |repeats| interval.with(repeats)));
    Some(Estimate {
        mean,
        interval,
        these_tasks,
        method,
        tasks: units.len(),
        samples: units.iter().map(|unit| unit.repeats).sum(),
    })
}

fn of_tasks(values: &[f64], mean: f64, possible: Possible, rng: &mut Rng) -> (Option<Interval>, Method) {
    let Some(variance) = units::variance(values) else { return (None, Method::None) };
    let count = values.len();
    let (interval, method) = match variance == 0.0 {
        true => (possible.around_alike(mean, count), Method::Alike),
        false if count >= MANY_TASKS => (Some(bootstrap::interval(values, rng)), Method::Bootstrap),
        false => (Some(by_t(mean, (variance / count as f64).sqrt(), (count - 1) as f64)), Method::T),
    };
    match interval {
        Some(interval) => (Some(interval.within(possible)), method),
        None => (None, Method::None),
    }
}

fn of_repeats(units: &[Unit], mean: f64, possible: Possible) -> Option<Interval> {
    let (error, degrees) = units::error_of_repeats(units)?;
    if error == 0.0 {
        let fewest = units.iter().map(|unit| unit.repeats).min().unwrap_or(0);
        return possible.around_alike(mean, fewest * units.len());
    }
    Some(by_t(mean, error, degrees).within(possible))
}

fn by_t(mean: f64, error: f64, degrees: f64) -> Interval {
    Interval::around(mean, quantile::t((1.0 + CONFIDENCE) / 2.0, degrees) * error)
}
