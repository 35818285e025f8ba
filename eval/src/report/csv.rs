//! Cases as lines of values between commas (RFC 4180).

use super::difference::Difference;
use super::summary::Report;

/// A line a case, under a line of names.
pub fn csv(report: &Report) -> String {
    let names = ["evaluation", "task", "repeat", "outcome", "score", "seconds", "steps", "inputTokens"];
    let rest = ["outputTokens", "turns", "costUsd", "seed", "cached", "thread", "run", "reason"];
    let judges: Vec<&str> = report.judges.iter().map(|judge| judge.name.as_str()).collect();
    let heads = names.into_iter().chain(rest).map(str::to_owned);
    let mut text = line(heads.chain(judges.iter().map(|name| format!("judge:{name}"))));
    for case in &report.cases {
        let fixed = [
            report.name.clone(),
            case.task.clone(),
            case.repeat.to_string(),
            case.outcome.as_str().to_owned(),
            number(case.score),
            case.seconds.to_string(),
            case.steps.to_string(),
            case.tokens.input.to_string(),
            case.tokens.output.to_string(),
            case.tokens.turns.to_string(),
            number(case.cost_usd),
            case.seed.to_string(),
            case.cached.to_string(),
            case.thread.clone().unwrap_or_default(),
            case.run.clone(),
            case.reason.clone().unwrap_or_default(),
        ];
        let of = |name: &&str| {
            number(case.judges.iter().find(|judge| judge.name == **name).and_then(|judge| judge.score))
        };
        text += &line(fixed.into_iter().chain(judges.iter().map(of)));
    }
    text
}

/// A line a task that both have, under a line of names.
pub fn csv_of_difference(difference: &Difference) -> String {
    let names = ["task", "before", "after", "delta", "casesBefore", "casesAfter"];
    let mut text = line(names.into_iter().map(str::to_owned));
    for task in &difference.tasks {
        text += &line(
            [
                task.task.clone(),
                number(task.before),
                number(task.after),
                number(task.delta),
                task.cases.0.to_string(),
                task.cases.1.to_string(),
            ]
            .into_iter(),
        );
    }
    text
}

fn number(value: Option<f64>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

fn line(values: impl Iterator<Item = String>) -> String {
    let quoted = |value: String| match value.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", value.replace('"', "\"\"")),
        false => value,
    };
    values.map(quoted).collect::<Vec<_>>().join(",") + "\r\n"
}
