//! The items of an output → what they say in neutral words, and what goes back as it came.
//!
//! Apart because here it is judged what may go back: an endpoint refuses the whole conversation for one item that it
//! cannot place.

use serde_json::Value;

use super::event::{BLANK_LINE, Item, ItemKind};
use super::items::{Slot, Whole};
use crate::provider::message::{Message, ToolCall, make_ids_unique};
use crate::provider::wires::arguments::{arguments, tool_call};

/// An id that goes back can be no longer, though some gateways give longer ones.
const ID_LIMIT: usize = 64;

/// What the items say together.
#[derive(Debug, Default)]
pub(super) struct ResponsesTurn {
    texts: Vec<String>,
    refusals: Vec<String>,
    thoughts: Vec<String>,
    calls: Vec<ToolCall>,
    items: Vec<Whole>,
    came: usize,
    has_lost_a_call: bool,
    /// Whether the whole items do not say all this by themselves.
    is_patched: bool,
}

impl ResponsesTurn {
    /// What these items say.
    pub(super) fn of(slots: Vec<Slot>) -> ResponsesTurn {
        let mut turn = ResponsesTurn { came: slots.len(), ..ResponsesTurn::default() };
        slots.into_iter().for_each(|slot| turn.take(slot));
        turn
    }

    fn take(&mut self, mut slot: Slot) {
        let Some(whole) = slot.whole.take() else {
            self.is_patched = true;
            self.has_lost_a_call |= slot.is_call;
            push(&mut self.thoughts, slot.thought().to_owned());
            push(&mut self.texts, slot.text);
            push(&mut self.refusals, slot.refusal);
            return;
        };
        match whole.item.kind() {
            ItemKind::Message => {
                let all = (whole.item.text(), whole.item.refusal());
                let in_pieces = (slot.text, slot.refusal);
                let is_bare = all.0.is_empty() && all.1.is_empty() && all != in_pieces;
                self.is_patched |= is_bare;
                let (text, refusal) = if is_bare { in_pieces } else { all };
                push(&mut self.texts, text);
                push(&mut self.refusals, refusal);
            }
            ItemKind::Reasoning => {
                let thought = whole.item.thought();
                let thought = if thought.is_empty() { slot.thought().to_owned() } else { thought };
                push(&mut self.thoughts, thought);
            }
            ItemKind::Call => self.call(&whole.item, slot.arguments),
            ItemKind::Other => {}
        }
        self.items.push(whole);
    }

    fn call(&mut self, item: &Item, in_pieces: String) {
        if item.status == "incomplete" {
            self.has_lost_a_call = true;
            return;
        }
        let all = item.arguments();
        let has_all = !all.trim().is_empty();
        let text = if has_all { all } else { in_pieces };
        self.is_patched |= !(has_all && item.has_text_for_arguments())
            || item.call_id.is_empty()
            || item.name.is_empty()
            || arguments(&text) != text;
        if item.name.is_empty() && text.trim().is_empty() {
            return;
        }
        let id = if item.call_id.trim().is_empty() { &item.id } else { &item.call_id };
        self.calls.push(tool_call(id.clone(), item.name.clone(), text));
    }

    /// Whether no item has come.
    pub(super) fn is_nothing(&self) -> bool {
        self.came == 0
    }

    /// Whether nothing is said, and nothing wanted.
    pub(super) fn is_silent(&self) -> bool {
        let texts = [&self.texts, &self.refusals, &self.thoughts];
        texts.into_iter().all(Vec::is_empty) && self.calls.is_empty()
    }

    /// Whether a call has begun that is not there: what came of it must not be run.
    pub(super) fn has_lost_a_call(&self) -> bool {
        self.has_lost_a_call
    }

    /// The text; what is said instead of one where there is none.
    pub(super) fn content(&self) -> String {
        let texts = if self.texts.is_empty() { &self.refusals } else { &self.texts };
        texts.join(BLANK_LINE)
    }

    /// What was thought aloud.
    pub(super) fn reasoning(&self) -> String {
        self.thoughts.join(BLANK_LINE)
    }

    /// The calls, each by an id that is nowhere in the conversation.
    pub(super) fn calls(&self, conversation: &[Message]) -> Vec<ToolCall> {
        let mut calls = self.calls.clone();
        make_ids_unique(&mut calls, conversation);
        calls
    }

    /// The items as they came, where they say more than the words, and the endpoint takes them back: each call is
    /// answered by its id, each reasoning is followed by what came of it and carries what was thought.
    pub(super) fn native(&self, conversation: &[Message]) -> Option<String> {
        let items = || self.items.iter().map(|whole| &whole.item);
        let is_more =
            |item: &Item| !item.id.is_empty() || matches!(item.kind(), ItemKind::Reasoning | ItemKind::Other);
        let is_taken_back = |item: &Item| {
            item.id.len() <= ID_LIMIT && (item.kind() != ItemKind::Reasoning || item.carries_its_thought())
        };
        let is_open = items().next_back().is_none_or(|last| last.kind() == ItemKind::Reasoning);
        let same_ids = self.calls(conversation) == self.calls;
        let goes_back = same_ids && !self.is_patched && !is_open && items().all(is_taken_back);
        (goes_back && items().any(is_more)).then(|| {
            let sources: Vec<&str> = self.items.iter().map(|whole| whole.source.as_str()).collect();
            format!("[{}]", sources.join(","))
        })
    }

    /// The response, with the items that it does not repeat itself.
    pub(super) fn within(&self, mut response: Value) -> Value {
        let repeated = response.get("output").and_then(Value::as_array).map_or(0, Vec::len);
        if repeated < self.items.len() && response.is_object() {
            let item = |whole: &Whole| serde_json::from_str::<Value>(&whole.source).unwrap_or_default();
            response["output"] = self.items.iter().map(item).collect();
        }
        response
    }
}

fn push(texts: &mut Vec<String>, text: String) {
    if !text.is_empty() {
        texts.push(text);
    }
}
