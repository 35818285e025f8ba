//! Steps as they stand in the page of their thread, and in its file.

use maud::{Markup, html};
use uwf_engine::ThreadId;
use uwf_engine::record;

use super::address;
use super::blocks::{chip, folded, literal, moment, value};
use crate::read::StepRow;
use crate::text::{counted, duration, first_line, number, usd, visible};

/// Where a step is named: its number, or the node of one that has none.
pub(super) fn place(row: &StepRow) -> String {
    row.number.map_or_else(|| row.hash.to_string(), |number| number.to_string())
}

/// A step, folded unless it failed; `more` is what comes below its output.
pub(super) fn step(row: &StepRow, thread: Option<&ThreadId>, more: &Markup) -> Markup {
    let place = place(row);
    html! {
        li class={ "step" (if row.failed() { " bad" } else { "" }) } id={ "step-" (place) } data-key={ "step-" (place) } {
            details open[row.failed()] {
                summary .row { (summary(row)) }
                @if let Some(thread) = thread {
                    p .open { a href=(address::step(thread, &place)) { "Turns, changes and cost of this step" } }
                }
                @if row.summed_up { p .small .faint { "A summary of everything before stands before this step." } }
                (asked(&row.asked))
                (outcome(row))
                @if let Some(thread) = thread { (attempts(row, thread)) }
                (more)
            }
        }
    }
}

fn summary(row: &StepRow) -> Markup {
    let status = record::status(&row.output).unwrap_or("?");
    html! {
        span .n { @if let Some(number) = row.number { (number) } @else { "✗" } }
        strong { (visible(&row.role)) } " "
        @if row.failed() { (chip("failed")) } @else { span .status { "→ " (visible(status)) } }
        span .gist { (gist(row)) }
        span .meta {
            @if row.failed_calls > 0 { span .bad title="failed calls of tools" { "✗" (row.failed_calls) } " " }
            @if !row.attempts.is_empty() { span title="failed attempts before it" { "↻" (row.attempts.len()) } " " }
            @if let Some(turns) = row.turns { (counted(turns, "turn")) " · " }
            @if let Some(cost) = row.cost { (usd(cost)) " · " }
            (duration(row.duration_ms))
        }
    }
}

/// The first words of what came of it.
fn gist(row: &StepRow) -> String {
    let text = match row.failed() {
        true => record::error(&row.output),
        false => row.output.as_object().and_then(|fields| {
            let mut words = fields.iter().filter(|(name, _)| !name.starts_with('$')).collect::<Vec<_>>();
            words.sort_by_key(|(name, _)| name.as_str());
            words.iter().find_map(|(_, value)| value.as_str())
        }),
    };
    first_line(text.unwrap_or_default(), 120)
}

/// What the edge that led here asked for.
pub(super) fn asked(text: &str) -> Markup {
    if text.trim().is_empty() {
        return html! {};
    }
    folded(
        &html! { "Asked" span .gist { (first_line(text, 100)) } },
        false,
        &literal(text, super::blocks::SHOWN, None),
    )
}

fn outcome(row: &StepRow) -> Markup {
    html! {
        @if row.failed() {
            p .trouble { (visible(record::error(&row.output).unwrap_or("It failed."))) }
        } @else {
            (value(&row.output))
        }
        p .small .faint {
            (visible(&row.agent))
            @if let Some(model) = &row.model { " · " (visible(model)) }
            @if let Some((sent, received)) = row.tokens { " · " (number(sent)) " tokens in, " (number(received)) " out" }
            " · " (moment(row.completed_at_ms)) " · " code { (row.hash) }
        }
    }
}

fn attempts(row: &StepRow, thread: &ThreadId) -> Markup {
    html! {
        @if !row.attempts.is_empty() {
            p .small {
                "Failed attempts before it: "
                @for (at, hash) in row.attempts.iter().enumerate() {
                    @if at > 0 { ", " }
                    a href=(address::step(thread, hash.as_str())) { (hash) }
                }
            }
        }
    }
}
