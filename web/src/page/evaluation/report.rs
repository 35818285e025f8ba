//! One evaluation.

use maud::{Markup, html};
use uwf_eval::Case;
use uwf_eval::numbers::Amounts;
use uwf_eval::report::{JudgeReport, PassReport, Report, TaskReport, words};

use super::Cases;
use super::case::case;
use super::matrix::{matrix, place, tasks_of};
use super::table::table;
use crate::chart::{self, Axis, Mark, Row, Spot};
use crate::page::blocks::{facts, moment, text};
use crate::text::visible;

/// How many cases are in a page with their steps: those that score least.
const WITH_STEPS: usize = 200;

pub(super) fn report(found: &Report, shown: &Cases<'_>) -> Markup {
    html! {
        h1 { (visible(&found.name)) }
        @if let Some(lost) = &found.no_result { p .verdict.bad { (words::no_result(lost)) } }
        (about(found))
        div .charts { (scores(found)) (costs(&[(found, 1)])) }
        h2 { "Tasks" }
        (table("Tasks", &["Task", "Workflow", "#Score", "#If repeated", "#Pass", "#Cases", "#Lost", "#Cost", "#Time"], &found.tasks.iter().map(task).collect::<Vec<_>>()))
        h2 { "Judges" }
        (table("Judges", &["Judge", "#Weight", "#Score", "#Interval", "#Errors", "#Votes alike", "#Kappa"], &found.judges.iter().map(judge).collect::<Vec<_>>()))
        h2 { "Cases" }
        (matrix(&[found], found))
        (cases(found, shown))
    }
}

/// Every case, folded.
pub(super) fn cases(found: &Report, shown: &Cases<'_>) -> Markup {
    let tasks = tasks_of(found);
    let mut worst: Vec<&Case> = found.cases.iter().collect();
    worst.sort_by(|one, other| one.score.unwrap_or(-1.0).total_cmp(&other.score.unwrap_or(-1.0)));
    worst.truncate(WITH_STEPS);
    let detail =
        |case: &Case| if worst.iter().any(|one| one.run == case.run) { (shown.details)(case) } else { None };
    html! { @for one in &found.cases { (case(one, &place(one, &tasks), detail(one).as_ref(), shown.served)) } }
}

fn about(found: &Report) -> Markup {
    let (outcomes, config) = (found.outcomes, &found.config);
    let ended = format!(
        "{} scored, {} failed, {} unscored, {} error; {} not finished",
        outcomes.scored, outcomes.failed, outcomes.unscored, outcomes.error, found.unfinished
    );
    let lost = found
        .score_if_lost
        .map(|both| format!("{} if those without a score had 0, or 1", words::interval(Some(both))));
    let spread = found.spread.map(|spread| {
        format!("{:.2} among repeats of a task, {:.2} among tasks", spread.within, spread.between)
    });
    facts(&[
        ("Score", score(found)),
        ("Pass", text(&passes(&found.passes))),
        ("Tries", text(&tries(&found.passes)).filter(|_| found.passes.tries.len() > 1)),
        ("Cases", text(&ended)),
        ("If lost", lost.and_then(|lost| text(&lost))),
        ("Spread", spread.and_then(|spread| text(&spread))),
        ("Cost", amounts(found.cost_usd, &|cost| words::usd(Some(cost)))),
        ("Time", amounts(found.seconds, &words::seconds)),
        ("Agent", text(&config.agent)),
        ("Model", config.model.as_deref().and_then(text)),
        ("Engine", text(&config.engine_version)),
        ("Seed", text(&config.seed.to_string())),
        ("Began", Some(moment(found.started_at))),
    ])
}

fn score(found: &Report) -> Option<Markup> {
    let score = found.score?;
    Some(html! {
        strong { (words::score(Some(score.mean))) } " (" (words::interval(score.interval)) " over tasks like these"
        @if score.these_tasks.is_some() { "; " (words::interval(score.these_tasks)) " over these" } ")"
    })
}

fn passes(passes: &PassReport) -> String {
    let (at_least, interval) = (words::score(Some(passes.at_least)), words::interval(passes.interval));
    format!("{} of {} reach {at_least} ({interval})", passes.passed, passes.of)
}

fn tries(passes: &PassReport) -> String {
    let told = passes.tries.iter().filter(|tries| tries.k > 1).map(|tries| {
        let (one, all) = (words::percent(tries.at_least_one), words::percent(tries.all));
        format!("of {}: one passes {one}, all pass {all}", tries.k)
    });
    told.collect::<Vec<_>>().join(" · ")
}

fn amounts(amounts: Option<Amounts>, unit: &dyn Fn(f64) -> String) -> Option<Markup> {
    let Amounts { total, mean, p50, p90, max, .. } = amounts?;
    let [total, mean, p50, p90, max] = [total, mean, p50, p90, max].map(unit);
    text(&format!("{total} in all; {mean} a case, {p50} for half, {p90} for nine of ten, {max} at most"))
}

fn task(task: &TaskReport) -> Vec<String> {
    let outcomes = task.outcomes;
    vec![
        task.task.clone(),
        task.workflow.clone(),
        words::score(task.score),
        words::interval(task.interval),
        task.passed.to_string(),
        outcomes.cases().to_string(),
        outcomes.lost().to_string(),
        words::usd(task.cost_usd),
        task.seconds.map_or_else(|| "–".to_owned(), words::seconds),
    ]
}

fn judge(judge: &JudgeReport) -> Vec<String> {
    let agreement = judge.agreement;
    vec![
        judge.name.clone(),
        judge.weight.to_string(),
        words::score(judge.score.map(|score| score.mean)),
        words::interval(judge.score.and_then(|score| score.interval)),
        judge.errors.to_string(),
        agreement.map(|it| words::percent(it.alike)).unwrap_or_default(),
        agreement.and_then(|it| it.kappa).map(|kappa| format!("{kappa:.2}")).unwrap_or_default(),
    ]
}

fn scores(found: &Report) -> Markup {
    let of_task = |task: &'_ TaskReport| vec![Mark { at: task.score, interval: task.interval, series: 1 }];
    let mut rows: Vec<Row<'_>> = found
        .tasks
        .iter()
        .map(|task| Row { name: &task.task, marks: of_task(task), is_sum: false })
        .collect();
    if let Some(score) = found.score {
        let mark = Mark { at: Some(score.mean), interval: score.interval, series: 1 };
        rows.insert(0, Row { name: "all tasks", marks: vec![mark], is_sum: true });
    }
    chart::rows("Scores, with their intervals", &rows, Axis::Score)
}

/// Cost against score, or time where no cost is known, of one evaluation or two.
pub(super) fn costs(reports: &[(&Report, usize)]) -> Markup {
    let paid = reports.iter().any(|(report, _)| report.cost_usd.is_some_and(|cost| cost.total > 0.0));
    let amount = |task: &TaskReport| if paid { task.cost_usd } else { task.seconds };
    let spot = |task: &'_ TaskReport, series: usize| {
        Some((amount(task)?, task.score?)).map(|(amount, score)| (amount, score, series))
    };
    let mut spots = Vec::new();
    for (report, series) in reports {
        for task in &report.tasks {
            if let Some((amount, score, series)) = spot(task, *series) {
                spots.push(Spot { name: &task.task, amount, score, series });
            }
        }
    }
    match paid {
        true => chart::score_by_amount("Score against cost a case", &spots, &|cost| words::usd(Some(cost))),
        false => chart::score_by_amount("Score against time a case", &spots, &words::seconds),
    }
}
