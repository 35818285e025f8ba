//! Lenient reading of JSON: a field of another type than expected counts as absent.
//!
//! Apart because all wires read what endpoints send in this way.

use std::borrow::Cow;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;
use uwf_store::json;

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

/// The fields of an event, and the text that they are borrowed from: where a key stands twice, the last one counts, and
/// the text with each of them once is put into `unique`. What is no object has no fields.
pub(in crate::provider) fn event<'e, T: Deserialize<'e> + Default>(
    event: &'e str,
    unique: &'e mut String,
) -> (T, &'e str) {
    if let Some(fields) = object(event) {
        return (fields, event);
    }
    *unique = json::line(&serde_json::from_str(event).unwrap_or_default());
    (object(unique).unwrap_or_default(), unique)
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
        let unique = json::line(&serde_json::from_str(text).ok()?);
        serde_json::from_str(&unique).ok()
    })
}

/// The value, or the default where it is of another type.
pub(in crate::provider) fn lenient<'de, D: Deserializer<'de>, T: DeserializeOwned + Default>(
    from: D,
) -> Result<T, D::Error> {
    Ok(read(<&RawValue>::deserialize(from)?.get()).unwrap_or_default())
}

/// The fields of an object; the default where it is none, or a key stands twice.
pub(in crate::provider) fn fields<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    from: D,
) -> Result<T, D::Error> {
    Ok(object(<&RawValue>::deserialize(from)?.get()).unwrap_or_default())
}

/// A text, without a copy where nothing in it is escaped; empty where it is of another type.
pub(in crate::provider) fn text<'de, D: Deserializer<'de>>(from: D) -> Result<Cow<'de, str>, D::Error> {
    Ok(text_of(<&RawValue>::deserialize(from)?))
}

/// The same of a value in hand.
pub(in crate::provider) fn text_of(value: &RawValue) -> Cow<'_, str> {
    let text = value.get();
    match text.strip_prefix('"').and_then(|text| text.strip_suffix('"')) {
        None => Cow::Borrowed(""),
        Some(inner) if !inner.contains('\\') => Cow::Borrowed(inner),
        Some(_) => Cow::Owned(serde_json::from_str(text).unwrap_or_default()),
    }
}

/// The arguments of a call as text: an object as its JSON, null as nothing.
pub(in crate::provider) fn arguments<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    Ok(arguments_of(read(<&RawValue>::deserialize(from)?.get()).unwrap_or_default()))
}

/// The same of a value in hand.
pub(in crate::provider) fn arguments_of(value: Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text,
        other => other.to_string(),
    }
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
    const MOST: u64 = 9_000_000_000_000_000;
    let raw = <&RawValue>::deserialize(from)?;
    // Most are of a digit or two, and many: each event of a stream has some.
    let whole = raw.get().parse().ok();
    Ok(whole.or_else(|| number_of(raw).map(|number| number as u64)).map(|count: u64| count.min(MOST)))
}

/// A number, also one written as a text.
pub(in crate::provider) fn number<'de, D: Deserializer<'de>>(from: D) -> Result<Option<f64>, D::Error> {
    Ok(number_of(<&RawValue>::deserialize(from)?))
}

fn number_of(value: &RawValue) -> Option<f64> {
    let number: Option<f64> = match value.get().starts_with('"') {
        true => text_of(value).trim().parse().ok(),
        false => serde_json::from_str(value.get()).ok(),
    };
    number.filter(|number| number.is_finite())
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

    #[test]
    fn a_field_of_another_type_counts_as_absent_and_a_number_may_be_a_text() {
        #[derive(Debug, Default, Deserialize)]
        #[serde(default)]
        struct Read<'a> {
            #[serde(borrow, deserialize_with = "text")]
            text: Cow<'a, str>,
            #[serde(deserialize_with = "count")]
            count: Option<u64>,
            #[serde(deserialize_with = "arguments")]
            arguments: String,
        }
        for (json, expected) in [
            (r#"{}"#, ("", None, "")),
            (r#"{"text": null, "count": null, "arguments": null}"#, ("", None, "")),
            (r#"{"text": "x", "count": 7, "arguments": "{}"}"#, ("x", Some(7), "{}")),
            (
                r#"{"text": "x\n\"", "count": " 7 ", "arguments": {"a": [1]}}"#,
                ("x\n\"", Some(7), r#"{"a":[1]}"#),
            ),
            (r#"{"text": 1, "count": 7.9, "arguments": 1}"#, ("", Some(7), "1")),
            (r#"{"text": {}, "count": -7, "arguments": {"a": 1, "a": 2}}"#, ("", Some(0), r#"{"a":2}"#)),
            (r#"{"text": [], "count": 1e300}"#, ("", Some(9_000_000_000_000_000), "")),
            (r#"{"count": 18446744073709551615}"#, ("", Some(9_000_000_000_000_000), "")),
            (r#"{"count": "7 tokens"}"#, ("", None, "")),
            (r#"{"count": 1, "count": 2}"#, ("", Some(2), "")),
            (r#"["x", 7]"#, ("", None, "")),
            ("{", ("", None, "")),
        ] {
            let mut unique = String::new();
            let (read, _): (Read<'_>, _) = event(json, &mut unique);
            assert_eq!((&*read.text, read.count, read.arguments.as_str()), expected, "{json}");
        }
        let mut unique = String::new();
        let (read, _): (Read<'_>, _) = event(r#"{"text": "no copy"}"#, &mut unique);
        assert!(matches!(read.text, Cow::Borrowed("no copy")));
    }
}
