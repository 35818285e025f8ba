//! Canonical CBOR of JSON values: the bytes that a hash is taken over.
//!
//! Encoding is ours because no crate has this mix: integral numbers as integers, every other number as a 64-bit
//! float, map keys ordered by their encoded bytes. The items are read by minicbor, and of them only those that JSON has
//! room for.
//! Never knows about nodes or hashes.

use minicbor::Decoder;
use minicbor::data::Type;
use minicbor::decode::Error;
use serde_json::map::Entry;
use serde_json::{Map, Number, Value};

/// The largest integer that every implementation agrees on; beyond it a number is a float.
const MAX_SAFE_INTEGER: f64 = 9_007_199_254_740_991.0;

/// How deep values are read: deeper than any node may be, and far less than a stack holds.
const MAX_NESTING: usize = 256;

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
///
/// # Errors
/// The bytes are not CBOR, hold what JSON has no room for, or go on after the value.
pub fn decode(bytes: &[u8]) -> Result<Value, CborError> {
    let mut decoder = Decoder::new(bytes);
    let value = read_value(&mut decoder, MAX_NESTING)?;
    match bytes.len() - decoder.position() {
        0 => Ok(value),
        more => Err(refused(format!("{more} bytes after the end"))),
    }
}

fn refused(why: impl Into<String>) -> CborError {
    CborError { why: why.into() }
}

impl From<Error> for CborError {
    fn from(error: Error) -> CborError {
        match error.is_end_of_input() {
            true => refused("it ends in the middle of a value"),
            false => refused(error.to_string()),
        }
    }
}

fn read_value(decoder: &mut Decoder<'_>, nesting: usize) -> Result<Value, CborError> {
    let at = decoder.position();
    match decoder.datatype()? {
        Type::Null => decoder.null().map(|()| Value::Null).map_err(CborError::from),
        Type::Bool => Ok(decoder.bool()?.into()),
        Type::U8 | Type::U16 | Type::U32 | Type::U64 => Ok(decoder.u64()?.into()),
        Type::I8 | Type::I16 | Type::I32 | Type::I64 => Ok(decoder.i64()?.into()),
        Type::F16 | Type::F32 | Type::F64 => {
            let number = decoder.f64()?;
            let value = Number::from_f64(number).map(Value::Number);
            value.ok_or_else(|| refused(format!("{number} is no JSON number")))
        }
        Type::String | Type::StringIndef => Ok(read_text(decoder)?.into()),
        _ if nesting == 0 => Err(refused("it is nested too deeply")),
        Type::Array | Type::ArrayIndef => read_array(decoder, nesting - 1),
        Type::Map | Type::MapIndef => read_map(decoder, nesting - 1),
        type_ => Err(refused(format!("{type_} at byte {at} is nothing JSON can hold"))),
    }
}

fn read_text(decoder: &mut Decoder<'_>) -> Result<String, CborError> {
    match decoder.datatype()? {
        Type::StringIndef => Ok(decoder.str_iter()?.collect::<Result<_, _>>()?),
        _ => Ok(decoder.str()?.to_owned()),
    }
}

fn read_array(decoder: &mut Decoder<'_>, nesting: usize) -> Result<Value, CborError> {
    let (mut left, mut items) = (decoder.array()?, Vec::new());
    while goes_on(decoder, &mut left)? {
        items.push(read_value(decoder, nesting)?);
    }
    Ok(Value::Array(items))
}

fn read_map(decoder: &mut Decoder<'_>, nesting: usize) -> Result<Value, CborError> {
    let (mut left, mut map) = (decoder.map()?, Map::new());
    while goes_on(decoder, &mut left)? {
        match map.entry(read_text(decoder)?) {
            Entry::Vacant(entry) => entry.insert(read_value(decoder, nesting)?),
            Entry::Occupied(entry) => {
                return Err(refused(format!("the key {:?} stands twice in one map", entry.key())));
            }
        };
    }
    // By name, as in every value that is read: in a node shorter keys come first.
    map.sort_keys();
    Ok(Value::Object(map))
}

/// Whether an array or a map has one more; `left` is how many, where its head said that.
fn goes_on(decoder: &mut Decoder<'_>, left: &mut Option<u64>) -> Result<bool, CborError> {
    match left {
        Some(0) => Ok(false),
        Some(count) => {
            *count -= 1;
            Ok(true)
        }
        None if decoder.datatype()? == Type::Break => {
            decoder.skip()?;
            Ok(false)
        }
        None => Ok(true),
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

#[cfg(test)]
#[path = "cbor_tests.rs"]
pub(super) mod tests;
