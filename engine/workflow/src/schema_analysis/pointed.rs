//! What a schema says of the value at a pointer: whether there can be one, and whether it can name files.
//!
//! As lenient as the rest: where the schema leaves it open, anything may be there.

use serde_json::Value;
use uwf_store::schema::listed;

use super::{is_closed, kept_fields, members};

/// What is wrong with a pointer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Mispointed {
    /// No answer has this key, the `at`-th of the pointer.
    Nothing { at: usize },
    /// What is there is never a text or a list of texts.
    NoText,
}

/// What keeps the value that `keys` lead to from naming files; none where it may.
pub(crate) fn mispointed(schema: &Value, keys: &[String]) -> Option<Mispointed> {
    let mut schemas = vec![schema];
    for (at, key) in keys.iter().enumerate() {
        let found: Vec<&Value> = schemas.iter().flat_map(|schema| members(schema, key)).collect();
        if !found.is_empty() {
            schemas = found;
            continue;
        }
        // At the root what is not listed is not kept.
        let is_nothing = match at {
            0 => !kept_fields(schema).contains(key.as_str()),
            _ => schemas.iter().all(|schema| is_closed(schema)),
        };
        return is_nothing.then_some(Mispointed::Nothing { at });
    }
    (!schemas.iter().any(|schema| may_name(schema, true))).then_some(Mispointed::NoText)
}

/// Whether a value of this schema can be a text or, where `or_list`, a list of texts.
fn may_name(schema: &Value, or_list: bool) -> bool {
    let is_fit = |type_: &str| type_ == "string" || (or_list && type_ == "array");
    let type_fits = match &schema["type"] {
        Value::String(type_) => is_fit(type_),
        Value::Array(types) => types.iter().filter_map(Value::as_str).any(is_fit),
        _ => true,
    };
    let is_value_fit = |value: &Value| value.is_string() || (or_list && value.is_array());
    let value_fits = listed(schema).is_none_or(|values| values.iter().any(is_value_fit));
    let is_list = schema["type"] == "array";
    let items_fit = !is_list || schema.get("items").is_none_or(|items| may_name(items, false));
    type_fits && value_fits && items_fit
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn told(keys: &[&str]) -> Option<Mispointed> {
        let schema = json!({"oneOf": [
            {"properties": {
                "$status": {"const": "done"},
                "report": {"type": "string"},
                "figures": {"type": "array", "items": {"type": "string"}},
                "sizes": {"type": "array", "items": {"type": "integer"}},
                "count": {"type": ["integer", "null"]},
                "kind": {"enum": [1, 2]},
                "open": {},
                "meta": {"properties": {"path": {"type": ["string", "null"]}}},
            }},
            {"properties": {"$status": {"const": "no"}, "why": {"type": "string"}}},
        ]});
        mispointed(&schema, &keys.iter().map(|key| (*key).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn a_pointer_is_held_against_the_schema_as_far_as_that_tells() {
        for good in [
            &["report"][..],
            &["figures"],
            &["figures", "0"],
            &["open"],
            &["open", "x"],
            &["meta", "path"],
            &["why"],
        ] {
            assert_eq!(told(good), None, "{good:?}");
        }
        assert_eq!(told(&["reprot"]), Some(Mispointed::Nothing { at: 0 }));
        assert_eq!(told(&["meta", "x"]), Some(Mispointed::Nothing { at: 1 }));
        assert_eq!(told(&["report", "x"]), Some(Mispointed::Nothing { at: 1 }));
        for bad in [&["sizes"][..], &["sizes", "0"], &["count"], &["kind"]] {
            assert_eq!(told(bad), Some(Mispointed::NoText), "{bad:?}");
        }
        assert_eq!(told(&["meta"]), None, "a schema without a type leaves it open");
    }
}
