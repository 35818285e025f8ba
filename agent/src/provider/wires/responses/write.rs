//! A neutral request → the body of a request.
//!
//! Apart because it is pure and its bytes matter: two consecutive requests of a run have all but their end in common,
//! so that the endpoint's prompt cache hits. Hence what changes from turn to turn stands after the input.

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use uwf_store::json::sorted;

use super::event::{Item, ItemKind};
use crate::provider::call_ids::CallIds;
use crate::provider::fields::{Fields, raw};
use crate::provider::message::{Message, Request, Speaker, ToolDeclaration};
use crate::provider::wires::arguments::arguments;
use crate::provider::wires::written::{Written, WrittenParts};
use crate::provider::wires::{Outgoing, RequestTarget, tool_choice};

/// An item of the input in our words.
#[derive(Serialize)]
#[serde(untagged)]
enum InputItem<'r> {
    Rules { role: &'static str, content: &'r str },
    // The type is optional by the format, and llama.cpp knows no message of the model without it.
    Message { r#type: &'static str, role: &'static str, content: [TextPart<'r>; 1] },
    Call { r#type: &'static str, call_id: Cow<'r, str>, name: &'r str, arguments: Cow<'r, str> },
    Output { r#type: &'static str, call_id: Cow<'r, str>, output: &'r str },
}

#[derive(Serialize)]
struct TextPart<'r> {
    r#type: &'static str,
    text: &'r str,
}

/// The request as an endpoint of Responses takes it.
pub(in crate::provider) fn write(
    request: &Request<'_>,
    target: &RequestTarget<'_>,
    written: &mut Written,
) -> Outgoing {
    let mut fields = Fields::default();
    fields.push("model", request.model);
    fields.push_some("temperature", target.temperature(request).as_ref());
    fields.merge(&target.fields());
    if let Some(effort) = request.sampling.reasoning_effort.as_deref() {
        let reasoning = json!({ "reasoning": reasoning(effort) });
        reasoning.as_object().into_iter().for_each(|reasoning| fields.merge(reasoning));
    }
    // Nothing is kept there, so that what was thought must come here and go back.
    fields.push("include", &["reasoning.encrypted_content"]);
    fields.push("store", &false);
    fields.push_some("prompt_cache_key", target.prompt_cache_key());
    if request.sampling.json_object {
        fields.push("text", &json!({ "format": { "type": "json_object" } }));
    }
    let tools: Vec<Value> = request.tools.iter().map(tool).collect();
    fields.push_some("tools", (!tools.is_empty()).then_some(&tools));
    fields.push("input", &input(request.messages, target, written));
    fields.push_some("tool_choice", tool_choice(request));
    fields.push("stream", &target.stream);
    Outgoing { fields, headers: target.headers() }
}

fn reasoning(effort: &str) -> Value {
    match effort {
        "none" | "off" => json!({ "effort": "none" }),
        effort => json!({ "effort": effort, "summary": "auto" }),
    }
}

fn tool(tool: &ToolDeclaration) -> Value {
    sorted(json!({
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.schema(),
        "strict": false,
    }))
}

/// The input as one JSON text.
fn input(messages: &[Message], target: &RequestTarget<'_>, written: &mut Written) -> Box<RawValue> {
    let odd = odd_ids(messages, target);
    let parts = written.of(messages, target, |message| items(message, target, &odd));
    let list: Vec<&RawValue> = parts.iter().flatten().map(AsRef::as_ref).collect();
    raw(&list)
}

/// The ids in items that go back as they came, where they are not as we would write them: their outputs have the same.
fn odd_ids<'r>(messages: &'r [Message], target: &RequestTarget<'_>) -> BTreeSet<&'r str> {
    let is_odd = |id: &str| *fit(id) != *id;
    let has_odd = |message: &&Message| message.tool_calls.iter().any(|call| is_odd(&call.id));
    let turns = messages.iter().filter(has_odd).filter(|message| verbatim(message, target).is_some());
    turns
        .flat_map(|message| &message.tool_calls)
        .map(|call| call.id.as_str())
        .filter(|id| is_odd(id))
        .collect()
}

fn fit(id: &str) -> Cow<'_, str> {
    CallIds::Words.fit(id)
}

/// The items of one message; none where it says nothing.
fn items(message: &Message, target: &RequestTarget<'_>, odd: &BTreeSet<&str>) -> WrittenParts {
    let text = message.content.as_str();
    let said = |item: InputItem<'_>| vec![raw(&item)];
    let in_part = |role, kind| InputItem::Message {
        r#type: "message",
        role,
        content: [TextPart { r#type: kind, text }],
    };
    match message.role {
        Speaker::Tool => {
            let id = message.tool_call_id.as_deref().unwrap_or_default();
            let call_id = if odd.contains(id) { Cow::Borrowed(id) } else { fit(id) };
            said(InputItem::Output { r#type: "function_call_output", call_id, output: text })
        }
        Speaker::Assistant => verbatim(message, target).unwrap_or_else(|| {
            let text = (!text.is_empty()).then(|| raw(&in_part("assistant", "output_text")));
            text.into_iter().chain(calls(message)).collect()
        }),
        _ if text.is_empty() => WrittenParts::new(),
        Speaker::System => {
            let role = if target.dialect.developer_role { "developer" } else { "system" };
            said(InputItem::Rules { role, content: text })
        }
        Speaker::User => said(in_part("user", "input_text")),
    }
}

/// The calls of a turn without their ids as items: these belong to a reasoning that does not go back.
fn calls(message: &Message) -> impl Iterator<Item = Box<RawValue>> {
    message.tool_calls.iter().map(|call| {
        raw(&InputItem::Call {
            r#type: "function_call",
            call_id: fit(&call.id),
            name: &call.name,
            arguments: arguments(&call.arguments),
        })
    })
}

/// The items of a turn as the endpoint sent them. `None` where another said it, or where the calls in it are not those
/// of the turn: each must have its output, and some were not run, or are answered by an id of ours.
fn verbatim(message: &Message, target: &RequestTarget<'_>) -> Option<WrittenParts> {
    let native = message.native_of(target.origin).filter(|_| target.dialect.echoes_native)?;
    let items: WrittenParts = serde_json::from_str(&native.value).ok()?;
    let read: Vec<Item> = items.iter().map(|item| Item::read(item.get())).collect::<Option<_>>()?;
    let ids = read.iter().filter(|item| item.kind() == ItemKind::Call).map(|item| &item.call_id);
    let same = message.tool_calls.iter().map(|call| &call.id).eq(ids);
    (same && !items.is_empty()).then_some(items)
}

#[cfg(test)]
#[path = "write_tests.rs"]
mod tests;
