//! What endpoints send, read leniently: a chunk of a stream and a whole reply are one shape here, and a field of
//! another type than expected counts as absent.
//!
//! Apart because it is the reading half of the vendor's field names; what the fields mean together is `assemble`'s.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::provider::message::TokenUsage;
use crate::provider::wires::lenient::{arguments, lenient, list, read};
use crate::provider::wires::usage::WireUsage;

/// A chunk, or a whole reply.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Chunk {
    #[serde(deserialize_with = "list")]
    pub(super) choices: Vec<ChatChoice>,
    #[serde(deserialize_with = "lenient")]
    usage: Option<WireUsage>,
    #[serde(deserialize_with = "lenient")]
    x_groq: Vendor,
    #[serde(deserialize_with = "lenient")]
    pub(super) model: Option<String>,
}

/// Where one vendor puts the usage of a stream.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Vendor {
    #[serde(deserialize_with = "lenient")]
    usage: Option<WireUsage>,
}

/// One choice; we ask for one.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ChatChoice {
    #[serde(deserialize_with = "lenient")]
    pub(super) index: Option<u64>,
    #[serde(deserialize_with = "lenient")]
    delta: Option<ChatDelta>,
    #[serde(deserialize_with = "lenient")]
    message: Option<ChatDelta>,
    #[serde(deserialize_with = "lenient")]
    pub(super) finish_reason: Option<String>,
    #[serde(deserialize_with = "lenient")]
    usage: Option<WireUsage>,
    /// An error of this choice alone.
    #[serde(deserialize_with = "lenient")]
    pub(super) error: Option<Value>,
}

/// What the model says: a piece in a stream, else all of it.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ChatDelta {
    #[serde(deserialize_with = "lenient")]
    content: Value,
    #[serde(deserialize_with = "lenient")]
    pub(super) reasoning_content: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub(super) reasoning: Option<String>,
    #[serde(deserialize_with = "lenient")]
    pub(super) refusal: Option<String>,
    #[serde(deserialize_with = "list")]
    pub(super) reasoning_details: Vec<Value>,
    #[serde(deserialize_with = "lenient")]
    pub(super) extra_content: Option<Box<RawValue>>,
    #[serde(deserialize_with = "list")]
    pub(super) tool_calls: Vec<CallPiece>,
}

/// A tool call, or a fragment of one.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct CallPiece {
    #[serde(deserialize_with = "lenient")]
    pub(super) index: Option<u64>,
    #[serde(deserialize_with = "lenient")]
    pub(super) id: String,
    #[serde(deserialize_with = "lenient")]
    pub(super) function: FunctionPiece,
    #[serde(deserialize_with = "lenient")]
    pub(super) extra_content: Option<Box<RawValue>>,
}

/// The function of a call.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct FunctionPiece {
    #[serde(deserialize_with = "lenient")]
    pub(super) name: String,
    #[serde(deserialize_with = "arguments")]
    pub(super) arguments: String,
}

impl Chunk {
    /// Never fails: what is no object is an empty chunk.
    pub(super) fn read(event: &str) -> Chunk {
        read(event).unwrap_or_default()
    }

    /// The tokens, where this chunk counts any.
    pub(super) fn usage(&self) -> Option<TokenUsage> {
        let of_choices = self.choices.iter().map(|choice| &choice.usage);
        let places = [&self.usage, &self.x_groq.usage].into_iter().chain(of_choices);
        places.flatten().find_map(WireUsage::prompt_and_completion)
    }
}

impl ChatChoice {
    /// What is said, in a stream or not; nothing where it is null or absent.
    pub(super) fn delta(&self) -> Option<&ChatDelta> {
        self.delta.as_ref().or(self.message.as_ref())
    }

    /// Whether this is the choice of a whole reply.
    pub(super) fn is_whole(&self) -> bool {
        self.delta.is_none() && self.message.is_some()
    }
}

impl ChatDelta {
    /// The text, and the thinking that some endpoints put among the parts of the content.
    pub(super) fn content(&self) -> (String, String) {
        let mut texts = (String::new(), String::new());
        match &self.content {
            Value::String(text) => texts.0.push_str(text),
            Value::Array(parts) => parts.iter().for_each(|part| read_part(part, &mut texts)),
            part => read_part(part, &mut texts),
        }
        texts
    }
}

/// A part of a content: `{"type": "text", "text": …}` or `{"type": "thinking", "thinking": [parts]}`.
fn read_part(part: &Value, texts: &mut (String, String)) {
    match part {
        Value::String(text) => texts.0.push_str(text),
        Value::Object(part) => {
            if let Some(Value::String(text)) = part.get("text") {
                texts.0.push_str(text);
            }
            match part.get("thinking") {
                Some(Value::String(text)) => texts.1.push_str(text),
                Some(Value::Array(parts)) => {
                    let texts_of = parts.iter().filter_map(|part| part.get("text")?.as_str());
                    texts_of.for_each(|text| texts.1.push_str(text));
                }
                _ => {}
            }
        }
        _ => {}
    }
}

impl CallPiece {
    /// A call that came in one piece, without index or id.
    pub(super) fn whole(name: &str, arguments: &str) -> CallPiece {
        let function = FunctionPiece { name: name.to_owned(), arguments: arguments.to_owned() };
        CallPiece { function, ..CallPiece::default() }
    }
}
