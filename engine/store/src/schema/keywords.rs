//! The keywords a schema may use: whether it may be stored, and whether payloads can be checked against it.
//!
//! The two differ: `prefixItems` and formats of others are stored, since stores hold schemas of other programs, but
//! refused at validation, since nobody would enforce them. Never looks at a payload.

use serde_json::{Map, Value};

use super::shown::shown;
use crate::schema::pointer::escape;

/// The one format: a string that is the hash of a node, and so an edge of the graph.
pub(super) const OCAS_REF: &str = "ocas_ref";

const TYPES: [&str; 7] = ["string", "number", "integer", "boolean", "object", "array", "null"];

/// A schema that cannot be stored, or that payloads cannot be checked against. `path` is a JSON pointer into it.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SchemaError {
    /// A schema, or what stands where one must, is no object.
    #[error("schema{}: expected an object, got {}", at(path), shown(got))]
    NotAnObject {
        /// JSON pointer into the schema.
        path: String,
        /// What stands there.
        got: Box<Value>,
    },
    /// A keyword that no store takes, such as `$ref`.
    #[error("schema{}: the keyword {keyword:?} is not allowed", at(path))]
    UnknownKeyword {
        /// The schema that has it.
        path: String,
        /// The keyword.
        keyword: String,
    },
    /// A keyword with a value it cannot have.
    #[error("schema{}: {keyword:?} must be {expected}, got {}", at(path), shown(got))]
    BadKeyword {
        /// The schema that has it.
        path: String,
        /// The keyword.
        keyword: String,
        /// What its value must be.
        expected: &'static str,
        /// What it is.
        got: Box<Value>,
    },
    /// A keyword that may be stored but that nothing can be validated against: `prefixItems`, or a `format`
    /// other than `ocas_ref`.
    #[error("schema{}: cannot validate against {keyword:?}: {}", at(path), shown(value))]
    Unsupported {
        /// The schema that has it.
        path: String,
        /// The keyword.
        keyword: String,
        /// Its value.
        value: Box<Value>,
    },
    /// Stored, but not a draft-07 schema: a pattern that is no regular expression, a negative length.
    #[error("schema{}: {message}", at(path))]
    Unusable {
        /// JSON pointer into the schema.
        path: String,
        /// What is wrong with it.
        message: String,
    },
}

impl SchemaError {
    /// JSON pointer into the schema.
    pub fn path(&self) -> &str {
        match self {
            SchemaError::NotAnObject { path, .. }
            | SchemaError::UnknownKeyword { path, .. }
            | SchemaError::BadKeyword { path, .. }
            | SchemaError::Unsupported { path, .. }
            | SchemaError::Unusable { path, .. } => path,
        }
    }
}

fn at(path: &str) -> String {
    if path.is_empty() { String::new() } else { format!(" at {path}") }
}

/// Whether a schema may be stored: at every depth only known keywords, each with a value of its shape.
///
/// # Errors
/// The first keyword that is unknown or whose value has another shape, with its place.
pub fn check(schema: &Value) -> Result<(), SchemaError> {
    check_at(schema, "")
}

/// Whether payloads can be validated against a schema that passes [`check`].
pub(super) fn check_usable(schema: &Value) -> Result<(), SchemaError> {
    usable_at(schema, "")
}

/// What the value of a keyword may be.
#[derive(Clone, Copy, PartialEq)]
enum Shape {
    Anything,
    Text,
    Number,
    Boolean,
    Values,
    SomeValues,
    Names,
    Type,
    Schema,
    SchemaOrBoolean,
    Schemas,
    SchemaMap,
}

fn shape(keyword: &str) -> Option<Shape> {
    Some(match keyword {
        "const" | "default" => Shape::Anything,
        "format" | "title" | "description" | "pattern" | "$comment" => Shape::Text,
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf" => Shape::Number,
        "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties" => {
            Shape::Number
        }
        "uniqueItems" | "readOnly" | "writeOnly" | "deprecated" => Shape::Boolean,
        "examples" => Shape::Values,
        "enum" => Shape::SomeValues,
        "required" => Shape::Names,
        "type" => Shape::Type,
        "items" | "if" | "then" | "else" | "not" | "contains" | "propertyNames" => Shape::Schema,
        "additionalProperties" => Shape::SchemaOrBoolean,
        "anyOf" | "oneOf" | "allOf" | "prefixItems" => Shape::Schemas,
        "properties" | "patternProperties" => Shape::SchemaMap,
        _ => return None,
    })
}

impl Shape {
    /// Looks no deeper than the keyword's own value: sub-schemas are visited by the caller.
    fn admits(self, value: &Value) -> bool {
        let is_type = |value: &Value| value.as_str().is_some_and(|name| TYPES.contains(&name));
        match self {
            Shape::Anything => true,
            Shape::Text => value.is_string(),
            Shape::Number => value.is_number(),
            Shape::Boolean => value.is_boolean(),
            Shape::Values => value.is_array(),
            Shape::SomeValues | Shape::Schemas => value.as_array().is_some_and(|items| !items.is_empty()),
            Shape::Names => value.as_array().is_some_and(|items| items.iter().all(Value::is_string)),
            Shape::Type => match value.as_array() {
                Some(names) => !names.is_empty() && names.iter().all(is_type),
                None => is_type(value),
            },
            Shape::Schema | Shape::SchemaMap => value.is_object(),
            Shape::SchemaOrBoolean => value.is_object() || value.is_boolean(),
        }
    }

    fn expected(self) -> &'static str {
        match self {
            Shape::Anything => "anything",
            Shape::Text => "a string",
            Shape::Number => "a number",
            Shape::Boolean => "true or false",
            Shape::Values => "an array",
            Shape::SomeValues => "an array of at least one value",
            Shape::Names => "an array of strings",
            Shape::Type => {
                "one of string, number, integer, boolean, object, array, null, or an array of these"
            }
            Shape::Schema => "a schema (an object)",
            Shape::SchemaOrBoolean => "true, false or a schema (an object)",
            Shape::Schemas => "an array of at least one schema",
            Shape::SchemaMap => "an object of schemas",
        }
    }
}

fn check_at(schema: &Value, path: &str) -> Result<(), SchemaError> {
    let Value::Object(keywords) = schema else {
        return Err(SchemaError::NotAnObject { path: path.to_owned(), got: Box::new(schema.clone()) });
    };
    for (keyword, value) in keywords {
        let Some(shape) = shape(keyword) else {
            return Err(SchemaError::UnknownKeyword { path: path.to_owned(), keyword: keyword.clone() });
        };
        if !shape.admits(value) {
            return Err(SchemaError::BadKeyword {
                path: path.to_owned(),
                keyword: keyword.clone(),
                expected: shape.expected(),
                got: Box::new(value.clone()),
            });
        }
    }
    sub_schemas(keywords).try_for_each(|(step, inner)| check_at(inner, &format!("{path}{step}")))
}

fn usable_at(schema: &Value, path: &str) -> Result<(), SchemaError> {
    let Value::Object(keywords) = schema else { return Ok(()) };
    let foreign = |(keyword, value): &(&String, &Value)| {
        *keyword == "prefixItems" || (*keyword == "format" && value.as_str() != Some(OCAS_REF))
    };
    if let Some((keyword, value)) = keywords.iter().find(foreign) {
        return Err(SchemaError::Unsupported {
            path: path.to_owned(),
            keyword: keyword.clone(),
            value: Box::new(value.clone()),
        });
    }
    sub_schemas(keywords).try_for_each(|(step, inner)| usable_at(inner, &format!("{path}{step}")))
}

/// The schemas directly inside a schema, each with the JSON pointer that leads there.
fn sub_schemas(keywords: &Map<String, Value>) -> impl Iterator<Item = (String, &Value)> {
    keywords.iter().flat_map(|(keyword, value)| -> Vec<(String, &Value)> {
        match (shape(keyword), value) {
            (Some(Shape::Schema), _) | (Some(Shape::SchemaOrBoolean), Value::Object(_)) => {
                vec![(format!("/{keyword}"), value)]
            }
            (Some(Shape::Schemas), Value::Array(items)) => {
                items.iter().enumerate().map(|(i, item)| (format!("/{keyword}/{i}"), item)).collect()
            }
            (Some(Shape::SchemaMap), Value::Object(map)) => {
                map.iter().map(|(name, item)| (format!("/{keyword}/{}", escape(name)), item)).collect()
            }
            _ => Vec::new(),
        }
    })
}

#[cfg(test)]
#[path = "keywords_tests.rs"]
mod tests;
