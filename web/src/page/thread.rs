//! One thread: its graph, where it stands, what can be done, its steps.

use maud::{Markup, html};
use uwf_engine::ThreadId;
use uwf_engine::view::ThreadView;

use super::blocks::{chip, facts, folded, literal, moment, text};
use super::{Head, address, page, steps};
use crate::graph::{self, Shown};
use crate::live::LiveLine;
use crate::read::ThreadPage;
use crate::sums::Sum;
use crate::text::{counted, duration, first_line, number, usd, visible};

/// The page of a thread; `csrf` goes with what it asks to be done.
pub(crate) fn thread(found: &ThreadPage, live: Option<&LiveLine>, csrf: &str, version: &str) -> Markup {
    let ThreadPage { view, workflow, .. } = found;
    let id = view.thread.to_string();
    let task = first_line(&found.start.prompt, 110);
    let content = html! {
        div .crumbs { a href="/" data-up="" { "Threads" } " / " code { (id) } }
        div #head data-live="" {
            h1 { (chip(status(view))) " " (task) }
            (relatives(view))
            (state(view, csrf))
        }
        div .columns {
            section .side aria-label="Graph" {
                div #graph .picture data-live="" { (picture(found)) }
                div #facts data-live="" { (about(found)) }
            }
            section .wide aria-label="Steps" {
                @if found.start.prompt.trim() != task {
                    (folded(&html! { "Task" span .gist { (first_line(&found.start.prompt, 80)) } }, false, &literal(&found.start.prompt, 50_000, None)))
                }
                div #answered data-live="" { (answered(found)) }
                div #live data-live="" { (running(view, live)) }
                div #steps data-live="" { (all_steps(found)) }
            }
        }
    };
    let title = format!("{} · {}", first_line(&found.start.prompt, 40), workflow.name);
    page(&Head { title: &title, live: Some((&id, version)) }, &content)
}

/// The word for where it stands: a thread whose last step failed is idle, and yet nobody would call it so.
fn status(view: &ThreadView) -> &str {
    if view.error.is_some() && view.status == "idle" { "failed" } else { view.status }
}

fn relatives(view: &ThreadView) -> Markup {
    html! {
        @if let Some(parent) = &view.parent {
            p .small {
                "Called by "
                @match &parent.thread {
                    Some(thread) => a href=(address::thread(thread)) data-up="" { (visible(&parent.stack.join(" ← "))) },
                    None => (visible(&parent.stack.join(" ← "))),
                }
                @if let Some(role) = &parent.role { " for the role " strong { (visible(role)) } }
            }
        }
        @if let Some(child) = &view.child {
            p .small {
                "Called " a href=(address::thread(&child.thread)) { code { (child.thread) } }
                " for the role " strong { (visible(&child.role)) } " " (chip(child.status))
            }
        }
    }
}

/// What is in its way, and what can be done.
fn state(view: &ThreadView, csrf: &str) -> Markup {
    let id = &view.thread;
    html! {
        @if let Some(error) = &view.error {
            p .trouble {
                strong { "The last step failed: " } (visible(&error.message)) " "
                @if let Some(step) = &error.step_hash { a href=(address::step(id, step.as_str())) { "the failed step" } }
            }
        } @else if let Some(reason) = &view.pause_reason {
            p .question { strong { "Paused: " } (visible(reason)) }
        } @else if let (Some(hint), "idle") = (&view.hint, view.status) {
            p .trouble { (visible(hint)) }
        }
        @match view.status {
            "suspended" => {
                div .question {
                    p { strong { (visible(view.suspended_role.as_deref().unwrap_or("A role"))) } " asks:" }
                    (literal(view.suspend_message.as_deref().unwrap_or_default(), 20_000, None))
                    form #answer method="post" action={ (address::thread(id)) "/answer" } {
                        (token(csrf))
                        input type="hidden" name="head" value=(view.head);
                        label for="text" { "Your answer" }
                        textarea #text name="text" rows="3" required data-keep=(view.head) {}
                        button .main type="submit" { "Answer and go on" }
                    }
                }
            }
            "running" => (button(id, csrf, "stop", "Stop the run")),
            "paused" => (button(id, csrf, "run", "Go on")),
            "idle" => (button(id, csrf, "run", if view.error.is_some() { "Try again" } else { "Run it" })),
            _ => {}
        }
    }
}

fn token(csrf: &str) -> Markup {
    html! { input type="hidden" name="csrf" value=(csrf); }
}

fn button(id: &ThreadId, csrf: &str, action: &str, words: &str) -> Markup {
    html! {
        form .action method="post" action={ (address::thread(id)) "/" (action) } {
            (token(csrf))
            button type="submit" { (words) }
        }
    }
}

fn picture(found: &ThreadPage) -> Markup {
    let id = found.view.thread;
    let link = |role: &str| format!("{}?role={}#steps", address::thread(&id), address::escaped(role));
    graph::within_page(
        &found.workflow,
        &Shown {
            progress: found.progress.clone(),
            active: found.view.status == "running",
            visits: found.sum.visits.clone(),
            link: Some(&link),
        },
    )
}

fn about(found: &ThreadPage) -> Markup {
    let ThreadPage { view, sum, start, .. } = found;
    let names = &found.workflow;
    facts(&[
        ("Workflow", Some(html! { span title=(visible(&names.description)) { (visible(&names.name)) } })),
        ("Next", view.current_role.as_deref().filter(|_| view.status == "idle").and_then(text)),
        ("Directory", Some(html! { span .path { (visible(&start.cwd)) } })),
        ("Started", Some(moment(view.thread.time_ms()))),
        ("Moved", Some(moment(found.updated))),
        ("Steps", text(&number(sum.steps as u64))),
        ("Worked", text(&duration(sum.duration_ms)).filter(|_| sum.steps > 0)),
        ("Used", used(sum)),
        ("Cost of its steps", sum.cost.and_then(|cost| text(&usd(cost)))),
    ])
}

/// Turns and tokens.
pub(super) fn used(sum: &Sum) -> Option<Markup> {
    let Sum { turns, input_tokens, output_tokens, .. } = sum;
    let words = html! {
        (counted(*turns, "turn"))
        @if input_tokens + output_tokens > 0 { ", " (number(*input_tokens)) " tokens in, " (number(*output_tokens)) " out" }
    };
    (*turns > 0).then_some(words)
}

/// What the last step said, of a thread that has ended.
pub(super) fn answered(found: &ThreadPage) -> Markup {
    html! {
        @if let Some(answer) = &found.answer {
            h2 { "Answer" }
            div .said .answer { (literal(answer, 50_000, None)) }
        }
    }
}

/// What happens just now.
fn running(view: &ThreadView, live: Option<&LiveLine>) -> Markup {
    if view.status != "running" {
        return html! {};
    }
    let role = live.and_then(|live| live.role.as_deref()).or(view.current_role.as_deref());
    html! {
        div .running {
            p {
                span .dot {} " " strong { (visible(role.unwrap_or("A step"))) } " plays"
                @if let Some(live) = live {
                    @if let Some(turn) = live.turn { " · turn " (turn) @if let Some(most) = live.max_turns { " of " (most) } }
                    @if !live.doing.is_empty() { " · " (visible(&live.doing)) }
                    @if live.tokens > 0 { " · " (number(live.tokens)) " tokens" }
                    @if let Some(cost) = live.cost { " · " (usd(cost)) }
                    " · " span data-since=(live.started_at) {}
                }
            }
            @if let Some(live) = live.filter(|live| !live.lines.is_empty()) {
                pre .log { @for line in &live.lines { (visible(line)) "\n" } }
            }
        }
    }
}

fn all_steps(found: &ThreadPage) -> Markup {
    let ThreadPage { view, query, steps, sum, .. } = found;
    let id = &view.thread;
    let first = steps.first().and_then(|row| row.number).unwrap_or(1);
    let role = query.role.as_deref();
    let is_last = query.to.is_none_or(|to| to >= sum.steps);
    let with_role = role.map(|role| format!("&role={}", address::escaped(role))).unwrap_or_default();
    html! {
        h2 {
            "Steps"
            @if let Some(role) = role { " of " (visible(role)) " " a .small href=(address::thread(id)) { "show all" } }
        }
        @if steps.is_empty() && found.failed.is_empty() { p .empty { "Nothing was done yet." } }
        @if first > 1 && (role.is_none() || steps.len() == 100) {
            p .more { a href={ (address::thread(id)) "?to=" (first - 1) (with_role) } { "Earlier steps" } }
        }
        ol .steps {
            @for row in steps { (steps::step(row, Some(id), &html! {})) }
            @if is_last && !found.failed.is_empty() {
                @for row in found.failed.iter().filter(|row| role.is_none_or(|role| role == row.role)) { (steps::step(row, Some(id), &html! {})) }
            }
        }
        @if !is_last { p .more { a href=(address::thread(id)) { "The last steps" } } }
    }
}
