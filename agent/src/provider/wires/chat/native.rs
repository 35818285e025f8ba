//! What an endpoint of chat completions said beside the neutral words, as far as it wants it back: an allow-list, since
//! many refuse fields that they do not know.
//!
//! Apart because both halves of the wire know its shape: one collects it, the other sends it back.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::provider::dialect::ReasoningField;

/// The value of a message's native part.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct ChatNative<'a> {
    /// The field that the reasoning came in, where it is not the usual one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reasoning_field: Option<ReasoningField>,
    /// `reasoning_details`, in order.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub(super) reasoning_details: Option<&'a RawValue>,
    /// `extra_content` of the message.
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    pub(super) extra_content: Option<&'a RawValue>,
    /// `extra_content` of each call; null where it has none.
    #[serde(borrow, skip_serializing_if = "Vec::is_empty")]
    pub(super) calls: Vec<Option<&'a RawValue>>,
}

impl<'a> ChatNative<'a> {
    /// What a native part holds; nothing where it is not of this wire.
    pub(super) fn borrowed(value: &'a str) -> ChatNative<'a> {
        serde_json::from_str(value).unwrap_or_default()
    }

    /// The JSON text, if there is anything in it.
    pub(super) fn text(&self) -> Option<String> {
        serde_json::to_string(self).ok().filter(|text| text != "{}")
    }
}

/// What entries of `reasoning_details` say in words.
pub(super) fn words(entries: &[Value]) -> String {
    let text = |entry: &Value| entry.get("text").or(entry.get("summary"))?.as_str().map(str::to_owned);
    entries.iter().filter_map(text).collect()
}

/// Entries of `reasoning_details` as they come: texts and summaries in pieces, anything else whole.
#[derive(Debug, Default)]
pub(super) struct ReasoningDetails(Vec<Map<String, Value>>);

impl ReasoningDetails {
    /// The next entries. A text goes on in the entry before it, if that is a text, too; so does a summary.
    pub(super) fn take(&mut self, entries: &[Value]) {
        for entry in entries.iter().filter_map(Value::as_object) {
            let kind = entry.get("type").and_then(Value::as_str).unwrap_or_default();
            let joined = match kind {
                "reasoning.text" => "text",
                "reasoning.summary" => "summary",
                _ => "",
            };
            match self.0.last_mut() {
                Some(last) if !joined.is_empty() && goes_on(last, entry) => join(last, entry, joined),
                _ => self.0.push(entry.clone()),
            }
        }
    }

    /// All of them as JSON text; `None` where there are none.
    pub(super) fn finish(self) -> Option<Box<RawValue>> {
        (!self.0.is_empty()).then(|| crate::provider::fields::raw(&self.0))
    }
}

/// Whether an entry is the next piece of the one before it.
fn goes_on(last: &Map<String, Value>, entry: &Map<String, Value>) -> bool {
    let same = |key: &str| last.get(key) == entry.get(key);
    // A signature ends a text.
    let is_signed =
        last.get("signature").and_then(Value::as_str).is_some_and(|signature| !signature.is_empty());
    same("type") && (same("index") || !last.contains_key("index")) && !(is_signed && has_text(entry))
}

fn has_text(entry: &Map<String, Value>) -> bool {
    entry.get("text").and_then(Value::as_str).is_some_and(|text| !text.is_empty())
}

/// Adds the text of an entry to the one before, and the fields that are not there yet.
fn join(last: &mut Map<String, Value>, entry: &Map<String, Value>, joined: &str) {
    let more = entry.get(joined).and_then(Value::as_str).unwrap_or_default();
    match last.get_mut(joined) {
        Some(Value::String(text)) => text.push_str(more),
        _ if more.is_empty() => {}
        _ => drop(last.insert(joined.to_owned(), Value::from(more))),
    }
    for (key, value) in entry.iter().filter(|(key, _)| *key != joined) {
        let there = last.get(key).is_some_and(|there| !there.is_null() && there != "");
        if !there {
            last.insert(key.clone(), value.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn details(pieces: &[Value]) -> Value {
        let mut details = ReasoningDetails::default();
        pieces.iter().for_each(|piece| details.take(std::slice::from_ref(piece)));
        serde_json::from_str(details.finish().unwrap().get()).unwrap()
    }

    #[test]
    fn pieces_of_a_text_are_joined_and_its_signature_is_kept() {
        let text = |text: &str| json!({"type": "reasoning.text", "text": text, "index": 0, "format": "f"});
        let signature = json!({"type": "reasoning.text", "signature": "s1", "index": 0, "format": "f"});
        let whole =
            json!({"type": "reasoning.text", "text": "abc", "signature": "s1", "index": 0, "format": "f"});
        assert_eq!(details(&[text("a"), text("bc"), signature.clone()]), json!([whole]));
        assert_eq!(details(&[text("abc"), signature, text("d")]), json!([whole, text("d")]));
    }

    #[test]
    fn what_is_encrypted_or_unknown_stays_as_it_came() {
        let encrypted = json!({"type": "reasoning.encrypted", "data": "x", "id": "r1"});
        let other = json!({"type": "reasoning.of.tomorrow", "text": "y"});
        let summary = |text: &str| json!({"type": "reasoning.summary", "summary": text});
        let pieces =
            [summary("a"), summary("b"), encrypted.clone(), encrypted.clone(), other.clone(), other.clone()];
        assert_eq!(details(&pieces), json!([summary("ab"), encrypted, encrypted, other, other]));
        assert!(ReasoningDetails::default().finish().is_none());
    }
}
