//! The neutral words of a conversation with a model: messages, tool calls, requests, completions.
//!
//! Apart because loop, journal, record and every provider share them; no field name of any vendor appears here
//! (those live in `wires` alone), and nothing here does I/O.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use uwf_store::json::sorted;

pub use uwf_engine::record::TokenUsage;

use super::wire::Wire;

/// Who speaks in a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Speaker {
    /// The rules of the role: first, once.
    System,
    /// The engine's side: task, nudges, warnings, corrections.
    User,
    /// The model.
    Assistant,
    /// The result of one tool call.
    Tool,
}

impl Speaker {
    /// The word that providers and the record use: `system`, `user`, `assistant` or `tool`.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Speaker::System => "system",
            Speaker::User => "user",
            Speaker::Assistant => "assistant",
            Speaker::Tool => "tool",
        }
    }
}

/// Why a message is in the conversation; kept in the record, never sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MessageKind {
    /// Said before the model's first turn.
    Opening,
    /// A turn of the model.
    Turn,
    /// The result of a tool call.
    Result,
    /// A text was no answer: what is missing.
    Nudge,
    /// A budget is nearly used up.
    Warning,
    /// A budget is used up: one last turn, without tools.
    Grace,
    /// An answer was not valid: the exact errors.
    Correction,
    /// The same call came again and again.
    Repeated,
    /// The conversation grew too long: the model is asked to sum up its work, and does.
    Summary,
    /// What the model summed up, in the place of all that.
    Recap,
    /// The run is over: what had to be taken back at its end.
    Closing,
    /// No answer was valid: another model is asked for its fields. No part of the conversation.
    Extract,
}

impl MessageKind {
    /// The word the record keeps.
    pub fn as_str(self) -> &'static str {
        match self {
            MessageKind::Opening => "opening",
            MessageKind::Turn => "turn",
            MessageKind::Result => "result",
            MessageKind::Nudge => "nudge",
            MessageKind::Warning => "warning",
            MessageKind::Grace => "grace",
            MessageKind::Correction => "correction",
            MessageKind::Repeated => "repeated",
            MessageKind::Summary => "summary",
            MessageKind::Recap => "recap",
            MessageKind::Closing => "closing",
            MessageKind::Extract => "extract",
        }
    }
}

/// A call of a tool, as the model asked for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Unique within the conversation; synthesised where the endpoint gives none.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// The arguments, JSON text exactly as sent (`{}` where nothing was sent).
    pub arguments: String,
}

/// Gives each call that has no id, or one that is taken, an id that is nowhere else in the conversation.
pub(crate) fn make_ids_unique(calls: &mut [ToolCall], conversation: &[Message]) {
    let mut number: usize = conversation.iter().map(|message| message.tool_calls.len()).sum();
    let is_taken = |id: &str, before: &[ToolCall]| {
        let earlier = conversation.iter().flat_map(|message| &message.tool_calls);
        earlier.chain(before).any(|other| other.id == id)
    };
    for index in 0..calls.len() {
        let (before, rest) = calls.split_at_mut(index);
        let call = &mut rest[0];
        while call.id.is_empty() || is_taken(&call.id, before) {
            // Nine alphanumeric characters: the strictest rule among endpoints.
            call.id = format!("call{number:05}");
            number += 1;
        }
    }
}

/// Who said something: what only the endpoint itself understands goes back to this very one alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelOrigin {
    /// The wire it was said on.
    pub wire: Wire,
    /// Host and port of the endpoint.
    pub host: String,
    /// The model's name as the endpoint knows it.
    pub model: String,
}

/// What an endpoint said, as it said it: signatures, encrypted reasoning, the order of blocks. Only the wire that read it
/// can write it again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Native {
    /// Who said it.
    #[serde(flatten)]
    pub origin: ModelOrigin,
    /// JSON text: the items (responses), the blocks (messages), or the fields that are echoed (chat). Kept as text so that
    /// it goes back byte for byte.
    pub value: String,
    /// Whether something before it is sent otherwise than when it was said: what is bound to its prefix is void then.
    #[serde(skip)]
    pub prefix_changed: bool,
}

/// One message, in the order of the conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Who speaks.
    pub role: Speaker,
    /// Why it is here.
    pub kind: MessageKind,
    /// The text; empty where there is none.
    pub content: String,
    /// What the model wants run; empty unless an assistant's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
    /// Which call a tool message answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
    /// What the model thought aloud, where the endpoint tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<String>,
    /// A turn of the model as its endpoint said it, where that is more than the fields above hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native: Option<Native>,
}

impl Message {
    /// What `origin` said, if this was said by it.
    pub(crate) fn native_of(&self, origin: &ModelOrigin) -> Option<&Native> {
        self.native.as_ref().filter(|native| native.origin == *origin)
    }

    /// A message of plain text.
    pub fn text(role: Speaker, kind: MessageKind, content: impl Into<String>) -> Message {
        Message {
            role,
            kind,
            content: content.into(),
            tool_calls: Vec::new(),
            tool_call_id: None,
            reasoning: None,
            native: None,
        }
    }

    /// Whether there is nothing in it that an endpoint would take.
    pub(crate) fn says_nothing(&self) -> bool {
        self.content.trim().is_empty() && self.tool_calls.is_empty()
    }

    /// The answer to the tool call `id`.
    pub fn result(id: &str, content: impl Into<String>) -> Message {
        Message {
            tool_call_id: Some(id.to_owned()),
            ..Message::text(Speaker::Tool, MessageKind::Result, content)
        }
    }
}

/// A tool as the model is told of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolDeclaration {
    /// The name the model calls.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// JSON Schema of the arguments.
    pub parameters: Value,
}

impl ToolDeclaration {
    /// The parameters with what some endpoints refuse to do without: `type`, `properties` and `required`.
    pub(crate) fn schema(&self) -> Value {
        let mut parameters = self.parameters.clone();
        if let Value::Object(schema) = &mut parameters {
            schema.entry("type").or_insert_with(|| json!("object"));
            schema.entry("properties").or_insert_with(|| json!({}));
            schema.entry("required").or_insert_with(|| json!([]));
        }
        sorted(parameters)
    }
}

/// Whether the model may call tools in this turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum ToolChoice {
    /// It may.
    Auto,
    /// It may not, though the tools stay declared (so that the cached prefix still matches).
    None,
}

/// How to sample; sent only where set.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Sampling {
    /// 0 to 2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// `low`, `medium`, `high`, or what the endpoint knows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_effort: Option<String>,
    /// The reply must be one JSON object.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub json_object: bool,
}

/// One call of the model: everything said so far, and what it may do.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Request<'a> {
    /// The conversation.
    pub messages: &'a [Message],
    /// The tools, in a stable order.
    pub tools: &'a [ToolDeclaration],
    /// Whether they may be called.
    pub tool_choice: ToolChoice,
    /// The model's name as the endpoint knows it.
    pub model: &'a str,
    /// How to sample.
    pub sampling: &'a Sampling,
}

impl Request<'_> {
    /// How many turns of the model it holds.
    pub(crate) fn turns(&self) -> usize {
        self.messages.iter().filter(|message| message.role == Speaker::Assistant).count()
    }
}

/// What the model answered.
#[doc(hidden)]
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Completion {
    /// The text; empty where there is none.
    pub content: String,
    /// What the model thought aloud, `None` when empty.
    pub reasoning: Option<String>,
    /// The tool calls in order.
    pub tool_calls: Vec<ToolCall>,
    /// The endpoint's word for why it stopped, kept as it came.
    pub finish_reason: Option<String>,
    /// What it cost, where told.
    pub usage: Option<TokenUsage>,
    /// The turn as the endpoint said it, where it must get that back.
    pub native: Option<Native>,
    /// The reply for the journal, without keys: the body, or the assembled stream.
    pub raw: Value,
}
