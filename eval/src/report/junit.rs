//! Cases as tests, in the XML that CI systems read (JUnit).
//!
//! A task is a suite, a case a test. A case that does not pass is a failure, and passes by its score as in the report; one without
//! a score is an error: of a judge, or of what the workflow runs on.

use std::fmt::Write as _;

use super::summary::Report;
use super::tasks::{passes, score_of};
use super::words;
use crate::case::{Case, Outcome};

/// The whole document.
pub fn junit(report: &Report) -> String {
    let all: Vec<&Case> = report.cases.iter().collect();
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    text +=
        &format!("<testsuites name=\"{}\" {}>\n", escaped(&report.name), sums(&all, report.passes.at_least));
    for task in &report.tasks {
        let cases: Vec<&Case> = all.iter().copied().filter(|case| case.task == task.task).collect();
        let sums = sums(&cases, report.passes.at_least);
        text += &format!("  <testsuite name=\"{}\" {sums}>\n", escaped(&task.task));
        cases.iter().for_each(|case| text += &test(case, report));
        text += "  </testsuite>\n";
    }
    text + "</testsuites>\n"
}

/// What is counted of a suite.
fn sums(cases: &[&Case], at_least: f64) -> String {
    let count = |is: &str| cases.iter().filter(|case| kind(case, at_least) == is).count();
    let seconds: f64 = cases.iter().map(|case| case.seconds).sum();
    format!(
        "tests=\"{}\" failures=\"{}\" errors=\"{}\" time=\"{seconds:.3}\"",
        cases.len(),
        count("failure"),
        count("error")
    )
}

fn kind(case: &Case, at_least: f64) -> &'static str {
    match score_of(case) {
        Some(score) if passes(score, at_least) => "passed",
        Some(_) => "failure",
        None => "error",
    }
}

fn test(case: &Case, report: &Report) -> String {
    let mut text = format!(
        "    <testcase classname=\"{}.{}\" name=\"{}/{}\" time=\"{:.3}\"",
        escaped(&report.name),
        escaped(&case.task),
        escaped(&case.task),
        case.repeat,
        case.seconds
    );
    let kind = kind(case, report.passes.at_least);
    if kind == "passed" {
        return text + "/>\n";
    }
    let score = words::score(score_of(case));
    let message = match (&case.reason, case.outcome) {
        (Some(reason), _) => reason.clone(),
        (None, Outcome::Scored) => {
            format!("score {score}, below {}", words::score(Some(report.passes.at_least)))
        }
        (None, outcome) => outcome.as_str().to_owned(),
    };
    let (message, outcome) = (escaped(&message), case.outcome.as_str());
    text += &format!(">\n      <{kind} type=\"{outcome}\" message=\"{message}\">");
    for judge in &case.judges {
        let said =
            judge.error.as_ref().map_or_else(|| words::score(judge.score), |error| format!("error: {error}"));
        writeln!(text, "{}: {}", escaped(&judge.name), escaped(&said)).expect("a string takes all");
    }
    if let Some(thread) = &case.thread {
        writeln!(text, "thread: {}", escaped(thread)).expect("a string takes all");
    }
    text + &format!("</{kind}>\n    </testcase>\n")
}

/// As text and as the value of an attribute; what XML has no place for is left out.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            '\n' | '\t' => escaped += &format!("&#{};", u32::from(character)),
            '\0'..='\x1f' | '\u{fffe}' | '\u{ffff}' => {}
            other => escaped.push(other),
        }
    }
    escaped
}
