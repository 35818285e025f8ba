//! Pieces that several pages are made of.

use maud::{Markup, html};
use serde_json::Value;
use uwf_workflow::yaml;

use crate::text::{beginning, number, rfc3339, time, visible};

/// How many characters of a text are in a page.
pub(super) const SHOWN: usize = 20_000;

/// The word for a status, with its colour.
pub(super) fn chip(status: &str) -> Markup {
    let known = [
        "idle",
        "running",
        "suspended",
        "paused",
        "end",
        "cancelled",
        "failed",
        "scored",
        "unscored",
        "error",
    ];
    let class = if known.contains(&status) { status } else { "other" };
    html! { span class={ "chip s-" (class) } { (visible(status)) } }
}

/// A time, in UTC.
pub(super) fn moment(ms: u64) -> Markup {
    html! { time datetime=(rfc3339(ms)) title="UTC" { (time(ms)) } }
}

/// A text as it is, with a remark where it is cut; `rest` is where all of it is.
pub(super) fn literal(text: &str, limit: usize, rest: Option<&str>) -> Markup {
    let (shown, left) = beginning(text, limit);
    html! {
        pre tabindex=[wide(shown).then_some("0")] { (visible(shown)) }
        @if left > 0 {
            p .more {
                @match rest {
                    Some(address) => a href=(address) data-load="" { "all of it: " (number(left as u64)) " characters more" },
                    None => { (number(left as u64)) " characters more" },
                }
            }
        }
    }
}

/// Whether a block may have to be scrolled, which must be possible without a mouse.
fn wide(text: &str) -> bool {
    text.lines().count() > 12 || text.lines().any(|line| line.len() > 40)
}

/// A value, as YAML.
pub(super) fn value(value: &Value) -> Markup {
    literal(yaml::write(value).trim_end(), SHOWN, None)
}

/// Something folded under its summary.
pub(super) fn folded(summary: &Markup, open: bool, content: &Markup) -> Markup {
    html! { details open[open] { summary { (summary) } (content) } }
}

/// Names and values, as far as there are some.
pub(super) fn facts(facts: &[(&str, Option<Markup>)]) -> Markup {
    html! {
        dl .facts {
            @for (name, fact) in facts {
                @if let Some(fact) = fact { div { dt { (name) } dd { (fact) } } }
            }
        }
    }
}

/// A text as a fact.
pub(super) fn text(text: &str) -> Option<Markup> {
    Some(html! { (visible(text)) })
}
