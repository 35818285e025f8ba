//! Schemas that the tests of several files share, one of each kind a role may have, and readers for the examples.

use saphyr::{LoadableYamlNode, ScalarOwned, YamlOwned};
use serde_json::{Map, Value, json};

pub(crate) fn flat() -> Value {
    json!({
        "type": "object",
        "required": ["$status", "title"],
        "properties": {
            "$status": {"const": "done"},
            "title": {"type": "string", "description": "What was changed,\nin one line", "maxLength": 72},
            "count": {"type": "integer", "minimum": 1},
            "ratio": {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
            "ok": {"type": "boolean"},
            "tags": {"type": "array", "items": {"type": "string"}},
            "meta": {"type": "object"},
            "opt": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        },
    })
}

pub(crate) fn variants() -> Value {
    json!({
        "oneOf": [
            {
                "description": "The change can be merged.",
                "required": ["$status", "score"],
                "properties": {"$status": {"const": "approved"}, "score": {"type": "number", "minimum": 1, "maximum": 10}},
            },
            {
                "required": ["$status", "why"],
                "properties": {
                    "$status": {"const": "rejected"},
                    "why": {"type": "string"},
                    "files": {"type": "array", "items": {"type": "string"}, "minItems": 2, "uniqueItems": true},
                },
                "additionalProperties": false,
            },
        ],
    })
}

pub(crate) fn choice() -> Value {
    json!({
        "type": "object",
        "required": ["$status", "level"],
        "properties": {
            "$status": {"enum": ["new", "old"]},
            "level": {"enum": ["low", "1.0", "no", null, 3], "default": "low"},
        },
    })
}

pub(crate) fn nested() -> Value {
    json!({
        "type": "object",
        "required": ["$status", "findings", "author"],
        "properties": {
            "$status": {"const": "reviewed"},
            "author": {
                "type": "object",
                "required": ["name"],
                "additionalProperties": false,
                "properties": {"name": {"type": "string", "pattern": "^[a-z]+$"}, "age": {"type": ["integer", "null"]}},
            },
            "findings": {
                "type": "array",
                "minItems": 1,
                "description": "Most severe first.",
                "items": {
                    "type": "object",
                    "required": ["file", "line"],
                    "properties": {
                        "file": {"type": "string"},
                        "line": {"type": "integer", "minimum": 1},
                        "lines": {"type": "array", "items": {"type": "array", "items": {"type": "integer"}}},
                    },
                },
            },
            "source": {"oneOf": [
                {"type": "string", "format": "ocas_ref"},
                {"type": "object", "required": ["url"], "properties": {"url": {"type": "string"}}},
            ]},
            "labels": {"type": "object", "additionalProperties": {"type": "string", "minLength": 1}},
            "a: b": {"not": {"const": 1}},
        },
    })
}

pub(crate) fn nothing() -> Value {
    json!({"type": "object"})
}

pub(crate) fn all() -> Vec<Value> {
    vec![flat(), variants(), choice(), nested(), nothing(), json!({}), json!(true)]
}

/// The YAML of an example as JSON, by a reader that is not ours.
pub(crate) fn read_yaml(text: &str) -> Value {
    let documents = YamlOwned::load_from_str(text).unwrap();
    assert_eq!(documents.len(), 1, "{text}");
    to_json(&documents[0])
}

fn to_json(node: &YamlOwned) -> Value {
    match node {
        YamlOwned::Value(ScalarOwned::Null) => Value::Null,
        YamlOwned::Value(ScalarOwned::Boolean(flag)) => Value::from(*flag),
        YamlOwned::Value(ScalarOwned::Integer(number)) => Value::from(*number),
        YamlOwned::Value(ScalarOwned::FloatingPoint(number)) => Value::from(number.into_inner()),
        YamlOwned::Value(ScalarOwned::String(text)) => Value::from(text.as_str()),
        YamlOwned::Sequence(items) => items.iter().map(to_json).collect(),
        YamlOwned::Mapping(entries) => {
            let entry = |(key, value): (&YamlOwned, &YamlOwned)| {
                let key = to_json(key);
                (key.as_str().unwrap_or_else(|| panic!("key {key}")).to_owned(), to_json(value))
            };
            Value::Object(entries.iter().map(entry).collect::<Map<_, _>>())
        }
        other => panic!("not a JSON value: {other:?}"),
    }
}
