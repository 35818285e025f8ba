//! A thread as one file: all of its steps with their turns, nothing from elsewhere, no script.

use maud::{Markup, html};

use super::blocks::{chip, facts, folded, literal, moment, text};
use super::file::file;
use super::thread::{answered, used};
use super::{diff, steps, turns};
use crate::graph::{self, Shown};
use crate::read::{StepPage, ThreadPage};
use crate::text::{duration, first_line, number, usd, visible};

/// The file; `pages` are the steps of the thread with what was said in them, and `now` is when it is made.
pub(crate) fn document(found: &ThreadPage, pages: &[StepPage], now: u64) -> Markup {
    let title = first_line(&found.start.prompt, 110);
    let content = html! {
        h1 { (chip(found.view.status)) " " (title) }
        (about(found, now))
        (folded(&html! { "Task" }, found.start.prompt.chars().count() < 2_000, &literal(&found.start.prompt, usize::MAX, None)))
        div .picture { (picture(found)) }
        (answered(found))
        h2 { "Steps" }
        ol .steps { @for page in pages { (steps::step(&page.row, None, &inside(page))) } }
        (stands(found))
    };
    file((&title, "uwf"), ("file-of-thread", crate::assets::GRAPH), &content)
}

fn picture(found: &ThreadPage) -> Markup {
    let link = |role: &str| {
        let last = found.steps.iter().rev().find(|row| row.role == role);
        format!("#step-{}", last.map(steps::place).unwrap_or_default())
    };
    let (progress, visits) = (found.progress.clone(), found.sum.visits.clone());
    graph::within_page(&found.workflow, &Shown { progress, visits, active: false, link: Some(&link) })
}

fn about(found: &ThreadPage, now: u64) -> Markup {
    let ThreadPage { view, sum, start, workflow, .. } = found;
    facts(&[
        ("Thread", Some(html! { code { (view.thread) } })),
        ("Workflow", text(&workflow.name)),
        ("Directory", Some(html! { span .path { (visible(&start.cwd)) } })),
        ("Started", Some(moment(view.thread.time_ms()))),
        ("Steps", text(&number(sum.steps as u64))),
        ("Worked", text(&duration(sum.duration_ms))),
        ("Used", used(sum)),
        ("Cost of its steps", sum.cost.and_then(|cost| text(&usd(cost)))),
        ("As of", Some(moment(now))),
    ])
}

fn inside(page: &StepPage) -> Markup {
    html! {
        @if page.conversation.count > 0 {
            (folded(&html! { "Turns" }, false, &turns::turns(&page.conversation, &|_| None)))
        }
        @if page.changes.as_ref().is_ok_and(|diff| !diff.changes.is_empty()) {
            (folded(&html! { "Changes" }, false, &diff::changes(&page.changes)))
        }
    }
}

/// Where the thread stands at the end.
fn stands(found: &ThreadPage) -> Markup {
    let view = &found.view;
    html! {
        @if let Some(error) = &view.error { p .trouble { strong { "The last step failed: " } (visible(&error.message)) } }
        @if let (Some(role), Some(message)) = (&view.suspended_role, &view.suspend_message) {
            div .question { p { strong { (visible(role)) } " asks:" } (literal(message, usize::MAX, None)) }
        }
    }
}
