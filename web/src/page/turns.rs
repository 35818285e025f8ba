//! The conversation of a step: what the model says is there to be read, what tools were given and answered is folded, what
//! failed is not.

use maud::{Markup, html};
use serde_json::Value;
use uwf_engine::record::{RecordedCall, TokenUsage, Turn};

use super::blocks::{folded, literal};
use crate::read::{Conversation, Item, PlayedCall};
use crate::text::{counted, duration, first_line, number, usd, visible};

/// How many characters of a message are in the page of its step; all of it is a click away.
const SHOWN: usize = 4_000;

/// Where the whole of a message is, by its number.
pub(super) type Rest<'a> = &'a dyn Fn(usize) -> Option<String>;

/// The turns of a page of a conversation.
pub(super) fn turns(conversation: &Conversation, rest: Rest<'_>) -> Markup {
    html! {
        ol .turns {
            @for item in &conversation.items {
                @match item {
                    Item::Turn { number, at, said, calls } => (turn(*number, (*at, said), calls, rest)),
                    Item::Other { at, said } => (other(*at, said, rest)),
                }
            }
        }
        @if conversation.foreign > 0 {
            p .small .faint { (counted(conversation.foreign as u64, "entry")) " of another shape is not shown." }
        }
    }
}

fn turn(number: usize, (at, said): (usize, &Turn), calls: &[PlayedCall], rest: Rest<'_>) -> Markup {
    let content = said.content.as_deref().unwrap_or_default().trim();
    html! {
        li .turn id={ "turn-" (number) } data-key={ "turn-" (number) } {
            p .who { a .row href={ "#turn-" (number) } { "Turn " (number) } (took(said)) }
            @if let Some(thought) = said.reasoning.as_deref().filter(|thought| !thought.trim().is_empty()) {
                (folded(&html! { "Reasoning" span .gist { (first_line(thought, 80)) } }, false, &literal(thought, SHOWN, rest(at).as_deref())))
            }
            @if !content.is_empty() { div .said { (literal(content, SHOWN, rest(at).as_deref())) } }
            @for played in calls { (call(played, rest)) }
        }
    }
}

fn took(said: &Turn) -> Markup {
    html! {
        span .meta {
            @if let Some(usage) = &said.usage { (used(usage)) }
            @if let Some(ms) = said.duration_ms { (duration(ms)) }
        }
    }
}

fn used(usage: &TokenUsage) -> Markup {
    html! {
        @if usage.input_tokens + usage.output_tokens > 0 {
            span title={ (number(usage.cached_tokens)) " from the cache, " (number(usage.reasoning_tokens)) " for reasoning" } {
                (number(usage.input_tokens)) " in, " (number(usage.output_tokens)) " out"
            }
            " · "
        }
        @if let Some(cost) = usage.cost_usd { (usd(cost)) " · " }
    }
}

fn call(played: &PlayedCall, rest: Rest<'_>) -> Markup {
    let PlayedCall { call, result } = played;
    let failed = played.failed();
    let mark = match failed {
        Some(true) => "✗",
        Some(false) => "✓",
        None => "…",
    };
    let args = call.args.as_deref().unwrap_or_default();
    let summary = html! {
        span .mark { (mark) } " " code { (visible(call.name.as_deref().unwrap_or("?"))) } " "
        span .gist { (title(call)) }
        @if let Some((_, result)) = result {
            span .meta {
                @if let Some(code) = result.exit_code.filter(|code| *code != 0) { "exit code " (code) " · " }
                @if let Some(ms) = result.duration_ms { (duration(ms)) }
            }
        }
    };
    let content = html! {
        p .label { "Arguments" }
        (literal(&pretty(args), SHOWN, None))
        @match result {
            Some((at, result)) => {
                p .label { "Result" }
                (literal(result.content.as_deref().unwrap_or_default(), SHOWN, rest(*at).as_deref()))
            }
            None => p .small .faint { "There is no result of it." },
        }
    };
    html! { div class={ "call" (if failed == Some(true) { " bad" } else { "" }) } { (folded(&summary, failed == Some(true), &content)) } }
}

/// Arguments as people read them, where they are JSON.
fn pretty(args: &str) -> String {
    serde_json::from_str::<Value>(args)
        .ok()
        .and_then(|args| serde_json::to_string_pretty(&args).ok())
        .unwrap_or_else(|| args.to_owned())
}

/// What a call is for, or on what it works.
fn title(call: &RecordedCall) -> String {
    const TELLING: [&str; 6] = ["description", "path", "command", "pattern", "query", "url"];
    let args = call.args.as_deref().unwrap_or_default();
    let parsed: Value = serde_json::from_str(args).unwrap_or_default();
    let telling = TELLING.iter().find_map(|name| parsed[*name].as_str());
    first_line(telling.unwrap_or(args), 120)
}

/// What the model was told, or what became of what it is sent.
fn other(at: usize, said: &Turn, rest: Rest<'_>) -> Markup {
    let role = said.role.as_deref().unwrap_or("?");
    let kind = said.kind.as_deref().filter(|kind| *kind != role);
    let content = said.content.as_deref().unwrap_or_default();
    let summary = html! {
        (visible(role)) @if let Some(kind) = kind { " (" (visible(kind)) ")" }
        span .gist { (first_line(content, 100)) }
    };
    html! { li .other data-key={ "message-" (at) } { (folded(&summary, false, &literal(content, SHOWN, rest(at).as_deref()))) } }
}
