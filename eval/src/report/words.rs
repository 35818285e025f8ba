//! Numbers in words: scores, intervals, amounts, and what a comparison comes to in one sentence.

use crate::numbers::{Interval, Lost, Paired, Unclear, Verdict};

/// `0.75`; `–` where there is none.
pub fn score(score: Option<f64>) -> String {
    score.map_or_else(|| "–".to_owned(), |score| format!("{score:.2}"))
}

/// `+0.12`, `-0.05`.
pub fn delta(delta: f64) -> String {
    // No minus before nothing.
    let rounded = (delta * 100.0).round() / 100.0 + 0.0;
    format!("{rounded:+.2}")
}

/// `0.61 to 0.88`; `–` where there is none.
pub fn interval(interval: Option<Interval>) -> String {
    interval.map_or_else(|| "–".to_owned(), |Interval { low, high }| format!("{low:.2} to {high:.2}"))
}

/// `-0.03 to +0.25`; `–` where there is none.
pub fn delta_interval(interval: Option<Interval>) -> String {
    interval.map_or_else(|| "–".to_owned(), |found| format!("{} to {}", delta(found.low), delta(found.high)))
}

/// `12 %`.
pub fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// `$0.0123`: as many digits as tell something; `–` where nobody knows.
pub fn usd(cost: Option<f64>) -> String {
    match cost {
        Some(cost) if cost >= 1.0 || cost == 0.0 => format!("${cost:.2}"),
        Some(cost) => format!("${cost:.4}"),
        None => "–".to_owned(),
    }
}

/// `850 ms`, `12.3 s`, `4 min 5 s`, `3 h 20 min`.
pub fn seconds(seconds: f64) -> String {
    let ms = (seconds.max(0.0) * 1000.0).round() as u64;
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..60_000 => format!("{}.{} s", ms / 1_000, ms % 1_000 / 100),
        60_000..3_600_000 => format!("{} min {} s", ms / 60_000, ms / 1_000 % 60),
        _ => format!("{} h {} min", ms / 3_600_000, ms / 60_000 % 60),
    }
}

/// Why there is no result.
pub fn no_result(lost: &Lost) -> String {
    let Lost { cases, of, limit } = lost;
    match of {
        0 => "no result: no case is finished".to_owned(),
        _ if cases == of => format!("no result: {cases} of {of} cases have no score"),
        _ => format!("no result: {cases} of {of} cases have no score, more than {}", percent(*limit)),
    }
}

/// Why there is no result yet.
pub fn unfinished(cases: usize, of: usize) -> String {
    format!("no result: {cases} of {of} cases are not finished")
}

/// What a comparison comes to, in one sentence.
pub(super) fn sentence((before, after): (&str, &str), verdict: &Verdict, paired: Option<&Paired>) -> String {
    let by = paired.map_or_else(String::new, |paired| {
        format!("{} ({})", delta(paired.delta.mean), delta_interval(paired.delta.interval))
    });
    match verdict {
        Verdict::Better => format!("{after} is better than {before}, by {by}."),
        Verdict::Worse => format!("{after} is worse than {before}, by {by}."),
        Verdict::Unclear(why) => {
            let told = unclear((before, after), why, &by);
            // What is not finished tells nothing of these tasks either.
            let of_these = paired.filter(|_| !matches!(why, Unclear::Unfinished { .. }));
            format!("Whether {after} is better than {before} cannot be told: {told}{}.", on_these(of_these))
        }
    }
}

fn unclear((before, after): (&str, &str), why: &Unclear, by: &str) -> String {
    match why {
        Unclear::NothingShared => "they have no task in common with a score in both".to_owned(),
        Unclear::TooFewTasks { tasks, needed } => {
            format!("{tasks} of at least {needed} tasks have a score in both")
        }
        Unclear::CoversZero { least_seen: Some(least) } => {
            format!("{by} has 0 in it, and less than {} is rarely seen with so many cases", delta(*least))
        }
        Unclear::CoversZero { least_seen: None } => format!("{by} has 0 in it"),
        Unclear::Lost(lost) => no_result(lost),
        Unclear::Unfinished { before: one, after: other } => {
            let sides = [(one, before), (other, after)].into_iter().filter(|(cases, _)| **cases > 0);
            let told: Vec<String> = sides.map(|(cases, of)| format!("{cases} of {of}")).collect();
            format!("no result: cases are not finished, {}", told.join(" and "))
        }
    }
}

/// What repeats tell of these tasks, where that is more.
fn on_these(paired: Option<&Paired>) -> String {
    let Some(these) = paired.and_then(|paired| paired.delta.these_tasks) else { return String::new() };
    let word = match () {
        () if these.is_above() => "better",
        () if these.is_below() => "worse",
        () => return String::new(),
    };
    format!("; on these very tasks it is {word} ({})", delta_interval(Some(these)))
}
