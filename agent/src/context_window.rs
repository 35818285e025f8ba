//! How full the model's window is, and what of the conversation can be left out when it is nearly full.
//!
//! Pure, and apart so that the arithmetic can be read in one place. **The estimate:** what the endpoint counted for
//! the last turn (its input and output tokens), plus a quarter of the bytes that were said since; before the first
//! count, and at an endpoint that counts nothing, a quarter of all bytes, the tools' declarations included. What is
//! left out is subtracted by the same measure until the endpoint counts again. It leaves nothing out itself.

use serde::{Deserialize, Serialize};

use crate::provider::message::{Message, MessageKind, Speaker, TokenUsage};

/// Bytes that make up a token, roughly: English and code have about four.
const BYTES: u64 = 4;

/// Room is made when the next request would pass this share of the window, in percent.
const FULL: u64 = 70;

/// So many tokens at the end of the conversation are never left out; of small windows a third.
const KEPT: u64 = 40_000;

/// Room is made in batches of at least this share of the window (one in so many): each breaks the endpoint's cache.
const BATCH: u64 = 10;

/// Shorter results are not worth a mark in their place, in bytes.
const SHORT: usize = 300;

/// What a message costs beside its text, in bytes: its role, its brackets, its ids.
const FRAME: usize = 40;

/// An agent works badly with a smaller window, in tokens.
pub const WORKABLE: u64 = 32_000;

/// What to do about one.
pub const WIDEN: &str =
    "give the server more, 64000 tokens at least (Ollama: OLLAMA_CONTEXT_LENGTH=64000 ollama serve)";

/// No model has a smaller window, in tokens: a smaller count tells of none.
const SMALLEST: u64 = 1024;

/// What is sent in the place of a tool result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Elided {
    /// The call it answered.
    pub call_id: String,
    /// The text, which names the node that holds the result.
    pub text: String,
}

/// How full the window is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ContextWindow {
    /// The window, in tokens.
    size: u64,
    /// As the settings of the process have it.
    given: u64,
    /// Whether a setting says so: nobody knows better.
    is_set: bool,
    /// Tokens as far as the endpoint has counted.
    counted: u64,
    /// Bytes that were said since.
    since: u64,
}

impl Default for ContextWindow {
    /// One that is never full.
    fn default() -> ContextWindow {
        ContextWindow::new(u64::from(u32::MAX), 0)
    }
}

impl ContextWindow {
    /// A window of `size` tokens with nothing in it but `declared` bytes of tool declarations.
    pub(crate) fn new(size: u64, declared: usize) -> ContextWindow {
        ContextWindow { size, given: size, is_set: false, counted: 0, since: declared as u64 }
    }

    /// The same, of a size that a setting says.
    pub(crate) fn set(size: u64, declared: usize) -> ContextWindow {
        ContextWindow { is_set: true, ..ContextWindow::new(size, declared) }
    }

    /// Another process goes on, which may ask another model: what an endpoint has shown of its window counts no more.
    pub(crate) fn forget_endpoint(&mut self) {
        self.size = self.given;
    }

    /// The server says how large it is.
    pub(crate) fn reported(&mut self, size: u64) {
        if !self.is_set {
            self.size = size;
        }
    }

    /// Whether the endpoint seems to have cut what it was sent, by what it `counted` of a request: the conversation has
    /// grown, by a thousand tokens at least, and the count has not; or the first count is a third of any sound guess. It
    /// may as well count wrongly: people are told, and nothing else follows.
    pub(crate) fn was_cut(&self, counted: u64) -> bool {
        let (grown, guess) = (self.since / BYTES, self.estimate());
        match self.counted {
            _ if counted < SMALLEST => false,
            0 => guess >= 4000 && counted < guess / 3,
            before => grown >= 1000 && counted < before + grown / 8,
        }
    }

    /// Something was said that the endpoint has not counted yet.
    pub(crate) fn append(&mut self, message: &Message) {
        self.since += bytes(message);
    }

    /// The model has spoken; an endpoint that counts says how long the conversation now is.
    pub(crate) fn receive(&mut self, message: &Message, usage: Option<TokenUsage>) {
        match usage.filter(|usage| usage.input_tokens > 0) {
            Some(usage) => {
                self.counted = usage.input_tokens + usage.output_tokens;
                self.since = 0;
            }
            None => self.append(message),
        }
    }

    /// So many bytes were left out.
    pub(crate) fn elided(&mut self, bytes: u64) {
        let since = self.since.saturating_sub(bytes);
        self.counted = self.counted.saturating_sub((bytes - (self.since - since)) / BYTES);
        self.since = since;
    }

    /// How long the next request would be, in tokens.
    pub(crate) fn estimate(&self) -> u64 {
        self.counted + self.since / BYTES
    }

    /// Whether the next request would be too long to be safe.
    pub(crate) fn is_full(&self) -> bool {
        self.estimate() * 100 > self.size * FULL
    }

    /// The endpoint refused a request of `size` tokens as too long: its window is smaller than was said.
    pub(crate) fn refused(&mut self, size: u64) {
        self.size = self.size.min(size);
    }

    /// How many bytes at the end of the conversation stay.
    pub(crate) fn kept(&self) -> u64 {
        KEPT.min(self.size / 3) * BYTES
    }

    /// How many bytes stay when the endpoint has refused the conversation.
    pub(crate) fn kept_in_need(&self) -> u64 {
        self.kept() / 4
    }

    /// Whether by now as much was said as room is made for at a time, since there were `then` tokens.
    pub(crate) fn has_grown(&self, then: u64) -> bool {
        self.estimate().saturating_sub(then) >= self.size / BATCH
    }

    /// Whether leaving out so many bytes is worth a new prefix.
    pub(crate) fn is_batch(&self, bytes: u64) -> bool {
        bytes / BYTES >= self.size / BATCH
    }
}

/// How long a message is, in bytes, as far as it is sent.
pub(crate) fn bytes(message: &Message) -> u64 {
    let calls = message.tool_calls.iter().map(|call| call.name.len() + call.arguments.len() + FRAME);
    (message.content.len() + calls.sum::<usize>() + FRAME) as u64
}

/// The tool results that can be left out: those before the last `kept` bytes that are longer than a mark.
pub(crate) fn old_results(messages: &[Message], kept: u64) -> Vec<&Message> {
    let old = &messages[..boundary(messages, kept)];
    old.iter().filter(|message| message.role == Speaker::Tool && message.content.len() > SHORT).collect()
}

/// How many bytes leaving these out would free: a mark stands in the place of each.
pub(crate) fn freed(results: &[&Message]) -> u64 {
    results.iter().map(|message| message.content.len().saturating_sub(SHORT) as u64).sum()
}

/// How many messages at the end make up a tail that can follow a summary: within the last `kept` bytes, from where
/// the model or our side speaks, so that no result stands without its call.
pub(crate) fn tail(messages: &[Message], kept: u64) -> usize {
    let opening = messages.iter().take_while(|message| message.kind == MessageKind::Opening).count();
    let from = boundary(messages, kept).max(opening);
    messages[from..].iter().skip_while(|message| message.role == Speaker::Tool).count()
}

/// The index from which the messages together have at most `kept` bytes.
fn boundary(messages: &[Message], kept: u64) -> usize {
    let mut sum = 0;
    let fits = |message: &&Message| {
        sum += bytes(message);
        sum <= kept
    };
    messages.len() - messages.iter().rev().take_while(fits).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::message::ToolCall;

    fn usage(input_tokens: u64, output_tokens: u64) -> Option<TokenUsage> {
        Some(TokenUsage { input_tokens, output_tokens, ..TokenUsage::default() })
    }

    fn text(length: usize) -> Message {
        Message::text(Speaker::Assistant, MessageKind::Turn, "x".repeat(length))
    }

    fn call(id: &str) -> Message {
        let call = ToolCall { id: id.into(), name: "grep".into(), arguments: "{}".into() };
        Message { tool_calls: vec![call], ..text(0) }
    }

    #[test]
    fn the_endpoints_count_goes_before_our_guess() {
        let mut window = ContextWindow::new(1000, 400);
        assert_eq!(window.estimate(), 100);
        window.append(&text(2000 - FRAME));
        assert_eq!(window.estimate(), 600);
        window.receive(&text(10), usage(650, 40));
        assert_eq!((window.estimate(), window.is_full()), (690, false));
        window.append(&text(80));
        assert!(window.is_full());
        window.receive(&text(400 - FRAME), usage(0, 0));
        assert_eq!(window.estimate(), 690 + 30 + 100, "an endpoint that counts nothing has not counted zero");
    }

    #[test]
    fn what_is_left_out_is_taken_from_the_guess_first_and_then_from_the_count() {
        let mut window = ContextWindow { counted: 500, since: 400, ..ContextWindow::new(1000, 0) };
        window.elided(800);
        assert_eq!((window.counted, window.since), (400, 0));
        window.elided(1 << 40);
        assert_eq!(window.estimate(), 0);
    }

    #[test]
    fn old_long_results_can_be_left_out_and_nothing_else() {
        let long = |id: &str| Message::result(id, "y".repeat(1000));
        let messages = vec![
            text(5000),
            call("a"),
            long("a"),
            call("b"),
            Message::result("b", "short"),
            call("c"),
            long("c"),
            call("d"),
            long("d"),
        ];
        let ids = |kept| -> Vec<&str> {
            let found = old_results(&messages, kept);
            found.iter().map(|message| message.tool_call_id.as_deref().unwrap()).collect()
        };
        assert_eq!(ids(1_200), ["a", "c"]);
        assert_eq!(ids(0), ["a", "c", "d"]);
        assert!(ids(u64::MAX).is_empty());
        assert_eq!(freed(&old_results(&messages, 0)), 3 * 700);
    }

    #[test]
    fn a_tail_never_begins_with_a_result() {
        let messages = vec![
            Message::text(Speaker::User, MessageKind::Opening, "task"),
            call("a"),
            Message::result("a", "y".repeat(100)),
            call("b"),
            Message::result("b", "y".repeat(100)),
        ];
        let result = bytes(&messages[4]);
        assert_eq!(tail(&messages, result), 0, "the result alone would answer nothing");
        assert_eq!(tail(&messages, result + bytes(&messages[3])), 2);
        assert_eq!(tail(&messages, 2 * result + bytes(&messages[3])), 2);
        assert_eq!(tail(&messages, u64::MAX), 4, "the opening is no part of it");
    }

    #[test]
    fn a_count_that_does_not_grow_tells_of_a_cut() {
        let mut window = ContextWindow { counted: 4000, since: 8000, ..ContextWindow::new(128_000, 0) };
        assert!(window.was_cut(4096) && window.was_cut(4000) && !window.was_cut(4600) && !window.was_cut(0));
        window.since = 2000;
        assert!(!window.was_cut(4000), "a little may be the tokens' own");
        let first = ContextWindow { since: 40_000, ..ContextWindow::new(128_000, 0) };
        assert!(first.was_cut(3000) && !first.was_cut(4000) && !first.was_cut(100));
    }

    #[test]
    fn a_server_knows_better_than_a_guess_and_a_setting_better_than_a_server() {
        let (mut guessed, mut set) = (ContextWindow::new(128_000, 0), ContextWindow::set(128_000, 0));
        guessed.reported(4096);
        set.reported(4096);
        assert_eq!((guessed.size, set.size), (4096, 128_000));
    }

    #[test]
    fn a_window_that_was_overstated_is_learnt_and_small_ones_keep_less() {
        let mut window = ContextWindow { counted: 60_000, ..ContextWindow::new(128_000, 0) };
        assert_eq!((window.kept() / BYTES, window.is_full()), (40_000, false));
        window.refused(window.estimate());
        assert!(window.is_full());
        assert_eq!(window.kept() / BYTES, 20_000);
        assert!(window.is_batch(24_000) && !window.is_batch(23_000));
    }
}
