//! The text form, against vectors of another implementation.

use proptest::prelude::*;
use serde_json::json;

use super::*;

const TYPE: Hash = Hash::from_static("7VQ43ZSJTEWA7");

#[test]
fn bits_are_written_as_others_write_them() {
    let cases: Vec<Value> = serde_json::from_str(include_str!("../testdata/base32.json")).unwrap();
    assert!(!cases.is_empty());
    for case in cases {
        let bits: u64 = case["bits"].as_str().unwrap().parse().unwrap();
        assert_eq!(Hash::from_bits(bits).as_str(), case["text"], "{bits}");
    }
}

#[test]
fn nodes_are_called_what_others_call_them() {
    let cases: Vec<Value> = serde_json::from_str(include_str!("../testdata/hash.json")).unwrap();
    assert!(!cases.is_empty());
    for case in &cases {
        let payload = cbor::tests::payload(case);
        let type_: Hash = case["type"].as_str().unwrap().parse().unwrap();
        assert_eq!(Hash::of(&type_, &payload).as_str(), case["hash"], "{}", case["note"]);
        assert_eq!(Hash::of_self(&payload).as_str(), case["self"], "{}", case["note"]);
    }
}

#[test]
fn only_thirteen_crockford_characters_are_a_hash() {
    for text in ["", "short", "0123456789ABI", "0123456789ABL", "0123456789abc", "0123456789ABCD", "ÄÄÄÄÄÄÄ"]
    {
        assert!(text.parse::<Hash>().is_err(), "{text}");
        assert!(serde_json::from_value::<Hash>(json!(text)).is_err(), "{text}");
    }
    assert_eq!("ZZZZZZZZZZZZZ".parse::<Hash>().unwrap().to_string(), "ZZZZZZZZZZZZZ");
    assert_eq!(serde_json::to_value(TYPE).unwrap(), json!("7VQ43ZSJTEWA7"));
    assert_eq!(serde_json::from_value::<Hash>(json!("7VQ43ZSJTEWA7")).unwrap(), TYPE);
}

#[test]
fn a_long_text_is_cut_in_the_error() {
    let error = "x".repeat(1000).parse::<Hash>().unwrap_err();
    assert_eq!(error.text.len(), 40);
}

proptest! {
    #[test]
    fn parse_undoes_display(bits: u64) {
        let hash = Hash::from_bits(bits);
        prop_assert_eq!(hash.to_string().parse::<Hash>().unwrap(), hash);
    }

    #[test]
    fn the_order_of_keys_does_not_matter(entries in prop::collection::hash_map(".{0,8}", any::<i64>(), 0..8)) {
        let forward: serde_json::Map<_, _> = entries.iter().map(|(k, v)| (k.clone(), json!(v))).collect();
        let mut reversed: Vec<_> = forward.clone().into_iter().collect();
        reversed.reverse();
        let backward = Value::Object(reversed.into_iter().collect());
        prop_assert_eq!(Hash::of(&TYPE, &Value::Object(forward)), Hash::of(&TYPE, &backward));
    }
}
