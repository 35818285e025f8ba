//! The name of a node: 13 characters that follow from its type and its payload and from nothing else.
//!
//! Apart from [`super::cbor`] so that a name can be passed around, compared and printed without knowing how it
//! came about. Never touches the disk. A `Hash` is well-formed text; that a node of this name exists is the
//! store's to say.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use xxhash_rust::xxh64::Xxh64;

use super::cbor;

/// Crockford's base 32: no I, L, O, U.
const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/// The hash of a node, as the 13 upper-case Crockford characters it is written with.
///
/// The text is kept, not the 64 bits: a reference is anything that matches `^[0-9A-HJKMNP-TV-Z]{13}$`, and 13
/// characters have room for one bit more than a hash has.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hash([u8; 13]);

/// A text that is not a hash.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a hash: expected 13 characters of 0-9 and A-Z without I, L, O, U")]
pub struct HashError {
    /// What was given, cut to 40 characters.
    pub text: String,
}

impl Hash {
    /// How many characters each has.
    pub const LENGTH: usize = 13;

    /// Whether a hash may have this character in it.
    pub const fn is_character(byte: u8) -> bool {
        matches!(byte, b'0'..=b'9' | b'A'..=b'H' | b'J' | b'K' | b'M' | b'N' | b'P'..=b'T' | b'V'..=b'Z')
    }

    /// The hash of a node of this type with this payload.
    pub fn of(type_: &Hash, payload: &Value) -> Hash {
        Hash::of_encoded(Some(type_), &cbor::encode(payload))
    }

    /// The hash of a node that is its own type; only the meta-schema is.
    pub fn of_self(payload: &Value) -> Hash {
        Hash::of_encoded(None, &cbor::encode(payload))
    }

    /// The hash of a node whose payload is already encoded; without a type the node is its own type.
    pub(crate) fn of_encoded(type_: Option<&Hash>, payload: &[u8]) -> Hash {
        let mut hasher = Xxh64::new(0);
        if let Some(type_) = type_ {
            hasher.update(&type_.0);
        }
        hasher.update(payload);
        Hash::from_bits(hasher.digest())
    }

    /// The 64 bits as 13 groups of five, one zero bit put before them.
    fn from_bits(bits: u64) -> Hash {
        let mut text = [b'0'; 13];
        for (position, character) in text.iter_mut().rev().enumerate() {
            *character = ALPHABET[(bits >> (5 * position) & 31) as usize];
        }
        Hash(text)
    }

    /// A hash known when this program was written.
    ///
    /// # Panics
    /// If the text is no hash; in a `const` that is a compile error.
    pub const fn from_static(text: &'static str) -> Hash {
        match Hash::parse(text.as_bytes()) {
            Some(hash) => hash,
            None => panic!("not a hash"),
        }
    }

    /// The 13 characters.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).expect("a hash holds ASCII only")
    }

    const fn parse(text: &[u8]) -> Option<Hash> {
        if text.len() != Hash::LENGTH {
            return None;
        }
        let mut characters = [0; Hash::LENGTH];
        let mut i = 0;
        while i < Hash::LENGTH {
            if !Hash::is_character(text[i]) {
                return None;
            }
            characters[i] = text[i];
            i += 1;
        }
        Some(Hash(characters))
    }
}

impl FromStr for Hash {
    type Err = HashError;

    fn from_str(text: &str) -> Result<Hash, HashError> {
        Hash::parse(text.as_bytes()).ok_or_else(|| HashError { text: text.chars().take(40).collect() })
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Hash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Hash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Hash, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
#[path = "hash_tests.rs"]
mod tests;
