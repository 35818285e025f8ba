//! What endpoints send, read leniently: an event of a stream, or a whole reply. A field of another type than expected
//! counts as absent.
//!
//! Apart because it is the reading half of the vendor's field names; what the fields mean together is `assemble`'s. A
//! stream is thousands of small events: their fields are borrowed, and read when they are asked for.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::provider::message::TokenUsage;
use crate::provider::wires::lenient::{count, fields, object, read, text};
use crate::provider::wires::usage::WireUsage;

/// A field as it came.
pub(super) type MessagesField<'e> = Option<&'e RawValue>;

/// An event, or a whole reply.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct MessagesEvent<'e> {
    /// The word for what it is; empty where there is none.
    #[serde(borrow, rename = "type", deserialize_with = "text")]
    pub(super) kind: Cow<'e, str>,
    #[serde(deserialize_with = "count")]
    pub(super) index: Option<u64>,
    #[serde(borrow, deserialize_with = "fields")]
    pub(super) delta: Delta<'e>,
    #[serde(borrow)]
    pub(super) content_block: MessagesField<'e>,
    #[serde(borrow)]
    pub(super) message: MessagesField<'e>,
    #[serde(borrow)]
    pub(super) usage: MessagesField<'e>,
    #[serde(borrow)]
    content: MessagesField<'e>,
    #[serde(borrow, deserialize_with = "text")]
    pub(super) stop_reason: Cow<'e, str>,
    #[serde(borrow)]
    pub(super) stop_details: MessagesField<'e>,
    #[serde(borrow)]
    pub(super) error: MessagesField<'e>,
}

/// What an event adds, to a block or to the message.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Delta<'e> {
    #[serde(borrow, rename = "type", deserialize_with = "text")]
    pub(super) kind: Cow<'e, str>,
    #[serde(borrow, deserialize_with = "text")]
    pub(super) text: Cow<'e, str>,
    #[serde(borrow, deserialize_with = "text")]
    pub(super) thinking: Cow<'e, str>,
    #[serde(borrow, deserialize_with = "text")]
    pub(super) signature: Cow<'e, str>,
    #[serde(borrow, deserialize_with = "text")]
    pub(super) partial_json: Cow<'e, str>,
    #[serde(borrow, deserialize_with = "text")]
    pub(super) stop_reason: Cow<'e, str>,
    #[serde(borrow)]
    pub(super) stop_details: MessagesField<'e>,
}

/// The fields of a block that mean anything to us.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct BlockFields<'e> {
    #[serde(borrow, rename = "type", deserialize_with = "text")]
    pub(super) kind: Cow<'e, str>,
    #[serde(borrow, deserialize_with = "text")]
    pub(super) text: Cow<'e, str>,
    #[serde(borrow, deserialize_with = "text")]
    pub(super) thinking: Cow<'e, str>,
    #[serde(borrow, deserialize_with = "text")]
    pub(super) signature: Cow<'e, str>,
    #[serde(borrow, deserialize_with = "text")]
    pub(super) id: Cow<'e, str>,
    #[serde(borrow, deserialize_with = "text")]
    pub(super) name: Cow<'e, str>,
    #[serde(borrow)]
    pub(super) input: MessagesField<'e>,
}

impl<'e> MessagesEvent<'e> {
    /// The blocks of a whole reply, each as it came; a text alone, or one block, is a list of it. `None` where it is none.
    pub(super) fn blocks(&self) -> Option<Vec<Cow<'e, RawValue>>> {
        let content = self.content?;
        let text = content.get();
        if text.starts_with('[') {
            let blocks: Vec<&RawValue> = serde_json::from_str(text).unwrap_or_default();
            return Some(blocks.into_iter().map(Cow::Borrowed).collect());
        }
        let texts = text.starts_with('"').then(|| format!("{{\"type\":\"text\",\"text\":{text}}}"));
        match texts.and_then(|block| RawValue::from_string(block).ok()) {
            Some(block) => Some(vec![Cow::Owned(block)]),
            None => text.starts_with('{').then(|| vec![Cow::Borrowed(content)]),
        }
    }
}

impl<'e> BlockFields<'e> {
    pub(super) fn read(block: &'e RawValue) -> BlockFields<'e> {
        object(block.get()).unwrap_or_default()
    }

    pub(super) fn is_thinking(&self) -> bool {
        matches!(&*self.kind, "thinking" | "redacted_thinking")
    }

    /// An empty text is refused.
    pub(super) fn is_blank(&self) -> bool {
        self.kind == "text" && self.text.trim().is_empty()
    }
}

/// The fields of an object that have a value.
pub(super) fn map(field: MessagesField<'_>) -> Map<String, Value> {
    let map = field.and_then(|field| serde_json::from_str::<Map<String, Value>>(field.get()).ok());
    let mut map = map.unwrap_or_default();
    map.retain(|_, value| !value.is_null());
    map
}

/// The tokens that the fields of a usage tell; `None` where they tell of none.
pub(super) fn tokens(usage: &Map<String, Value>) -> Option<TokenUsage> {
    read::<WireUsage>(&serde_json::to_string(usage).ok()?)?.tokens_beside_cache()
}
