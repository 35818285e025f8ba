//! Repeats told from tasks: how much of the spread of scores is one task repeated, and how much is tasks that differ.

use serde::Serialize;

use super::units::{difference, mean, variance};

/// Where the spread of scores comes from.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Spread {
    /// The standard deviation of repeats of the same task.
    pub within: f64,
    /// The standard deviation of what tasks would score if repeated for ever.
    pub between: f64,
    /// The share of the variance that is between tasks, 0 to 1: near 1, repeating more tells nothing.
    pub share_between: f64,
}

/// Variance components of a one-way layout with random tasks. None with fewer than two tasks, or without any repeat.
pub fn spread(tasks: &[impl AsRef<[f64]>]) -> Option<Spread> {
    let tasks: Vec<&[f64]> = tasks.iter().map(AsRef::as_ref).filter(|scores| !scores.is_empty()).collect();
    let (count, samples) =
        (tasks.len() as f64, tasks.iter().map(|scores| scores.len()).sum::<usize>() as f64);
    if count < 2.0 || samples <= count {
        return None;
    }
    let size = |scores: &[f64]| scores.len() as f64;
    let all = tasks.concat();
    let grand = mean(&all)?;
    let squares_within: f64 =
        tasks.iter().map(|scores| variance(scores).unwrap_or(0.0) * (size(scores) - 1.0)).sum();
    let within = squares_within / (samples - count);
    let from_grand = |scores: &[f64]| mean(scores).map_or(0.0, |mean| difference(grand, mean).powi(2));
    let squares_between: f64 = tasks.iter().map(|scores| size(scores) * from_grand(scores)).sum();
    let squared_sizes: f64 = tasks.iter().map(|scores| size(scores).powi(2)).sum();
    let typical_size = (samples - squared_sizes / samples) / (count - 1.0);
    let between = ((squares_between / (count - 1.0) - within) / typical_size).max(0.0);
    let share_between = if within + between > 0.0 { between / (within + between) } else { 0.0 };
    Some(Spread { within: within.sqrt(), between: between.sqrt(), share_between })
}
