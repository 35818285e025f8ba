//! A node and the bytes of its file: CBOR of `{type, payload, timestamp}`.
//!
//! Apart from who keeps it so that what a file must contain can be tested without a disk. The hash covers type
//! and payload, never the timestamp. Never validates a payload against its type; that is the store's.

use serde_json::Value;

use super::cbor;
use super::error::StoreError;
use super::hash::Hash;

/// How deep a payload may be nested: what JSON parsers accept, and well within what can be decoded again.
pub(super) const MAX_DEPTH: usize = 120;

/// One immutable node of the store.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Node {
    /// The hash of the schema that the payload obeys.
    #[serde(rename = "type")]
    pub type_: Hash,
    /// The content.
    pub payload: Value,
    /// When it was first put, in milliseconds since the epoch.
    pub timestamp: u64,
}

/// A node ready to be written: encoded once, for the hash and for the file alike.
#[derive(Clone)]
pub struct Encoded {
    /// What it is called.
    pub hash: Hash,
    /// Its type.
    pub type_: Hash,
    payload: Vec<u8>,
}

impl Encoded {
    /// A node of any type but its own.
    pub(super) fn new(type_: Hash, payload: &Value) -> Encoded {
        let payload = cbor::encode(payload);
        Encoded { hash: Hash::of_encoded(Some(&type_), &payload), type_, payload }
    }

    /// The node that is its own type.
    pub(super) fn new_self(payload: &Value) -> Encoded {
        let payload = cbor::encode(payload);
        let hash = Hash::of_encoded(None, &payload);
        Encoded { hash, type_: hash, payload }
    }

    /// The content of the file. The keys stand in canonical order, shortest first.
    pub fn to_bytes(&self, timestamp: u64) -> Vec<u8> {
        let mut out = self.head();
        out.extend_from_slice(&tail(timestamp));
        out
    }

    /// Whether these bytes hold this node, put at whatever time.
    pub fn compare(&self, file: &[u8]) -> Comparison {
        match from_bytes(&self.hash, file) {
            Err(_) => Comparison::Corrupt,
            Ok(_) if file.starts_with(&self.head()) => Comparison::Same,
            Ok(node) if node.type_ == self.type_ && cbor::encode(&node.payload) == self.payload => {
                Comparison::Same
            }
            Ok(_) => Comparison::Another,
        }
    }

    fn head(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.payload.len() + 76);
        out.extend_from_slice(&before_payload(&self.type_));
        out.extend_from_slice(&self.payload);
        out
    }
}

/// What stands before the payload in the file of a node of this type.
fn before_payload(type_: &Hash) -> Vec<u8> {
    [b"\xa3\x64type\x6d", type_.as_str().as_bytes(), b"\x67payload"].concat()
}

/// What stands behind it.
fn tail(timestamp: u64) -> Vec<u8> {
    let mut out = b"\x69timestamp".to_vec();
    cbor::write_head(&mut out, 0, timestamp);
    out
}

/// What a file of the same name turned out to be.
#[derive(Debug, PartialEq, Eq)]
pub enum Comparison {
    /// The same node.
    Same,
    /// No node, or not the one its name says.
    Corrupt,
    /// A different node with the same hash: 64 bits are not proof against this.
    Another,
}

/// The node in these bytes, if they are a node and the hash is this one; else why not.
pub(super) fn from_bytes(hash: &Hash, bytes: &[u8]) -> Result<Node, String> {
    if bytes.is_empty() {
        return Err("the file is empty".to_owned());
    }
    let node = decode(bytes)?;
    let payload = cbor::encode(&node.payload);
    let type_ = (node.type_ != *hash).then_some(&node.type_);
    match Hash::of_encoded(type_, &payload) {
        actual if actual == *hash => Ok(node),
        actual => Err(format!("the content hashes to {actual}")),
    }
}

/// The node in these bytes; the error names it.
pub(super) fn checked(hash: &Hash, bytes: &[u8]) -> Result<Node, StoreError> {
    from_bytes(hash, bytes).map_err(|why| StoreError::Corrupt { hash: *hash, why })
}

/// The type and the timestamp of the node in these bytes, if they are a node; its hash is not checked.
pub(super) fn head(bytes: &[u8]) -> Option<(Hash, u64)> {
    decode(bytes).ok().map(|node| (node.type_, node.timestamp))
}

fn decode(bytes: &[u8]) -> Result<Node, String> {
    let Value::Object(mut map) = cbor::decode(bytes).map_err(|error| error.to_string())? else {
        return Err("it is no map".to_owned());
    };
    let type_ = map.get("type").and_then(Value::as_str).ok_or("it has no type")?;
    let type_ = type_.parse().map_err(|error| format!("its type: {error}"))?;
    let timestamp = map.get("timestamp").and_then(Value::as_u64).ok_or("it has no timestamp")?;
    let payload = map.remove("payload").ok_or("it has no payload")?;
    Ok(Node { type_, payload, timestamp })
}

/// Whether a value is nested deeper than so many levels.
pub fn is_deeper(value: &Value, levels: usize) -> bool {
    match value {
        Value::Array(items) => levels == 0 || items.iter().any(|item| is_deeper(item, levels - 1)),
        Value::Object(members) => levels == 0 || members.values().any(|member| is_deeper(member, levels - 1)),
        _ => false,
    }
}

#[cfg(test)]
#[path = "node_tests.rs"]
mod tests;
