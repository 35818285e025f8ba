//! A message → its content blocks.
//!
//! Apart because a turn of the model goes back in one of two forms: block by block as this very endpoint said it, with
//! signatures and in its order, or in the neutral words.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::json;
use serde_json::value::RawValue;

use super::event::BlockFields;
use crate::provider::call_ids::CallIds;
use crate::provider::fields::raw;
use crate::provider::message::{Message, Speaker, ToolCall};
use crate::provider::wires::arguments::arguments;
use crate::provider::wires::lenient::object;
use crate::provider::wires::written::WrittenParts;
use crate::provider::wires::{CACHE_MARK, RequestTarget};

#[derive(Serialize)]
struct TextBlock<'r> {
    r#type: &'static str,
    text: &'r str,
}

#[derive(Serialize)]
struct ToolUse<'r> {
    r#type: &'static str,
    id: Cow<'r, str>,
    name: Cow<'r, str>,
    input: Box<RawValue>,
}

#[derive(Serialize)]
struct ToolResult<'r> {
    r#type: &'static str,
    tool_use_id: Cow<'r, str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<&'r str>,
}

/// The blocks of a message; none where it is a field of its own or says nothing. `messages` are those that it is among.
pub(super) fn blocks(message: &Message, messages: &[Message], target: &RequestTarget<'_>) -> WrittenParts {
    match message.role {
        Speaker::System => WrittenParts::new(),
        Speaker::User => text(&message.content).into_iter().collect(),
        Speaker::Tool => vec![result(message, messages, target)],
        Speaker::Assistant => native(message, target).unwrap_or_else(|| neutral(message, target)),
    }
}

/// A text as a block; none where it is blank.
pub(super) fn text(text: &str) -> Option<Box<RawValue>> {
    (!text.trim().is_empty()).then(|| raw(&TextBlock { r#type: "text", text }))
}

/// A block, or a tool, with the mark at its end.
pub(super) fn marked(block: &RawValue) -> Box<RawValue> {
    let open = block.get().strip_suffix('}').unwrap_or_default();
    RawValue::from_string(format!("{open},{CACHE_MARK}}}")).unwrap_or_else(|_| block.to_owned())
}

/// A turn as the endpoint said it. `None` where another said it, or where its calls are not those that were made: calls
/// that were not allowed have no results.
fn native(message: &Message, target: &RequestTarget<'_>) -> Option<WrittenParts> {
    let native = message.native_of(target.origin).filter(|_| target.dialect.echoes_native)?;
    let blocks: Vec<&RawValue> = serde_json::from_str(&native.value).ok()?;
    let heads: Vec<BlockFields<'_>> =
        blocks.iter().map(|block| object(block.get())).collect::<Option<_>>()?;
    let ids = heads.iter().filter(|head| head.kind == "tool_use").map(|head| &*head.id);
    if !ids.eq(message.tool_calls.iter().map(|call| call.id.as_str())) {
        return None;
    }
    let is_void = native.prefix_changed && target.model.binds_prefix && !target.dialect.drops_unbound;
    let goes_back = |head: &BlockFields<'_>| !(head.is_blank() || is_void && head.is_thinking());
    let mut kept: Vec<_> = heads.iter().zip(blocks).filter(|(head, _)| goes_back(head)).collect();
    // A turn must not end with thinking: this was cut off within it.
    while kept.last().is_some_and(|(head, _)| head.is_thinking()) {
        kept.pop();
    }
    let kept: WrittenParts = kept.into_iter().map(|(_, block)| block.to_owned()).collect();
    (!kept.is_empty()).then_some(kept)
}

/// A turn in the neutral words: its text, then its calls.
fn neutral(message: &Message, target: &RequestTarget<'_>) -> WrittenParts {
    let call = |call: &ToolCall| {
        let input = RawValue::from_string(arguments(&call.arguments).into_owned());
        raw(&ToolUse {
            r#type: "tool_use",
            id: ids(target).fit(&call.id),
            name: name(&call.name),
            input: input.unwrap_or_else(|_| raw(&json!({ "invalid_json": call.arguments }))),
        })
    };
    text(&message.content).into_iter().chain(message.tool_calls.iter().map(call)).collect()
}

/// A name as this wire takes it: others let their models call anything.
fn name(name: &str) -> Cow<'_, str> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    match name.chars().all(fits) {
        true => Cow::Borrowed(name),
        false => Cow::Owned(name.replace(|c| !fits(c), "_")),
    }
}

/// What this wire takes for an id, also where the dialect is that of another wire.
fn ids(target: &RequestTarget<'_>) -> CallIds {
    match target.dialect.call_ids {
        CallIds::Any => CallIds::Words,
        other => other,
    }
}

fn result(message: &Message, messages: &[Message], target: &RequestTarget<'_>) -> Box<RawValue> {
    let id = message.tool_call_id.as_deref().unwrap_or_default();
    let fit = ids(target).fit(id);
    // A call that goes back as it came keeps its id, however that looks.
    let made_by = || messages.iter().find(|turn| turn.tool_calls.iter().any(|call| call.id == id));
    let as_it_came = fit != id && made_by().is_some_and(|turn| native(turn, target).is_some());
    raw(&ToolResult {
        r#type: "tool_result",
        tool_use_id: if as_it_came { Cow::Borrowed(id) } else { fit },
        // A result may have no content; an empty text is refused.
        content: Some(message.content.as_str()).filter(|content| !content.trim().is_empty()),
    })
}
