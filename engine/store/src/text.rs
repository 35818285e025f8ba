//! A text on its way into a store: read piece by piece, and checked to be one.
//!
//! Apart from those who keep it because what is no text, or not as long as was said, is refused alike by all of them.
//! Never has more of it in memory than a piece, but for who asks for the whole.

use std::io::{self, ErrorKind, Read};

use serde_json::Value;

use super::{Encoded, Hash, StoreError};

/// How much of it is in memory at a time.
pub(crate) const PIECE: usize = 1 << 16;

/// A text that is to be read.
pub struct Text<'r> {
    /// Its type: a schema of strings.
    pub type_: Hash,
    /// How many bytes it has.
    pub length: u64,
    /// Where it comes from.
    pub reader: &'r mut dyn Read,
}

impl<'r> Text<'r> {
    /// The text from where it is read now.
    pub fn pieces(&mut self) -> Pieces<'_, 'r> {
        let left = self.length;
        Pieces { text: self, left, buffer: vec![0; PIECE], given: 0, filled: 0 }
    }

    /// The node it is, in memory as a whole.
    ///
    /// # Errors
    /// As [`Pieces::read_next`].
    pub fn encode(&mut self) -> Result<Encoded, StoreError> {
        let (type_, mut bytes) = (self.type_, Vec::new());
        let mut pieces = self.pieces();
        while let Some(piece) = pieces.read_next()? {
            bytes.extend_from_slice(piece);
        }
        let text = String::from_utf8(bytes).expect("each piece is whole characters");
        Ok(Encoded::new(type_, &Value::String(text)))
    }
}

/// The text of a reader, piece by piece: UTF-8, and neither shorter nor longer than was said.
pub struct Pieces<'t, 'r> {
    text: &'t mut Text<'r>,
    left: u64,
    buffer: Vec<u8>,
    /// How much of the buffer was given last.
    given: usize,
    /// How much of it is filled: more than what is given by at most a part of a character.
    filled: usize,
}

impl<'t, 'r> Pieces<'t, 'r> {
    /// The next few bytes, whole characters all; none at the end.
    ///
    /// # Errors
    /// [`StoreError::Text`] when it is shorter, longer, no UTF-8, or cannot be read.
    pub fn read_next(&mut self) -> Result<Option<&[u8]>, StoreError> {
        self.fill().map_err(|source| StoreError::Text { source })
    }

    fn fill(&mut self) -> io::Result<Option<&[u8]>> {
        self.buffer.copy_within(self.given..self.filled, 0);
        (self.filled, self.given) = (self.filled - self.given, 0);
        while self.given == 0 {
            let read = match self.text.reader.read(&mut self.buffer[self.filled..]) {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                read => read?,
            };
            if read == 0 {
                return self.end();
            }
            let left = self.left.checked_sub(read as u64);
            self.left = left.ok_or_else(|| io::Error::other("it is longer than it was"))?;
            self.filled += read;
            self.given = whole_characters(&self.buffer[..self.filled])?;
        }
        Ok(Some(&self.buffer[..self.given]))
    }

    fn end(&self) -> io::Result<Option<&[u8]>> {
        match (self.filled, self.left) {
            (0, 0) => Ok(None),
            (0, _) => Err(ErrorKind::UnexpectedEof.into()),
            _ => Err(ErrorKind::InvalidData.into()),
        }
    }
}

/// How many of the bytes are whole characters; what follows them may become one.
fn whole_characters(bytes: &[u8]) -> io::Result<usize> {
    match std::str::from_utf8(bytes) {
        Ok(_) => Ok(bytes.len()),
        Err(error) if error.error_len().is_none() => Ok(error.valid_up_to()),
        Err(error) => Err(io::Error::new(ErrorKind::InvalidData, error)),
    }
}
