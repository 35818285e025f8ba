//! A neutral request → the body of a chat completion request.
//!
//! Apart because it is pure and its bytes matter: two consecutive requests of a run have all but their end in common,
//! so that the endpoint's prompt cache hits. Hence what changes from turn to turn stands after the messages.

use std::borrow::Cow;

use serde::Serialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::provider::message::{Message, Request, Speaker, ToolCall, ToolChoice, ToolDeclaration};

/// What an endpoint wants to see or not to see; learnt as we go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::provider) struct Dialect {
    /// Whether to ask for a stream.
    pub(in crate::provider) stream: bool,
    /// Whether to ask for usage at the end of a stream.
    pub(in crate::provider) stream_usage: bool,
    /// Which reasoning goes back.
    pub(in crate::provider) echo: Echo,
    /// The field it goes back in: the one it came in.
    pub(in crate::provider) reasoning_field: ReasoningField,
}

/// Which of the model's reasoning goes back to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::provider) enum Echo {
    Never,
    WithToolCalls,
    Always,
}

/// The two names endpoints have for reasoning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::provider) enum ReasoningField {
    #[default]
    ReasoningContent,
    Reasoning,
}

/// The body, borrowing the request and its messages.
#[derive(Serialize)]
pub(in crate::provider) struct Body<'r> {
    model: &'r str,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<&'r str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_format: Option<ResponseFormat>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Value>,
    messages: &'r [Box<RawValue>],
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<&'static str>,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<StreamOptions>,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
struct ResponseFormat {
    r#type: &'static str,
}

#[derive(Serialize)]
struct WireMessage<'r> {
    role: &'static str,
    content: Option<&'r str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_content: Option<&'r str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<&'r str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<WireCall<'r>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<&'r str>,
}

#[derive(Serialize)]
struct WireCall<'r> {
    id: &'r str,
    r#type: &'static str,
    function: WireFunction<'r>,
}

#[derive(Serialize)]
struct WireFunction<'r> {
    name: &'r str,
    arguments: Cow<'r, str>,
}

impl<'r> Body<'r> {
    /// `messages` are the request's, written.
    pub(in crate::provider) fn new(
        request: &Request<'r>,
        dialect: Dialect,
        messages: &'r [Box<RawValue>],
    ) -> Body<'r> {
        let choice = match request.tool_choice {
            ToolChoice::Auto => "auto",
            ToolChoice::None => "none",
        };
        let streamed_usage = dialect.stream && dialect.stream_usage;
        Body {
            model: request.model,
            temperature: request.sampling.temperature,
            reasoning_effort: request.sampling.reasoning_effort.as_deref(),
            response_format: request.sampling.json_object.then_some(ResponseFormat { r#type: "json_object" }),
            tools: request.tools.iter().map(tool).collect(),
            messages,
            tool_choice: (!request.tools.is_empty()).then_some(choice),
            stream: dialect.stream,
            stream_options: streamed_usage.then_some(StreamOptions { include_usage: true }),
        }
    }
}

/// The messages of the last request, written. A long conversation differs from the last one at its end alone, and is
/// compared much faster than it is written.
#[derive(Debug, Default)]
pub(in crate::provider) struct Written {
    said: Vec<Message>,
    json: Vec<Box<RawValue>>,
    dialect: Option<Dialect>,
}

impl Written {
    /// These messages, written.
    pub(in crate::provider) fn of(&mut self, messages: &[Message], dialect: Dialect) -> &[Box<RawValue>] {
        let alike = self.said.iter().zip(messages).take_while(|(was, is)| was == is).count();
        let kept = if self.dialect == Some(dialect) { alike } else { 0 };
        self.dialect = Some(dialect);
        self.said.truncate(kept);
        self.json.truncate(kept);
        for one in &messages[kept..] {
            let json = serde_json::value::to_raw_value(&message(one, dialect));
            self.json.push(json.expect("texts are always JSON"));
            self.said.push(one.clone());
        }
        &self.json
    }
}

/// Some endpoints refuse parameters without `properties` or `required`.
fn tool(tool: &ToolDeclaration) -> Value {
    let mut parameters = tool.parameters.clone();
    if let Value::Object(schema) = &mut parameters {
        schema.entry("type").or_insert_with(|| json!("object"));
        schema.entry("properties").or_insert_with(|| json!({}));
        schema.entry("required").or_insert_with(|| json!([]));
    }
    let function = json!({ "name": tool.name, "description": tool.description, "parameters": parameters });
    json!({ "type": "function", "function": function })
}

fn message(message: &Message, dialect: Dialect) -> WireMessage<'_> {
    let has_calls = !message.tool_calls.is_empty();
    let echoed = match dialect.echo {
        Echo::Never => false,
        Echo::WithToolCalls => has_calls,
        Echo::Always => message.role == Speaker::Assistant,
    };
    let reasoning = message.reasoning.as_deref().filter(|text| echoed && !text.is_empty());
    let (reasoning_content, reasoning) = match dialect.reasoning_field {
        ReasoningField::ReasoningContent => (reasoning, None),
        ReasoningField::Reasoning => (None, reasoning),
    };
    WireMessage {
        role: message.role.as_str(),
        // Beside tool calls nothing is null; alone it is the empty text, since many refuse null there.
        content: (!has_calls || !message.content.is_empty()).then_some(message.content.as_str()),
        reasoning_content,
        reasoning,
        tool_calls: message.tool_calls.iter().map(call).collect(),
        tool_call_id: message.tool_call_id.as_deref(),
    }
}

fn call(call: &ToolCall) -> WireCall<'_> {
    let function = WireFunction { name: &call.name, arguments: arguments(&call.arguments) };
    WireCall { id: &call.id, r#type: "function", function }
}

/// Arguments go back as they came. What is no JSON object goes back inside one: endpoints whose templates parse the
/// arguments refuse the whole conversation otherwise, and the tool message beside it says what was wrong.
fn arguments(text: &str) -> Cow<'_, str> {
    // Every call of a run passes here in every request: nothing is built of what is only checked.
    let is_object = text.trim_start().starts_with('{') && serde_json::from_str::<IgnoredAny>(text).is_ok();
    if is_object { Cow::Borrowed(text) } else { Cow::Owned(json!({ "invalid_json": text }).to_string()) }
}

#[cfg(test)]
#[path = "write_tests.rs"]
mod tests;
