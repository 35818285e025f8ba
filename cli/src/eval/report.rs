//! `uwf-eval report`: what an evaluation comes to.

use uwf_eval::load;
use uwf_eval::report::{JudgeReport, Report, TaskReport, csv, junit, words};

use super::args::{self, ReportKind};
use super::document::{case_detail, put};
use super::error::NO_RESULT;
use crate::shell::{CliError, Column, OK, Session, Text, USER, render};

pub(super) fn report(session: &mut Session<'_>, what: &args::Report) -> Result<u8, CliError> {
    let store = session.store()?;
    let found = Report::of(&load(&store, &what.evaluation)?, &what.numbers.options());
    match what.kind {
        Some(kind) => {
            let document = match kind {
                ReportKind::Csv => csv(&found),
                ReportKind::Junit => junit(&found),
                ReportKind::Html => uwf_web::report_page(&found, &|case| case_detail(&store, case)),
            };
            put(session, &document, what.output.as_deref())?;
        }
        None => drop(session.ui.result(&found, || text(&found))?),
    }
    if let Some(lost) = &found.no_result {
        session.ui.warn(&words::no_result(lost));
        return Ok(NO_RESULT);
    }
    if found.unfinished > 0 && (what.min.is_some() || what.numbers.bounds_unscored()) {
        let planned = found.outcomes.cases() + found.unfinished;
        session.ui.warn(&words::unfinished(found.unfinished, planned));
        session.ui.hint(&format!("go on with: uwf-eval run --resume {}", found.name));
        return Ok(NO_RESULT);
    }
    let Some(min) = what.min.filter(|min| !found.reaches(*min)) else { return Ok(OK) };
    let score = words::score(found.score.map(|score| score.mean));
    session.ui.warn(&format!("the score is {score}, below {}", words::score(Some(min))));
    Ok(USER)
}

fn text(found: &Report) -> Text {
    let columns = [
        Column::new("TASK"),
        Column::new("SCORE").rank(1),
        Column::new("IF REPEATED").rank(4),
        Column::new("PASS").rank(2),
        Column::new("LOST").rank(3),
        Column::new("COST").rank(5),
        Column::new("TIME").rank(6),
        Column::new("WORKFLOW").rank(7).cut(10),
    ];
    let tasks: Vec<_> = found.tasks.iter().map(task).collect();
    let judges = [
        Column::new("JUDGE"),
        Column::new("SCORE").rank(1),
        Column::new("INTERVAL").rank(2),
        Column::new("WEIGHT").rank(3),
        Column::new("ERRORS").rank(4),
        Column::new("VOTES ALIKE").rank(5),
    ];
    let said: Vec<_> = found.judges.iter().map(judge).collect();
    Text::from(head(found))
        .then("\n")
        .then(render::table(columns, &tasks))
        .then("\n")
        .then(render::table(judges, &said))
}

fn head(found: &Report) -> String {
    let mut text = format!("{}\n", found.name);
    let mut line = |name: &str, told: String| text += &format!("  {name:<8} {told}\n");
    let score = found.score;
    let mut told = format!(
        "{} ({} over tasks like these",
        words::score(score.map(|score| score.mean)),
        words::interval(score.and_then(|score| score.interval))
    );
    if let Some(these) = score.and_then(|score| score.these_tasks) {
        told += &format!("; {} over these", words::interval(Some(these)));
    }
    line("score", told + ")");
    let passes = &found.passes;
    let at_least = words::score(Some(passes.at_least));
    let interval = words::interval(passes.interval);
    line("pass", format!("{} of {} reach {at_least} ({interval})", passes.passed, passes.of));
    for tries in passes.tries.iter().filter(|tries| tries.k > 1) {
        let (one, all) = (words::percent(tries.at_least_one), words::percent(tries.all));
        line("", format!("of {} tries at a task: one passes {one}, all pass {all}", tries.k));
    }
    let outcomes = found.outcomes;
    let (scored, failed, unscored, error) =
        (outcomes.scored, outcomes.failed, outcomes.unscored, outcomes.error);
    let unfinished = match found.unfinished {
        0 => String::new(),
        count => format!("; {count} not finished"),
    };
    line(
        "cases",
        format!("{scored} scored, {failed} failed, {unscored} unscored, {error} error{unfinished}"),
    );
    if let Some(both) = found.score_if_lost {
        line("", format!("{} if those without a score had 0, or 1", words::interval(Some(both))));
    }
    if let Some(spread) = found.spread {
        line(
            "spread",
            format!("{:.2} among repeats of a task, {:.2} among tasks", spread.within, spread.between),
        );
    }
    if let Some(cost) = found.cost_usd {
        let [total, half, most] = [cost.total, cost.p50, cost.p90].map(|cost| words::usd(Some(cost)));
        line("cost", format!("{total}; half of the cases at most {half}, nine of ten at most {most}"));
    }
    if let Some(time) = found.seconds {
        let [total, half, most] = [time.total, time.p50, time.p90].map(words::seconds);
        line("time", format!("{total}; half of the cases at most {half}, nine of ten at most {most}"));
    }
    text
}

fn task(task: &TaskReport) -> [String; 8] {
    let outcomes = task.outcomes;
    let lost = outcomes.lost();
    [
        task.task.clone(),
        words::score(task.score),
        words::interval(task.interval),
        format!("{}/{}", task.passed, outcomes.cases() - lost),
        if lost == 0 { String::new() } else { lost.to_string() },
        words::usd(task.cost_usd),
        task.seconds.map(words::seconds).unwrap_or_default(),
        task.workflow.clone(),
    ]
}

fn judge(judge: &JudgeReport) -> [String; 6] {
    [
        judge.name.clone(),
        words::score(judge.score.map(|score| score.mean)),
        words::interval(judge.score.and_then(|score| score.interval)),
        judge.weight.to_string(),
        if judge.errors == 0 { String::new() } else { judge.errors.to_string() },
        judge.agreement.map(|agreement| words::percent(agreement.alike)).unwrap_or_default(),
    ]
}
