//! Better, worse, or that it cannot be told.

use serde::Serialize;

use super::FEWEST_TASKS;
use super::outcomes::Lost;
use super::paired::Paired;

/// What a comparison comes to.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", tag = "is")]
pub enum Verdict {
    /// Higher after: the interval is above 0.
    Better,
    /// Lower after: the interval is below 0.
    Worse,
    /// It cannot be told.
    Unclear(Unclear),
}

/// Why it cannot be told.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", tag = "why")]
pub enum Unclear {
    /// The two have no task in common with a score in both.
    NothingShared,
    /// Not enough tasks.
    #[serde(rename_all = "camelCase")]
    TooFewTasks {
        /// How many both have.
        tasks: usize,
        /// How many are needed.
        needed: usize,
    },
    /// The interval has 0 in it.
    #[serde(rename_all = "camelCase")]
    CoversZero {
        /// The least difference that four of five such comparisons would see.
        least_seen: Option<f64>,
    },
    /// Too many cases have no score.
    Lost(Lost),
    /// Cases are not finished.
    Unfinished {
        /// How many of the one that is compared with.
        before: usize,
        /// How many of the one that is compared.
        after: usize,
    },
}

/// What a paired difference comes to; `lost` is why one of the two is no result.
pub fn verdict(paired: Option<&Paired>, lost: Option<Lost>) -> Verdict {
    if let Some(lost) = lost {
        return Verdict::Unclear(Unclear::Lost(lost));
    }
    let Some(paired) = paired else { return Verdict::Unclear(Unclear::NothingShared) };
    let tasks = paired.delta.tasks;
    if tasks < FEWEST_TASKS {
        return Verdict::Unclear(Unclear::TooFewTasks { tasks, needed: FEWEST_TASKS });
    }
    match paired.delta.interval {
        Some(interval) if interval.is_above() => Verdict::Better,
        Some(interval) if interval.is_below() => Verdict::Worse,
        _ => Verdict::Unclear(Unclear::CoversZero { least_seen: paired.least_seen }),
    }
}
