//! What is kept of a request as it was sent: enough to tell whether another one is the same, byte for byte, and which part of
//! it is not.
//!
//! Apart because the words themselves are in the conversation: a request of a long run repeats all that was said, and is told
//! by what is new in it. Pure, and the same for all wires.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use xxhash_rust::xxh64::{Xxh64, xxh64};

use super::fields::Fields;
use super::message::Request;
use crate::secrets::Secrets;

/// A field's value of more bytes is told by its digest.
const SHORT: usize = 200;

/// A request as it was sent, told by what is new in it since the last one of the same client.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SentRequest {
    /// XXH64 of the body, in hex.
    pub digest: String,
    /// How long the body is.
    pub bytes: u64,
    /// The fields of the body that are new or have another value.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub changed: BTreeMap<String, SentField>,
    /// The fields that are not there any more.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gone: Vec<String>,
}

/// The value of a field of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum SentField {
    /// A list: so many items at its beginning are those of the last request; then the digests of the others.
    Items {
        /// How many are the same.
        kept: usize,
        /// The digest of each that follows.
        items: Vec<String>,
    },
    /// A long value.
    Long {
        /// Its digest.
        digest: String,
        /// How long it is.
        bytes: u64,
    },
    /// A short value.
    Short {
        /// The value itself.
        value: Value,
    },
}

impl SentRequest {
    /// The same without secrets: what a user adds to every request may hold one.
    pub(crate) fn cleaned(&self, secrets: &Secrets) -> SentRequest {
        let clean = |field: &SentField| match field {
            SentField::Short { value } => SentField::Short { value: secrets.clean_value(value.clone()) },
            other => other.clone(),
        };
        let changed = self.changed.iter().map(|(name, field)| (name.clone(), clean(field))).collect();
        SentRequest { changed, ..self.clone() }
    }
}

/// What a client sent last.
#[derive(Debug, Default)]
pub(crate) struct LastSent(BTreeMap<String, SentValue>);

#[derive(Debug, PartialEq, Eq)]
enum SentValue {
    Items(SentItems),
    Long(u64),
    Short(Box<str>),
}

#[derive(Debug, PartialEq, Eq)]
struct SentItems {
    digests: Vec<u64>,
    /// How long the list is as text without its closing bracket, and the digest of that: most lists only grow, and what they
    /// began with need not be read again.
    open: (usize, u64),
}

impl LastSent {
    /// The body that is sent now.
    pub(in crate::provider) fn next(&mut self, body: &Fields) -> SentRequest {
        let mut hasher = BodyHasher::default();
        serde_json::to_writer(&mut hasher, body).expect("a body is JSON, and hashing it does not fail");
        let mut sent =
            SentRequest { digest: hex(hasher.hash.digest()), bytes: hasher.bytes, ..SentRequest::default() };
        let mut before = std::mem::take(&mut self.0);
        for (name, value) in body.iter() {
            let was = before.remove(name);
            let known = known(value.get(), was.as_ref());
            if was.as_ref() != Some(&known) {
                sent.changed.insert(name.to_owned(), changed(&known, was.as_ref(), value));
            }
            self.0.insert(name.to_owned(), known);
        }
        sent.gone = before.into_keys().collect();
        sent
    }

    /// The same of a request that no wire writes: in its neutral words.
    pub(crate) fn next_neutral(&mut self, request: &Request<'_>) -> SentRequest {
        self.next(&neutral(request))
    }
}

/// A request in neutral words, as the body of one.
pub(crate) fn neutral(request: &Request<'_>) -> Fields {
    let mut body = Fields::default();
    body.push("model", request.model);
    body.push("sampling", request.sampling);
    body.push("toolChoice", &request.tool_choice);
    body.push("tools", request.tools);
    body.push("messages", request.messages);
    body
}

fn known(text: &str, was: Option<&SentValue>) -> SentValue {
    if let Some(items) = SentItems::read(text, was) {
        return SentValue::Items(items);
    }
    match text.len() {
        0..=SHORT => SentValue::Short(text.into()),
        _ => SentValue::Long(xxh64(text.as_bytes(), 0)),
    }
}

impl SentItems {
    /// The items of a list; nothing of any other value.
    fn read(text: &str, was: Option<&SentValue>) -> Option<SentItems> {
        let open = text.strip_suffix(']').filter(|open| open.starts_with('['))?.as_bytes();
        let grown = was.and_then(SentValue::items).and_then(|before| before.grown_to(text));
        let (mut digests, rest) = match &grown {
            Some((before, rest)) => (before.digests.clone(), rest.as_str()),
            None => (Vec::new(), text),
        };
        let items: Vec<&RawValue> = serde_json::from_str(rest).ok()?;
        digests.extend(items.iter().map(|item| xxh64(item.get().as_bytes(), 0)));
        Some(SentItems { digests, open: (open.len(), xxh64(open, 0)) })
    }

    /// These items and a list of those that follow them, where a list begins with all of these.
    fn grown_to(&self, text: &str) -> Option<(&SentItems, String)> {
        let (length, digest) = self.open;
        let (open, rest) = text.split_at_checked(length)?;
        let begins = xxh64(open.as_bytes(), 0) == digest && (rest == "]" || rest.starts_with(','));
        begins.then(|| (self, format!("[{}", rest.trim_start_matches(','))))
    }
}

impl SentValue {
    fn items(&self) -> Option<&SentItems> {
        if let SentValue::Items(items) = self { Some(items) } else { None }
    }
}

fn changed(known: &SentValue, was: Option<&SentValue>, value: &RawValue) -> SentField {
    match known {
        SentValue::Items(items) => {
            let (items, before) = (&items.digests, was.and_then(SentValue::items));
            let before = before.map_or(&[][..], |before| &before.digests);
            let kept = before.iter().zip(items).take_while(|(was, is)| was == is).count();
            SentField::Items { kept, items: items[kept..].iter().copied().map(hex).collect() }
        }
        SentValue::Long(digest) => SentField::Long { digest: hex(*digest), bytes: value.get().len() as u64 },
        SentValue::Short(text) => {
            SentField::Short { value: serde_json::from_str(text).expect("a raw value is JSON") }
        }
    }
}

fn hex(digest: u64) -> String {
    format!("{digest:016x}")
}

#[derive(Default)]
struct BodyHasher {
    hash: Xxh64,
    bytes: u64,
}

impl Write for BodyHasher {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.hash.update(bytes);
        self.bytes += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn body(value: Value) -> Fields {
        let mut body = Fields::default();
        body.merge(value.as_object().unwrap());
        body
    }

    #[test]
    fn a_request_is_told_by_what_is_new_in_it() {
        let mut last = LastSent::default();
        let long = "x".repeat(SHORT);
        let first = last.next(&body(json!({"model": "m", "system": long, "messages": [1, 2]})));
        let text = format!("{{\"messages\":[1,2],\"model\":\"m\",\"system\":\"{long}\"}}");
        assert_eq!((first.bytes, &first.digest), (text.len() as u64, &hex(xxh64(text.as_bytes(), 0))));
        assert_eq!(first.changed.keys().collect::<Vec<_>>(), ["messages", "model", "system"]);
        assert_eq!(first.changed["model"], SentField::Short { value: json!("m") });
        assert!(matches!(first.changed["system"], SentField::Long { bytes: 202, .. }));

        let next = last.next(&body(json!({"system": long, "messages": [1, 2, 3], "n": 1})));
        assert_eq!(next.changed.keys().collect::<Vec<_>>(), ["messages", "n"]);
        let three = hex(xxh64(b"3", 0));
        assert_eq!(next.changed["messages"], SentField::Items { kept: 2, items: vec![three] });
        assert_eq!(next.gone, ["model"]);

        let read: SentRequest = serde_json::from_value(json!(next)).unwrap();
        assert_eq!(read, next);
        let same = last.next(&body(json!({"system": long, "messages": [1, 2, 3], "n": 1})));
        assert_eq!((same.digest, same.changed.len(), same.gone.len()), (next.digest, 0, 0));
    }

    #[test]
    fn a_list_that_grew_is_told_as_one_that_is_read_anew() {
        let lists = [
            "[]",
            "[1]",
            "[12,3]",
            "[12,3]",
            "[12,3,\",]\"]",
            "[12,3,\",]\",[4,5],{}]",
            "[12]",
            "[]",
            "[[]]",
        ];
        let mut last = None;
        for text in lists {
            let grown = known(text, last.as_ref());
            assert_eq!(grown, known(text, None), "{text}");
            last = Some(grown);
        }
    }

    #[test]
    fn what_a_user_adds_is_kept_without_its_secrets() {
        let sent = LastSent::default().next(&body(json!({"token": "sk-hush", "n": 1})));
        let mut secrets = Secrets::default();
        secrets.add("sk-hush");
        assert!(!json!(sent.cleaned(&secrets)).to_string().contains("hush"));
    }
}
