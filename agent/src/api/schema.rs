//! From a Rust type to the schema of a role's answer, and from such an answer back to the type's own value.
//!
//! Apart because it is pure: the rules by which any type becomes frontmatter. A role's schema is flat JSON Schema without
//! references, and says `$status`; types know neither rule.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};
use uwf_workflow::schema_analysis::forms;

/// How often a type is written out within itself; deeper values are judged by the type alone.
const DEPTH: usize = 3;

/// What says how an answer ends, where the type does not.
pub(super) const DONE: &str = "done";

/// The field of a value that is no object.
const ANSWER: &str = "answer";

/// What a role must answer.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct AnswerSchema {
    /// JSON Schema without references.
    pub schema: Value,
    /// What `$status` may be.
    pub statuses: Vec<String>,
    form: ValuePlace,
}

/// Where the type's value is in the answer.
#[derive(Clone, Copy, Debug, PartialEq)]
enum ValuePlace {
    /// It is the answer, `$status` included.
    Whole,
    /// It is the answer without `$status`.
    Fields,
    /// It is one field.
    Field,
}

impl AnswerSchema {
    /// The schema for values of `T`.
    pub(super) fn of<T: JsonSchema>() -> AnswerSchema {
        AnswerSchema::around(without_references(&generated::<T>()))
    }

    fn around(mut schema: Value) -> AnswerSchema {
        let own: Vec<Vec<String>> = forms::of(&schema)
            .iter()
            .map(|form| forms::statuses(form).into_iter().map(str::to_owned).collect())
            .collect();
        if !own.is_empty() && own.iter().all(|statuses| !statuses.is_empty()) {
            let mut statuses: Vec<String> = own.into_iter().flatten().collect();
            statuses.sort();
            statuses.dedup();
            return AnswerSchema { schema, statuses, form: ValuePlace::Whole };
        }
        let form = if is_struct(&schema) { ValuePlace::Fields } else { ValuePlace::Field };
        if form == ValuePlace::Field {
            schema = json!({"type": "object", "properties": {ANSWER: schema}, "required": [ANSWER]});
        }
        schema["properties"]["$status"] = json!({"const": DONE});
        let mut required = vec![json!("$status")];
        required.extend(schema["required"].as_array().into_iter().flatten().cloned());
        schema["required"] = Value::Array(required);
        AnswerSchema { schema, statuses: vec![DONE.to_owned()], form }
    }

    /// The type's own value in an answer.
    pub(super) fn value(&self, mut output: Value) -> Value {
        match self.form {
            ValuePlace::Whole => output,
            ValuePlace::Field => output.get_mut(ANSWER).map(Value::take).unwrap_or_default(),
            ValuePlace::Fields => {
                output.as_object_mut().and_then(|fields| fields.remove("$status"));
                output
            }
        }
    }
}

/// The schema of a tool's arguments; what says nothing of itself is any object.
pub(super) fn arguments<T: JsonSchema>() -> Value {
    let mut schema = without_references(&generated::<T>());
    if schema.get("type").is_none()
        && ["anyOf", "oneOf", "allOf", "enum", "const"].iter().all(|word| schema.get(word).is_none())
    {
        schema["type"] = json!("object");
    }
    if let Some(keywords) = schema.as_object_mut() {
        keywords.remove("title");
    }
    schema
}

fn generated<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().for_deserialize().with(|set| set.inline_subschemas = true);
    settings.into_generator().into_root_schema_for::<T>().to_value()
}

/// An object of which the fields are known, and there are no alternatives.
fn is_struct(schema: &Value) -> bool {
    let has = |keyword: &str| schema.get(keyword).is_some();
    let has_fields = schema["properties"].as_object().is_some_and(|fields| !fields.is_empty());
    let is_open = schema["additionalProperties"].is_object() || schema["additionalProperties"] == true;
    let is_choice = ["oneOf", "anyOf", "allOf", "not", "if", "patternProperties"].into_iter().any(has);
    schema["type"] == "object" && has_fields && !is_open && !is_choice
}

/// The schema with every `$ref` replaced by what it names, at most [`DEPTH`] times within itself, and without what the
/// store does not take; what is lost by that is left to the type.
fn without_references(schema: &Value) -> Value {
    let definitions = schema.get("$defs").and_then(Value::as_object);
    Inline { root: schema, definitions }.schema(schema, 0)
}

/// What references lead to.
struct Inline<'a> {
    root: &'a Value,
    definitions: Option<&'a Map<String, Value>>,
}

impl Inline<'_> {
    fn schema(&self, schema: &Value, depth: usize) -> Value {
        let keywords = match schema {
            Value::Object(keywords) => keywords,
            Value::Bool(false) => return json!({"not": {}}),
            _ => return json!({}),
        };
        let mut inlined = match keywords.get("$ref").and_then(Value::as_str) {
            Some(_) if depth >= DEPTH => Map::new(),
            Some(reference) => match self.named(reference).map(|found| self.schema(found, depth + 1)) {
                Some(Value::Object(found)) => found,
                _ => Map::new(),
            },
            None => Map::new(),
        };
        let is_tuple = keywords.contains_key("prefixItems");
        let kept =
            keywords.iter().filter(|(keyword, _)| is_kept(keyword) && !(is_tuple && *keyword == "items"));
        inlined.extend(kept.map(|(keyword, value)| (keyword.clone(), self.keyword(keyword, value, depth))));
        Value::Object(inlined)
    }

    fn keyword(&self, keyword: &str, value: &Value, depth: usize) -> Value {
        let inner = |value: &Value| self.schema(value, depth);
        match (keyword, value) {
            ("properties" | "patternProperties", Value::Object(map)) => {
                map.iter().map(|(name, schema)| (name.clone(), inner(schema))).collect()
            }
            ("anyOf" | "oneOf" | "allOf", Value::Array(all)) => all.iter().map(inner).collect(),
            ("additionalProperties", Value::Bool(_)) => value.clone(),
            (
                "items"
                | "if"
                | "then"
                | "else"
                | "not"
                | "contains"
                | "propertyNames"
                | "additionalProperties",
                value,
            ) => inner(value),
            (_, value) => value.clone(),
        }
    }

    fn named(&self, reference: &str) -> Option<&Value> {
        match reference.strip_prefix("#/$defs/") {
            Some(name) => self.definitions?.get(name),
            None => (reference == "#").then_some(self.root),
        }
    }
}

/// Whether a keyword stays. Formats and tuples are left to the type; the rest has no meaning once nothing is referred to.
fn is_kept(keyword: &str) -> bool {
    let is_gone = matches!(
        keyword,
        "$ref" | "format" | "prefixItems" | "default" | "unevaluatedProperties" | "unevaluatedItems"
    );
    let is_own = keyword.starts_with("x-") || (keyword.starts_with('$') && keyword != "$comment");
    !(is_gone || is_own)
}

#[cfg(test)]
#[path = "schema_tests.rs"]
mod tests;
