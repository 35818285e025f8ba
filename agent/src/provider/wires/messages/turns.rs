//! Messages → turns: the user's and the model's by turns, the results of tool calls among the user's words.
//!
//! Apart because the wire knows two speakers, and refuses results that are spread over messages or stand behind a text.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::value::RawValue;

use super::blocks::marked;
use crate::provider::fields::raw;
use crate::provider::message::{Message, Speaker};
use crate::provider::wires::written::WrittenParts;

/// What one speaker says until the other does.
#[derive(Serialize)]
struct MessagesTurn<'r> {
    role: &'static str,
    content: Vec<TurnBlock<'r>>,
    /// Whether its end is worth a mark.
    #[serde(skip)]
    is_end: bool,
}

/// A block, and its position within the turn.
#[derive(Serialize)]
#[serde(transparent)]
struct TurnBlock<'r> {
    json: Cow<'r, RawValue>,
    #[serde(skip)]
    position: usize,
    #[serde(skip)]
    is_empty: bool,
}

/// The messages as one JSON text. `parts` are their blocks.
pub(super) fn turns(messages: &[Message], parts: &[WrittenParts], marks: bool) -> Box<RawValue> {
    let mut turns = grouped(messages, parts);
    for turn in &mut turns {
        turn.content.sort_by_key(|block| block.position);
        // What is empty cannot be marked.
        let last = turn.content.iter_mut().rfind(|block| !block.is_empty);
        if let Some(last) = last.filter(|_| marks && turn.is_end) {
            last.json = Cow::Owned(marked(&last.json));
        }
    }
    raw(&turns)
}

/// Messages of one speaker that follow each other are one turn.
fn grouped<'r>(messages: &'r [Message], parts: &'r [WrittenParts]) -> Vec<MessagesTurn<'r>> {
    let ends = crate::provider::wires::marked(messages);
    let mut turns: Vec<MessagesTurn<'r>> = Vec::new();
    let mut calls: Vec<&str> = Vec::new();
    for (at, (message, blocks)) in messages.iter().zip(parts).enumerate().filter(|(_, (_, b))| !b.is_empty())
    {
        let role = if message.role == Speaker::Assistant { "assistant" } else { "user" };
        if turns.last().is_none_or(|turn| turn.role != role) {
            turns.push(MessagesTurn { role, content: Vec::new(), is_end: false });
            if role == "assistant" {
                calls.clear();
            }
        }
        calls.extend(message.tool_calls.iter().map(|call| call.id.as_str()));
        let position = match message.tool_call_id.as_deref() {
            Some(id) => calls.iter().position(|call| *call == id).unwrap_or(calls.len()),
            None => usize::MAX,
        };
        let is_empty = message.role == Speaker::Tool && message.content.trim().is_empty();
        let Some(turn) = turns.last_mut() else { continue };
        let json = blocks.iter().map(|block| Cow::Borrowed(block.as_ref()));
        turn.content.extend(json.map(|json| TurnBlock { json, position, is_empty }));
        turn.is_end |= ends.contains(&Some(at));
    }
    turns
}
