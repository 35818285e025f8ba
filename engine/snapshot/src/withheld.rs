//! Texts that no snapshot may hold, such as keys: what has one of them in its content, its name or its target is left out.
//!
//! Apart from the patterns, which know names alone. A content is looked through while it is read, a piece at a time.

use std::fmt;
use std::io::{self, Read};

use memchr::memmem;
use uwf_store::PIECE;

/// See the module; nothing by default.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Withheld(Vec<Vec<u8>>);

impl Withheld {
    /// These texts; an empty one is in every file, and so is none.
    pub fn new<T: Into<Vec<u8>>>(texts: impl IntoIterator<Item = T>) -> Withheld {
        Withheld(texts.into_iter().map(Into::into).filter(|text| !text.is_empty()).collect())
    }

    /// Whether a name or a target has one of them.
    pub(crate) fn is_within(&self, bytes: &[u8]) -> bool {
        self.0.iter().any(|text| memmem::find(bytes, text).is_some())
    }

    /// Whether a content has one of them. It is read no further than that takes.
    pub(crate) fn is_in(&self, content: &mut dyn Read) -> io::Result<bool> {
        let Some(longest) = self.0.iter().map(Vec::len).max() else { return Ok(false) };
        let mut seen = Vec::new();
        loop {
            // What one begins in the last piece may end in this one.
            seen.drain(..seen.len().saturating_sub(longest - 1));
            let read = content.take(PIECE as u64).read_to_end(&mut seen)?;
            if self.is_within(&seen) {
                return Ok(true);
            }
            if read == 0 {
                return Ok(false);
            }
        }
    }
}

impl fmt::Debug for Withheld {
    /// How many: they are secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Withheld").field(&self.0.len()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_found_wherever_it_stands_and_none_that_is_not_there() {
        let withheld = Withheld::new(["", "key-1", "a-longer-key"]);
        for at in [0, 1, PIECE - 3, PIECE, 2 * PIECE - 4] {
            let mut content = vec![b'x'; 2 * PIECE + 100];
            content[at..at + 5].copy_from_slice(b"key-1");
            assert!(withheld.is_in(&mut content.as_slice()).unwrap(), "{at}");
            content[at + 4] = b'2';
            assert!(!withheld.is_in(&mut content.as_slice()).unwrap(), "{at}");
        }
        assert!(!Withheld::default().is_in(&mut &b"anything"[..]).unwrap());
        assert!(!format!("{withheld:?}").contains("key"));
    }
}
