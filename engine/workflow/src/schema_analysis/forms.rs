//! A JSON Schema, read the way a person reads it: which forms there are, which properties in which order.
//!
//! Apart from what is said of it, in words and by example, which need the same reading. It does not validate; what it
//! cannot read (`not`, `if` …) it leaves in place, to be quoted.

use std::collections::HashMap;

use serde_json::{Map, Value};
use uwf_store::schema::listed;
use uwf_store::schema::pointer::unescape;

/// One property of an object schema.
pub struct Property<'a> {
    /// Its name.
    pub name: &'a str,
    /// What its value must be.
    pub schema: &'a Value,
    /// Whether it must be there.
    pub required: bool,
}

/// The schema's alternatives, each with what is common to all merged in, none with `oneOf` or `anyOf` at its root.
/// A schema without alternatives is its own only one.
pub fn of(schema: &Value) -> Vec<Value> {
    let whole = with_all_of(schema);
    for keyword in ["oneOf", "anyOf"] {
        if let Some(options) = list(&whole, keyword) {
            let mut rest = whole.clone();
            remove(&mut rest, keyword);
            return options.iter().flat_map(|option| of(&merge(&rest, option))).collect();
        }
    }
    vec![whole]
}

/// `$status` first, then the required properties in the author's order, then the others by name: never the order
/// of a map, which depends on how the JSON library was built.
pub fn properties(schema: &Value) -> Vec<Property<'_>> {
    let Some(map) = schema.get("properties").and_then(Value::as_object) else { return Vec::new() };
    let texts = texts(schema, "required").into_iter().enumerate();
    let required: HashMap<&str, usize> = texts.rev().map(|(place, name)| (name, place)).collect();
    let mut properties: Vec<Property<'_>> = map
        .iter()
        .map(|(name, schema)| Property { name, schema, required: required.contains_key(name.as_str()) })
        .collect();
    properties.sort_by_key(|property| {
        let place = required.get(property.name).copied().unwrap_or(usize::MAX);
        (property.name != "$status", place, property.name)
    });
    properties
}

/// The values `$status` may have in this form; empty when the schema does not say.
pub fn statuses(form: &Value) -> Vec<&str> {
    let Some(status) = form.pointer("/properties/$status") else { return Vec::new() };
    listed(status).into_iter().flatten().filter_map(Value::as_str).collect()
}

/// Whether `null` is one of the schema's alternatives, and the alternatives that are not `null`.
pub fn without_null(schema: &Value) -> (bool, Vec<Value>) {
    let (null, other): (Vec<Value>, Vec<Value>) =
        of(schema).into_iter().partition(|option| types(option) == ["null"]);
    (!null.is_empty(), other)
}

/// The names in `type`; when there is none, what the other keywords speak of.
pub fn types(schema: &Value) -> Vec<&str> {
    match schema.get("type") {
        Some(Value::String(name)) => vec![name],
        Some(Value::Array(_)) => texts(schema, "type"),
        _ if schema.get("properties").is_some() => vec!["object"],
        _ if schema.get("items").is_some() => vec!["array"],
        _ => Vec::new(),
    }
}

/// What the schema says about the value at a JSON pointer, once for each form that carries this `$status` (all when
/// none does) and knows the place.
pub fn at(schema: &Value, status: Option<&str>, pointer: &str) -> Vec<Value> {
    let mut found: Vec<Value> = for_status(schema, status);
    for segment in pointer.split('/').skip(1) {
        let name = unescape(segment);
        found = found.iter().flat_map(|schema| step_into(schema, &name)).collect();
    }
    found
}

/// The forms that carry this `$status`; all when none does.
pub fn for_status(schema: &Value, status: Option<&str>) -> Vec<Value> {
    let all = of(schema);
    let fit: Vec<Value> = all
        .iter()
        .filter(|form| status.is_some_and(|status| statuses(form).contains(&status)))
        .cloned()
        .collect();
    if fit.is_empty() { all } else { fit }
}

/// The non-empty array under a keyword.
pub fn list<'a>(schema: &'a Value, keyword: &str) -> Option<&'a Vec<Value>> {
    schema.get(keyword).and_then(Value::as_array).filter(|list| !list.is_empty())
}

fn step_into(schema: &Value, name: &str) -> Vec<Value> {
    let inside = |schema: &Value| {
        let property = schema.get("properties").and_then(|properties| properties.get(name));
        let item = schema.get("items").filter(|_| name.parse::<usize>().is_ok());
        property.or(item).cloned()
    };
    of(schema).iter().filter_map(inside).collect()
}

/// The schema with those parts of `allOf` merged in that say nothing about a keyword twice; the others stay.
fn with_all_of(schema: &Value) -> Value {
    let Some(parts) = list(schema, "allOf") else { return schema.clone() };
    let mut whole = schema.clone();
    remove(&mut whole, "allOf");
    let mut left = Vec::new();
    for part in parts.iter().map(with_all_of) {
        if part
            .as_object()
            .is_some_and(|part| part.keys().all(|key| mergeable(key) || whole.get(key).is_none()))
        {
            whole = merge(&whole, &part);
        } else {
            left.push(part);
        }
    }
    if let (Some(map), false) = (whole.as_object_mut(), left.is_empty()) {
        map.insert("allOf".to_owned(), Value::Array(left));
    }
    whole
}

fn mergeable(keyword: &str) -> bool {
    matches!(keyword, "properties" | "required" | "type" | "title" | "description")
}

/// Both schemas in one: properties and required names united, any other keyword as `over` has it.
fn merge(base: &Value, over: &Value) -> Value {
    let (Some(base), Some(over)) = (base.as_object(), over.as_object()) else { return base.clone() };
    let mut whole = base.clone();
    for (keyword, value) in over {
        let value = match (keyword.as_str(), base.get(keyword)) {
            ("properties", Some(Value::Object(properties))) => merge_properties(properties, value),
            ("required", Some(Value::Array(names))) => unite(names, value),
            _ => value.clone(),
        };
        whole.insert(keyword.clone(), value);
    }
    Value::Object(whole)
}

fn merge_properties(base: &Map<String, Value>, over: &Value) -> Value {
    let mut all = base.clone();
    for (name, schema) in over.as_object().into_iter().flatten() {
        let merged = base.get(name).map_or_else(|| schema.clone(), |base| merge(base, schema));
        all.insert(name.clone(), merged);
    }
    Value::Object(all)
}

fn unite(names: &[Value], more: &Value) -> Value {
    let mut all = names.to_vec();
    all.extend(more.as_array().into_iter().flatten().filter(|name| !names.contains(name)).cloned());
    Value::Array(all)
}

fn remove(schema: &mut Value, keyword: &str) {
    if let Some(map) = schema.as_object_mut() {
        map.remove(keyword);
    }
}

fn texts<'a>(schema: &'a Value, keyword: &str) -> Vec<&'a str> {
    list(schema, keyword).into_iter().flatten().filter_map(Value::as_str).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn alternatives_carry_what_is_common() {
        let schema = json!({
            "required": ["$status"],
            "properties": {"note": {"type": "string"}},
            "oneOf": [
                {"properties": {"$status": {"const": "a"}, "x": {"type": "number"}}, "required": ["x"]},
                {"properties": {"$status": {"const": "b"}}},
            ],
        });
        let forms = of(&schema);
        let names: Vec<Vec<&str>> = forms
            .iter()
            .map(|form| properties(form).iter().map(|property| property.name).collect())
            .collect();
        assert_eq!(names, [vec!["$status", "x", "note"], vec!["$status", "note"]]);
        assert_eq!(statuses(&forms[1]), ["b"]);
        assert_eq!(for_status(&schema, Some("b")), [forms[1].clone()]);
        assert_eq!(for_status(&schema, Some("c")), forms);
    }

    #[test]
    fn all_of_is_merged_unless_it_speaks_of_a_keyword_again() {
        let schema = json!({"allOf": [{"properties": {"a": {}}, "required": ["a"]}, {"not": {}}], "not": {"type": "null"}});
        let whole = json!({"properties": {"a": {}}, "required": ["a"], "not": {"type": "null"}, "allOf": [{"not": {}}]});
        assert_eq!(of(&schema), [whole]);
    }

    #[test]
    fn a_pointer_finds_its_schema_through_lists_and_alternatives() {
        let schema = json!({"properties": {"files": {"anyOf": [
            {"type": "null"},
            {"type": "array", "items": {"properties": {"a/b": {"type": "integer"}}}},
        ]}}});
        assert_eq!(at(&schema, None, "/files/3/a~1b"), [json!({"type": "integer"})]);
        assert!(at(&schema, None, "/files/x").is_empty());
        assert_eq!(at(&schema, None, "").first(), Some(&schema));
    }

    #[test]
    fn a_schema_that_is_no_object_has_one_empty_form() {
        assert_eq!(of(&json!(true)), [json!(true)]);
        assert!(properties(&json!(true)).is_empty());
    }
}
