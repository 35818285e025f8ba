//! What a scalar means: YAML 1.2 core, resolved as the npm package `yaml` resolves it, with JavaScript's numbers.
//!
//! Apart from the tree building because it is a pure table from text to value.

use serde_json::{Number, Value};

/// The greatest integer that JavaScript's numbers hold exactly together with its neighbours, 2^53 − 1.
const MAX_SAFE: f64 = 9_007_199_254_740_991.0;

/// An untagged plain scalar.
pub(super) fn plain(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        _ => number(text).map_or_else(|| Value::String(text.to_owned()), Value::Number),
    }
}

/// A scalar with a tag of the core schema; text that the tag does not fit stays a string, which validation names.
pub(super) fn core_tagged(suffix: &str, text: &str) -> Value {
    let value = plain(text);
    let fits = match suffix {
        "null" => value.is_null(),
        "bool" => value.is_boolean(),
        "int" | "float" => value.is_number(),
        _ => false,
    };
    if fits { value } else { Value::String(text.to_owned()) }
}

/// A scalar as a mapping's key: the string that a JavaScript object would have for it.
pub(super) fn key(value: Value) -> String {
    match value {
        Value::String(text) => text,
        Value::Null => String::new(),
        Value::Number(number) => {
            let mut buffer = ryu_js::Buffer::new();
            buffer.format(number.as_f64().unwrap_or(f64::NAN)).to_owned()
        }
        other => other.to_string(),
    }
}

/// `None` also for `.inf` and `.nan` and for what overflows: JSON has no such numbers, so their text stays, and
/// validation shows it as what was got.
fn number(text: &str) -> Option<Number> {
    let value = match text.get(..2) {
        Some("0x") => digits(&text[2..], 16)?,
        Some("0o") => digits(&text[2..], 8)?,
        _ => decimal(text)?,
    };
    if value.fract() == 0.0 && value.abs() <= MAX_SAFE {
        #[expect(clippy::cast_possible_truncation, reason = "integral and within 2^53, so it fits exactly")]
        return Some(Number::from(value as i64));
    }
    Number::from_f64(value)
}

fn decimal(text: &str) -> Option<f64> {
    // Rust reads "inf" and "nan" as floats; YAML does not.
    let numeric = text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E'));
    if numeric { text.parse().ok() } else { None }
}

fn digits(text: &str, radix: u32) -> Option<f64> {
    if text.is_empty() {
        return None;
    }
    text.chars().try_fold(0.0, |sum, digit| {
        digit.to_digit(radix).map(|digit| f64::from(radix).mul_add(sum, f64::from(digit)))
    })
}
