//! One thing that is wrong with a payload, in words good enough to be handed to a language model as they are.
//!
//! Apart from [`super::validate`] so that wording can be read in one place. Never decides what is wrong.

use std::fmt;

use jsonschema::ValidationError;
use jsonschema::error::{TypeKind, ValidationErrorKind as Kind};
use serde::Serialize;
use serde_json::Value;

use super::keywords::{OCAS_REF, SchemaError};
use super::shown::shown;
use crate::excerpt;
use crate::schema::pointer::escape;

/// Values and names of a list that are shown; how many more there are is said.
const LISTED: usize = 50;
/// No message is longer, in characters: one may quote others.
const MESSAGE: usize = 10_000;

/// One thing that is wrong with a payload.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Violation {
    /// JSON pointer to what is wrong, "" for the whole; of a missing property, to the object that lacks it.
    pub path: String,
    /// A sentence that names the value and the rule, on one line.
    pub message: String,
    /// The rule alone, where it can be said briefly.
    pub expected: Option<String>,
    /// The value that broke it; none if something is missing.
    pub got: Option<Value>,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            f.write_str(&self.message)
        } else {
            write!(f, "{}: {}", self.path, self.message)
        }
    }
}

/// All that is wrong with a payload, on one line.
pub fn sentence(violations: &[Violation]) -> String {
    violations.iter().map(Violation::to_string).collect::<Vec<_>>().join("; ")
}

impl Violation {
    /// What jsonschema found, in our words; `schema` is the whole schema, to say what would have been right.
    pub(super) fn new(error: &ValidationError<'_>, schema: &Value) -> Violation {
        let got = error.instance().as_ref();
        let (message, expected) = words(error, got, schema);
        let message = excerpt(&message, MESSAGE).into_owned();
        let got = (!matches!(error.kind(), Kind::Required { .. })).then(|| got.clone());
        Violation { path: error.instance_path().as_str().to_owned(), message, expected, got }
    }

    /// Something wrong with a payload as a whole.
    pub fn whole(message: String) -> Violation {
        Violation { path: String::new(), message, expected: None, got: None }
    }

    /// A property that selects a variant and selects none.
    pub(super) fn no_such_variant(
        object_path: &str,
        property: &str,
        got: Option<&Value>,
        allowed: &[&Value],
    ) -> Violation {
        let expected = one_of(allowed.iter().copied());
        let message = match got {
            Some(got) => format!("`{property}` must be {expected}, got {}", shown(got)),
            None => format!("`{property}` must be {expected}, but it is missing"),
        };
        Violation {
            path: format!("{object_path}/{}", escape(property)),
            message,
            expected: Some(expected),
            got: got.cloned(),
        }
    }
}

/// A schema is itself a payload, of the meta-schema.
impl From<SchemaError> for Violation {
    fn from(error: SchemaError) -> Violation {
        let path = error.path().to_owned();
        let (expected, got) = match &error {
            SchemaError::NotAnObject { got, .. } => (Some("an object".to_owned()), Some((**got).clone())),
            SchemaError::BadKeyword { expected, got, .. } => {
                (Some((*expected).to_owned()), Some((**got).clone()))
            }
            _ => (None, None),
        };
        Violation { path, message: error.to_string(), expected, got }
    }
}

fn words(error: &ValidationError<'_>, got: &Value, schema: &Value) -> (String, Option<String>) {
    match error.kind() {
        Kind::Type { kind } => {
            let expected = types(kind);
            let noun = if expected.contains(',') { "any of the types" } else { "of type" };
            (format!("{} is not {noun} {expected}", shown(got)), Some(expected))
        }
        Kind::Enum { options } => {
            let expected = one_of(options.as_array().into_iter().flatten());
            (format!("{} is not {expected}", shown(got)), Some(expected))
        }
        Kind::Constant { expected_value } => {
            let expected = shown(expected_value);
            (format!("{} is not the one allowed value {expected}", shown(got)), Some(expected))
        }
        Kind::Required { property } => {
            (format!("{property} is a required property"), Some(property.to_string()))
        }
        Kind::AdditionalProperties { unexpected } => unexpected_properties(unexpected, error, schema),
        Kind::Format { format } if format == OCAS_REF => {
            let expected = "the hash of a node (13 characters of 0-9 and A-Z without I, L, O, U)";
            (format!("{} is not {expected}", shown(got)), Some(expected.to_owned()))
        }
        Kind::PropertyNames { error } => {
            (format!("the property name {}", words(error, error.instance(), schema).0), None)
        }
        Kind::AnyOf { context } | Kind::OneOfNotValid { context } => none_fits(error, context, schema),
        Kind::Contains => {
            let expected = rule(error, schema).map(shown);
            let item = expected.as_deref().unwrap_or("what an item must be");
            (format!("no item of {} is as required: {item}", shown(got)), expected.clone())
        }
        Kind::Not { schema } => (format!("{} is what it must not be: {}", shown(got), shown(schema)), None),
        Kind::OneOfMultipleValid { .. } => {
            (format!("{} fits more than one of the alternatives, must fit exactly one", shown(got)), None)
        }
        other => {
            let rule = rule(error, schema).map(|value| format!("{}: {}", other.keyword(), shown(value)));
            (one_line(&error.masked_with(shown(got)).to_string()), rule)
        }
    }
}

/// The value of the broken keyword.
fn rule<'s>(error: &ValidationError<'_>, schema: &'s Value) -> Option<&'s Value> {
    schema.pointer(error.schema_path().as_str())
}

fn unexpected_properties(
    names: &[String],
    error: &ValidationError<'_>,
    schema: &Value,
) -> (String, Option<String>) {
    let noun = if names.len() == 1 { "property" } else { "properties" };
    let message = format!("unexpected {noun} {}", list(names.iter(), |name| quoted(name)));
    let object = error.schema_path().as_str().strip_suffix("/additionalProperties");
    let allowed = object.and_then(|path| schema.pointer(path)?.get("properties")?.as_object());
    let expected = allowed.map(|map| list(map.keys(), |name| quoted(name))).filter(|text| !text.is_empty());
    match expected {
        Some(expected) => (format!("{message}; allowed: {expected}"), Some(expected)),
        None => (message, None),
    }
}

/// Why no alternative fits: the types alone if that is all there is to say, else the first reason of each.
fn none_fits(
    error: &ValidationError<'_>,
    context: &[Vec<ValidationError<'static>>],
    schema: &Value,
) -> (String, Option<String>) {
    let got = shown(error.instance());
    let here = error.instance_path().as_str();
    let firsts: Vec<_> = context.iter().filter_map(|errors| errors.first()).collect();
    let wrong_types = firsts.iter().map(|first| match first.kind() {
        Kind::Type { kind } if first.instance_path().as_str() == here => Some(types(kind)),
        _ => None,
    });
    if let Some(expected) = wrong_types.collect::<Option<Vec<_>>>().map(|types| types.join(", ")) {
        return (format!("{got} is not any of the types {expected}"), Some(expected));
    }
    let reason = |(i, first): (usize, &&ValidationError<'_>)| {
        let path = first.instance_path().as_str().strip_prefix(here).unwrap_or_default().to_owned();
        let message = excerpt(&words(first, first.instance(), schema).0, MESSAGE).into_owned();
        format!("({}) {}", i + 1, Violation { path, ..Violation::whole(message) })
    };
    let reasons = list(firsts.iter().enumerate(), reason);
    (format!("{got} fits none of the alternatives: {reasons}"), None)
}

fn types(kind: &TypeKind) -> String {
    match kind {
        TypeKind::Single(name) => quoted(&name.to_string()),
        TypeKind::Multiple(names) => list(names.iter(), |name| quoted(&name.to_string())),
    }
}

fn one_of<'v>(values: impl Iterator<Item = &'v Value>) -> String {
    let values: Vec<_> = values.collect();
    match values[..] {
        [only] => shown(only),
        _ => format!("one of {}", list(values.into_iter(), shown)),
    }
}

/// The first items in words, and how many more there are: those cost nothing.
fn list<T>(mut items: impl Iterator<Item = T>, words: impl Fn(T) -> String) -> String {
    let first: Vec<_> = items.by_ref().take(LISTED).map(words).collect();
    let more = match items.count() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{}{more}", first.join(", "))
}

fn quoted(name: &str) -> String {
    format!("{name:?}")
}

fn one_line(text: &str) -> String {
    text.replace('\n', " ")
}
