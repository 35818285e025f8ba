//! One step: facts, what was asked, its turns, what it changed.

use maud::{Markup, html};
use uwf_engine::record;

use super::blocks::{chip, facts, folded, literal, moment, text, value};
use super::{Head, address, diff, page, steps, turns};
use crate::read::StepPage;
use crate::text::{counted, duration, number, usd, visible};

/// The page of a step.
pub(crate) fn step(found: &StepPage) -> Markup {
    let StepPage { row, thread, conversation, .. } = found;
    let place = steps::place(row);
    let status = record::status(&row.output).unwrap_or("?");
    let rest = |at: usize| Some(address::message(thread, &place, at));
    let content = html! {
        div .crumbs {
            a href="/" { "Threads" } " / "
            a href={ (address::thread(thread)) "#step-" (place) } data-up="" { code { (thread) } } " / "
            @match row.number { Some(number) => { "step " (number) }, None => "a failed attempt" }
        }
        h1 {
            (visible(&row.role)) " "
            @if row.failed() { (chip("failed")) } @else { span .status { "→ " (visible(status)) } }
        }
        (around(found))
        @if row.failed() { p .trouble { (visible(record::error(&row.output).unwrap_or("It failed."))) } }
        div .columns {
            section .side aria-label="Facts" {
                (about(found))
                h2 { "Output" }
                (value(&row.output))
                @for kept in &found.artifacts {
                    p .small {
                        "Kept: " code { (visible(kept.path.as_ref().unwrap_or(&kept.name))) } " "
                        @if let Some(size) = kept.size { (number(size)) " bytes, " }
                        code { (kept.content) }
                    }
                }
                (folded(&html! { "Settings" }, false, &value(&found.detail.settings)))
            }
            section .wide aria-label="Turns" {
                (steps::asked(&row.asked))
                @if let Some(prompt) = &found.prompt { (folded(&html! { "The whole prompt" }, false, &literal(prompt, 100_000, None))) }
                h2 { "Turns" }
                @if conversation.count == 0 { p .small .faint { "Its agent kept no record of turns." } }
                @if conversation.from > 0 { p .more { a href={ (address::step(thread, &place)) "?to=" (conversation.from) } { "Earlier turns" } } }
                (turns::turns(conversation, &rest))
                @if conversation.to < conversation.count { p .more { a href=(address::step(thread, &place)) { "The last turns" } } }
                (diff::changes(&found.changes))
            }
        }
    };
    let title = format!("{} {place} · {}", row.role, found.workflow);
    page(&Head { title: &title, live: None }, &content)
}

/// The steps before and after it.
fn around(found: &StepPage) -> Markup {
    let Some(number) = found.row.number else { return html! {} };
    let of = |number: usize| address::step(&found.thread, &number.to_string());
    html! {
        nav .around aria-label="Steps" {
            @if number > 1 { a href=(of(number - 1)) rel="prev" { "← step " (number - 1) } }
            @if number < found.sum.steps { a href=(of(number + 1)) rel="next" { "step " (number + 1) " →" } }
        }
    }
}

fn about(found: &StepPage) -> Markup {
    let StepPage { row, detail, step, .. } = found;
    let called = found.called.map(|thread| html! { a href=(address::thread(&thread)) { code { (thread) } } });
    let sandbox = detail.sandbox["level"].as_str();
    facts(&[
        ("Agent", text(&row.agent)),
        ("Model", row.model.as_deref().and_then(text)),
        ("Played by", called),
        ("Ended", Some(moment(row.completed_at_ms))),
        ("Took", text(&duration(row.duration_ms))),
        ("Turns", row.turns.and_then(|turns| text(&number(turns)))),
        (
            "Tokens",
            row.tokens.map(|(sent, received)| html! { (number(sent)) " in, " (number(received)) " out" }),
        ),
        ("Cost", row.cost.and_then(|cost| text(&usd(cost)))),
        (
            "Failed calls",
            (row.failed_calls > 0).then(|| html! { span .bad { "✗ " (counted(row.failed_calls, "call")) } }),
        ),
        ("Sandbox", sandbox.and_then(text)),
        ("Directory", Some(html! { span .path { (visible(&step.cwd)) } })),
        ("Node", Some(html! { code { (row.hash) } })),
    ])
}
