//! A raw reply without what its turn says already: the texts of a reply are most of it, and the record keeps them once.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::provider::message::Message;

/// The field of a reply that has places in the stead of what was said, and of one that has all of it.
pub(super) const REST: &str = "reply";
const WHOLE: &str = "raw";

/// The one field of an object that says where in the turn a text is, as a JSON pointer.
const SAID: &str = "$said";

/// A shorter text is no longer than its place.
const LONG: usize = 32;

/// The reply as it is kept, and the field that it is kept in.
pub(super) fn without_said(raw: Value, message: &Message) -> (&'static str, Value) {
    // What has such a field itself would be read as a place.
    if has_places(&raw) {
        return (WHOLE, raw);
    }
    let (said, mut places) = (said(message), BTreeMap::new());
    find(&said, &mut String::new(), &mut places);
    (REST, replaced(raw, &|value| Some(json!({ SAID: places.get(value.as_str()?)? }))))
}

/// The reply as it came.
pub(super) fn with_said(rest: Value, message: &Message) -> Value {
    let said = said(message);
    let text = |value: &Value| said.pointer(value.as_object()?.get(SAID)?.as_str()?).cloned();
    replaced(rest, &text)
}

/// Everything in a turn that may be in its reply as well.
fn said(message: &Message) -> Value {
    let arguments: Vec<&str> = message.tool_calls.iter().map(|call| call.arguments.as_str()).collect();
    let native = message.native.as_ref().map(|native| &native.value);
    let native: Option<Value> = native.and_then(|native| serde_json::from_str(native).ok());
    json!({
        "content": message.content, "reasoning": message.reasoning, "arguments": arguments, "native": native,
    })
}

/// The long texts and where they are.
fn find<'v>(value: &'v Value, at: &mut String, places: &mut BTreeMap<&'v str, String>) {
    let length = at.len();
    let mut below = |name: &str, value: &'v Value| {
        at.push('/');
        at.push_str(&name.replace('~', "~0").replace('/', "~1"));
        find(value, at, places);
        at.truncate(length);
    };
    match value {
        Value::String(text) if text.len() > LONG => {
            places.entry(text).or_insert_with(|| at.clone());
        }
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(index, item)| below(&index.to_string(), item));
        }
        Value::Object(fields) => fields.iter().for_each(|(name, field)| below(name, field)),
        _ => {}
    }
}

fn has_places(value: &Value) -> bool {
    match value {
        Value::Object(fields) => fields.contains_key(SAID) || fields.values().any(has_places),
        Value::Array(items) => items.iter().any(has_places),
        _ => false,
    }
}

/// The value with another one wherever there is one for it.
fn replaced(value: Value, by: &dyn Fn(&Value) -> Option<Value>) -> Value {
    if let Some(other) = by(&value) {
        return other;
    }
    match value {
        Value::Array(items) => items.into_iter().map(|item| replaced(item, by)).collect(),
        Value::Object(fields) => {
            let fields = fields.into_iter().map(|(name, field)| (name, replaced(field, by)));
            Value::Object(fields.collect::<Map<_, _>>())
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::message::{MessageKind, ModelOrigin, Native, Speaker, ToolCall};
    use crate::provider::wire::Wire;

    #[test]
    fn what_was_said_is_kept_once_and_comes_back() {
        let text = "A text that is longer than the place where it stands.";
        let signed = "c2lnbmF0dXJlIG9mIHdoYXQgd2FzIHRob3VnaHQgaGVyZQ==";
        let arguments = format!("{{\"path\": \"{text}\"}}");
        let origin = ModelOrigin { wire: Wire::Messages, host: "h".into(), model: "m".into() };
        let value = json!([{"a/b": {"signature": signed}}]).to_string();
        let message = Message {
            tool_calls: vec![ToolCall { id: "a".into(), name: "n".into(), arguments: arguments.clone() }],
            native: Some(Native { origin, value, prefix_changed: false }),
            ..Message::text(Speaker::Assistant, MessageKind::Turn, text)
        };
        let raw = json!({"id": "x", "text": [text, "short"], "args": arguments, "sig": signed, "n": 1});
        let (name, rest) = without_said(raw.clone(), &message);
        assert_eq!((name, rest["text"][1].as_str()), (REST, Some("short")));
        assert!(!rest.to_string().contains("longer") && !rest.to_string().contains(signed), "{rest}");
        assert_eq!(with_said(rest, &message), raw);

        let own = json!({"text": text, "x": [{ SAID: "/content" }]});
        assert_eq!(without_said(own.clone(), &message), (WHOLE, own));
    }
}
