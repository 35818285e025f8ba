//! Markup: one function a page, from what [`crate::read`] found. Whatever is not ours is escaped by maud and made
//! visible by [`crate::text`]; no page has a script or a style of its own, so that the strictest policy holds.

mod blocks;
mod diff;
mod document;
mod evaluation;
mod file;
mod list;
mod message;
mod oops;
mod remote;
mod step;
mod steps;
mod thread;
mod turns;

use maud::{DOCTYPE, Markup, html};
use uwf_engine::ThreadId;

pub(crate) use self::document::document;
pub(crate) use self::evaluation::{difference, difference_file, evaluation, evaluations, report_file};
pub(crate) use self::list::list;
pub(crate) use self::message::message;
pub(crate) use self::oops::{oops, signed_out};
pub(crate) use self::remote::{no_remote, remote};
pub(crate) use self::step::step;
pub(crate) use self::thread::thread;
use crate::text::visible;

/// What a page is, and what tells it that it is out of date.
pub(crate) struct Head<'a> {
    pub(crate) title: &'a str,
    /// What it tells of, and the version of that which it shows.
    pub(crate) live: Option<(&'a str, &'a str)>,
}

/// A page around its content.
pub(crate) fn page(head: &Head<'_>, content: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (visible(head.title)) " · uwf" }
                link rel="icon" href="/assets/icon.svg" type="image/svg+xml";
                link rel="stylesheet" href="/assets/style.css";
                script src="/assets/app.js" {}
            }
            body data-topic=[head.live.map(|live| live.0)] data-version=[head.live.map(|live| live.1)] {
                a .skip href="#main" { "Skip to the content" }
                header .top {
                    a .home href="/" { "uwf" }
                    nav aria-label="Pages" { a href="/" { "Threads" } " " a href="/evaluations" { "Evaluations" } " " a href="/remote" { "Remote" } }
                    span .grow {}
                    span #link role="status" {}
                    button #theme type="button" hidden { "Theme" }
                    button #keys type="button" hidden aria-label="Keyboard shortcuts" { "?" }
                }
                main #main { (content) }
                dialog #help aria-label="Keyboard shortcuts" {
                    h2 { "Keyboard" }
                    dl .keys {
                        @for (key, does) in KEYS { div { dt { kbd { (key) } } dd { (does) } } }
                    }
                    form method="dialog" { button { "Close" } }
                }
            }
        }
    }
}

/// What keys do; `app.js` does it.
const KEYS: [(&str, &str); 8] = [
    ("j k", "the next, the previous one"),
    ("Enter", "open, or unfold"),
    ("o", "the page of a step"),
    ("g", "all threads"),
    ("u", "one level up"),
    ("/", "search"),
    ("t", "light or dark"),
    ("?", "this help"),
];

/// Where things are in this server.
pub(crate) mod address {
    use super::ThreadId;

    pub(crate) fn thread(thread: &ThreadId) -> String {
        format!("/t/{thread}")
    }

    pub(crate) fn step(thread: &ThreadId, place: &str) -> String {
        format!("/t/{thread}/s/{place}")
    }

    pub(crate) fn message(thread: &ThreadId, place: &str, at: usize) -> String {
        format!("/t/{thread}/s/{place}/m/{at}")
    }

    pub(crate) fn evaluation(name: &str) -> String {
        format!("/evaluation/{}", escaped(name))
    }

    pub(crate) fn difference(name: &str, before: &str) -> String {
        format!("{}/from/{}", evaluation(name), escaped(before))
    }

    /// A text as a part of a query.
    pub(crate) fn escaped(text: &str) -> String {
        text.bytes()
            .map(|byte| match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' | b'/' => {
                    char::from(byte).to_string()
                }
                other => format!("%{other:02X}"),
            })
            .collect()
    }
}
