//! What an evaluation came to, and the exit status that says so.

use std::collections::BTreeMap;

use serde::Serialize;
use uwf_eval::report::{ReportOptions, outcomes, passes, words};
use uwf_eval::{Case, GivenUp, Loaded, Outcome, load};

use super::error::NO_RESULT;
use super::show::score;
use crate::shell::{CliError, OK, Session, Text, USER, render};

/// What an evaluation has to come to.
pub(super) struct Bounds {
    /// The least mean score.
    pub(super) min: Option<f64>,
    /// The part of cases that may have no score.
    pub(super) max_unscored: f64,
    /// Whether any of these was asked for: of what is not finished none can be told.
    pub(super) is_asked: bool,
}

impl Bounds {
    /// As typed; parts of the cases in percent.
    pub(super) fn of(min: Option<f64>, max_unscored: Option<f64>) -> Bounds {
        let share = max_unscored.map_or(ReportOptions::default().max_unscored, |percent| percent / 100.0);
        Bounds { min, max_unscored: share, is_asked: min.is_some() || max_unscored.is_some() }
    }
}

/// What it came to.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct View {
    name: String,
    done: bool,
    planned: usize,
    #[serde(flatten)]
    total: Sum,
    tasks: Vec<TaskView>,
}

/// What the cases of a task came to.
#[derive(Serialize)]
struct TaskView {
    task: String,
    #[serde(flatten)]
    sum: Sum,
}

/// Cases, counted.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Sum {
    cases: usize,
    scored: usize,
    unscored: usize,
    failed: usize,
    errors: usize,
    /// Taken from earlier evaluations.
    cached: usize,
    /// The mean of the scores that there are; of several tasks, the mean of theirs.
    score: Option<f64>,
    cost_usd: Option<f64>,
    /// What was begun for them and interrupted, so that they began anew; no part of the cost.
    #[serde(skip_serializing_if = "GivenUp::is_nothing")]
    given_up: GivenUp,
    seconds: f64,
}

/// Prints what an evaluation came to; gives the exit status.
pub(super) fn tell(session: &mut Session<'_>, name: &str, bounds: &Bounds) -> Result<u8, CliError> {
    let loaded = load(&session.store()?, name)?;
    let outcomes = outcomes(&loaded.cases);
    let view = View::of(loaded);
    session.ui.result(&view, || text(&view))?;
    let no_result =
        |why: String, hint| CliError::Said { error: why.into(), hint: Some(hint), exit: NO_RESULT };
    if let Some(lost) = outcomes.lost_beyond(bounds.max_unscored) {
        let hint = format!("see why with: uwf-eval show {name}; --max-unscored says how many may");
        return Err(no_result(words::no_result(&lost), hint));
    }
    let missing = view.planned.saturating_sub(outcomes.cases());
    if bounds.is_asked && missing > 0 {
        let hint = format!("go on with: uwf-eval run --resume {name}");
        return Err(no_result(words::unfinished(missing, view.planned), hint));
    }
    match (bounds.min, view.total.score) {
        (Some(min), Some(score)) if !passes(score, min) => Err(CliError::Said {
            error: format!("the score {score:.4} is below {min}").into(),
            hint: None,
            exit: USER,
        }),
        _ => Ok(OK),
    }
}

impl View {
    fn of(loaded: Loaded) -> View {
        let Loaded { evaluation, cases } = loaded;
        let mut by_task: BTreeMap<&str, Vec<&Case>> = BTreeMap::new();
        for case in &cases {
            by_task.entry(&case.task).or_default().push(case);
        }
        let none = Vec::new();
        let tasks: Vec<TaskView> = evaluation
            .tasks
            .iter()
            .map(|task| {
                let cases = by_task.get(task.name.as_str()).unwrap_or(&none);
                TaskView { task: task.name.clone(), sum: Sum::of(cases) }
            })
            .collect();
        let mut total = Sum::of(&cases.iter().collect::<Vec<_>>());
        total.score = mean(tasks.iter().filter_map(|task| task.sum.score));
        View {
            done: evaluation.finished_at.is_some(),
            planned: evaluation.planned(),
            name: evaluation.name,
            total,
            tasks,
        }
    }
}

impl Sum {
    fn of(cases: &[&Case]) -> Sum {
        let count = |outcome: Outcome| cases.iter().filter(|case| case.outcome == outcome).count();
        let costs = cases.iter().filter_map(|case| case.cost_usd);
        Sum {
            cases: cases.len(),
            scored: count(Outcome::Scored),
            unscored: count(Outcome::Unscored),
            failed: count(Outcome::Failed),
            errors: count(Outcome::Error),
            cached: cases.iter().filter(|case| case.cached).count(),
            score: mean(cases.iter().filter_map(|case| case.score)),
            cost_usd: costs.reduce(|one, other| one + other),
            given_up: cases.iter().map(|case| case.given_up).fold(GivenUp::default(), GivenUp::and),
            seconds: cases.iter().map(|case| case.seconds).sum(),
        }
    }
}

fn mean(numbers: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = numbers.fold((0.0, 0_u32), |(sum, count), number| (sum + number, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}

fn text(view: &View) -> Text {
    let cells = |name: &str, sum: &Sum| {
        [
            name.to_owned(),
            score(sum.score),
            sum.cases.to_string(),
            sum.failed.to_string(),
            sum.unscored.to_string(),
            sum.errors.to_string(),
            render::cost(sum.cost_usd, 0),
            render::duration((sum.seconds * 1000.0).max(0.0) as u64),
        ]
    };
    let mut rows: Vec<_> = view.tasks.iter().map(|task| cells(&task.task, &task.sum)).collect();
    if view.tasks.len() > 1 {
        rows.push(cells("all", &view.total));
    }
    let table =
        render::table(["TASK", "SCORE", "CASES", "FAILED", "UNSCORED", "ERRORS", "COST", "TIME"], &rows);
    let taken = match view.total.cached {
        0 => String::new(),
        count => format!("{count} of these threads were run by earlier evaluations; --fresh runs others\n"),
    };
    let GivenUp { threads, cost_usd } = view.total.given_up;
    let cost = cost_usd.map(|cost| render::cost(Some(cost), 0));
    let given_up = match (threads, cost) {
        (0, None) => String::new(),
        (0, Some(cost)) => format!("attempts that do not count cost {cost} more\n"),
        (count, None) => format!("{count} threads were interrupted and begun anew\n"),
        (count, Some(cost)) => {
            format!("{count} threads were interrupted and begun anew and cost {cost} more\n")
        }
    };
    Text::from(table).then(format!("\n{taken}{given_up}more: uwf-eval show {}\n", view.name))
}
