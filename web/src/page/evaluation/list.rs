//! All evaluations.

use maud::{Markup, html};

use crate::page::{Head, address, page};
use crate::read::{EvaluationList, EvaluationRow};
use crate::text::{age, rfc3339, visible};

/// The page of the list.
pub(crate) fn evaluations(EvaluationList { rows, unread }: &EvaluationList, now: u64) -> Markup {
    let content = html! {
        h1 { "Evaluations" }
        @if rows.is_empty() && unread.is_empty() {
            p .empty { "There is no evaluation yet. Begin one with " code { "uwf-eval run TASK" } "." }
        }
        ol .threads { @for row in rows { (evaluation(row, now)) } }
        @for (name, why) in unread { p .trouble { (visible(name)) " cannot be read: " (visible(why)) } }
    };
    page(&Head { title: "Evaluations", live: None }, &content)
}

fn evaluation(row: &EvaluationRow, now: u64) -> Markup {
    let (done, planned) = row.cases;
    html! {
        li .thread {
            (crate::page::blocks::chip(if done < planned { "begun" } else { "finished" }))
            div .what {
                a .row href=(address::evaluation(&row.name)) { (visible(&row.name)) }
                p .small {
                    strong { (visible(&row.workflows.join(", "))) } " · " (visible(&row.agent))
                    @if let Some(model) = &row.model { " · " (visible(model)) }
                }
                p .small .faint { (row.tasks) " tasks, " (done) " of " (planned) " cases finished" }
            }
            span .ages { time datetime=(rfc3339(row.started_at)) { (age(row.started_at, now)) " ago" } }
        }
    }
}
