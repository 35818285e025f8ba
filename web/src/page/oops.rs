//! Pages of what went wrong.

use maud::{DOCTYPE, Markup, html};

use super::{Head, address, page};
use crate::error::WebError;
use crate::text::visible;

/// Why there is no page.
pub(crate) fn oops(error: &WebError) -> Markup {
    let title = match error.status() {
        404 => "There is no such page",
        403 => "That is not allowed",
        409 => "That was not done",
        _ => "That cannot be read",
    };
    let back = match error {
        WebError::Undone { thread, .. } => Some(address::thread(thread)),
        _ => None,
    };
    let content = html! {
        h1 { (title) }
        @for line in error.lines() { p .trouble { (visible(&line)) } }
        @if let Some(back) = back { p { a href=(back) data-up="" { "Back to the thread" } } }
        p { a href="/" { "All threads" } }
    };
    page(&Head { title, live: None }, &content)
}

/// What whoever has no session is shown: nothing of any thread, and no style or script.
pub(crate) fn signed_out() -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head { meta charset="utf-8"; meta name="viewport" content="width=device-width, initial-scale=1"; title { "uwf" } }
            body {
                h1 { "Open the address that was printed" }
                p { "This page is for whoever started it: open the whole address that " code { "uwf serve" } " printed, with its token." }
            }
        }
    }
}
