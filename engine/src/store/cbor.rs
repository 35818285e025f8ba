//! Canonical CBOR of JSON values: the bytes that a hash is taken over.
//!
//! Encoding is ours because no crate has this mix: integral numbers as integers, every other number as a 64-bit
//! float, map keys ordered by their encoded bytes. Decoding is ciborium's, narrowed to what JSON can hold.
//! Never knows about nodes or hashes.

use std::fmt;

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// The largest integer that every implementation agrees on; beyond it a number is a float.
const MAX_SAFE_INTEGER: f64 = 9_007_199_254_740_991.0;

/// Bytes that are no CBOR, or CBOR that JSON has no room for: tags, byte strings, keys that are not strings, NaN,
/// infinities, the same key twice, bytes after the end.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not CBOR of a JSON value: {why}")]
pub struct CborError {
    /// What is wrong, and where if that is known.
    pub why: String,
}

/// The one encoding of a value. Numbers go through `f64` first, so `1`, `1.0` and `1e0` are the same bytes.
pub fn encode(value: &Value) -> Vec<u8> {
    let mut out = Vec::with_capacity(64);
    write_value(&mut out, value);
    out
}

/// The value of exactly these bytes. Accepts encodings that [`encode`] would not choose (long heads, any key order).
pub fn decode(bytes: &[u8]) -> Result<Value, CborError> {
    let mut rest = bytes;
    let JsonOnly(value) =
        ciborium::from_reader(&mut rest).map_err(|error| CborError { why: describe(&error) })?;
    if !rest.is_empty() {
        return Err(CborError { why: format!("{} bytes after the end", rest.len()) });
    }
    Ok(value)
}

fn describe<T: fmt::Debug>(error: &ciborium::de::Error<T>) -> String {
    use ciborium::de::Error;
    match error {
        Error::Io(_) => "it ends in the middle of a value".to_owned(),
        Error::Syntax(offset) => format!("no valid item at byte {offset}"),
        Error::Semantic(_, why) => why.clone(),
        Error::RecursionLimitExceeded => "it is nested too deeply".to_owned(),
    }
}

fn write_value(out: &mut Vec<u8>, value: &Value) {
    match value {
        Value::Null => out.push(0xf6),
        Value::Bool(false) => out.push(0xf4),
        Value::Bool(true) => out.push(0xf5),
        Value::Number(number) => write_number(out, number),
        Value::String(text) => write_text(out, text),
        Value::Array(items) => {
            write_head(out, 4, items.len() as u64);
            items.iter().for_each(|item| write_value(out, item));
        }
        Value::Object(map) => write_map(out, map),
    }
}

/// The bytes of an encoded key start with its length, so their order is: shorter first, then bytewise.
fn write_map(out: &mut Vec<u8>, map: &Map<String, Value>) {
    let mut entries: Vec<_> = map.iter().collect();
    entries.sort_unstable_by(|(a, _), (b, _)| a.len().cmp(&b.len()).then_with(|| a.cmp(b)));
    write_head(out, 5, entries.len() as u64);
    for (key, value) in entries {
        write_text(out, key);
        write_value(out, value);
    }
}

fn write_text(out: &mut Vec<u8>, text: &str) {
    write_head(out, 3, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

fn write_number(out: &mut Vec<u8>, number: &Number) {
    let n = number.as_f64().expect("a JSON number has an f64 nearest to it");
    if n.fract() != 0.0 || n.abs() > MAX_SAFE_INTEGER {
        out.push(0xfb);
        out.extend_from_slice(&n.to_be_bytes());
    } else if n < 0.0 {
        write_head(out, 1, (-1.0 - n) as u64);
    } else {
        write_head(out, 0, n as u64);
    }
}

/// The first bytes of an item: its kind (0–7) and its length or value in the fewest bytes.
pub(super) fn write_head(out: &mut Vec<u8>, major: u8, n: u64) {
    let major = major << 5;
    if n < 24 {
        out.push(major | n as u8);
    } else if let Ok(n) = u8::try_from(n) {
        out.extend_from_slice(&[major | 24, n]);
    } else if let Ok(n) = u16::try_from(n) {
        out.push(major | 25);
        out.extend_from_slice(&n.to_be_bytes());
    } else if let Ok(n) = u32::try_from(n) {
        out.push(major | 26);
        out.extend_from_slice(&n.to_be_bytes());
    } else {
        out.push(major | 27);
        out.extend_from_slice(&n.to_be_bytes());
    }
}

/// A JSON value read without the leniencies of `Value`'s own reader, which makes NaN `null` and lets a repeated
/// key win silently.
struct JsonOnly(Value);

impl<'de> Deserialize<'de> for JsonOnly {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<JsonOnly, D::Error> {
        deserializer.deserialize_any(JsonVisitor).map(JsonOnly)
    }
}

struct JsonVisitor;

impl<'de> Visitor<'de> for JsonVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("something JSON can hold")
    }

    fn visit_none<E: de::Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value)
            .map(Value::Number)
            .ok_or_else(|| E::custom(format!("{value} is no JSON number")))
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E: de::Error>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(JsonOnly(item)) = access.next_element()? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some((key, JsonOnly(value))) = access.next_entry::<String, JsonOnly>()? {
            if map.contains_key(&key) {
                return Err(de::Error::custom(format!("the key {key:?} stands twice in one map")));
            }
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
#[path = "cbor_tests.rs"]
pub(super) mod tests;
