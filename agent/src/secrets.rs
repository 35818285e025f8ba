//! What must never be written anywhere, and its removal from what endpoints and commands say.
//!
//! Apart because a key may be echoed by an endpoint, in an error or an answer, or be found by a command, and errors,
//! journals and records are read by many.

use std::borrow::Cow;

use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use uwf_store::{json, sounds_secret};
use uwf_tools::Redactor;

/// Shorter "secrets" are placeholders that local servers want (`none`, `x`); blotting them out would only garble.
const SHORTEST: usize = 5;

/// The secrets of one endpoint.
#[derive(Clone, Debug, Default)]
pub struct Secrets(Vec<SecretString>);

impl Secrets {
    /// One more.
    pub(crate) fn add(&mut self, secret: &str) {
        if secret.len() >= SHORTEST {
            self.0.push(secret.into());
        }
    }

    /// The secrets themselves, to be kept from the environment of commands.
    pub fn values(&self) -> Vec<String> {
        self.0.iter().map(|secret| secret.expose_secret().to_owned()).collect()
    }

    /// A text that will come in pieces.
    pub(crate) fn redactor(&self) -> Redactor {
        Redactor::new(self.values().into())
    }

    /// The text with each secret replaced by `***`. To be called before a text is cut: half a key is a secret too.
    pub(crate) fn clean<'t>(&self, text: &'t str) -> Cow<'t, str> {
        uwf_tools::redact(text, self.0.iter().map(|secret| secret.expose_secret()))
    }

    /// The same in a JSON text, where a secret may be written with escapes. What holds none stays as it is, byte for byte.
    pub(crate) fn clean_json(&self, text: String) -> String {
        let escaped =
            serde_json::from_str(&text).ok().filter(|_| text.contains('\\')).and_then(|value: Value| {
                let clean = self.clean_value(value.clone());
                (clean != value).then(|| json::line(&clean))
            });
        let text = escaped.unwrap_or(text);
        self.clean(&text).into_owned()
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

/// The texts in a JSON value that stand below a name that sounds like a secret.
pub(crate) fn secret_texts(value: &Value) -> Vec<&str> {
    fn all(value: &Value) -> Vec<&str> {
        match value {
            Value::String(text) => vec![text],
            Value::Array(items) => items.iter().flat_map(all).collect(),
            Value::Object(map) => map.values().flat_map(all).collect(),
            _ => Vec::new(),
        }
    }
    match value {
        Value::Array(items) => items.iter().flat_map(secret_texts).collect(),
        Value::Object(map) => map
            .iter()
            .flat_map(|(name, value)| if sounds_secret(name) { all(value) } else { secret_texts(value) })
            .collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_added_to_a_request_may_hold_secrets() {
        let body = json!({"metadata": {"api_key": ["a", {"b": "c"}], "user": "d"}, "list": [{"token": "e"}], "n": 1, "tokenizer": "f"});
        let mut texts = secret_texts(&body);
        texts.sort_unstable();
        assert_eq!(texts, ["a", "c", "e"]);
    }

    #[test]
    fn a_secret_is_found_in_json_however_it_is_written() {
        let mut secrets = Secrets::default();
        secrets.add("sk-12/45");
        for (text, cleaned) in [
            (r#"{"a": "sk-12/45"}"#, r#"{"a": "***"}"#),
            (r#"{"a": "sk-12\/45", "b": 1}"#, r#"{"a":"***","b":1}"#),
            (r#"{"\u0073k-12/45": 1}"#, r#"{"***":1}"#),
            (r#"{"a":  "\n"}"#, r#"{"a":  "\n"}"#),
            (r#"{"a": sk-12/45"#, r#"{"a": ***"#),
        ] {
            assert_eq!(secrets.clean_json(text.to_owned()), cleaned);
        }
    }

    #[test]
    fn secrets_are_removed_wherever_they_stand() {
        let mut secrets = Secrets::default();
        secrets.add("sk-12345");
        secrets.add("none");
        let told = json!({"error": {"message": "bad key sk-12345", "sk-12345": [1, "sk-12345", "none"]}});
        let cleaned = secrets.clean_value(told);
        assert_eq!(cleaned, json!({"error": {"message": "bad key ***", "***": [1, "***", "none"]}}));
    }
}
