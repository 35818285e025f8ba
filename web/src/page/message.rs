//! One message of a conversation, all of it.

use maud::{Markup, html};
use uwf_engine::ThreadId;
use uwf_engine::record::Turn;

use super::{Head, address, page};
use crate::text::visible;

/// The page of a message; nothing of it is left out.
pub(crate) fn message(thread: &ThreadId, place: &str, (at, said): (usize, &Turn)) -> Markup {
    let role = said.role.as_deref().unwrap_or("?");
    let content = html! {
        div .crumbs {
            a href="/" { "Threads" } " / " a href=(address::thread(thread)) { code { (thread) } } " / "
            a href=(address::step(thread, place)) data-up="" { "step " (place) } " / message " (at)
        }
        h1 { (visible(role)) }
        @if let Some(thought) = said.reasoning.as_deref().filter(|thought| !thought.trim().is_empty()) {
            h2 { "Reasoning" }
            pre tabindex="0" { (visible(thought)) }
        }
        pre #whole tabindex="0" { (visible(said.content.as_deref().unwrap_or_default())) }
    };
    page(&Head { title: &format!("Message {at}"), live: None }, &content)
}
