//! Every case at one look: a row a task, a cell a repeat.

use maud::{Markup, html};
use uwf_eval::report::{Report, words};
use uwf_eval::{Case, Outcome};

use crate::text::visible;

/// Where a case is in the page.
pub(super) fn place(case: &Case, tasks: &[String]) -> String {
    let task = tasks.iter().position(|task| *task == case.task).unwrap_or_default();
    format!("case-{}-{}", task + 1, case.repeat)
}

/// The cases of one or two evaluations; those of `linked` lead to their places.
pub(super) fn matrix(reports: &[&Report], linked: &Report) -> Markup {
    let tasks = tasks_of(linked);
    html! {
        div .rows tabindex="0" role="region" aria-label="Cases" {
            table .matrix {
                thead { tr { th scope="col" { "Task" } @for report in reports { th scope="col" { (visible(&report.name)) } } } }
                tbody {
                    @for task in &tasks {
                        tr {
                            th scope="row" { (visible(task)) }
                            @for report in reports {
                                td {
                                    @for case in report.cases.iter().filter(|case| case.task == *task) {
                                        (cell(case, report, (report.name == linked.name).then(|| place(case, &tasks))))
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The names of the tasks, in their order.
pub(super) fn tasks_of(report: &Report) -> Vec<String> {
    report.tasks.iter().map(|task| task.task.clone()).collect()
}

fn cell(case: &Case, report: &Report, place: Option<String>) -> Markup {
    let class = match (case.outcome, case.score) {
        (Outcome::Scored, Some(score)) if score >= report.passes.at_least => "pass",
        (Outcome::Scored, Some(_)) | (Outcome::Failed, _) => "fail",
        _ => "none",
    };
    let shown = match case.outcome {
        Outcome::Scored => words::score(case.score),
        Outcome::Failed => words::score(Some(case.score.unwrap_or(0.0))),
        Outcome::Unscored => "?".to_owned(),
        Outcome::Error => "error".to_owned(),
    };
    let title = format!("case {}: {}", case.repeat, case.outcome.as_str());
    html! {
        @match place {
            Some(place) => a class={ "cell " (class) } href={ "#" (place) } title=(title) { (shown) },
            None => span class={ "cell " (class) } title=(title) { (shown) },
        }
    }
}
