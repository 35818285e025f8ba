//! The other side of the protocol: a request as an endpoint reads it, a completion as an endpoint streams it.
//!
//! Apart because only the mock server needs it; it is here because the vendor's field names are.

use serde_json::{Value, json};

use super::reply;
use crate::provider::message::{
    Completion, Message, MessageKind, Request, Sampling, Speaker, ToolCall, ToolChoice, ToolDeclaration,
};

/// Characters of text, and of arguments, in one chunk: few, so that clients must put them together.
const TEXT: usize = 12;
const ARGUMENTS: usize = 7;

/// A request as it arrived.
pub(crate) struct ServedRequest {
    messages: Vec<Message>,
    tools: Vec<ToolDeclaration>,
    tool_choice: ToolChoice,
    model: String,
    sampling: Sampling,
    pub(crate) stream: bool,
    /// Whether a stream is to end with a chunk of usage.
    pub(crate) stream_usage: bool,
}

impl ServedRequest {
    /// Reads the body of a request; `Err` says what an endpoint would.
    pub(crate) fn read(body: &[u8]) -> Result<ServedRequest, String> {
        let body: Value =
            serde_json::from_slice(body).map_err(|error| format!("the body is no JSON: {error}"))?;
        let messages = body["messages"].as_array().filter(|messages| !messages.is_empty());
        let messages = messages.ok_or("`messages` must be a list that is not empty")?;
        let tools = body["tools"].as_array().map(Vec::as_slice).unwrap_or_default();
        Ok(ServedRequest {
            messages: messages.iter().map(message).collect::<Result<_, _>>()?,
            tools: tools.iter().map(tool).collect(),
            tool_choice: if body["tool_choice"] == "none" { ToolChoice::None } else { ToolChoice::Auto },
            model: body["model"].as_str().unwrap_or("mock").to_owned(),
            sampling: Sampling::default(),
            stream: body["stream"] == true,
            stream_usage: body["stream_options"]["include_usage"] == true,
        })
    }

    /// In neutral words.
    pub(crate) fn request(&self) -> Request<'_> {
        Request {
            messages: &self.messages,
            tools: &self.tools,
            tool_choice: self.tool_choice,
            model: &self.model,
            sampling: &self.sampling,
        }
    }
}

fn message(value: &Value) -> Result<Message, String> {
    let role = match value["role"].as_str() {
        Some("system" | "developer") => Speaker::System,
        Some("user") => Speaker::User,
        Some("assistant") => Speaker::Assistant,
        Some("tool") => Speaker::Tool,
        _ => return Err(format!("a message has no role that is known: {value}")),
    };
    let content = match &value["content"] {
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
        content => content.as_str().unwrap_or_default().to_owned(),
    };
    let calls = value["tool_calls"].as_array().map(Vec::as_slice).unwrap_or_default();
    Ok(Message {
        tool_calls: calls.iter().map(call).collect(),
        tool_call_id: value["tool_call_id"].as_str().map(str::to_owned),
        ..Message::text(role, MessageKind::Opening, content)
    })
}

fn call(value: &Value) -> ToolCall {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let function = &value["function"];
    ToolCall {
        id: text(&value["id"]),
        name: text(&function["name"]),
        arguments: text(&function["arguments"]),
    }
}

fn tool(value: &Value) -> ToolDeclaration {
    let function = &value["function"];
    ToolDeclaration {
        name: function["name"].as_str().unwrap_or_default().to_owned(),
        description: function["description"].as_str().unwrap_or_default().to_owned(),
        parameters: function["parameters"].clone(),
    }
}

/// The chunks of a completion, without the `[DONE]` at the end; each repeats what is about the reply as a whole.
pub(crate) fn chunks(completion: &Completion, with_usage: bool) -> Vec<Value> {
    let mut head = completion.raw.as_object().cloned().unwrap_or_default();
    head.remove("usage");
    head.insert("object".to_owned(), json!("chat.completion.chunk"));
    let chunk = |choices: Value| {
        let mut chunk = head.clone();
        chunk.insert("choices".to_owned(), choices);
        chunk
    };
    let choice = |delta: Value, finish: Value| {
        Value::Object(chunk(json!([{ "index": 0, "delta": delta, "finish_reason": finish }])))
    };
    let mut chunks: Vec<Value> =
        deltas(completion).into_iter().map(|delta| choice(delta, Value::Null)).collect();
    chunks.push(choice(json!({}), json!(completion.finish_reason)));
    if let Some(usage) = completion.usage.as_ref().filter(|_| with_usage) {
        let mut last = chunk(json!([]));
        last.insert("usage".to_owned(), reply::usage(usage));
        chunks.push(Value::Object(last));
    }
    chunks
}

/// Whether the chunk says why the model stopped.
pub(crate) fn is_last(chunk: &Value) -> bool {
    !chunk["choices"][0]["finish_reason"].is_null()
}

/// What is said in the chunks before the last, piece by piece.
fn deltas(completion: &Completion) -> Vec<Value> {
    let reasoning = completion.reasoning.as_deref().unwrap_or_default();
    let mut deltas = vec![json!({ "role": "assistant", "content": "" })];
    deltas.extend(pieces(reasoning, TEXT).map(|piece| json!({ "reasoning_content": piece })));
    deltas.extend(pieces(&completion.content, TEXT).map(|piece| json!({ "content": piece })));
    deltas.extend(completion.tool_calls.iter().enumerate().flat_map(call_deltas));
    deltas
}

/// A call: first its id and name, then its arguments piece by piece.
fn call_deltas((index, call): (usize, &ToolCall)) -> Vec<Value> {
    let delta = |piece: Value| json!({ "tool_calls": [piece] });
    let function = json!({ "name": call.name, "arguments": "" });
    let first = json!({ "index": index, "id": call.id, "type": "function", "function": function });
    let rest = pieces(&call.arguments, ARGUMENTS)
        .map(|piece| delta(json!({ "index": index, "function": { "arguments": piece } })));
    std::iter::once(delta(first)).chain(rest).collect()
}

/// The text in pieces of `size` characters.
fn pieces(text: &str, size: usize) -> impl Iterator<Item = String> {
    let characters: Vec<char> = text.chars().collect();
    let pieces: Vec<String> = characters.chunks(size).map(|piece| piece.iter().collect()).collect();
    pieces.into_iter()
}

/// An error as endpoints word it.
pub(crate) fn error(message: &str, code: Option<&str>) -> Value {
    json!({ "error": { "message": message, "type": "mock_error", "param": null, "code": code } })
}

/// The one model there is.
pub(crate) fn models() -> Value {
    let model = json!({ "id": "mock", "object": "model", "created": 0, "owned_by": "mock" });
    json!({ "object": "list", "data": [model] })
}
