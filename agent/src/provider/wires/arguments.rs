//! The arguments of a call as they go back.
//!
//! Apart because all wires send them back, and what is no JSON is refused on each.

use std::borrow::Cow;

use serde::de::IgnoredAny;
use serde_json::json;

/// Arguments go back as they came. What is no JSON object goes back inside one: endpoints whose templates parse the
/// arguments refuse the whole conversation otherwise, and the tool message beside it says what was wrong.
pub(in crate::provider) fn arguments(text: &str) -> Cow<'_, str> {
    // Every call of a run passes here in every request: nothing is built of what is only checked.
    let is_object = text.trim_start().starts_with('{') && serde_json::from_str::<IgnoredAny>(text).is_ok();
    if is_object { Cow::Borrowed(text) } else { Cow::Owned(json!({ "invalid_json": text }).to_string()) }
}
