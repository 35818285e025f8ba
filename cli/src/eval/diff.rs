//! `uwf-eval diff`: what two evaluations differ by.

use uwf_eval::load;
use uwf_eval::numbers::{Paired, Verdict};
use uwf_eval::report::{Difference, Differs, Report, TaskDifference, csv_of_difference, words};

use super::args::{self, DiffKind};
use super::document::{case_detail, put};
use super::error::NO_RESULT;
use crate::shell::{CliError, Column, OK, Paint, Session, Text, USER, render};

pub(super) fn diff(session: &mut Session<'_>, what: &args::Diff) -> Result<u8, CliError> {
    let (store, options) = (session.store()?, what.numbers.options());
    let (before, after) = (load(&store, &what.before)?, load(&store, &what.after)?);
    let found = Difference::of(&before, &after, &options);
    match what.kind {
        Some(DiffKind::Csv) => put(session, &csv_of_difference(&found), what.output.as_deref())?,
        Some(DiffKind::Html) => {
            let sides = [&Report::of(&before, &options), &Report::of(&after, &options)];
            let page = uwf_web::difference_page(&found, sides, &|case| case_detail(&store, case));
            put(session, &page, what.output.as_deref())?;
        }
        None => drop(session.ui.result(&found, || text(&found))?),
    }
    if what.before == what.after {
        session.ui.warn(&format!("{} is compared with itself: nothing can differ", what.before));
    }
    let is_whole = found.before.unfinished + found.after.unfinished == 0;
    if !is_whole || found.before.no_result.or(found.after.no_result).is_some() {
        return Ok(NO_RESULT);
    }
    if what.no_regression && found.regression {
        session.ui.warn(&format!("{} is worse than {}", found.after.name, found.before.name));
        return Ok(USER);
    }
    Ok(OK)
}

fn text(found: &Difference) -> Text {
    let text = match found.verdict {
        Verdict::Better => Text::default().then_painted(Paint::Good, found.sentence.clone()),
        Verdict::Worse => Text::default().then_painted(Paint::Bad, found.sentence.clone()),
        Verdict::Unclear(_) => Text::from(found.sentence.clone()),
    };
    let columns = [
        Column::new("TASK"),
        Column::new("DIFFERENCE").rank(1),
        Column::new("BEFORE").rank(2),
        Column::new("AFTER").rank(3),
        Column::new("CASES").rank(4),
    ];
    let tasks: Vec<_> = found.tasks.iter().map(task).collect();
    let settings: Vec<_> = found.differs.iter().map(setting).collect();
    let columns_of_settings =
        [Column::new("DIFFERS"), Column::new("BEFORE").cut(16), Column::new("AFTER").cut(16)];
    let text = text.then("\n\n").then(sums(found)).then("\n").then(render::table(columns, &tasks));
    match settings.is_empty() {
        true => text.then("\nthe settings are the same\n"),
        false => text.then("\n").then(render::table(columns_of_settings, &settings)),
    }
}

fn sums(found: &Difference) -> String {
    let mut text = String::new();
    let mut line = |name: &str, told: String| text += &format!("  {name:<8} {told}\n");
    if let Some(Paired { delta, wins, losses, ties, .. }) = &found.score {
        let over = words::delta_interval(delta.interval);
        let these = delta
            .these_tasks
            .map_or_else(String::new, |these| format!("; {} over these", words::delta_interval(Some(these))));
        line("score", format!("{} ({over} over tasks like these{these})", words::delta(delta.mean)));
        line("tasks", format!("{wins} wins, {losses} losses, {ties} ties"));
    }
    if let Some(test) = found.passes {
        let (before, after, p) = (test.only_before, test.only_after, test.p);
        line("pass", format!("{before} before alone, {after} after alone (McNemar p = {p:.3})"));
    }
    if let Some(cost) = &found.cost_usd {
        line("cost", signed(cost.delta.mean, &|cost| words::usd(Some(cost))) + " a case");
    }
    if let Some(seconds) = &found.seconds {
        line("time", signed(seconds.delta.mean, &words::seconds) + " a case");
    }
    for (tasks, name) in [(&found.only_before, &found.before.name), (&found.only_after, &found.after.name)] {
        if !tasks.is_empty() {
            line("", format!("of {name} alone: {}", tasks.join(", ")));
        }
    }
    text
}

fn signed(amount: f64, unit: &dyn Fn(f64) -> String) -> String {
    format!("{}{}", if amount < 0.0 { "-" } else { "+" }, unit(amount.abs()))
}

fn task(task: &TaskDifference) -> [String; 5] {
    [
        task.task.clone(),
        task.delta.map_or_else(|| "–".to_owned(), words::delta),
        words::score(task.before),
        words::score(task.after),
        format!("{}, {}", task.cases.0, task.cases.1),
    ]
}

fn setting(differs: &Differs) -> [String; 3] {
    let value = |value: &Option<String>| value.clone().unwrap_or_else(|| "–".to_owned());
    [differs.name(), value(&differs.before), value(&differs.after)]
}
