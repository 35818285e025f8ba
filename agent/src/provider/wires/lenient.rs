//! Lenient reading of JSON: a field of another type than expected counts as absent.
//!
//! Apart because all wires read what endpoints send in this way.

use std::borrow::Cow;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

/// The JSON text with U+FFFD in the place of every half of a surrogate pair that stands alone: some cut a character in two,
/// and no reader of JSON takes the halves.
pub(in crate::provider) fn whole_characters(json: &str) -> Cow<'_, str> {
    if !json.contains("\\ud") && !json.contains("\\uD") {
        return Cow::Borrowed(json);
    }
    let unit = |at: usize| -> Option<u32> {
        let digits = json.get(at..at + 6)?.strip_prefix("\\u")?;
        u32::from_str_radix(digits, 16).ok()
    };
    let (mut text, mut at, mut copied) = (String::new(), 0, 0);
    while let Some(found) = json[at..].find('\\') {
        let escape = at + found;
        at = match (unit(escape), unit(escape + 6)) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => escape + 12,
            (Some(0xD800..=0xDFFF), _) => {
                text.push_str(&json[copied..escape]);
                text.push_str("\\ufffd");
                copied = escape + 6;
                copied
            }
            // Whatever is escaped is one byte at least.
            _ => escape + 1 + json[escape + 1..].chars().next().map_or(0, char::len_utf8),
        };
    }
    text.push_str(&json[copied..]);
    Cow::Owned(text)
}

/// The fields of an object, borrowed from its text. `None` where it is none, or a key stands twice.
pub(in crate::provider) fn object<'e, T: Deserialize<'e>>(text: &'e str) -> Option<T> {
    is_object(text).then(|| serde_json::from_str(text).ok()).flatten()
}

/// Whether a JSON text is an object: a list would be read as the fields in their order.
pub(in crate::provider) fn is_object(text: &str) -> bool {
    text.trim_start().starts_with('{')
}

/// The value of a JSON text; `None` where it is of another type.
pub(in crate::provider) fn read<T: DeserializeOwned>(text: &str) -> Option<T> {
    if text == "null" {
        return None;
    }
    serde_json::from_str(text).ok().or_else(|| {
        // Where a key stands twice, the last one counts.
        let unique = serde_json::from_str::<Value>(text).ok()?.to_string();
        serde_json::from_str(&unique).ok()
    })
}

/// The value, or the default where it is of another type.
pub(in crate::provider) fn lenient<'de, D: Deserializer<'de>, T: DeserializeOwned + Default>(
    from: D,
) -> Result<T, D::Error> {
    Ok(read(<&RawValue>::deserialize(from)?.get()).unwrap_or_default())
}

/// A list without the items that are of another type; one item alone is a list of it.
pub(in crate::provider) fn list<'de, D: Deserializer<'de>, T: DeserializeOwned>(
    from: D,
) -> Result<Vec<T>, D::Error> {
    let raw = <&RawValue>::deserialize(from)?;
    let items = match raw.get() {
        "null" => Vec::new(),
        // What is valid as a whole is valid item by item.
        items if items.starts_with('[') => serde_json::from_str::<Vec<&RawValue>>(items).unwrap_or_default(),
        _ => vec![raw],
    };
    Ok(items.into_iter().filter_map(|item| read(item.get())).collect())
}

/// A count: a whole number, also one written as a fraction or a text.
pub(in crate::provider) fn count<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    // Counts of tokens are far below 2^53; what is not is nonsense, and nonsense is zero.
    Ok(number(from)?.map(|number| number.clamp(0.0, 9e15) as u64))
}

/// A number, also one written as a text.
pub(in crate::provider) fn number<'de, D: Deserializer<'de>>(from: D) -> Result<Option<f64>, D::Error> {
    let number = match Value::deserialize(from)? {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    };
    Ok(number.filter(|number| number.is_finite()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_character_is_replaced_and_nothing_else() {
        for (json, whole) in [
            (r#"{"a":"x"}"#, r#"{"a":"x"}"#),
            (r#""\ud83d\ude00 \uD83D\uDE00""#, r#""\ud83d\ude00 \uD83D\uDE00""#),
            (r#""\ud83d""#, r#""\ufffd""#),
            (r#""a\ude00b\ud83d\n""#, r#""a\ufffdb\ufffd\n""#),
            (r#""\ud83d\ud83d\ude00""#, r#""\ufffd\ud83d\ude00""#),
            (r#""\\ud83d \u0041 \ud8""#, r#""\\ud83d \u0041 \ud8""#),
            ("\"\\é\\ud83d\"", "\"\\é\\ufffd\""),
        ] {
            assert_eq!(whole_characters(json), whole, "{json}");
        }
    }
}
