//! The content of a node file, and what is taken for corrupt.

use serde_json::json;

use super::*;
use crate::cbor::tests::from_hex;
use crate::schema::builtin::TEXT;

#[test]
fn files_are_those_of_other_implementations() {
    let case: Value = serde_json::from_str(include_str!("../testdata/node_file.json")).unwrap();
    let hash: Hash = case["hash"].as_str().unwrap().parse().unwrap();
    let bytes = from_hex(case["file"].as_str().unwrap());
    let encoded = Encoded::new(case["type"].as_str().unwrap().parse().unwrap(), &case["payload"]);
    let timestamp = case["timestamp"].as_u64().unwrap();
    assert_eq!((encoded.hash, encoded.to_bytes(timestamp)), (hash, bytes.clone()));
    let node = from_bytes(&hash, &bytes).unwrap();
    assert_eq!(node, Node { type_: encoded.type_, payload: case["payload"].clone(), timestamp });
    assert_eq!(encoded.compare(&bytes), Comparison::Same);
}

#[test]
fn each_damage_is_told_apart() {
    let encoded = Encoded::new(TEXT, &json!("hello"));
    let good = encoded.to_bytes(1);
    let mut flipped = good.clone();
    flipped[30] ^= 1;
    let cases = [
        (Vec::new(), "the file is empty"),
        (good[..good.len() - 1].to_vec(), "not CBOR of a JSON value: it ends in the middle of a value"),
        ([good.as_slice(), b"\0"].concat(), "not CBOR of a JSON value: 1 bytes after the end"),
        (cbor::encode(&json!([])), "it is no map"),
        (cbor::encode(&json!({"payload": 1, "timestamp": 1})), "it has no type"),
        (cbor::encode(&json!({"type": TEXT, "payload": 1, "timestamp": -1})), "it has no timestamp"),
        (cbor::encode(&json!({"type": TEXT, "timestamp": 1})), "it has no payload"),
    ];
    for (bytes, why) in cases {
        assert_eq!(from_bytes(&encoded.hash, &bytes).unwrap_err(), why);
        assert_eq!(encoded.compare(&bytes), Comparison::Corrupt);
    }
    let why = from_bytes(&encoded.hash, &flipped).unwrap_err();
    assert!(why.starts_with("the content hashes to "), "{why}");
    let why = from_bytes(&encoded.hash, &cbor::encode(&json!({"type": "no", "payload": 1, "timestamp": 1})));
    assert!(why.unwrap_err().starts_with("its type: \"no\" is not a hash"));
}

#[test]
fn the_time_of_a_node_is_no_part_of_it() {
    let encoded = Encoded::new(TEXT, &json!("hello"));
    for timestamp in [0, 23, 24, 1 << 40] {
        let bytes = encoded.to_bytes(timestamp);
        assert_eq!(from_bytes(&encoded.hash, &bytes).unwrap().timestamp, timestamp);
        assert_eq!(encoded.compare(&bytes), Comparison::Same);
    }
}

#[test]
fn a_file_in_another_order_is_the_same_node() {
    let encoded = Encoded::new(TEXT, &json!("x"));
    let other =
        [b"\xa3\x67payload\x61x\x64type\x6d".as_slice(), TEXT.as_str().as_bytes(), b"\x69timestamp\x01"];
    assert_eq!(encoded.compare(&other.concat()), Comparison::Same);
}

#[test]
fn nesting_has_a_limit_well_within_what_can_be_read() {
    let nested = |depth| (0..depth).fold(json!(1), |inner, _| json!([inner]));
    assert!(!is_deeper(&nested(MAX_DEPTH), MAX_DEPTH));
    assert!(is_deeper(&nested(MAX_DEPTH + 1), MAX_DEPTH));
    let encoded = Encoded::new(TEXT, &nested(MAX_DEPTH));
    assert!(from_bytes(&encoded.hash, &encoded.to_bytes(1)).is_ok());
}
