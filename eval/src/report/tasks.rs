//! The cases of an evaluation, task by task.

use crate::case::{Case, Outcome};
use crate::load::Loaded;
use crate::numbers::{Outcomes, SAME};
use crate::record::TaskRef;

/// A task with its cases, in the order of the repeats.
pub(super) struct CasesOfTask<'a> {
    pub(super) task: &'a TaskRef,
    pub(super) cases: Vec<&'a Case>,
}

impl CasesOfTask<'_> {
    /// The scores, of those that have one.
    pub(super) fn scores(&self) -> Vec<f64> {
        self.cases.iter().filter_map(|case| score_of(case)).collect()
    }

    /// How many have a score, and how many of these pass.
    pub(super) fn passed(&self, pass: f64) -> (u64, u64) {
        let scores = self.scores();
        (scores.len() as u64, scores.iter().filter(|score| passes(**score, pass)).count() as u64)
    }

    /// How they ended.
    pub(super) fn outcomes(&self) -> Outcomes {
        outcomes(self.cases.iter().copied())
    }
}

/// All tasks, in the order of the evaluation, whether or not they have a case.
pub(super) fn by_task(loaded: &Loaded) -> Vec<CasesOfTask<'_>> {
    let cases_of = |task: &TaskRef| loaded.cases.iter().filter(|case| case.task == task.name).collect();
    loaded.evaluation.tasks.iter().map(|task| CasesOfTask { task, cases: cases_of(task) }).collect()
}

/// The score that counts: 0 of a workflow that failed where no judge could say, none of a case that says nothing.
pub(super) fn score_of(case: &Case) -> Option<f64> {
    match case.outcome {
        Outcome::Scored => case.score,
        Outcome::Failed => Some(case.score.unwrap_or(0.0)),
        Outcome::Unscored | Outcome::Error => None,
    }
}

/// Whether a score is at least `pass`, be it that of a case or of all; sums of weights are no exact numbers.
pub fn passes(score: f64, pass: f64) -> bool {
    score >= pass - SAME
}

/// How cases ended.
pub fn outcomes<'c>(cases: impl IntoIterator<Item = &'c Case>) -> Outcomes {
    cases.into_iter().fold(Outcomes::default(), |sum, case| sum.and(outcome(case)))
}

fn outcome(case: &Case) -> Outcomes {
    let none = Outcomes::default();
    match case.outcome {
        Outcome::Scored if case.score.is_none() => Outcomes { unscored: 1, ..none },
        Outcome::Scored => Outcomes { scored: 1, ..none },
        Outcome::Failed => Outcomes { failed: 1, ..none },
        Outcome::Unscored => Outcomes { unscored: 1, ..none },
        Outcome::Error => Outcomes { error: 1, ..none },
    }
}
