//! A document being read, and what is wrong with it: texts, numbers, lists and mappings, each by its place.

use std::path::Path;

use serde_json::{Map, Value};
use uwf_store::schema::pointer::escape;
use uwf_store::suggest;
use uwf_workflow::yaml::{Document, kind};

use super::error::Problem;
use crate::record::is_segment;

/// The document being read, and what is wrong with it.
pub(super) struct Reader<'d> {
    pub(super) document: &'d Document,
    pub(super) dir: &'d Path,
    pub(super) problems: Vec<Problem>,
}

/// A mapping of the document.
pub(super) struct Section<'d> {
    pub(super) map: &'d Map<String, Value>,
    pub(super) pointer: String,
}

impl Section<'_> {
    pub(super) fn below(&self, key: &str) -> String {
        format!("{}/{}", self.pointer, escape(key))
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.map.contains_key(key)
    }
}

impl<'d> Reader<'d> {
    /// A name that can stand in variables.
    pub(super) fn name(&mut self, of: &Section<'_>, what: &str) -> Option<String> {
        let name = self.required_text(of, "name")?;
        if is_segment(&name) {
            return Some(name);
        }
        let message = format!("{what} cannot be called `{name}`: letters, digits, `.`, `_` and `-` alone");
        self.problem(&of.below("name"), message);
        None
    }

    pub(super) fn items(&mut self, of: &Section<'d>, key: &str) -> Vec<(&'d Value, String)> {
        let pointer = of.below(key);
        match of.map.get(key) {
            None => {
                self.problem(&of.pointer, format!("`{key}` is missing"));
                Vec::new()
            }
            Some(Value::Array(items)) => {
                items.iter().enumerate().map(|(at, item)| (item, format!("{pointer}/{at}"))).collect()
            }
            Some(other) => {
                self.problem(&pointer, format!("`{key}` must be a list, got {}", kind(other)));
                Vec::new()
            }
        }
    }

    pub(super) fn section(
        &mut self,
        value: &'d Value,
        pointer: String,
        what: &str,
        known: &[&str],
    ) -> Option<Section<'d>> {
        let Value::Object(map) = value else {
            self.problem(&pointer, format!("{what} must be a mapping, got {}", kind(value)));
            return None;
        };
        let section = Section { map, pointer };
        for key in map.keys().filter(|key| !known.contains(&key.as_str())) {
            let meant = match suggest::one(key, known) {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => format!("there is: {}", known.join(", ")),
            };
            self.problem_at_key(&section.below(key), format!("unknown key `{key}`: {meant}"));
        }
        Some(section)
    }

    pub(super) fn required_text(&mut self, of: &Section<'_>, key: &str) -> Option<String> {
        if !of.has(key) {
            self.problem(&of.pointer, format!("`{key}` is missing"));
            return None;
        }
        let text = self.text(of, key)?;
        if text.trim().is_empty() {
            self.problem(&of.below(key), format!("`{key}` is empty"));
            return None;
        }
        Some(text)
    }

    pub(super) fn text(&mut self, of: &Section<'_>, key: &str) -> Option<String> {
        match of.map.get(key)? {
            Value::String(text) => Some(text.clone()),
            other => {
                let quote = matches!(other, Value::Bool(_) | Value::Number(_));
                let quote = if quote { format!(": quote it: \"{other}\"") } else { String::new() };
                let message = format!("`{key}` must be text, got {}{quote}", kind(other));
                self.problem(&of.below(key), message);
                None
            }
        }
    }

    pub(super) fn flag(&mut self, of: &Section<'_>, key: &str) -> Option<bool> {
        match of.map.get(key)? {
            Value::Bool(flag) => Some(*flag),
            other => {
                let message = format!("`{key}` must be true or false, got {}", kind(other));
                self.problem(&of.below(key), message);
                None
            }
        }
    }

    /// A number that `is_good`.
    pub(super) fn number(
        &mut self,
        of: &Section<'_>,
        key: &str,
        is_good: impl Fn(f64) -> bool,
    ) -> Option<f64> {
        let value = of.map.get(key)?;
        match value.as_f64() {
            Some(number) if number.is_finite() && is_good(number) => Some(number),
            Some(number) => {
                self.problem(&of.below(key), format!("`{key}` cannot be {number}"));
                None
            }
            None => {
                self.problem(&of.below(key), format!("`{key}` must be a number, got {}", kind(value)));
                None
            }
        }
    }

    pub(super) fn problem(&mut self, pointer: &str, message: String) {
        let line = self.document.at(pointer).line;
        self.problems.push(Problem { line, message });
    }

    pub(super) fn problem_at_key(&mut self, pointer: &str, message: String) {
        let line = self.document.at_key(pointer).line;
        self.problems.push(Problem { line, message });
    }
}
