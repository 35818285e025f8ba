//! Settings files of any kind: read, checked against a schema of their shape, every problem with its place. What the
//! settings mean is not known here.

use std::path::Path;

use serde_json::{Value, json};
use uwf_workflow::yaml::{self, Document};

use super::ConfigError;
use super::diagnostic::{self, ConfigDiagnostic};

/// The value of any settings file, checked against a schema of its shape, without keys that have no value; an empty
/// object when there is no file. The problems are told with their place and without values, which may be secrets.
///
/// # Errors
/// The file cannot be read, is not YAML, or does not obey the schema: then every problem is listed.
pub fn checked(file: &Path, shape: &Value) -> Result<Value, ConfigError> {
    let mut value = read(file, shape)?;
    prune(&mut value);
    Ok(value)
}

/// The file's checked value. That there is no file is told without checking anything: most runs have none of one kind.
pub(super) fn read(file: &Path, shape: &Value) -> Result<Value, ConfigError> {
    match text(file)? {
        Some(text) => Ok(parse(&text, file, shape)?.value),
        None => Ok(json!({})),
    }
}

pub(super) fn text(file: &Path) -> Result<Option<String>, ConfigError> {
    match std::fs::read_to_string(file) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(ConfigError::Io { verb: "read", file: file.to_owned(), source }),
    }
}

/// A text without any content is an empty mapping, not null.
pub(super) fn parse(text: &str, file: &Path, shape: &Value) -> Result<Document, ConfigError> {
    let blank = text.lines().all(|line| line.trim().is_empty() || line.trim_start().starts_with('#'));
    let document = yaml::parse(if blank { "{}" } else { text }).map_err(|error| {
        let line = format!("{}:{}:{}: {}", file.display(), error.line, error.column, error.message);
        ConfigError::Invalid { problems: vec![line] }
    })?;
    let diagnostics = diagnostics(&document.value, shape);
    if diagnostics.is_empty() {
        return Ok(document);
    }
    let lines = diagnostics.into_iter().map(|ConfigDiagnostic { pointer, of_key, text }| {
        let position = if of_key { document.at_key(&pointer) } else { document.at(&pointer) };
        format!("{}:{}:{}: {text}", file.display(), position.line, position.column)
    });
    Err(ConfigError::Invalid { problems: lines.collect() })
}

/// Every way in which a value is no configuration.
pub(super) fn diagnostics(value: &Value, shape: &Value) -> Vec<ConfigDiagnostic> {
    let mut pruned = value.clone();
    prune(&mut pruned);
    diagnostic::diagnostics(&pruned, shape)
}

/// Null means absent throughout.
fn prune(value: &mut Value) {
    if let Value::Object(fields) = value {
        fields.retain(|_, value| !value.is_null());
        fields.values_mut().for_each(prune);
    }
}
