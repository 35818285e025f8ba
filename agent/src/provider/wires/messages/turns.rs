//! Messages → turns: the user's and the model's by turns, the results of tool calls among the user's words.
//!
//! Apart because the wire knows two speakers, and refuses results that are spread over messages or stand behind a text.

use serde::Serialize;
use serde_json::value::RawValue;

use super::blocks::marked;
use crate::provider::fields::raw;
use crate::provider::message::{Message, Speaker};
use crate::provider::wires::written::WrittenParts;

#[derive(Serialize)]
struct WireTurn<'r> {
    role: &'static str,
    content: Vec<&'r RawValue>,
}

/// What one speaker says until the other does.
struct MessagesTurn<'r> {
    role: &'static str,
    blocks: Vec<Placed<'r>>,
    /// Whether its end is worth a mark.
    is_end: bool,
}

/// A block, and its place within the turn.
struct Placed<'r> {
    block: &'r RawValue,
    place: usize,
    is_empty: bool,
}

/// The messages as one JSON text. `parts` are their blocks.
pub(super) fn turns(messages: &[Message], parts: &[WrittenParts], marks: bool) -> Box<RawValue> {
    let mut turns = grouped(messages, parts);
    turns.iter_mut().for_each(|turn| turn.blocks.sort_by_key(|placed| placed.place));
    // What is empty cannot be marked.
    let last = |turn: &MessagesTurn<'_>| turn.blocks.iter().rposition(|placed| !placed.is_empty);
    let ends = turns.iter().enumerate().filter(|(_, turn)| marks && turn.is_end);
    let marks: Vec<(usize, usize, Box<RawValue>)> = ends
        .filter_map(|(at, turn)| last(turn).map(|block| (at, block, marked(turn.blocks[block].block))))
        .collect();
    let mut wire: Vec<WireTurn<'_>> = turns
        .iter()
        .map(|turn| WireTurn {
            role: turn.role,
            content: turn.blocks.iter().map(|placed| placed.block).collect(),
        })
        .collect();
    marks.iter().for_each(|(turn, block, marked)| wire[*turn].content[*block] = marked);
    raw(&wire)
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
            turns.push(MessagesTurn { role, blocks: Vec::new(), is_end: false });
            if role == "assistant" {
                calls.clear();
            }
        }
        calls.extend(message.tool_calls.iter().map(|call| call.id.as_str()));
        let place = match message.tool_call_id.as_deref() {
            Some(id) => calls.iter().position(|call| *call == id).unwrap_or(calls.len()),
            None => usize::MAX,
        };
        let is_empty = message.role == Speaker::Tool && message.content.trim().is_empty();
        let Some(turn) = turns.last_mut() else { continue };
        turn.blocks.extend(blocks.iter().map(|block| Placed { block, place, is_empty }));
        turn.is_end |= ends.contains(&Some(at));
    }
    turns
}
