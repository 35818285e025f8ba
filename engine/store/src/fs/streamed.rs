//! A text on its way into a store that is never in memory as a whole: it is written while it is read.
//!
//! Apart from [`super::staging`] because a node is elsewhere encoded first and named before it is written. Here the name
//! is known when the file is, and what is there already is compared with that, piece by piece.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::path::Path;

use tempfile::TempPath;

use super::{Disk, io_error};
use crate::error::StoreError;
use crate::hash::{Hash, TextHasher};
use crate::nodes::Nodes;
use crate::regular::open_regular;
use crate::text::{PIECE, Text};
use crate::{cbor, node};

/// What stands behind the payload is shorter.
const TAIL: u64 = 64;

/// A text in a file that removes itself unless it is persisted.
pub(super) struct Streamed {
    pub(super) hash: Hash,
    pub(super) opened: File,
    pub(super) file: TempPath,
    /// The length of the file without its timestamp.
    pub(super) length: u64,
}

impl Disk {
    pub(super) fn stream(&self, text: &mut Text<'_>, timestamp: u64) -> Result<Streamed, StoreError> {
        let failed = || io_error("write a node to", &self.nodes);
        let mut temp = self.temp()?;
        let mut head = node::before_payload(&text.type_);
        cbor::write_head(&mut head, 3, text.length);
        temp.write_all(&head).map_err(failed())?;
        let mut hasher = TextHasher::new(&text.type_, text.length);
        let mut pieces = text.pieces();
        while let Some(piece) = pieces.read_next()? {
            hasher.push(piece);
            temp.write_all(piece).map_err(failed())?;
        }
        temp.write_all(&node::tail(timestamp)).map_err(failed())?;
        let (opened, file) = temp.into_parts();
        Ok(Streamed { hash: hasher.finish(), opened, file, length: head.len() as u64 + text.length })
    }

    /// Whether the node in `file`, so long without its timestamp, is in the store.
    pub(super) fn holds_streamed(
        &self,
        hash: &Hash,
        (file, length): (&Path, u64),
        now: u64,
    ) -> Result<bool, StoreError> {
        let path = self.path(hash);
        match is_same(file, &path, length) {
            Ok(true) => return self.freshen(hash, now),
            Ok(false) => {}
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
            Err(error) if error.kind() == ErrorKind::InvalidInput => {}
            Err(error) => return Err(io_error("read", &path)(error)),
        }
        // Damaged, or encoded by another program: rare enough to be read as a whole.
        let Some(Ok(there)) = self.read(hash)?.map(|bytes| node::from_bytes(hash, &bytes)) else {
            return Ok(false);
        };
        let bytes = std::fs::read(file).map_err(io_error("read", file))?;
        match node::from_bytes(hash, &bytes) {
            Ok(node) if node.type_ == there.type_ && node.payload == there.payload => self.freshen(hash, now),
            _ => Err(StoreError::Collision { hash: *hash }),
        }
    }
}

/// Whether both files begin with the same `length` bytes, and the second goes on with nothing but a timestamp.
fn is_same(one: &Path, other: &Path, length: u64) -> io::Result<bool> {
    let (mut other, mut one) = (open_regular(other)?, File::open(one)?.take(length));
    let (mut piece, mut beside) = (vec![0; PIECE], vec![0; PIECE]);
    loop {
        let read = one.read(&mut piece)?;
        if read == 0 {
            break;
        }
        match other.read_exact(&mut beside[..read]) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(false),
            done => done?,
        }
        if piece[..read] != beside[..read] {
            return Ok(false);
        }
    }
    let mut tail = Vec::new();
    other.take(TAIL).read_to_end(&mut tail)?;
    Ok(is_tail(&tail))
}

/// Whether these bytes are what [`node::tail`] makes of some timestamp.
fn is_tail(bytes: &[u8]) -> bool {
    let map = cbor::decode(&[b"\xa1", bytes].concat());
    map.is_ok_and(|map| map["timestamp"].is_u64())
}

#[cfg(test)]
#[path = "streamed_tests.rs"]
mod tests;
