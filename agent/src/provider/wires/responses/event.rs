//! What endpoints send, read leniently: an event of a stream, an item of the output, and the response that ends it all.
//!
//! Apart because it is the reading half of the vendor's field names; what the fields mean together is for `items` and
//! `assemble`. Most events of a stream are a few characters of text in a long envelope: only what is needed is read.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::provider::message::TokenUsage;
use crate::provider::wires::lenient::{arguments_of, count, is_object, lenient, list, read, text};
use crate::provider::wires::usage::WireUsage;

/// Between the texts of two items, and the parts of what was thought.
pub(super) const BLANK_LINE: &str = "\n\n";

/// An event of a stream, or a whole response.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ResponsesEvent<'a> {
    /// Its type; empty where it has none.
    #[serde(borrow, rename = "type", deserialize_with = "text")]
    pub(super) kind: Cow<'a, str>,
    #[serde(borrow, deserialize_with = "text")]
    object: Cow<'a, str>,
    #[serde(borrow, deserialize_with = "text")]
    pub(super) item_id: Cow<'a, str>,
    #[serde(deserialize_with = "count")]
    pub(super) output_index: Option<u64>,
    #[serde(deserialize_with = "count")]
    summary_index: Option<u64>,
    #[serde(deserialize_with = "count")]
    content_index: Option<u64>,
    #[serde(borrow, deserialize_with = "text")]
    pub(super) delta: Cow<'a, str>,
    #[serde(borrow, deserialize_with = "text")]
    pub(super) arguments: Cow<'a, str>,
    #[serde(borrow)]
    pub(super) item: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) response: Option<&'a RawValue>,
    #[serde(borrow)]
    output: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
}

impl ResponsesEvent<'_> {
    /// Whether it is a response, and no event of one.
    pub(super) fn is_whole(&self) -> bool {
        self.object == "response" || self.output.is_some()
    }

    /// Which part of the item it is about.
    pub(super) fn part(&self) -> u64 {
        self.summary_index.or(self.content_index).unwrap_or(0)
    }
}

/// An item of the output.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Item {
    #[serde(rename = "type", deserialize_with = "lenient")]
    kind: String,
    #[serde(deserialize_with = "lenient")]
    pub(super) id: String,
    #[serde(deserialize_with = "lenient")]
    pub(super) status: String,
    #[serde(deserialize_with = "lenient")]
    pub(super) call_id: String,
    #[serde(deserialize_with = "lenient")]
    pub(super) name: String,
    #[serde(deserialize_with = "lenient")]
    arguments: Value,
    #[serde(deserialize_with = "list")]
    content: Vec<ContentPart>,
    #[serde(deserialize_with = "list")]
    summary: Vec<ContentPart>,
    #[serde(deserialize_with = "lenient")]
    encrypted_content: String,
}

/// What an item is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum ItemKind {
    Message,
    Reasoning,
    Call,
    /// Of a kind that we do not ask for, or do not know.
    #[default]
    Other,
}

/// A part of a content or of a summary.
#[derive(Debug, Default, Deserialize)]
#[serde(from = "Value")]
struct ContentPart {
    text: String,
    refusal: String,
}

impl From<Value> for ContentPart {
    /// A text alone is a part, too.
    fn from(value: Value) -> ContentPart {
        let field = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let text = value.as_str().map_or_else(|| field("text"), str::to_owned);
        ContentPart { text, refusal: field("refusal") }
    }
}

impl Item {
    /// `None` for what is no object.
    pub(super) fn read(item: &str) -> Option<Item> {
        is_object(item).then(|| read(item)).flatten()
    }

    pub(super) fn kind(&self) -> ItemKind {
        match self.kind.as_str() {
            "message" => ItemKind::Message,
            "reasoning" => ItemKind::Reasoning,
            "function_call" => ItemKind::Call,
            "" if !self.content.is_empty() => ItemKind::Message,
            _ => ItemKind::Other,
        }
    }

    /// What a message says.
    pub(super) fn text(&self) -> String {
        self.content.iter().map(|part| part.text.as_str()).collect()
    }

    /// What a message says instead.
    pub(super) fn refusal(&self) -> String {
        self.content.iter().map(|part| part.refusal.as_str()).collect()
    }

    /// What a reasoning says: in summary where it has one, else all.
    pub(super) fn thought(&self) -> String {
        let texts = |parts: &[ContentPart]| {
            let texts: Vec<&str> =
                parts.iter().map(|part| part.text.as_str()).filter(|text| !text.is_empty()).collect();
            texts.join(BLANK_LINE)
        };
        let summary = texts(&self.summary);
        if summary.is_empty() { texts(&self.content) } else { summary }
    }

    /// The arguments of a call as text.
    pub(super) fn arguments(&self) -> String {
        arguments_of(self.arguments.clone())
    }

    /// Whether the arguments are a text, as they must be when they go back.
    pub(super) fn has_text_for_arguments(&self) -> bool {
        self.arguments.is_string()
    }

    pub(super) fn is_encrypted(&self) -> bool {
        !self.encrypted_content.is_empty()
    }

    /// Whether a reasoning holds what the model needs of it: encrypted, or in plain words. Else its id stands for what
    /// the endpoint was told not to store, and is refused: `Item with id 'rs_…' not found`.
    pub(super) fn carries_its_thought(&self) -> bool {
        self.is_encrypted() || self.content.iter().any(|part| !part.text.is_empty())
    }
}

/// The response as a whole: of a stream it comes with the last event.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Response {
    #[serde(deserialize_with = "lenient")]
    pub(super) status: String,
    #[serde(deserialize_with = "list")]
    pub(super) output: Vec<Box<RawValue>>,
    #[serde(deserialize_with = "lenient")]
    incomplete_details: Incomplete,
    #[serde(deserialize_with = "lenient")]
    usage: Option<WireUsage>,
    #[serde(deserialize_with = "lenient")]
    pub(super) error: Value,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Incomplete {
    #[serde(deserialize_with = "lenient")]
    reason: Option<String>,
}

impl Response {
    /// Never fails: what is no object is an empty response.
    pub(super) fn read(response: &str) -> Response {
        is_object(response).then(|| read(response)).flatten().unwrap_or_default()
    }

    /// Why it is incomplete, where it says so.
    pub(super) fn reason(&self) -> Option<&str> {
        self.incomplete_details.reason.as_deref()
    }

    /// The tokens, where it counts any.
    pub(super) fn usage(&self) -> Option<TokenUsage> {
        self.usage.as_ref()?.input_and_output()
    }
}
