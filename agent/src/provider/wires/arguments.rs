//! A call as every wire reads it, and its arguments as they go back.
//!
//! Apart because all wires read calls that lack something and send them back, and what is no JSON is refused on each.

use std::borrow::Cow;

use serde::de::IgnoredAny;
use serde_json::json;

use crate::provider::message::ToolCall;

/// A call that came, with a name and arguments where there were none.
pub(in crate::provider) fn tool_call(id: String, name: String, arguments: String) -> ToolCall {
    let or = |text: String, other: &str| if text.trim().is_empty() { other.to_owned() } else { text };
    ToolCall { id, name: or(name, "unnamed"), arguments: or(arguments, "{}") }
}

/// Arguments go back as they came. What is no JSON object goes back inside one: endpoints whose templates parse the
/// arguments refuse the whole conversation otherwise, and the tool message beside it says what was wrong.
pub(in crate::provider) fn arguments(text: &str) -> Cow<'_, str> {
    // Every call of a run passes here in every request: nothing is built of what is only checked.
    let is_object = text.trim_start().starts_with('{') && serde_json::from_str::<IgnoredAny>(text).is_ok();
    if is_object { Cow::Borrowed(text) } else { Cow::Owned(json!({ "invalid_json": text }).to_string()) }
}
