//! What the fuzz targets call: each function checks what must hold for any input, and panics when it does not.

use serde_json::Value;

use crate::{Hash, cbor, node_in};

/// Bytes are no node, or a node that is the same after another encoding.
///
/// # Panics
/// When it is another.
pub fn node(bytes: &[u8]) {
    if let Ok(value) = cbor::decode(bytes) {
        // A float that is integral is an integer from the first encoding on, so what must be the same is that.
        let again = cbor::encode(&value);
        assert_eq!(cbor::encode(&cbor::decode(&again).expect("our own encoding is read")), again);
    }
    let nobody = Hash::from_static("0000000000000");
    assert!(node_in(&nobody, bytes).is_err(), "the hash of a node cannot be met by chance");
    let Ok(Value::Object(map)) = cbor::decode(bytes) else { return };
    let (Some(type_), Some(payload)) = (map.get("type").and_then(Value::as_str), map.get("payload")) else {
        return;
    };
    let Ok(type_) = type_.parse() else { return };
    let hash = Hash::of(&type_, payload);
    if let Ok(node) = node_in(&hash, bytes) {
        assert_eq!((node.type_, &node.payload), (type_, payload));
    }
}
