//! Two evaluations side by side.

use maud::{Markup, html};
use uwf_eval::numbers::{Paired, Verdict};
use uwf_eval::report::{Difference, Differs, JudgeDifference, Report, Side, TaskDifference, words};

use super::Cases;
use super::matrix::matrix;
use super::report::{cases, costs};
use super::table::table;
use crate::chart::{self, Axis, Mark, Row};
use crate::text::visible;

pub(super) fn difference(found: &Difference, [before, after]: [&Report; 2], shown: &Cases<'_>) -> Markup {
    let class = match found.verdict {
        Verdict::Better => "verdict good",
        Verdict::Worse => "verdict bad",
        Verdict::Unclear(_) => "verdict",
    };
    html! {
        h1 { span .key-before { "● " (visible(&found.before.name)) } " and " span .key-after { "● " (visible(&found.after.name)) } }
        p class=(class) { (visible(&found.sentence)) }
        (sides(found))
        h2 { "What else differs" }
        (settings(found))
        div .charts { (deltas(found)) (scores(before, after)) (costs(&[(before, 0), (after, 1)])) }
        h2 { "Tasks" }
        (table("Tasks", &["Task", "#Before", "#After", "#Difference", "#Cases"], &found.tasks.iter().map(task).collect::<Vec<_>>()))
        @if !found.judges.is_empty() {
            h2 { "Judges" }
            (table("Judges", &["Judge", "#Difference", "#Interval", "#Wins", "#Losses", "#Ties"], &found.judges.iter().map(judge).collect::<Vec<_>>()))
        }
        h2 { "Cases" }
        (matrix(&[before, after], after))
        h2 { "The cases of " (visible(&after.name)) }
        (cases(after, shown))
    }
}

fn sides(found: &Difference) -> Markup {
    let side = |side: &Side| {
        let score = side.score;
        vec![
            side.name.clone(),
            words::score(score.map(|score| score.mean)),
            words::interval(score.and_then(|score| score.interval)),
            side.outcomes.cases().to_string(),
            side.outcomes.lost().to_string(),
            words::usd(side.cost_usd),
        ]
    };
    let mut rows = vec![side(&found.before), side(&found.after)];
    let delta = |paired: &Option<Paired>, unit: &dyn Fn(f64) -> String| {
        paired.as_ref().map(|paired| unit(paired.delta.mean)).unwrap_or_default()
    };
    let interval = found.score.as_ref().and_then(|paired| paired.delta.interval);
    rows.push(vec![
        "difference".to_owned(),
        delta(&found.score, &words::delta),
        words::delta_interval(interval),
        String::new(),
        String::new(),
        delta(&found.cost_usd, &|cost| {
            format!("{}{}", if cost < 0.0 { "-" } else { "+" }, words::usd(Some(cost.abs())))
        }),
    ]);
    html! {
        (table("Both", &["Evaluation", "#Score", "#Interval", "#Cases", "#Lost", "#Cost a case"], &rows))
        @if let Some(paired) = &found.score {
            p { (paired.wins) " wins, " (paired.losses) " losses, " (paired.ties) " ties of " (paired.delta.tasks) " tasks"
                @if let Some(test) = found.passes { "; passed in one alone: " (test.only_before) " before, " (test.only_after) " after (McNemar p = " (format!("{:.3}", test.p)) ")" }
                "." }
        }
    }
}

fn settings(found: &Difference) -> Markup {
    let row = |differs: &Differs| {
        let value = |value: &Option<String>| value.clone().unwrap_or_else(|| "–".to_owned());
        vec![differs.name(), value(&differs.before), value(&differs.after)]
    };
    let rows: Vec<_> = found.differs.iter().map(row).collect();
    html! {
        @if rows.is_empty() { p { "Nothing: the same workflows, tasks, agent, model, engine, sandbox and seed." } }
        @else { (table("Settings", &["What", "Before", "After"], &rows)) }
        @for (tasks, name) in [(&found.only_before, &found.before.name), (&found.only_after, &found.after.name)] {
            @if !tasks.is_empty() { p { "Of " (visible(name)) " alone: " (visible(&tasks.join(", "))) } }
        }
    }
}

fn task(task: &TaskDifference) -> Vec<String> {
    vec![
        task.task.clone(),
        words::score(task.before),
        words::score(task.after),
        task.delta.map_or_else(|| "–".to_owned(), words::delta),
        format!("{}, {}", task.cases.0, task.cases.1),
    ]
}

fn judge(judge: &JudgeDifference) -> Vec<String> {
    let Paired { delta, wins, losses, ties, .. } = &judge.score;
    vec![
        judge.name.clone(),
        words::delta(delta.mean),
        words::delta_interval(delta.interval),
        wins.to_string(),
        losses.to_string(),
        ties.to_string(),
    ]
}

fn deltas(found: &Difference) -> Markup {
    let mut rows: Vec<Row<'_>> = Vec::new();
    if let Some(paired) = &found.score {
        let mark = Mark { at: Some(paired.delta.mean), interval: paired.delta.interval, series: 1 };
        rows.push(Row { name: "all tasks", marks: vec![mark], is_sum: true });
    }
    rows.extend(found.tasks.iter().map(|task| {
        let mark = Mark { at: task.delta, interval: None, series: 1 };
        Row { name: &task.task, marks: vec![mark], is_sum: false }
    }));
    chart::rows("Differences of scores, with the interval of all", &rows, Axis::Difference)
}

fn scores(before: &Report, after: &Report) -> Markup {
    let row = |task: &'_ uwf_eval::report::TaskReport| {
        let other = before.tasks.iter().find(|other| other.task == task.task);
        let marks = other.map(|other| Mark { at: other.score, interval: other.interval, series: 0 });
        let last = Mark { at: task.score, interval: task.interval, series: 1 };
        marks.into_iter().chain([last]).collect()
    };
    let rows: Vec<Row<'_>> =
        after.tasks.iter().map(|task| Row { name: &task.task, marks: row(task), is_sum: false }).collect();
    chart::rows("Scores, with what repeats leave open", &rows, Axis::Score)
}
