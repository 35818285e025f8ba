//! What is wrong with settings, in words: each problem with its key, the rule, and what was probably meant.
//!
//! Values are not shown, since they may be keys; but a word that resembles an allowed one is a slip and is.

use serde_json::Value;
use uwf_store::schema::{self, Violation, pointer};
use uwf_store::{kind, suggest};

use super::keys;

/// One way in which settings are wrong.
#[derive(Debug, PartialEq)]
pub(super) struct ConfigDiagnostic {
    /// Where, as a JSON pointer.
    pub(super) pointer: String,
    /// Whether the key is wrong, not its value.
    pub(super) of_key: bool,
    /// What, the key's name included.
    pub(super) text: String,
}

/// Every way in which a value does not have a shape.
pub(super) fn diagnostics(value: &Value, shape: &Value) -> Vec<ConfigDiagnostic> {
    let violations = schema::validate(shape, value).expect("a shape is a schema");
    violations.into_iter().flat_map(|violation| told(violation, shape)).collect()
}

fn told(violation: Violation, shape: &Value) -> Vec<ConfigDiagnostic> {
    let names = names(&violation.path);
    let place = keys::place(shape, &names);
    if let (true, Some(Value::Object(fields))) =
        (violation.message.starts_with("unexpected "), &violation.got)
    {
        let known = keys::known(place);
        let unknown = fields.keys().filter(|name| !known.contains(&name.as_str()));
        return unknown.map(|name| unknown_key(&violation.path, &names, name, &known)).collect();
    }
    let key = if names.is_empty() { "the file".to_owned() } else { format!("`{}`", names.join(".")) };
    let what = wrong_value(&violation, place);
    let note = place["description"].as_str().map(|note| format!("; {note}")).unwrap_or_default();
    vec![ConfigDiagnostic { text: format!("{key}: {what}{note}"), pointer: violation.path, of_key: false }]
}

/// Every key that nothing here reads: other programs may, so it is no problem, but may be a slip.
pub(super) fn unread(value: &Value, shape: &Value) -> Vec<String> {
    let mut found = Vec::new();
    look(value, shape, &mut Vec::new(), &mut found);
    found
}

fn look<'v>(value: &'v Value, place: &Value, way: &mut Vec<&'v str>, found: &mut Vec<String>) {
    let known = keys::known(place);
    for (name, value) in value.as_object().into_iter().flatten() {
        way.push(name);
        match keys::below(place, name) {
            Some(below) => look(value, below, way, found),
            None if known.is_empty() => {}
            None => found.push(format!("nothing here reads `{}`{}", way.join("."), meant(name, &known))),
        }
        way.pop();
    }
}

/// The names of a pointer.
fn names(pointer: &str) -> Vec<String> {
    pointer.split('/').skip(1).map(pointer::unescape).collect()
}

fn unknown_key(path: &str, parents: &[String], name: &str, known: &[&str]) -> ConfigDiagnostic {
    let mut key = parents.join(".");
    key.extend((!parents.is_empty()).then_some('.'));
    let text = format!("`{key}{name}`: there is no such setting{}", meant(name, known));
    ConfigDiagnostic { pointer: format!("{path}/{}", pointer::escape(name)), of_key: true, text }
}

/// ` (did you mean X?); there are X, Y, Z`.
fn meant(name: &str, known: &[&str]) -> String {
    let meant = suggest::one(name, known).map(|meant| format!(" (did you mean `{meant}`?)"));
    let there = if known.is_empty() { String::new() } else { format!("; there are {}", known.join(", ")) };
    meant.unwrap_or_default() + &there
}

fn wrong_value(violation: &Violation, place: &Value) -> String {
    let words: Vec<&str> = keys::words(place);
    match (&violation.got, &violation.expected) {
        (Some(Value::String(word)), _) if !words.is_empty() => {
            let expected = format!("expected one of {}", words.join(", "));
            match suggest::one(word, &words) {
                Some(meant) => format!("{expected}, got {word:?} (did you mean {meant}?)"),
                None => format!("{expected}, got another word"),
            }
        }
        (Some(got), _) if !words.is_empty() => {
            format!("expected one of {}, got {}", words.join(", "), kind(got))
        }
        (Some(got), Some(rule)) => format!("expected {}, got {}", in_words(rule), kind(got)),
        (None, Some(missing)) => format!("`{}` is missing", in_words(missing)),
        (_, None) => "not valid".to_owned(),
    }
}

/// A rule as people say it: `minimum: 1` is `at least 1`. A single word comes in quotes.
fn in_words(rule: &str) -> String {
    let bare = rule.strip_prefix('"').and_then(|rule| rule.strip_suffix('"')).filter(|it| !it.contains('"'));
    let limit = |name: &str, words: &str| Some(format!("{words} {}", rule.strip_prefix(name)?));
    match (bare, rule) {
        (Some(word), _) => word.to_owned(),
        (None, "minLength: 1") => "a text".to_owned(),
        (None, _) => limit("minimum: ", "at least")
            .or_else(|| limit("maximum: ", "at most"))
            .unwrap_or_else(|| rule.to_owned()),
    }
}
