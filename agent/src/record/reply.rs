//! A raw reply without what the record says already: the texts of a reply are in its turn, and the rest is mostly that of the
//! reply before it.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use uwf_store::json::sorted;
use uwf_store::schema::pointer::escape;

use crate::provider::message::Message;

/// The fields of an entry that are the endpoint's own words.
const REPLY: [&str; 2] = ["raw", "finishReason"];

/// The fields of a log's line that have them: with places in the stead of what was said; or, by JSON pointer, where that is
/// another one than in the last reply that had places. A reply that can have no places stands in its line as it came.
const WITH_PLACES: &str = "reply";
const CHANGED: &str = "replyChanged";

/// The one field of an object that says where in the turn a text is, as a JSON pointer.
const SAID: &str = "$said";

/// The replies of a run, in their order; it is the same to write and to read them.
#[derive(Default)]
pub(super) struct Replies {
    /// The last one that had places.
    last: Option<Value>,
}

impl Replies {
    /// Makes the reply in the line shorter.
    pub(super) fn shorten(&mut self, line: &mut Map<String, Value>, message: &Message) {
        // What has such a field itself would be read as a place.
        if line.get("raw").is_some_and(has_places) {
            return;
        }
        let reply = REPLY.iter().filter_map(|name| line.remove_entry(*name)).collect();
        let (said, mut places) = (said(message), BTreeMap::new());
        find(&said, &mut String::new(), &mut places);
        let reply = replaced(reply, &|value| Some(json!({ SAID: places.get(value.as_str()?)? })));
        let changed = self.last.as_ref().and_then(|last| changed(last, &reply));
        match changed {
            Some(changed) => line.insert(CHANGED.to_owned(), changed),
            None => line.insert(WITH_PLACES.to_owned(), reply.clone()),
        };
        self.last = Some(reply);
    }

    /// Gives the line its reply as it came.
    pub(super) fn restore(&mut self, line: &mut Map<String, Value>, message: &Message) {
        if let Some(reply) = line.remove(WITH_PLACES) {
            self.last = Some(reply);
        } else if let (Some(Value::Object(changed)), Some(last)) = (line.remove(CHANGED), &mut self.last) {
            for (place, value) in changed {
                last.pointer_mut(&place).into_iter().for_each(|found| *found = value.clone());
            }
        } else {
            return;
        }
        let said = said(message);
        let text = |value: &Value| said.pointer(value.as_object()?.get(SAID)?.as_str()?).cloned();
        if let Some(Value::Object(reply)) = self.last.clone().map(|reply| replaced(reply, &text)) {
            line.extend(reply);
        }
    }
}

/// Where a reply is another than the last one, by JSON pointer; nothing where it is shorter to say it all.
fn changed(last: &Value, reply: &Value) -> Option<Value> {
    let mut changed = Map::new();
    compare(last, reply, &mut String::new(), &mut changed);
    let changed = Value::Object(changed);
    (changed.to_string().len() < reply.to_string().len()).then_some(changed)
}

fn compare(last: &Value, reply: &Value, at: &mut String, changed: &mut Map<String, Value>) {
    match (last, reply) {
        (Value::Array(old), Value::Array(new)) if old.len() == new.len() => {
            for (index, (old, new)) in old.iter().zip(new).enumerate() {
                below(at, &index.to_string(), |at| compare(old, new, at, changed));
            }
        }
        (Value::Object(old), Value::Object(new)) if old.keys().eq(new.keys()) => {
            for (name, new) in new {
                below(at, name, |at| compare(&old[name], new, at, changed));
            }
        }
        _ if last == reply => {}
        _ => drop(changed.insert(at.clone(), reply.clone())),
    }
}

/// Everything in a turn that may be in its reply as well.
fn said(message: &Message) -> Value {
    let native = message.native.as_ref().map(|native| &native.value);
    let native: Option<Value> = native.and_then(|native| serde_json::from_str(native).ok());
    sorted(json!({
        "content": message.content, "reasoning": message.reasoning, "calls": message.tool_calls, "native": native,
    }))
}

/// The texts and where they are.
fn find<'v>(value: &'v Value, at: &mut String, places: &mut BTreeMap<&'v str, String>) {
    match value {
        Value::String(text) if !text.is_empty() => {
            places.entry(text).or_insert_with(|| at.clone());
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                below(at, &index.to_string(), |at| find(item, at, places));
            }
        }
        Value::Object(fields) => {
            fields.iter().for_each(|(name, field)| below(at, name, |at| find(field, at, places)));
        }
        _ => {}
    }
}

/// Does something one level deeper in a JSON pointer.
fn below(at: &mut String, name: &str, deeper: impl FnOnce(&mut String)) {
    let length = at.len();
    at.push('/');
    at.push_str(&escape(name));
    deeper(at);
    at.truncate(length);
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

    const TEXT: &str = "A text that is said in the turn.";
    const SIGNED: &str = "c2lnbmF0dXJl";

    fn message() -> Message {
        let arguments = format!("{{\"path\": \"{TEXT}\"}}");
        let origin = ModelOrigin { wire: Wire::Messages, host: "h".into(), model: "m".into() };
        let value = json!([{"a/b": {"signature": SIGNED}}]).to_string();
        Message {
            tool_calls: vec![ToolCall { id: "call-1".into(), name: "n".into(), arguments }],
            native: Some(Native { origin, value, prefix_changed: false }),
            ..Message::text(Speaker::Assistant, MessageKind::Turn, TEXT)
        }
    }

    /// The lines of these replies; each comes back as it was.
    fn lines(replies: &[Value]) -> Vec<Value> {
        let (mut writing, mut reading, message) = (Replies::default(), Replies::default(), message());
        let line = |raw: &Value| {
            let whole = json!({"entry": "answered", "finishReason": "stop", "raw": raw});
            let mut line = whole.as_object().unwrap().clone();
            writing.shorten(&mut line, &message);
            let mut read = line.clone();
            reading.restore(&mut read, &message);
            assert_eq!(json!(read), whole);
            line.remove("entry");
            Value::Object(line)
        };
        replies.iter().map(line).collect()
    }

    #[test]
    fn what_was_said_is_kept_once_and_comes_back() {
        let arguments = &message().tool_calls[0].arguments;
        let raw =
            json!({"id": "x", "text": [TEXT, "more"], "call": ["call-1", arguments], "sig": SIGNED, "n": 1});
        let kept = &lines(&[raw])[0];
        assert_eq!(kept[WITH_PLACES]["raw"]["text"][1], "more");
        assert!([TEXT, SIGNED, "call-1"].iter().all(|said| !kept.to_string().contains(said)), "{kept}");

        let own = json!({"text": TEXT, "x": [{ SAID: "/content" }]});
        assert_eq!(lines(std::slice::from_ref(&own))[0]["raw"], own);
    }

    #[test]
    fn a_reply_is_told_by_what_is_new_in_it() {
        let of = |id: &str, tokens: Value| json!({"id": id, "model": "a-model-with-a-name", "choices": [{"a/b": [null, TEXT]}], "usage": tokens});
        let own = json!({"x": { SAID: "/content" }});
        let kept =
            lines(&[of("1", json!(5)), of("2", json!(5)), own, of("2", json!(null)), of("2", json!(null))]);
        assert!(kept[0].get(WITH_PLACES).is_some() && kept[2].get("raw").is_some());
        assert_eq!(kept[1], json!({ CHANGED: {"/raw/id": "2"} }));
        assert_eq!(kept[3], json!({ CHANGED: {"/raw/usage": null} }));
        assert_eq!(kept[4], json!({ CHANGED: {} }));

        let others =
            [json!({"a": [1, {"b~": 2}]}), json!({"a": [1, {"b~": {}}]}), json!("x"), json!([]), json!(null)];
        lines(&others);
        lines(&others.iter().rev().cloned().collect::<Vec<_>>());
    }
}
