//! Secrets redacted from text that arrives in pieces.
//!
//! Apart because it must come before anything is cut, kept or shown: half a key is a secret too. It knows nothing of
//! where the text comes from.

use std::borrow::Cow;
use std::sync::Arc;

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
pub struct Redactor {
    secrets: Arc<[String]>,
    /// The end of what came, as long as it may be the beginning of a secret.
    held: String,
}

impl Redactor {
    /// Nothing has come yet. No secret is the empty string.
    pub fn new(secrets: Arc<[String]>) -> Redactor {
        Redactor { secrets, held: String::new() }
    }

    /// One more piece; gives what is safe.
    pub fn pass<'t>(&mut self, piece: impl Into<Cow<'t, str>>) -> Cow<'t, str> {
        let piece = piece.into();
        if self.secrets.is_empty() {
            return piece;
        }
        let whole =
            if self.held.is_empty() { piece } else { Cow::Owned(std::mem::take(&mut self.held) + &piece) };
        let mut cleaned = redact(&whole, self.secrets.iter()).into_owned();
        let safe = cleaned.len() - self.begun_by(&cleaned);
        self.held = cleaned.split_off(safe);
        Cow::Owned(cleaned)
    }

    /// Nothing more comes: gives what was held back, which is no secret.
    pub fn end(&mut self) -> String {
        std::mem::take(&mut self.held)
    }

    /// How many bytes at the end of the text are the beginning of a secret.
    fn begun_by(&self, text: &str) -> usize {
        let begun = |secret: &String| {
            let lengths = (1..secret.len()).rev().filter(|length| secret.is_char_boundary(*length));
            lengths.into_iter().find(|length| text.ends_with(&secret[..*length])).unwrap_or(0)
        };
        self.secrets.iter().map(begun).max().unwrap_or(0)
    }
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

    #[test]
    fn without_secrets_nothing_is_copied() {
        assert!(matches!(Redactor::default().pass("any"), Cow::Borrowed("any")));
    }
}
