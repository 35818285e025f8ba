//! Content blocks as they come: begun, extended piece by piece, and at the end the blocks that go back.
//!
//! Apart because what goes back must be what was said, to the byte where it is signed, and the neutral words are read off
//! the same blocks.

use std::collections::BTreeMap;

use serde_json::json;
use serde_json::value::RawValue;

use super::event::{BlockFields, Delta, MessagesField};
use crate::provider::fields::raw;
use crate::provider::message::ToolCall;
use crate::provider::wires::arguments::tool_call;
use crate::provider::wires::lenient::text_of;
use crate::provider::{CompletionEvent, EventSink};

/// The blocks of one reply as far as they have come.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    list: Vec<Block>,
    /// Where the block of an index is: the last one that began with it.
    places: BTreeMap<u64, usize>,
}

#[derive(Debug)]
struct Block {
    kind: BlockKind,
    /// As it began, or all of it where it came whole.
    start: Box<RawValue>,
    is_whole: bool,
    /// The text, or the thinking.
    text: String,
    signature: String,
    /// The input of a call in pieces.
    input: String,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum BlockKind {
    Text,
    Thinking,
    Call,
    /// What only the endpoint itself understands.
    Other,
}

impl BlockKind {
    fn of(word: &str) -> BlockKind {
        match word {
            "text" => BlockKind::Text,
            "thinking" => BlockKind::Thinking,
            "tool_use" => BlockKind::Call,
            _ => BlockKind::Other,
        }
    }

    /// The start of a block that began without one.
    fn unannounced(self) -> Box<RawValue> {
        raw(&json!({ "type": if self == BlockKind::Thinking { "thinking" } else { "text" } }))
    }
}

impl Blocks {
    /// A block begins, or came whole. What is no object is none.
    pub(super) fn begin(
        &mut self,
        index: Option<u64>,
        block: &RawValue,
        is_whole: bool,
        on_event: EventSink<'_>,
    ) {
        if !is_object(block) {
            return;
        }
        let fields = BlockFields::read(block);
        let kind = BlockKind::of(&fields.kind);
        self.add(index, Block::new(kind, block.to_owned(), is_whole));
        let delta = Delta {
            text: fields.text,
            thinking: fields.thinking,
            signature: fields.signature,
            ..Delta::default()
        };
        if let Some(block) = self.list.last_mut() {
            block.extend(&delta, on_event);
        }
    }

    /// A piece of a block. One of a block that has not begun begins it, where it can: some leave that out.
    pub(super) fn extend(&mut self, index: Option<u64>, delta: &Delta<'_>, on_event: EventSink<'_>) {
        let kind = match &*delta.kind {
            "text_delta" => BlockKind::Text,
            "thinking_delta" | "signature_delta" => BlockKind::Thinking,
            "input_json_delta" => BlockKind::Call,
            _ => return,
        };
        let last = self.list.len().checked_sub(1);
        let place = index.map_or(last, |index| self.places.get(&index).copied());
        let takes_it = |at: &usize| match self.list[*at].kind {
            BlockKind::Other => kind == BlockKind::Call,
            there => there == kind,
        };
        let place = match place.filter(takes_it) {
            Some(place) => place,
            // Without its call, or its thinking, there is no use for it.
            None if kind == BlockKind::Call || delta.thinking.is_empty() && kind == BlockKind::Thinking => {
                return;
            }
            None => {
                self.add(index, Block::new(kind, kind.unannounced(), false));
                self.list.len() - 1
            }
        };
        self.list[place].extend(delta, on_event);
    }

    fn add(&mut self, index: Option<u64>, block: Block) {
        if let Some(index) = index {
            self.places.insert(index, self.list.len());
        }
        self.list.push(block);
    }

    /// The text.
    pub(super) fn text(&self) -> String {
        self.words(BlockKind::Text)
    }

    /// What was thought aloud.
    pub(super) fn thinking(&self) -> String {
        self.words(BlockKind::Thinking)
    }

    /// The words of the blocks of a kind. Those that stand next to each other are one text, others paragraphs.
    fn words(&self, kind: BlockKind) -> String {
        let mut words = String::new();
        let mut is_next = true;
        for block in &self.list {
            if block.kind != kind {
                is_next = false;
            } else if !block.text.is_empty() {
                if !is_next && !words.is_empty() {
                    words.push_str("\n\n");
                }
                words.push_str(&block.text);
                is_next = kind == BlockKind::Text;
            }
        }
        words
    }

    /// The calls, as they were asked for.
    pub(super) fn calls(&self) -> Vec<ToolCall> {
        let calls = self.list.iter().filter(|block| block.kind == BlockKind::Call);
        calls.map(Block::call).collect()
    }

    /// The blocks that go back, each as it was said, without empty texts. `None` where one cannot go back.
    pub(super) fn native(&self) -> Option<Vec<Box<RawValue>>> {
        let blocks = self.list.iter().filter(|block| !block.is_blank());
        blocks.map(Block::native).collect()
    }

    /// Whether there is nothing but one text: that needs no other form than the neutral one.
    pub(super) fn is_plain(&self) -> bool {
        let mut blocks = self.list.iter().filter(|block| !block.is_blank());
        blocks.next().is_none_or(|first| first.kind == BlockKind::Text) && blocks.next().is_none()
    }

    /// The blocks for the journal, those among them that could not go back included.
    pub(super) fn all(&self) -> Vec<Box<RawValue>> {
        self.list.iter().map(|block| block.native().unwrap_or_else(|| raw(&block.call()))).collect()
    }
}

impl Block {
    fn new(kind: BlockKind, start: Box<RawValue>, is_whole: bool) -> Block {
        let (text, signature, input) = Default::default();
        Block { kind, start, is_whole, text, signature, input }
    }

    fn extend(&mut self, delta: &Delta<'_>, on_event: EventSink<'_>) {
        match self.kind {
            BlockKind::Text => {
                let piece = &*delta.text;
                self.text.push_str(piece);
                if !piece.is_empty() {
                    on_event(CompletionEvent::Text(piece));
                }
            }
            BlockKind::Thinking => {
                let piece = &*delta.thinking;
                self.text.push_str(piece);
                self.signature.push_str(&delta.signature);
                if !piece.is_empty() {
                    on_event(CompletionEvent::Reasoning(piece));
                }
            }
            BlockKind::Call | BlockKind::Other => self.input.push_str(&delta.partial_json),
        }
    }

    fn is_blank(&self) -> bool {
        self.kind == BlockKind::Text && self.text.trim().is_empty()
    }

    /// The input in pieces; else the one that the block began with, in which some have all of it.
    fn arguments(&self) -> String {
        let begun = || BlockFields::read(&self.start).input;
        let whole = |input: MessagesField<'_>| match input {
            None => String::new(),
            Some(input) if input.get().starts_with('"') => text_of(input).into_owned(),
            Some(input) => input.get().to_owned(),
        };
        let arguments = if self.input.trim().is_empty() { whole(begun()) } else { self.input.clone() };
        if arguments.trim().is_empty() { "{}".to_owned() } else { arguments }
    }

    fn call(&self) -> ToolCall {
        let fields = BlockFields::read(&self.start);
        tool_call(fields.id.into_owned(), fields.name.into_owned(), self.arguments())
    }

    /// The block as it was said; `None` where its input is no object.
    fn native(&self) -> Option<Box<RawValue>> {
        let has_input = self.kind == BlockKind::Call || !self.input.trim().is_empty();
        let input = match has_input {
            true => Some(RawValue::from_string(self.arguments()).ok().filter(|input| is_object(input))?),
            false => None,
        };
        if self.is_whole || (self.kind == BlockKind::Other && input.is_none()) {
            let is_as_it_came =
                input.is_none_or(|_| BlockFields::read(&self.start).input.is_some_and(is_object));
            return is_as_it_came.then(|| self.start.clone());
        }
        let mut fields: BTreeMap<String, Box<RawValue>> = serde_json::from_str(self.start.get()).ok()?;
        let mut put = |name: &str, value: Box<RawValue>| drop(fields.insert(name.to_owned(), value));
        match self.kind {
            BlockKind::Text => put("text", raw(&self.text)),
            BlockKind::Thinking => {
                put("thinking", raw(&self.text));
                put("signature", raw(&self.signature));
            }
            BlockKind::Call | BlockKind::Other => {}
        }
        if let Some(input) = input {
            put("input", input);
        }
        Some(raw(&fields))
    }
}

fn is_object(value: &RawValue) -> bool {
    value.get().starts_with('{')
}
