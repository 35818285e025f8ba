//! Secrets redacted from text that arrives in pieces.
//!
//! Apart because it must come before anything is cut, kept or shown: half a key is a secret too. It knows nothing of
//! where the text comes from.

use std::borrow::Cow;
use std::sync::Arc;

use memchr::memmem;

/// What a secret is replaced by.
const MASK: &str = "***";

/// `text` with each of `secrets` replaced by `***`.
pub fn redact<'t>(text: &'t str, secrets: impl IntoIterator<Item = impl AsRef<str>>) -> Cow<'t, str> {
    secrets.into_iter().fold(Cow::Borrowed(text), |text, secret| {
        let secret = secret.as_ref();
        if text.contains(secret) { Cow::Owned(text.replace(secret, MASK)) } else { text }
    })
}

/// One text in pieces: the end of what came is held back as long as it may be the beginning of a secret.
#[derive(Clone, Debug, Default)]
pub struct Redactor(ByteRedactor);

impl Redactor {
    /// Nothing has come yet. No secret is the empty string.
    pub fn new(secrets: Arc<[String]>) -> Redactor {
        Redactor(ByteRedactor::new(secrets))
    }

    /// One more piece; gives what is safe.
    pub fn pass<'t>(&mut self, piece: impl Into<Cow<'t, str>>) -> Cow<'t, str> {
        let piece = piece.into();
        if self.0.secrets.is_empty() {
            return piece;
        }
        let clean = self.0.pass(piece.as_bytes()).into_owned();
        Cow::Owned(String::from_utf8(clean).expect(WHOLE_CHARACTERS))
    }

    /// Nothing more comes: gives what was held back, which is no secret.
    pub fn end(&mut self) -> String {
        String::from_utf8(self.0.end()).expect(WHOLE_CHARACTERS)
    }
}

const WHOLE_CHARACTERS: &str =
    "what begins like a secret begins with a character, and each piece ends with one";

/// The same of bytes that need not be text: a secret in them is one wherever characters begin and end.
#[derive(Clone, Debug, Default)]
pub(crate) struct ByteRedactor {
    secrets: Arc<[String]>,
    /// The end of what came, as long as it may be the beginning of a secret.
    held: Vec<u8>,
}

impl ByteRedactor {
    pub(crate) fn new(secrets: Arc<[String]>) -> ByteRedactor {
        ByteRedactor { secrets, held: Vec::new() }
    }

    /// See [`Redactor::pass`].
    pub(crate) fn pass<'b>(&mut self, piece: &'b [u8]) -> Cow<'b, [u8]> {
        if self.secrets.is_empty() {
            return Cow::Borrowed(piece);
        }
        let whole = if self.held.is_empty() {
            Cow::Borrowed(piece)
        } else {
            self.held.extend_from_slice(piece);
            Cow::Owned(std::mem::take(&mut self.held))
        };
        let clean = self.secrets.iter().fold(whole, |bytes, secret| without(bytes, secret.as_bytes()));
        let safe = clean.len() - self.begun_by(&clean);
        self.held = clean[safe..].to_vec();
        match clean {
            Cow::Borrowed(clean) => Cow::Borrowed(&clean[..safe]),
            Cow::Owned(mut clean) => {
                clean.truncate(safe);
                Cow::Owned(clean)
            }
        }
    }

    /// See [`Redactor::end`].
    pub(crate) fn end(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.held)
    }

    /// How many bytes at the end are the beginning of a secret.
    fn begun_by(&self, bytes: &[u8]) -> usize {
        let begun = |secret: &String| {
            let secret = secret.as_bytes();
            (1..secret.len()).rev().find(|length| bytes.ends_with(&secret[..*length])).unwrap_or(0)
        };
        self.secrets.iter().map(begun).max().unwrap_or(0)
    }
}

/// The bytes with `***` in the place of each `secret`.
fn without<'b>(bytes: Cow<'b, [u8]>, secret: &[u8]) -> Cow<'b, [u8]> {
    let (mut clean, mut from) = (Vec::new(), 0);
    for at in memmem::find_iter(&bytes, secret) {
        clean.extend_from_slice(&bytes[from..at]);
        clean.extend_from_slice(MASK.as_bytes());
        from = at + secret.len();
    }
    if from == 0 {
        return bytes;
    }
    clean.extend_from_slice(&bytes[from..]);
    Cow::Owned(clean)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_in_pieces_is_removed_and_nothing_else_is_lost() {
        let secrets = ["sk-12345".to_owned()];
        for pieces in [
            vec!["the key sk-12", "345 and more"],
            vec!["s", "k", "-", "1", "2", "3", "4", "5"],
            vec!["sk-1 sk-sk-12345", "s"],
            vec!["ask-1", "2346"],
        ] {
            let mut redactor = Redactor::new(Arc::new(secrets.clone()));
            let mut passed: String = pieces.iter().map(|piece| redactor.pass(*piece)).collect();
            passed += &redactor.end();
            assert_eq!(passed, redact(&pieces.concat(), &secrets), "{pieces:?}");
        }
    }

    /// Wherever the pieces end, within a character or beside bytes that are none.
    #[test]
    fn a_secret_among_bytes_is_removed_and_no_other_byte_is_changed() {
        let secrets: Arc<[String]> = ["kéy€1".to_owned(), "two".to_owned()].into();
        let bytes = [b"\xff", "kéy€1".as_bytes(), b"\xc3", "ké€two".as_bytes(), b"\xe2\x82"].concat();
        let clean = [b"\xff***\xc3", "ké€***".as_bytes(), b"\xe2\x82"].concat();
        for length in 1..=bytes.len() {
            let mut redactor = ByteRedactor::new(Arc::clone(&secrets));
            let mut passed: Vec<u8> =
                bytes.chunks(length).flat_map(|piece| redactor.pass(piece).into_owned()).collect();
            passed.append(&mut redactor.end());
            assert_eq!(passed, clean, "pieces of {length}");
        }
    }

    #[test]
    fn without_secrets_nothing_is_copied() {
        assert!(matches!(Redactor::default().pass("any"), Cow::Borrowed("any")));
    }
}
