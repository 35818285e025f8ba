//! Fragments of tool calls → tool calls with ids.
//!
//! Apart because endpoints differ here most: without an index or with always the same one, without ids or with the
//! same in every turn, with the whole call in one piece or the name repeated in each.

use serde_json::Value;
use serde_json::value::RawValue;

use super::chunk::CallPiece;
use crate::provider::message::{Message, ToolCall, make_ids_unique};
use crate::provider::wires::arguments::tool_call;

/// Assembles the calls of one reply from what has come of them.
#[derive(Debug, Default)]
pub(super) struct ToolCallAssembler(Vec<Call>);

#[derive(Debug, Default)]
struct Call {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
    extra_content: Option<Box<RawValue>>,
}

impl ToolCallAssembler {
    /// Whether none has come.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes the calls of a whole reply in: each piece is one.
    pub(super) fn take_whole(&mut self, pieces: &[CallPiece]) {
        pieces.iter().for_each(|piece| self.begin(piece));
    }

    /// Takes the fragments of one event of a stream in, in order.
    pub(super) fn take(&mut self, pieces: &[CallPiece]) {
        let earlier = self.0.len();
        for piece in pieces {
            match self.target(piece) {
                Some(position) if !self.0[position].is_over_for(piece, position >= earlier) => {
                    self.0[position].extend(piece);
                }
                _ => self.begin(piece),
            }
        }
    }

    fn begin(&mut self, piece: &CallPiece) {
        let mut call = Call { index: piece.index, ..Call::default() };
        call.extend(piece);
        self.0.push(call);
    }

    /// The call that has the piece's index, or its id, or is simply the last.
    fn target(&self, piece: &CallPiece) -> Option<usize> {
        self.0.iter().rposition(|call| match piece.index {
            Some(index) => call.index == Some(index),
            None => piece.id.is_empty() || call.id == piece.id,
        })
    }

    /// The calls, each with a name, arguments and an id that is nowhere in the conversation; and what came beside
    /// each.
    pub(super) fn finish(self, conversation: &[Message]) -> (Vec<ToolCall>, Vec<Option<Box<RawValue>>>) {
        let calls = self.0.into_iter().filter(|call| !call.name.is_empty() || !call.arguments.is_empty());
        let named = calls.map(|Call { id, name, arguments, extra_content, .. }| {
            (tool_call(id, name, arguments), extra_content)
        });
        let (mut calls, extra): (Vec<ToolCall>, Vec<_>) = named.unzip();
        make_ids_unique(&mut calls, conversation);
        (calls, extra)
    }
}

impl Call {
    fn extend(&mut self, piece: &CallPiece) {
        if self.id.is_empty() {
            self.id.clone_from(&piece.id);
        }
        let name = &piece.function.name;
        // Some endpoints repeat the name in each piece, and a few send it in pieces.
        if self.name.is_empty() || (self.arguments.is_empty() && self.name != *name) {
            self.name.push_str(name);
        }
        self.arguments.push_str(&piece.function.arguments);
        if self.extra_content.is_none() {
            self.extra_content.clone_from(&piece.extra_content);
        }
    }

    /// Whether the piece, though it has this call's index or id, begins another one. (A new id on the same index is a
    /// new call; so is a name, once this call cannot go on.)
    fn is_over_for(&self, piece: &CallPiece, begun_in_this_event: bool) -> bool {
        let name = &piece.function.name;
        if !self.id.is_empty() && !piece.id.is_empty() && self.id != piece.id {
            return true;
        }
        if name.is_empty() || self.name.is_empty() {
            return false;
        }
        if begun_in_this_event {
            return true;
        }
        // Reading them with each piece would take time that grows with their square.
        let whole =
            || self.arguments.ends_with('}') && serde_json::from_str::<Value>(&self.arguments).is_ok();
        match *name == self.name {
            true => !piece.function.arguments.is_empty() && whole(),
            false => !self.arguments.is_empty(),
        }
    }
}
