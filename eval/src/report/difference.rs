//! What two evaluations differ by, task by task.

use fastrand::Rng;
use serde::Serialize;

use super::options::ReportOptions;
use super::settings::{Differs, differing};
use super::summary::Report;
use super::tasks::{CasesOfTask, by_task};
use super::words;
use crate::case::Case;
use crate::load::Loaded;
use crate::numbers::{
    Estimate, Lost, McNemar, Outcomes, Pair, Paired, Possible, Unclear, Verdict, difference as more, mcnemar,
    paired, verdict,
};

/// What two evaluations differ by; as JSON this is what `uwf-eval diff --format json` prints.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Difference {
    /// The one that is compared with.
    pub before: Side,
    /// The one that is compared.
    pub after: Side,
    /// Better, worse, or why it cannot be told.
    pub verdict: Verdict,
    /// That in one sentence.
    pub sentence: String,
    /// Whether it is told to be worse, on tasks like these or on these.
    pub regression: bool,
    /// The settings that are not the same.
    pub differs: Vec<Differs>,
    /// The difference of scores; none without a task that has a score in both.
    pub score: Option<Paired>,
    /// The difference of costs in USD a case.
    pub cost_usd: Option<Paired>,
    /// The difference of seconds a case.
    pub seconds: Option<Paired>,
    /// Tasks that most of their cases pass, in one alone.
    pub passes: Option<McNemar>,
    /// The judges that both have.
    pub judges: Vec<JudgeDifference>,
    /// The tasks that both have.
    pub tasks: Vec<TaskDifference>,
    /// Tasks of the one alone.
    pub only_before: Vec<String>,
    /// Tasks of the other alone.
    pub only_after: Vec<String>,
}

/// One of two evaluations.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Side {
    /// Its name.
    pub name: String,
    /// Its score over all of its tasks.
    pub score: Option<Estimate>,
    /// How its cases ended.
    pub outcomes: Outcomes,
    /// How many of its cases are not finished.
    pub unfinished: usize,
    /// Why it is no result, if it is none: too many cases have no score.
    pub no_result: Option<Lost>,
    /// USD a case, on the average.
    pub cost_usd: Option<f64>,
}

/// A judge of both.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct JudgeDifference {
    /// The judge.
    pub name: String,
    /// The difference of its scores.
    pub score: Paired,
}

/// A task of both.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskDifference {
    /// Its name.
    pub task: String,
    /// The mean of its scores in the one.
    pub before: Option<f64>,
    /// In the other.
    pub after: Option<f64>,
    /// How much that is more; none where one has no score.
    pub delta: Option<f64>,
    /// How many cases have a score, in the one and in the other.
    pub cases: (usize, usize),
}

impl Difference {
    /// What `after` is more than `before`.
    pub fn of(before: &Loaded, after: &Loaded, options: &ReportOptions) -> Difference {
        let rng = &mut Rng::with_seed(options.seed);
        let (one, other) = (by_task(before), by_task(after));
        let shared = shared(&one, &other);
        let score = difference(&shared, Possible::Difference, &|task| task.scores(), rng);
        let amounts = |of: fn(&Case) -> Option<f64>| {
            move |task: &CasesOfTask<'_>| task.cases.iter().filter_map(|case| of(case)).collect::<Vec<_>>()
        };
        let (before_side, after_side) = (Side::of(before, options), Side::of(after, options));
        let is_whole = before_side.unfinished + after_side.unfinished == 0;
        let verdict = match is_whole {
            true => verdict(score.as_ref(), before_side.no_result.or(after_side.no_result)),
            false => Verdict::Unclear(Unclear::Unfinished {
                before: before_side.unfinished,
                after: after_side.unfinished,
            }),
        };
        let absent = |from: &[CasesOfTask<'_>], of: &[CasesOfTask<'_>]| {
            let is_there = |name: &str| of.iter().any(|task| task.task.name == name);
            from.iter().map(|task| task.task.name.clone()).filter(|name| !is_there(name)).collect()
        };
        Difference {
            sentence: words::sentence((&before_side.name, &after_side.name), &verdict, score.as_ref()),
            regression: is_whole && score.as_ref().is_some_and(Paired::is_regression),
            differs: differing(&before.evaluation, &after.evaluation),
            cost_usd: difference(&shared, Possible::Anything, &amounts(|case| case.cost_usd), rng),
            seconds: difference(&shared, Possible::Anything, &amounts(|case| Some(case.seconds)), rng),
            passes: passes(&shared, options.pass),
            judges: judges(&shared, rng),
            tasks: shared.iter().map(|(one, other)| task(one, other)).collect(),
            only_before: absent(&one, &other),
            only_after: absent(&other, &one),
            before: before_side,
            after: after_side,
            verdict,
            score,
        }
    }
}

impl Side {
    fn of(loaded: &Loaded, options: &ReportOptions) -> Side {
        let Report { name, score, outcomes, unfinished, no_result, cost_usd, .. } =
            Report::of(loaded, options);
        Side { name, score, outcomes, unfinished, no_result, cost_usd: cost_usd.map(|cost| cost.mean) }
    }
}

type Shared<'a> = [(&'a CasesOfTask<'a>, &'a CasesOfTask<'a>)];

/// The tasks that both have, by name.
fn shared<'a>(
    one: &'a [CasesOfTask<'a>],
    other: &'a [CasesOfTask<'a>],
) -> Vec<(&'a CasesOfTask<'a>, &'a CasesOfTask<'a>)> {
    let in_other = |task: &CasesOfTask<'_>| other.iter().find(|other| other.task.name == task.task.name);
    one.iter().filter_map(|task| Some((task, in_other(task)?))).collect()
}

fn difference(
    shared: &Shared<'_>,
    possible: Possible,
    of: &dyn Fn(&CasesOfTask<'_>) -> Vec<f64>,
    rng: &mut Rng,
) -> Option<Paired> {
    let values: Vec<(Vec<f64>, Vec<f64>)> = shared.iter().map(|(one, other)| (of(one), of(other))).collect();
    let pairs: Vec<Pair<'_>> = values.iter().map(|(before, after)| Pair { before, after }).collect();
    paired(&pairs, possible, rng)
}

/// Tasks that more than half of their cases pass, in one of the two alone; those with exactly half are left out.
fn passes(shared: &Shared<'_>, pass: f64) -> Option<McNemar> {
    let passes = |task: &CasesOfTask<'_>| match task.passed(pass) {
        (of, passed) if 2 * passed > of => Some(true),
        (of, passed) if 2 * passed < of => Some(false),
        _ => None,
    };
    let both: Vec<(bool, bool)> =
        shared.iter().filter_map(|(one, other)| passes(one).zip(passes(other))).collect();
    let count = |which| both.iter().filter(|both| **both == which).count() as u64;
    (!both.is_empty()).then(|| mcnemar(count((true, false)), count((false, true))))
}

fn judges(shared: &Shared<'_>, rng: &mut Rng) -> Vec<JudgeDifference> {
    let mut names: Vec<&str> = Vec::new();
    for judge in shared.iter().flat_map(|(one, _)| &one.cases).flat_map(|case| &case.judges) {
        if !names.contains(&judge.name.as_str()) {
            names.push(&judge.name);
        }
    }
    let said = |name: &str, task: &CasesOfTask<'_>| {
        let judges = task.cases.iter().flat_map(|case| &case.judges).filter(|judge| judge.name == name);
        judges.filter_map(|judge| judge.score).collect::<Vec<_>>()
    };
    let of = |name: &str| {
        let score = difference(shared, Possible::Difference, &|task| said(name, task), rng)?;
        Some(JudgeDifference { name: name.to_owned(), score })
    };
    names.into_iter().filter_map(of).collect()
}

fn task(one: &CasesOfTask<'_>, other: &CasesOfTask<'_>) -> TaskDifference {
    let mean =
        |scores: &[f64]| (!scores.is_empty()).then(|| scores.iter().sum::<f64>() / scores.len() as f64);
    let (one_scores, other_scores) = (one.scores(), other.scores());
    let (before, after) = (mean(&one_scores), mean(&other_scores));
    let delta = before.zip(after).map(|(before, after)| more(before, after));
    TaskDifference {
        task: one.task.name.clone(),
        before,
        after,
        delta,
        cases: (one_scores.len(), other_scores.len()),
    }
}
