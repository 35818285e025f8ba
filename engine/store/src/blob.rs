//! Bytes of any size as nodes: cut into pieces while they are read, a list over them where there are several.
//!
//! Apart from [`super::batch`] because what is kept here need not be text, and may be larger than anybody wants in one
//! node. A piece that is text is a plain text, readable as every other; one that is not is base64. How the bytes are cut
//! follows from the bytes alone, so equal contents are one node, and equal pieces are kept once. Never has more in
//! memory than a piece in its few forms, and of the list a name for each.

use std::io::{self, Read};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::schema::builtin::{META_SCHEMA, TEXT};
use super::{Batch, Hash, Node, Store, StoreError};

/// How many bytes a piece has, but for the last one, or one that ends before a character that would be cut.
pub const PIECE: usize = 1 << 20;

/// Bytes that are no text, as base64.
pub const BYTES: Hash = Hash::from_static("6GZ7XBPRM633E");

/// A content of several pieces.
pub const BLOB: Hash = Hash::from_static("1V1SM7XH5VQQW");

/// A content that was stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Blob {
    /// The only piece, or the list of all.
    pub hash: Hash,
    /// How many bytes.
    pub size: u64,
}

impl Blob {
    /// What a content is called and how long it is, in whichever store it will be kept.
    ///
    /// # Errors
    /// [`StoreError::Unread`] when the reader fails.
    pub fn of(reader: &mut dyn Read) -> Result<Blob, StoreError> {
        in_pieces(reader, &mut |type_, payload| Ok(Hash::of(&type_, &payload)))
    }
}

impl Batch<'_> {
    /// Adds a content while it is read: it is never in memory as a whole.
    ///
    /// # Errors
    /// [`StoreError::Unread`] when the reader fails; a node cannot be written.
    pub fn put_blob(&mut self, reader: &mut dyn Read) -> Result<Blob, StoreError> {
        in_pieces(reader, &mut |type_, payload| {
            match type_ {
                BYTES => self.put_type(&BYTES, bytes_schema)?,
                BLOB => self.put_type(&BLOB, blob_schema)?,
                _ => {}
            }
            self.put(&type_, &payload)
        })
    }

    /// Adds a schema of this program's once: so that a store need not have it from the start, and so that it is as young
    /// as the nodes after it.
    ///
    /// # Errors
    /// The node cannot be written.
    pub fn put_type(&mut self, type_: &Hash, schema: fn() -> Value) -> Result<(), StoreError> {
        if !self.knows(type_) {
            self.put(&META_SCHEMA, &schema())?;
        }
        Ok(())
    }
}

impl Store {
    /// The content of this name, to be read.
    ///
    /// # Errors
    /// The node cannot be read, or is no content.
    pub fn blob(&self, hash: &Hash) -> Result<BlobReader<'_>, StoreError> {
        let node = self.get(hash)?;
        let (first, rest, size) = match node.type_ {
            BLOB => {
                let (pieces, size) = list(*hash, &node)?;
                (Vec::new(), pieces, Some(size))
            }
            _ => (piece(*hash, node)?, Vec::new(), None),
        };
        let size = size.unwrap_or(first.len() as u64);
        Ok(BlobReader {
            store: self,
            hash: *hash,
            size,
            left: size,
            piece: first,
            given: 0,
            rest: rest.into_iter(),
        })
    }
}

/// A content that is read piece by piece; an error of the store is one of reading.
pub struct BlobReader<'s> {
    store: &'s Store,
    hash: Hash,
    size: u64,
    /// How much is still to be given.
    left: u64,
    piece: Vec<u8>,
    /// How much of the piece was given.
    given: usize,
    rest: std::vec::IntoIter<Hash>,
}

impl BlobReader<'_> {
    /// How many bytes it has as a whole.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The bytes that come next, as many as are in memory; none at the end.
    ///
    /// # Errors
    /// A piece is missing or damaged, or they are not as many bytes as the list says.
    pub fn read_next(&mut self) -> Result<&[u8], StoreError> {
        while self.given == self.piece.len() {
            let Some(next) = self.rest.next() else { break };
            self.piece = piece(next, self.store.get(&next)?)?;
            self.given = 0;
        }
        let given = std::mem::replace(&mut self.given, self.piece.len());
        let bytes = &self.piece[given..];
        let left = self.left.checked_sub(bytes.len() as u64);
        match left {
            Some(left) if left == 0 || !bytes.is_empty() => self.left = left,
            _ => return Err(damaged(self.hash, "its pieces are not as long as it says")),
        }
        Ok(bytes)
    }
}

impl Read for BlobReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        let bytes = self.read_next().map_err(io::Error::other)?;
        let read = bytes.len().min(buffer.len());
        buffer[..read].copy_from_slice(&bytes[..read]);
        let back = bytes.len() - read;
        self.given -= back;
        self.left += back as u64;
        Ok(read)
    }
}

/// Cuts a content and has `put` name each node it is made of, by type and payload: its pieces, then the list of them
/// where there are several. A content without bytes is a piece, too.
fn in_pieces(
    reader: &mut dyn Read,
    put: &mut dyn FnMut(Hash, Value) -> Result<Hash, StoreError>,
) -> Result<Blob, StoreError> {
    let (mut buffer, mut pieces, mut size) = (Vec::new(), Vec::new(), 0);
    loop {
        let is_last = fill(reader, &mut buffer).map_err(|source| StoreError::Unread { source })?;
        if buffer.is_empty() && !pieces.is_empty() {
            break;
        }
        let (length, is_text) = cut(&buffer, is_last);
        let (type_, payload) = node_of(&buffer[..length], is_text);
        pieces.push(put(type_, payload)?);
        size += length as u64;
        buffer.drain(..length);
        if is_last {
            break;
        }
    }
    let hash = match pieces[..] {
        [only] => only,
        _ => put(BLOB, json!({"size": size, "pieces": pieces}))?,
    };
    Ok(Blob { hash, size })
}

/// The type and the payload of a piece.
fn node_of(bytes: &[u8], is_text: bool) -> (Hash, Value) {
    match std::str::from_utf8(bytes) {
        Ok(text) if is_text => (TEXT, Value::from(text)),
        _ => (BYTES, Value::from(STANDARD.encode(bytes))),
    }
}

/// Fills the buffer to the length of a piece; true at the end. No more room is made than what is read needs: most
/// contents are small.
fn fill(reader: &mut dyn Read, buffer: &mut Vec<u8>) -> io::Result<bool> {
    let room = PIECE - buffer.len();
    reader.take(room as u64).read_to_end(buffer).map(|read| read < room)
}

/// How much of the buffer is the next piece, and whether that is text: a character that goes on after the buffer is not
/// cut.
fn cut(buffer: &[u8], is_last: bool) -> (usize, bool) {
    match std::str::from_utf8(buffer) {
        Ok(_) => (buffer.len(), true),
        Err(error) if !is_last && error.error_len().is_none() => (error.valid_up_to(), true),
        Err(_) => (buffer.len(), false),
    }
}

fn list(hash: Hash, node: &Node) -> Result<(Vec<Hash>, u64), StoreError> {
    let pieces = node.payload["pieces"].as_array().into_iter().flatten();
    let pieces = pieces.map(|piece| piece.as_str().and_then(|piece| piece.parse().ok()));
    let pieces: Option<Vec<Hash>> = pieces.collect();
    pieces.zip(node.payload["size"].as_u64()).ok_or_else(|| damaged(hash, "it is no list of pieces"))
}

fn piece(hash: Hash, node: Node) -> Result<Vec<u8>, StoreError> {
    match (node.type_, node.payload) {
        (TEXT, Value::String(text)) => Ok(text.into_bytes()),
        (BYTES, Value::String(text)) => {
            STANDARD.decode(text).map_err(|error| damaged(hash, &format!("it is no base64: {error}")))
        }
        (type_, _) => Err(StoreError::NotContent { hash, type_ }),
    }
}

fn damaged(hash: Hash, why: &str) -> StoreError {
    StoreError::Corrupt { hash, why: why.to_owned() }
}

fn bytes_schema() -> Value {
    json!({"title": "uwf-bytes", "description": "bytes that are no text, as base64", "type": "string"})
}

fn blob_schema() -> Value {
    json!({
        "title": "uwf-blob",
        "description": "bytes: those of each piece, one after the other",
        "type": "object",
        "required": ["size", "pieces"],
        "properties": {
            "size": {"type": "integer", "minimum": 0},
            "pieces": {"type": "array", "items": {"type": "string", "format": "ocas_ref"}},
        },
        "additionalProperties": false,
    })
}

#[cfg(test)]
#[cfg(feature = "sqlite")]
#[path = "blob_tests.rs"]
mod tests;
