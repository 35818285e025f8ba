//! One case, folded: how it ended, what its judges said and found, its steps.

use maud::{Markup, html};
use uwf_eval::Case;
use uwf_eval::report::{CaseDetail, StepOfCase, words};

use super::table::table;
use crate::page::address;
use crate::page::blocks::{chip, facts, folded, literal, text, value};
use crate::text::{number, visible};

/// How many characters of what a step was asked are in a page.
const ASKED: usize = 4_000;

/// A case at its place.
pub(super) fn case(case: &Case, place: &str, detail: Option<&CaseDetail>, served: bool) -> Markup {
    html! {
        details .case id=(place) {
            summary {
                (chip(case.outcome.as_str())) " " strong { (visible(&case.task)) "/" (case.repeat) }
                span .gist { (words::score(case.score)) " · " (words::seconds(case.seconds)) @if case.cost_usd.is_some() { " · " (words::usd(case.cost_usd)) } }
            }
            div {
                (about(case, served))
                (judges(case))
                @if let Some(detail) = detail {
                    @for found in &detail.found {
                        (folded(&html! { "What " strong { (visible(&found.judge)) } " found" }, false, &value(&found.data)))
                    }
                    @for (at, one) in detail.steps.iter().enumerate() { (step(at + 1, one)) }
                    @for missing in &detail.missing { p .trouble { (visible(missing)) } }
                } @else {
                    p .faint { "Its steps and what its judges found: " code { "uwf-eval show " (visible(&case.run)) } }
                }
            }
        }
    }
}

fn about(case: &Case, served: bool) -> Markup {
    let tokens = format!(
        "{} in, {} out, {} turns",
        number(case.tokens.input),
        number(case.tokens.output),
        case.tokens.turns
    );
    facts(&[
        ("Reason", case.reason.as_deref().and_then(text)),
        ("Thread", case.thread.as_deref().map(|thread| named(thread, served))),
        ("Steps", text(&case.steps.to_string())),
        ("Used", text(&tokens)),
        ("Seed", text(&case.seed.to_string())),
        ("Taken from", case.cached.then(|| html! { "an earlier evaluation: nothing was run" })),
    ])
}

/// A thread, which may have a page.
fn named(thread: &str, served: bool) -> Markup {
    match thread.parse().ok().filter(|_| served) {
        Some(id) => html! { a href=(address::thread(&id)) { code { (visible(thread)) } } },
        None => html! { code { (visible(thread)) } },
    }
}

fn judges(case: &Case) -> Markup {
    let row = |judge: &uwf_eval::JudgeScore| {
        let votes: Vec<String> = judge.votes.iter().map(|vote| words::score(Some(*vote))).collect();
        let remark = judge.error.clone().unwrap_or_else(|| votes.join(" "));
        vec![judge.name.clone(), words::score(judge.score), judge.weight.to_string(), remark]
    };
    let rows: Vec<_> = case.judges.iter().map(row).collect();
    let label = format!("Judges of {}/{}", case.task, case.repeat);
    html! { @if !rows.is_empty() { (table(&label, &["Judge", "#Score", "#Weight", "Error, or votes"], &rows)) } }
}

fn step(place: usize, step: &StepOfCase) -> Markup {
    let summary = html! {
        span .n { (place) } " " strong { (visible(&step.role)) } span .gist { (words::seconds(step.seconds)) }
    };
    let content = html! {
        @if !step.asked.is_empty() { p .label { "Asked" } (literal(&step.asked, ASKED, None)) }
        p .label { "Answered" } (value(&step.output))
    };
    folded(&summary, false, &content)
}
