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
use crate::provider::wires::cost::Cost;
use crate::provider::wires::lenient::{count, lenient, object};

/// A field as it came.
pub(super) type MessagesField<'e> = Option<&'e RawValue>;

/// An event, or a whole reply.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct MessagesEvent<'e> {
    #[serde(borrow)]
    r#type: MessagesField<'e>,
    #[serde(borrow)]
    index: MessagesField<'e>,
    #[serde(borrow)]
    delta: MessagesField<'e>,
    #[serde(borrow)]
    pub(super) content_block: MessagesField<'e>,
    #[serde(borrow)]
    pub(super) message: MessagesField<'e>,
    #[serde(borrow)]
    pub(super) usage: MessagesField<'e>,
    #[serde(borrow)]
    content: MessagesField<'e>,
    #[serde(borrow)]
    pub(super) stop_reason: MessagesField<'e>,
    #[serde(borrow)]
    pub(super) stop_details: MessagesField<'e>,
    #[serde(borrow)]
    pub(super) error: MessagesField<'e>,
}

/// What an event adds, to a block or to the message.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Delta<'e> {
    #[serde(borrow)]
    pub(super) r#type: MessagesField<'e>,
    #[serde(borrow)]
    pub(super) text: MessagesField<'e>,
    #[serde(borrow)]
    pub(super) thinking: MessagesField<'e>,
    #[serde(borrow)]
    pub(super) signature: MessagesField<'e>,
    #[serde(borrow)]
    pub(super) partial_json: MessagesField<'e>,
    #[serde(borrow)]
    pub(super) stop_reason: MessagesField<'e>,
    #[serde(borrow)]
    pub(super) stop_details: MessagesField<'e>,
}

/// The fields of a block that mean anything to us.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct BlockFields<'e> {
    #[serde(borrow)]
    r#type: MessagesField<'e>,
    #[serde(borrow)]
    pub(super) text: MessagesField<'e>,
    #[serde(borrow)]
    pub(super) thinking: MessagesField<'e>,
    #[serde(borrow)]
    pub(super) signature: MessagesField<'e>,
    #[serde(borrow)]
    pub(super) id: MessagesField<'e>,
    #[serde(borrow)]
    pub(super) name: MessagesField<'e>,
    #[serde(borrow)]
    pub(super) input: MessagesField<'e>,
}

impl<'e> MessagesEvent<'e> {
    /// The fields of an object. `None` where it is none, or a key stands twice.
    pub(super) fn read(event: &'e str) -> Option<MessagesEvent<'e>> {
        object(event)
    }

    /// The word for what it is; empty where there is none.
    pub(super) fn kind(&self) -> &'e str {
        word(self.r#type)
    }

    pub(super) fn index(&self) -> Option<u64> {
        self.index?.get().parse().ok()
    }

    pub(super) fn delta(&self) -> Delta<'e> {
        self.delta.and_then(|delta| object(delta.get())).unwrap_or_default()
    }

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

impl<'e> Delta<'e> {
    pub(super) fn kind(&self) -> &'e str {
        word(self.r#type)
    }
}

impl<'e> BlockFields<'e> {
    pub(super) fn read(block: &'e RawValue) -> BlockFields<'e> {
        object(block.get()).unwrap_or_default()
    }

    pub(super) fn kind(&self) -> &'e str {
        word(self.r#type)
    }
}

/// The event with each key once: where one stands twice, the last counts.
pub(super) fn unique(event: &str) -> String {
    serde_json::from_str::<Value>(event).unwrap_or_default().to_string()
}

/// A word: a text without anything to escape.
fn word(field: MessagesField<'_>) -> &str {
    let word = field.and_then(|field| field.get().strip_prefix('"')?.strip_suffix('"'));
    word.unwrap_or_default()
}

/// A text; empty where it is of another type.
pub(super) fn text(field: MessagesField<'_>) -> Cow<'_, str> {
    let Some(text) = field.map(RawValue::get).filter(|text| text.starts_with('"')) else {
        return Cow::Borrowed("");
    };
    match serde_json::from_str::<&str>(text) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(serde_json::from_str(text).unwrap_or_default()),
    }
}

/// The fields of an object that have a value.
pub(super) fn map(field: MessagesField<'_>) -> Map<String, Value> {
    let map = field.and_then(|field| serde_json::from_str::<Map<String, Value>>(field.get()).ok());
    let mut map = map.unwrap_or_default();
    map.retain(|_, value| !value.is_null());
    map
}

/// Tokens as this wire counts them: what was read from the cache, or written to it, is no part of the input.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct MessagesUsage {
    #[serde(deserialize_with = "count")]
    input_tokens: Option<u64>,
    #[serde(deserialize_with = "count")]
    output_tokens: Option<u64>,
    #[serde(deserialize_with = "count")]
    cache_read_input_tokens: Option<u64>,
    #[serde(deserialize_with = "count")]
    cache_creation_input_tokens: Option<u64>,
    #[serde(deserialize_with = "lenient")]
    output_tokens_details: MessagesUsageDetails,
    #[serde(flatten)]
    cost: Cost,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct MessagesUsageDetails {
    #[serde(deserialize_with = "count")]
    thinking_tokens: Option<u64>,
}

/// The tokens that the fields of a usage tell; `None` where they tell of none.
pub(super) fn tokens(usage: &Map<String, Value>) -> Option<TokenUsage> {
    let usage: MessagesUsage = serde_json::from_str(&serde_json::to_string(usage).ok()?).ok()?;
    let cached = usage.cache_read_input_tokens.unwrap_or(0);
    let written = usage.cache_creation_input_tokens.unwrap_or(0);
    (usage.input_tokens.is_some() || usage.output_tokens.is_some()).then(|| TokenUsage {
        input_tokens: usage.input_tokens.unwrap_or(0) + cached + written,
        output_tokens: usage.output_tokens.unwrap_or(0),
        cached_tokens: cached,
        written_tokens: written,
        reasoning_tokens: usage.output_tokens_details.thinking_tokens.unwrap_or(0),
        cost_usd: usage.cost.usd(),
    })
}
