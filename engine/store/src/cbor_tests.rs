//! The bytes, against vectors of another implementation; and everything that is refused.

use proptest::prelude::*;
use serde_json::json;

use super::*;

/// The payload of a case of `hash.json`; very long texts are written there as a repetition.
pub(crate) fn payload(case: &Value) -> Value {
    match case.get("repeat") {
        None => case["payload"].clone(),
        Some(repeat) => {
            let times = usize::try_from(repeat["times"].as_u64().unwrap()).unwrap();
            Value::String(repeat["text"].as_str().unwrap().repeat(times))
        }
    }
}

pub(crate) fn from_hex(text: &str) -> Vec<u8> {
    let digits = text.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).unwrap());
    digits.map(|pair| u8::from_str_radix(pair, 16).unwrap()).collect()
}

#[test]
fn values_are_encoded_as_others_encode_them() {
    let cases: Vec<Value> = serde_json::from_str(include_str!("../testdata/hash.json")).unwrap();
    for case in &cases {
        let bytes = encode(&payload(case));
        match case.get("cbor") {
            Some(cbor) => assert_eq!(bytes, from_hex(cbor.as_str().unwrap()), "{}", case["note"]),
            None => {
                assert!(bytes.starts_with(&from_hex(case["cborHead"].as_str().unwrap())), "{}", case["note"]);
                assert_eq!(bytes.len() as u64, case["cborLength"], "{}", case["note"]);
            }
        }
        assert_eq!(decode(&bytes).unwrap(), canonical(&payload(case)), "{}", case["note"]);
    }
}

#[test]
fn a_number_is_the_same_however_it_is_written() {
    for (text, hex) in [("-0.0", "00"), ("-0", "00"), ("1.0", "01"), ("1e3", "1903e8"), ("-1.0", "20")] {
        let value: Value = serde_json::from_str(text).unwrap();
        assert_eq!(encode(&value), from_hex(hex), "{text}");
    }
    // A parser that rounds carelessly reads a neighbour of this number.
    let value: Value = serde_json::from_str("0.10000000000000002").unwrap();
    assert_eq!(encode(&value), from_hex("fb3fb999999999999b"));
    let text = "122.416294033786585";
    let exact = text.parse::<f64>().unwrap().to_be_bytes();
    assert_eq!(encode(&serde_json::from_str(text).unwrap())[1..], exact);
}

#[test]
fn what_json_cannot_hold_is_refused() {
    for (what, hex) in [
        ("nothing", ""),
        ("a cut value", "8201"),
        ("a cut text", "6261"),
        ("a byte string", "4101"),
        ("a tagged text", "c06161"),
        ("a tagged array", "d81881f6"),
        ("a negative beyond 64 bits", "3bffffffffffffffff"),
        ("a key that is a number", "a101f6"),
        ("a key twice", "a2616101616102"),
        ("NaN", "f97e00"),
        ("infinity", "f97c00"),
        ("negative infinity as a double", "fbfff0000000000000"),
        ("two values", "f6f6"),
        ("text that is not UTF-8", "61ff"),
        ("an unknown simple value", "f0"),
        ("a break", "ff"),
    ] {
        assert!(decode(&from_hex(hex)).is_err(), "{what}");
    }
    assert!(decode(&[0x81; 100_000]).is_err(), "endless nesting");
}

#[test]
fn other_encodings_of_the_same_value_are_read() {
    for (hex, value) in [
        ("1801", json!(1)),
        ("f93e00", json!(1.5)),
        ("9f0102ff", json!([1, 2])),
        ("bf6161f6ff", json!({"a": null})),
        ("7f61616162ff", json!("ab")),
        ("a262626201616102", json!({"bb": 1, "a": 2})),
    ] {
        assert_eq!(decode(&from_hex(hex)).unwrap(), value, "{hex}");
    }
}

/// The value that stands for all values with the same encoding.
fn canonical(value: &Value) -> Value {
    match value {
        Value::Number(number) => {
            let n = number.as_f64().unwrap();
            if n.fract() == 0.0 && n.abs() <= MAX_SAFE_INTEGER { json!(n as i64) } else { json!(n) }
        }
        Value::Array(items) => items.iter().map(canonical).collect(),
        Value::Object(map) => map.iter().map(|(key, value)| (key.clone(), canonical(value))).collect(),
        other => other.clone(),
    }
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_filter("JSON", |n| n.is_finite()).prop_map(Value::from),
        (-70_000_i64..70_000).prop_map(|n| json!(n as f64)),
        ".{0,40}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 64, 8, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..8).prop_map(Value::from),
            prop::collection::btree_map(".{0,30}", inner, 0..8)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn decode_undoes_encode(value in any_value()) {
        let bytes = encode(&value);
        let back = decode(&bytes).unwrap();
        prop_assert_eq!(encode(&back), bytes);
        prop_assert_eq!(back, canonical(&value));
    }

    #[test]
    fn any_bytes_are_a_value_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        if let Ok(value) = decode(&bytes) {
            prop_assert_eq!(decode(&encode(&value)).unwrap(), canonical(&value));
        }
    }
}
