//! The only judge of an answer: text → frontmatter that is valid against the role's schema, and the body.
//!
//! Pure. Where the frontmatter is, `uwf_workflow::frontmatter` says; what it is worth is decided here.

use serde_json::{Map, Value, json};
use thiserror::Error;
use uwf_engine::builtin;
use uwf_store::Hash;
use uwf_store::schema::{self, Violation, sentence};
use uwf_workflow::moderator::SUSPEND;
use uwf_workflow::{frontmatter, schema_analysis, yaml};

use crate::additions::OutputCheck;

/// An answer that is valid.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Extracted {
    /// What is stored as the step's output.
    pub output: Value,
    /// The schema it obeys: the role's own, or SuspendOutput.
    pub schema: Hash,
    /// Everything behind the frontmatter, leading blank lines removed.
    pub body: String,
}

/// Why a text is not an answer; precise enough to be handed to the model word for word.
#[derive(Clone, Debug, Error)]
pub enum ExtractError {
    /// There is no frontmatter.
    #[error("no frontmatter: {0}")]
    NoFrontmatter(&'static str),
    /// There is, but it is not YAML.
    #[error("the frontmatter is not valid YAML: line {line}, column {column}: {message}")]
    Yaml {
        /// The line in the frontmatter, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
        /// What is wrong there.
        message: String,
        /// The text between the fences.
        yaml: String,
    },
    /// It is YAML, but no mapping.
    #[error("the frontmatter is {got}, expected a mapping of field names to values")]
    NotMapping {
        /// What it is instead.
        got: &'static str,
    },
    /// It is a mapping, but not what the role's schema asks for.
    #[error("the frontmatter does not match the role's schema: {}", sentence(.violations))]
    Invalid {
        /// Everything that is wrong.
        violations: Vec<Violation>,
        /// The `$status` it gave: the form that was meant.
        status: Option<String>,
    },
    /// It is valid, but copied from the example.
    #[error("the frontmatter still holds the placeholder {placeholder:?} in {path}")]
    Placeholder {
        /// JSON pointer of the field.
        path: String,
        /// What stands there.
        placeholder: String,
        /// The `$status` it gave.
        status: Option<String>,
    },
    /// The role's schema itself cannot be used.
    #[error("the role's schema cannot be used: {0}")]
    Schema(String),
}

/// Reads an answer. `schema_hash` is the hash under which `schema` is stored.
///
/// # Errors
/// The first reason, in the order of [`ExtractError`], for which the text is no answer.
pub(crate) fn extract(text: &str, role_schema: &Value, schema_hash: Hash) -> Result<Extracted, ExtractError> {
    let text = frontmatter::normalized(text);
    let split = frontmatter::split(&text).map_err(ExtractError::NoFrontmatter)?;
    let fields = mapping(split.yaml)?;
    let (output, schema_hash) = candidate(fields, role_schema, schema_hash)?;
    Ok(Extracted { output, schema: schema_hash, body: split.body.to_owned() })
}

/// [`extract`], and then what a program has to say of an answer that obeys the schema. That a person is asked something
/// is no answer to be checked.
///
/// # Errors
/// As [`extract`]; what the check finds is [`ExtractError::Invalid`].
pub(crate) fn extract_checked(
    text: &str,
    (role_schema, schema_hash): (&Value, Hash),
    check: Option<&OutputCheck>,
) -> Result<Extracted, ExtractError> {
    let answer = extract(text, role_schema, schema_hash)?;
    self::check(&answer, check)?;
    Ok(answer)
}

/// What a program has to say of an answer that obeys the schema.
///
/// # Errors
/// [`ExtractError::Invalid`] with its words.
pub(crate) fn check(answer: &Extracted, check: Option<&OutputCheck>) -> Result<(), ExtractError> {
    let Some(check) = check.filter(|_| answer.schema != builtin::SUSPEND_OUTPUT) else { return Ok(()) };
    check(&answer.output).map_err(|message| ExtractError::Invalid {
        violations: vec![Violation { path: String::new(), message, expected: None, got: None }],
        status: answer.output["$status"].as_str().map(str::to_owned),
    })
}

/// Judges fields that were taken from `text` by other means; the body is what stands behind its frontmatter, else all
/// of it.
///
/// # Errors
/// As [`extract`], from [`ExtractError::Invalid`] on.
pub(crate) fn judge(
    fields: Map<String, Value>,
    text: &str,
    (role_schema, schema_hash): (&Value, Hash),
) -> Result<Extracted, ExtractError> {
    let (output, schema) = candidate(fields, role_schema, schema_hash)?;
    let text = frontmatter::normalized(text);
    let body = frontmatter::split(&text).map_or(text.trim(), |split| split.body).to_owned();
    Ok(Extracted { output, schema, body })
}

fn mapping(yaml: &str) -> Result<Map<String, Value>, ExtractError> {
    let value = yaml::parse_value(yaml).map_err(|error| ExtractError::Yaml {
        line: error.line,
        column: error.column,
        message: error.message,
        yaml: yaml.to_owned(),
    })?;
    let got = match value {
        Value::Object(fields) => return Ok(fields),
        Value::Null => "empty",
        Value::Array(_) => "a list",
        _ => "a single value",
    };
    Err(ExtractError::NotMapping { got })
}

/// The fields that the schema knows, valid against it; `$SUSPEND` has a schema of its own.
fn candidate(
    fields: Map<String, Value>,
    role_schema: &Value,
    schema_hash: Hash,
) -> Result<(Value, Hash), ExtractError> {
    if fields.get("$status").and_then(Value::as_str) == Some(SUSPEND) {
        return Ok((suspend(&fields)?, builtin::SUSPEND_OUTPUT));
    }
    let known = schema_analysis::kept_fields(role_schema);
    let keep = |(name, _): &(String, Value)| known.is_empty() || known.contains(name.as_str());
    let output = Value::Object(fields.into_iter().filter(keep).collect());
    let mut violations =
        schema::validate(role_schema, &output).map_err(|e| ExtractError::Schema(e.to_string()))?;
    // Where what comes next is no matter of a status, the schema has none.
    let routed = known.is_empty() || known.contains("$status");
    if violations.is_empty() && routed && !output["$status"].is_string() {
        violations.push(Violation {
            path: String::new(),
            message: "\"$status\" is a required property".to_owned(),
            expected: Some("$status: a string that the workflow routes on".to_owned()),
            got: None,
        });
    }
    let status = output["$status"].as_str().map(str::to_owned);
    if !violations.is_empty() {
        return Err(ExtractError::Invalid { violations, status });
    }
    match uwf_prompts::copied_placeholder(role_schema, &output) {
        Some(path) => {
            let placeholder = output.pointer(&path).and_then(Value::as_str).unwrap_or_default().to_owned();
            Err(ExtractError::Placeholder { path, placeholder, status })
        }
        None => Ok((output, schema_hash)),
    }
}

fn suspend(fields: &Map<String, Value>) -> Result<Value, ExtractError> {
    match fields.get("reason").unwrap_or(&Value::Null) {
        Value::Null => Ok(json!({"$status": SUSPEND, "reason": ""})),
        Value::String(reason) => Ok(json!({"$status": SUSPEND, "reason": reason})),
        other => Err(ExtractError::Invalid {
            violations: vec![Violation {
                path: "/reason".to_owned(),
                message: format!("{other} is not of type \"string\""),
                expected: Some("a string: what you need from a person".to_owned()),
                got: Some(other.clone()),
            }],
            status: Some(SUSPEND.to_owned()),
        }),
    }
}

#[cfg(test)]
#[path = "frontmatter_tests.rs"]
mod tests;
