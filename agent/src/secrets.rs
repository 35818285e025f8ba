//! What must never be written anywhere, and its removal from what endpoints and commands say.
//!
//! Apart because a key may be echoed by an endpoint, in an error or an answer, or be found by a command, and errors,
//! journals and records are read by many.

use std::borrow::Cow;

use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

/// Shorter "secrets" are placeholders that local servers want (`none`, `x`); blotting them out would only garble.
const SHORTEST: usize = 5;

/// The secrets of one endpoint.
#[derive(Clone, Debug, Default)]
pub(crate) struct Secrets(Vec<SecretString>);

impl Secrets {
    /// One more.
    pub(crate) fn add(&mut self, secret: &str) {
        if secret.len() >= SHORTEST {
            self.0.push(secret.into());
        }
    }

    /// The secrets themselves, to be kept from the environment of commands.
    pub(crate) fn values(&self) -> Vec<String> {
        self.0.iter().map(|secret| secret.expose_secret().to_owned()).collect()
    }

    /// The text with each secret replaced by `***`. To be called before a text is cut: half a key is a secret too.
    pub(crate) fn clean<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.0.iter().fold(Cow::Borrowed(text), |text, secret| {
            let secret = secret.expose_secret();
            if text.contains(secret) { Cow::Owned(text.replace(secret, "***")) } else { text }
        })
    }

    /// How many bytes at the end of the text are the beginning of a secret.
    fn begun_by(&self, text: &str) -> usize {
        let begun = |secret: &SecretString| {
            let secret = secret.expose_secret();
            let lengths = (1..secret.len()).rev().filter(|length| secret.is_char_boundary(*length));
            lengths.into_iter().find(|length| text.ends_with(&secret[..*length])).unwrap_or(0)
        };
        self.0.iter().map(begun).max().unwrap_or(0)
    }

    /// The same for every text within a value, keys of mappings included.
    pub(crate) fn clean_value(&self, value: Value) -> Value {
        if self.0.is_empty() {
            return value;
        }
        match value {
            Value::String(text) => Value::String(self.clean(&text).into_owned()),
            Value::Array(items) => items.into_iter().map(|item| self.clean_value(item)).collect(),
            Value::Object(map) => map
                .into_iter()
                .map(|(key, item)| (self.clean(&key).into_owned(), self.clean_value(item)))
                .collect(),
            other => other,
        }
    }
}

/// A text that arrives in pieces, freed from secrets that may lie across two of them: the end of what came is held
/// back as long as it may be the beginning of a secret.
pub(crate) struct Stream<'s> {
    secrets: &'s Secrets,
    held: String,
}

impl<'s> Stream<'s> {
    /// Nothing has come yet.
    pub(crate) fn new(secrets: &'s Secrets) -> Stream<'s> {
        Stream { secrets, held: String::new() }
    }

    /// One more piece; hands on what is safe.
    pub(crate) fn pass(&mut self, piece: &str, mut on: impl FnMut(&str)) {
        if self.secrets.0.is_empty() {
            return on(piece);
        }
        self.held.push_str(piece);
        let cleaned = self.secrets.clean(&self.held).into_owned();
        let safe = cleaned.len() - self.secrets.begun_by(&cleaned);
        if safe > 0 {
            on(&cleaned[..safe]);
        }
        self.held = cleaned[safe..].to_owned();
    }

    /// Nothing more comes: what was held back was none.
    pub(crate) fn end(&mut self, mut on: impl FnMut(&str)) {
        let rest = std::mem::take(&mut self.held);
        if !rest.is_empty() {
            on(&rest);
        }
    }

    /// The text begins anew.
    pub(crate) fn discard(&mut self) {
        self.held.clear();
    }
}

/// Whether a header or parameter of this name holds a secret.
pub(crate) fn sounds_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["key", "token", "auth", "secret", "cookie", "password", "sig"].iter().any(|word| name.contains(word))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn secrets_are_removed_wherever_they_stand() {
        let mut secrets = Secrets::default();
        secrets.add("sk-12345");
        secrets.add("none");
        let told = json!({"error": {"message": "bad key sk-12345", "sk-12345": [1, "sk-12345", "none"]}});
        let cleaned = secrets.clean_value(told);
        assert_eq!(cleaned, json!({"error": {"message": "bad key ***", "***": [1, "***", "none"]}}));
    }

    #[test]
    fn a_secret_in_pieces_is_removed_and_nothing_else_is_lost() {
        let mut secrets = Secrets::default();
        secrets.add("sk-12345");
        for pieces in [
            vec!["the key sk-12", "345 and more"],
            vec!["s", "k", "-", "1", "2", "3", "4", "5"],
            vec!["sk-1 sk-sk-12345", "s"],
            vec!["ask-1", "2346"],
        ] {
            let mut stream = Stream::new(&secrets);
            let mut heard = String::new();
            pieces.iter().for_each(|piece| stream.pass(piece, |text| heard.push_str(text)));
            stream.end(|text| heard.push_str(text));
            assert_eq!(heard, secrets.clean(&pieces.concat()), "{pieces:?}");
        }
    }
}
