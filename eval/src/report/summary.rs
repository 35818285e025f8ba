//! What one evaluation comes to.

use fastrand::Rng;
use serde::Serialize;

use super::options::ReportOptions;
use super::tasks::{CasesOfTask, by_task, passes as case_passes, score_of};
use crate::case::{Case, JudgeScore};
use crate::load::Loaded;
use crate::numbers::{
    Agreement, Amounts, Estimate, Interval, Lost, Outcomes, Passes, Possible, Spread, agreement, amounts,
    estimate, passes, spread, wilson,
};
use crate::record::EvalConfig;

/// What an evaluation comes to; as JSON this is what `uwf-eval report --format json` prints.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// Its name.
    pub name: String,
    /// What is the same for all cases.
    pub config: EvalConfig,
    /// When it began, in milliseconds since the epoch.
    pub started_at: u64,
    /// When its last case was finished; none while it goes on.
    pub finished_at: Option<u64>,
    /// How its cases ended.
    pub outcomes: Outcomes,
    /// How many cases are not finished.
    pub unfinished: usize,
    /// Why it is no result, if it is none: too many cases have no score.
    pub no_result: Option<Lost>,
    /// The mean of the tasks' scores.
    pub score: Option<Estimate>,
    /// What that would be if all cases without a score had 0, and if they had 1; none where every case has one.
    pub score_if_lost: Option<Interval>,
    /// How many cases pass.
    pub passes: PassReport,
    /// Repeats told from tasks; none without repeats.
    pub spread: Option<Spread>,
    /// USD a case.
    pub cost_usd: Option<Amounts>,
    /// Seconds a case.
    pub seconds: Option<Amounts>,
    /// Tokens a case, sent and received.
    pub tokens: Option<Amounts>,
    /// Steps a case.
    pub steps: Option<Amounts>,
    /// The judges, in the order of the tasks.
    pub judges: Vec<JudgeReport>,
    /// The tasks.
    pub tasks: Vec<TaskReport>,
    /// The cases.
    pub cases: Vec<Case>,
}

/// How many cases pass.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PassReport {
    /// From which score on a case passes.
    pub at_least: f64,
    /// How many do.
    pub passed: u64,
    /// Of how many that have a score.
    pub of: u64,
    /// The mean of the tasks' shares.
    pub rate: Option<f64>,
    /// Its interval: Wilson's where no task is repeated, else by tasks.
    pub interval: Option<Interval>,
    /// One of k tries, and all of k.
    pub tries: Vec<Passes>,
}

/// What one judge says over all cases.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct JudgeReport {
    /// The judge.
    pub name: String,
    /// Its part of the score; where tasks differ, the greatest.
    pub weight: f64,
    /// The mean of its scores by task.
    pub score: Option<Estimate>,
    /// How often it could not say.
    pub errors: usize,
    /// Whether it agrees with itself, if it votes.
    pub agreement: Option<Agreement>,
    /// What it cost in USD, as far as that is known.
    pub cost_usd: Option<f64>,
}

/// What one task comes to.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskReport {
    /// Its name.
    pub task: String,
    /// What it said.
    pub hash: String,
    /// What the workflow is called.
    pub workflow: String,
    /// How its cases ended.
    pub outcomes: Outcomes,
    /// The mean of its scores.
    pub score: Option<f64>,
    /// Where that would be if it were repeated for ever; none with a single case.
    pub interval: Option<Interval>,
    /// How many cases pass.
    pub passed: u64,
    /// USD a case, on the average.
    pub cost_usd: Option<f64>,
    /// Seconds a case, on the average.
    pub seconds: Option<f64>,
}

impl Report {
    /// What an evaluation comes to.
    pub fn of(loaded: &Loaded, options: &ReportOptions) -> Report {
        let (evaluation, cases) = (&loaded.evaluation, &loaded.cases);
        let tasks = by_task(loaded);
        let rng = &mut Rng::with_seed(options.seed);
        let outcomes = tasks.iter().fold(Outcomes::default(), |sum, task| sum.and(task.outcomes()));
        let scores: Vec<Vec<f64>> = tasks.iter().map(CasesOfTask::scores).collect();
        let amount = |of: &dyn Fn(&Case) -> Option<f64>| amounts(cases.iter().map(of));
        Report {
            name: evaluation.name.clone(),
            config: evaluation.config.clone(),
            started_at: evaluation.started_at,
            finished_at: evaluation.finished_at,
            outcomes,
            unfinished: evaluation.planned().saturating_sub(outcomes.cases()),
            no_result: outcomes.lost_beyond(options.max_unscored),
            score: estimate(&scores, Possible::Score, rng),
            score_if_lost: (outcomes.lost() > 0).then(|| if_lost(&tasks)),
            passes: pass_report(&tasks, options.pass, rng),
            spread: spread(&scores),
            cost_usd: amount(&|case| case.cost_usd),
            seconds: amount(&|case| Some(case.seconds)),
            tokens: amount(&|case| Some((case.tokens.input + case.tokens.output) as f64)),
            steps: amount(&|case| Some(case.steps as f64)),
            judges: judges(&tasks, rng),
            tasks: tasks.iter().map(|task| task_report(task, options.pass, rng)).collect(),
            cases: cases.clone(),
        }
    }

    /// Whether it is finished and a result, and its score is at least `min`.
    pub fn reaches(&self, min: f64) -> bool {
        let is_result = self.unfinished == 0 && self.no_result.is_none();
        is_result && self.score.is_some_and(|score| case_passes(score.mean, min))
    }
}

/// The mean over tasks with every lost case at 0, and at 1.
fn if_lost(tasks: &[CasesOfTask<'_>]) -> Interval {
    let mean = |lost: f64| {
        let of_task = |task: &CasesOfTask<'_>| {
            let sum: f64 = task.cases.iter().map(|case| score_of(case).unwrap_or(lost)).sum();
            (!task.cases.is_empty()).then(|| sum / task.cases.len() as f64)
        };
        let means: Vec<f64> = tasks.iter().filter_map(of_task).collect();
        means.iter().sum::<f64>() / means.len().max(1) as f64
    };
    Interval { low: mean(0.0), high: mean(1.0) }
}

fn pass_report(tasks: &[CasesOfTask<'_>], at_least: f64, rng: &mut Rng) -> PassReport {
    let counts: Vec<(u64, u64)> =
        tasks.iter().map(|task| task.passed(at_least)).filter(|(of, _)| *of > 0).collect();
    let (of, passed) = counts.iter().fold((0, 0), |(of, passed), task| (of + task.0, passed + task.1));
    let as_scores = |(of, passed): &(u64, u64)| -> Vec<f64> {
        (0..*of).map(|at| if at < *passed { 1.0 } else { 0.0 }).collect()
    };
    let shares: Vec<Vec<f64>> = counts.iter().map(as_scores).collect();
    let mean = estimate(&shares, Possible::Score, rng);
    let single = counts.iter().all(|(of, _)| *of == 1);
    let interval = if single { wilson(passed, of) } else { mean.and_then(|mean| mean.interval) };
    let tries = passes(&counts);
    PassReport { at_least, passed, of, rate: mean.map(|mean| mean.mean), interval, tries }
}

fn judges(tasks: &[CasesOfTask<'_>], rng: &mut Rng) -> Vec<JudgeReport> {
    let mut names: Vec<&str> = Vec::new();
    for judge in tasks.iter().flat_map(|task| &task.cases).flat_map(|case| &case.judges) {
        if !names.contains(&judge.name.as_str()) {
            names.push(&judge.name);
        }
    }
    names.into_iter().map(|name| judge_report(name, tasks, rng)).collect()
}

fn judge_report(name: &str, tasks: &[CasesOfTask<'_>], rng: &mut Rng) -> JudgeReport {
    let said = |task: &CasesOfTask<'_>| -> Vec<JudgeScore> {
        let of_case = |case: &&Case| case.judges.iter().find(|judge| judge.name == name).cloned();
        task.cases.iter().filter_map(of_case).collect()
    };
    let by_task: Vec<Vec<JudgeScore>> = tasks.iter().map(said).collect();
    let scores: Vec<Vec<f64>> =
        by_task.iter().map(|said| said.iter().filter_map(|judge| judge.score).collect()).collect();
    let all = by_task.concat();
    let votes: Vec<Vec<f64>> = all.iter().map(|judge| judge.votes.clone()).collect();
    let costs: Vec<f64> = all.iter().filter_map(|judge| judge.cost_usd).collect();
    JudgeReport {
        name: name.to_owned(),
        weight: all.iter().map(|judge| judge.weight).fold(0.0, f64::max),
        score: estimate(&scores, Possible::Score, rng),
        errors: all.iter().filter(|judge| judge.error.is_some()).count(),
        agreement: agreement(&votes),
        cost_usd: (!costs.is_empty()).then(|| costs.iter().sum()),
    }
}

fn task_report(task: &CasesOfTask<'_>, pass: f64, rng: &mut Rng) -> TaskReport {
    let found = estimate(&[task.scores()], Possible::Score, rng);
    let average = |of: &dyn Fn(&Case) -> Option<f64>| {
        amounts(task.cases.iter().map(|case| of(case))).map(|amounts| amounts.mean)
    };
    TaskReport {
        task: task.task.name.clone(),
        hash: task.task.hash.clone(),
        workflow: task.task.workflow_name.clone(),
        outcomes: task.outcomes(),
        score: found.map(|found| found.mean),
        interval: found.and_then(|found| found.these_tasks),
        passed: task.passed(pass).1,
        cost_usd: average(&|case| case.cost_usd),
        seconds: average(&|case| Some(case.seconds)),
    }
}
