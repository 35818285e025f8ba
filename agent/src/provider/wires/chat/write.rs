//! A neutral request → the body of a chat completion request.
//!
//! Apart because it is pure and its bytes matter: two consecutive requests of a run have all but their end in common,
//! so that the endpoint's prompt cache hits. Hence what changes from turn to turn stands after the messages.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::native::ChatNative;
use crate::provider::dialect::{Cache, Echo, Effort, ReasoningField};
use crate::provider::fields::{Fields, raw, raw_value};
use crate::provider::message::{Message, Request, Speaker, ToolCall, ToolDeclaration};
use crate::provider::wires::arguments::arguments;
use crate::provider::wires::written::Written;
use crate::provider::wires::{CACHE_MARK, Outgoing, RequestTarget, marked, tool_choice};

/// What the model is said to have said where it must speak and did not: endpoints of one vendor refuse a user's message
/// behind the results of calls.
const ACKNOWLEDGED: &str = "I have read the results.";

/// Stands for a signature that there is none of (documented for Gemini and Vertex).
const NO_SIGNATURE: &str = "skip_thought_signature_validator";

#[derive(Serialize)]
struct WireMessage<'r> {
    role: &'static str,
    content: ChatContent<'r>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_content: Option<&'r str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<&'r str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_details: Option<&'r RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    extra_content: Option<&'r RawValue>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<WireCall<'r>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<Cow<'r, str>>,
}

/// A message's content: a text or null, or parts.
#[derive(Serialize)]
#[serde(untagged)]
enum ChatContent<'r> {
    Text(Option<&'r str>),
    Parts(Box<RawValue>),
}

#[derive(Serialize)]
struct WireCall<'r> {
    id: Cow<'r, str>,
    r#type: &'static str,
    function: WireFunction<'r>,
    #[serde(skip_serializing_if = "Option::is_none")]
    extra_content: Option<Cow<'r, RawValue>>,
}

#[derive(Serialize)]
struct WireFunction<'r> {
    name: &'r str,
    arguments: Cow<'r, str>,
}

/// The request as an endpoint of chat completions takes it.
pub(in crate::provider) fn write(
    request: &Request<'_>,
    target: &RequestTarget<'_>,
    written: &mut Written,
) -> Outgoing {
    let dialect = target.dialect;
    let mut fields = Fields::default();
    fields.push("model", request.model);
    fields.push_some("temperature", target.temperature(request).as_ref());
    fields.merge(&target.fields());
    if let Some(effort) = request.sampling.reasoning_effort.as_deref() {
        fields.merge(&self::effort(effort, dialect.effort));
    }
    if request.sampling.json_object {
        fields.push("response_format", &json!({ "type": "json_object" }));
    }
    fields.push_some("prompt_cache_key", target.prompt_cache_key());
    let marks = dialect.cache == Cache::Marks;
    let tools = tools(request.tools, marks);
    fields.push_some("tools", (!request.tools.is_empty()).then_some(&tools));
    fields.push("messages", &messages(request, target, written));
    fields.push_some("tool_choice", tool_choice(request));
    fields.push("stream", &target.stream);
    fields.push_some("stream_options", target.stream.then(|| json!({ "include_usage": true })).as_ref());
    let never = target.fields().into_iter().filter(|(_, value)| value.is_null()).collect();
    fields.merge(&never);
    Outgoing { fields, headers: target.headers() }
}

/// The fields that say how much the model is to think.
fn effort(effort: &str, how: Effort) -> Map<String, Value> {
    let none = matches!(effort, "none" | "off");
    let fields = match how {
        Effort::Reasoning => json!({ "reasoning": { "effort": effort } }),
        Effort::Thinking if none => json!({ "thinking": { "type": "disabled", "clear_thinking": null } }),
        Effort::EnableThinking => json!({ "enable_thinking": !none }),
        Effort::Plain | Effort::Thinking => json!({ "reasoning_effort": effort }),
    };
    fields.as_object().cloned().unwrap_or_default()
}

/// The messages as one JSON text.
fn messages(request: &Request<'_>, target: &RequestTarget<'_>, written: &mut Written) -> Box<RawValue> {
    let messages = request.messages;
    let parts = written.of(messages, target, |message| vec![raw(&self::message(message, target, false))]);
    let mut list: Vec<&RawValue> = parts.iter().flatten().map(AsRef::as_ref).collect();
    let system = messages.iter().position(|message| message.role == Speaker::System);
    let marks = target.dialect.cache == Cache::Marks;
    let ends = marked(messages).into_iter().chain([system]).flatten().filter(|_| marks);
    let marked: Vec<(usize, Box<RawValue>)> =
        ends.map(|at| (at, raw(&self::message(&messages[at], target, true)))).collect();
    marked.iter().for_each(|(at, message)| list[*at] = message);
    let acknowledged = raw_value(json!({ "role": "assistant", "content": ACKNOWLEDGED }));
    if target.dialect.answers_results {
        let speaks = |at: &usize| {
            messages[*at].role == Speaker::User && *at > 0 && messages[*at - 1].role == Speaker::Tool
        };
        (0..messages.len()).rev().filter(speaks).for_each(|at| list.insert(at, &acknowledged));
    }
    raw(&list)
}

/// The tools as they are declared; the last one of a list that is to be cached has
/// the mark.
fn tools(tools: &[ToolDeclaration], marks: bool) -> Box<RawValue> {
    let mut list: Vec<Value> = tools.iter().map(tool).collect();
    if let Some(last) = list.last_mut().filter(|_| marks) {
        last["cache_control"] = json!({ "type": "ephemeral" });
    }
    raw_value(Value::from(list))
}

fn tool(tool: &ToolDeclaration) -> Value {
    let function = json!({ "name": tool.name, "description": tool.description, "parameters": tool.schema() });
    json!({ "type": "function", "function": function })
}

fn message<'r>(message: &'r Message, target: &RequestTarget<'_>, marked: bool) -> WireMessage<'r> {
    let dialect = target.dialect;
    let has_calls = !message.tool_calls.is_empty();
    let native = message
        .native_of(target.origin)
        .map(|native| ChatNative::borrowed(&native.value))
        .unwrap_or_default();
    let field = native.reasoning_field.unwrap_or(dialect.reasoning_field);
    let echoed = match dialect.echo {
        Echo::Never => false,
        Echo::WithToolCalls => has_calls,
        Echo::Always => message.role == Speaker::Assistant,
    };
    let details = native.reasoning_details.filter(|_| dialect.echoes_native);
    let thought = message.reasoning.as_deref().filter(|text| !text.is_empty());
    let reasoning = (echoed && details.is_none()).then(|| thought.unwrap_or(dialect.blank));
    let in_field = |wanted: ReasoningField| reasoning.filter(|_| field == wanted);
    // A part of the content came from an endpoint that wants it there.
    let part = thought.filter(|_| field == ReasoningField::ContentPart && dialect.echoes_native);
    WireMessage {
        role: message.role.as_str(),
        content: content(message, part, marked),
        reasoning_content: in_field(ReasoningField::ReasoningContent),
        reasoning: in_field(ReasoningField::Reasoning),
        reasoning_details: details,
        extra_content: native.extra_content.filter(|_| dialect.echoes_native),
        tool_calls: calls(message, target, &native),
        tool_call_id: message.tool_call_id.as_deref().map(|id| dialect.call_ids.fit(id)),
    }
}

/// Beside tool calls nothing is null; alone it is the empty text, since many refuse null there.
fn content<'r>(message: &'r Message, thinking: Option<&str>, marked: bool) -> ChatContent<'r> {
    let text = message.content.as_str();
    let is_null = text.is_empty() && !message.tool_calls.is_empty();
    match thinking {
        Some(thinking) => {
            let thinking = json!({ "type": "thinking", "thinking": [{ "type": "text", "text": thinking }] });
            let text = (!text.is_empty()).then(|| json!({ "type": "text", "text": text }));
            ChatContent::Parts(raw_value([Some(thinking), text].into_iter().flatten().collect()))
        }
        None if marked && !text.trim().is_empty() => {
            let text = serde_json::to_string(text).unwrap_or_default();
            let parts = format!("[{{\"type\":\"text\",\"text\":{text},{CACHE_MARK}}}]");
            ChatContent::Parts(RawValue::from_string(parts).unwrap_or_else(|_| raw(text.as_str())))
        }
        None => ChatContent::Text((!is_null).then_some(text)),
    }
}

fn calls<'r>(message: &'r Message, target: &RequestTarget<'_>, native: &ChatNative<'r>) -> Vec<WireCall<'r>> {
    let dialect = target.dialect;
    let extra = |at: usize| native.calls.get(at).copied().flatten().filter(|_| dialect.echoes_native);
    let unsigned = dialect.signatures && (0..message.tool_calls.len()).all(|at| extra(at).is_none());
    let call = |(at, call): (usize, &'r ToolCall)| {
        let stand_in = (unsigned && at == 0).then(|| Cow::Owned(no_signature(&target.origin.host)));
        WireCall {
            id: dialect.call_ids.fit(&call.id),
            r#type: "function",
            function: WireFunction { name: &call.name, arguments: arguments(&call.arguments) },
            extra_content: extra(at).map(Cow::Borrowed).or(stand_in),
        }
    };
    message.tool_calls.iter().enumerate().map(call).collect()
}

/// What stands for a signature that cannot exist: the call was made by another model, or by ourselves.
fn no_signature(host: &str) -> Box<RawValue> {
    let vendor = if host.contains("aiplatform") { "vertex" } else { "google" };
    raw(&json!({ vendor: { "thought_signature": NO_SIGNATURE } }))
}

#[cfg(test)]
#[path = "write_tests.rs"]
mod tests;
