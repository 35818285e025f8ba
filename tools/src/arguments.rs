//! JSON text from a model → parameters that fit the tool's schema, or everything that is wrong with them.
//!
//! Apart from serde's own errors because those name one problem at a time and not always the parameter. Only the
//! flat schemas of our tools are understood: strings, integers, booleans. It never runs a tool.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};
use uwf_store::{json, suggest};

use crate::limits::cut_line;
use crate::similar_paths::ALIKE;

/// Problems that are listed, and characters of a name that nobody has given.
const LISTED: usize = 20;
const SHOWN: usize = 100;

/// Why arguments do not fit. Displays as one paragraph for the model.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ArgumentsError {
    /// Not JSON at all.
    #[error("the arguments are not valid JSON: {source} (near `{near}`)")]
    Syntax { source: serde_json::Error, near: String },
    /// JSON, but no object.
    #[error("the arguments must be a JSON object, got {got}")]
    NotAnObject { got: &'static str },
    /// An object with wrong, missing or unknown members.
    #[error("{}", .problems.join("; "))]
    Members { problems: Vec<String> },
}

/// The schema of a parameters struct, reduced to what a model needs: no `$schema`, titles, formats, nulls.
pub(crate) fn schema<Args: JsonSchema>() -> Value {
    let generator = SchemaSettings::draft2020_12().for_deserialize().into_generator();
    let generated = generator.into_root_schema_for::<Args>().to_value();
    let member = |name: &str, default: Value| generated.get(name).cloned().unwrap_or(default);
    let mut properties = member("properties", Value::Object(Map::new()));
    for property in properties.as_object_mut().into_iter().flat_map(Map::values_mut) {
        simplify(property);
    }
    json::sorted(serde_json::json!({
        "type": "object",
        "properties": properties,
        "required": member("required", Value::Array(Vec::new())),
        "additionalProperties": false,
    }))
}

/// `Option<u64>` is generated as `["integer", "null"]` with a format and a default: the model only needs `integer`,
/// since what is optional is not in `required`.
fn simplify(property: &mut Value) {
    let Some(property) = property.as_object_mut() else { return };
    property.remove("format");
    property.remove("default");
    if let Some(Value::Array(types)) = property.get("type") {
        let kept = types.iter().find(|kind| *kind != "null").cloned().unwrap_or_default();
        property.insert("type".to_owned(), kept);
    }
}

/// The parameters in `text`. No text at all is an empty object, as some endpoints send calls without arguments.
pub(crate) fn parse(text: &str, schema: &Value) -> Result<Value, ArgumentsError> {
    let text = if text.trim().is_empty() { "{}" } else { text };
    let value: Value = serde_json::from_str(text)
        .map(json::sorted)
        .map_err(|source| ArgumentsError::Syntax { near: near(text, &source), source })?;
    let object = value.as_object().ok_or(ArgumentsError::NotAnObject { got: kind(&value) })?;
    let problems = first_of(problems(object, schema));
    if problems.is_empty() { Ok(value) } else { Err(ArgumentsError::Members { problems }) }
}

/// The first problems, and how many more there are.
fn first_of(mut problems: impl Iterator<Item = String>) -> Vec<String> {
    let mut first: Vec<String> = problems.by_ref().take(LISTED).collect();
    match problems.count() {
        0 => {}
        more => first.push(format!("and {more} more problems")),
    }
    first
}

fn problems<'a>(object: &'a Map<String, Value>, schema: &'a Value) -> impl Iterator<Item = String> {
    let properties = schema["properties"].as_object();
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let missing = required.clone().into_iter().filter(|name| !object.contains_key(*name));
    let missing = missing.map(|name| format!("`{name}` is missing"));
    let wrong = object.iter().filter_map(move |(name, value)| {
        match properties.and_then(|properties| properties.get(name)) {
            None => Some(unknown(name, properties)),
            Some(_) if value.is_null() && !required.contains(&name.as_str()) => None,
            Some(property) => mismatch(name, value, property),
        }
    });
    wrong.chain(missing)
}

fn unknown(name: &str, properties: Option<&Map<String, Value>>) -> String {
    let name = cut_line(name, SHOWN).0;
    match suggest::alike(name, properties.into_iter().flat_map(Map::keys), ALIKE) {
        Some(near) => format!("there is no parameter `{name}` (did you mean `{near}`?)"),
        None => format!("there is no parameter `{name}`"),
    }
}

fn mismatch(name: &str, value: &Value, property: &Value) -> Option<String> {
    let expected = property["type"].as_str()?;
    let fits = match expected {
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_u64() || value.is_i64(),
        _ => true,
    };
    if !fits {
        return Some(format!("`{name}` must be {}, got {}", article(expected), kind(value)));
    }
    let number = value.as_f64()?;
    let below = property["minimum"].as_f64().filter(|least| number < *least);
    let above = property["maximum"].as_f64().filter(|most| number > *most);
    below
        .map(|least| format!("`{name}` must be at least {least}, got {number}"))
        .or_else(|| above.map(|most| format!("`{name}` must be at most {most}, got {number}")))
}

fn article(kind: &str) -> String {
    if kind == "integer" { "an integer".to_owned() } else { format!("a {kind}") }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Number(number) if number.is_f64() => "a fraction",
        // Nothing here asks for a string that is not empty.
        Value::String(_) => "a string",
        other => uwf_store::kind(other),
    }
}

/// The 20 characters before the error: enough to find the place.
fn near(text: &str, error: &serde_json::Error) -> String {
    let line = text.lines().nth(error.line().saturating_sub(1)).unwrap_or_default();
    let column = error.column().min(line.len());
    let mut before = String::from_utf8_lossy(&line.as_bytes()[..column]).into_owned();
    let cut = before.chars().count().saturating_sub(20);
    before.drain(..before.char_indices().nth(cut).map_or(0, |(at, _)| at));
    before
}

/// The parameters in one line: `{"path": string, "offset"?: integer}`, required ones first.
pub(crate) fn signature(schema: &Value) -> String {
    let none = Map::new();
    let properties = schema["properties"].as_object().unwrap_or(&none);
    let is_required =
        |name: &str| schema["required"].as_array().into_iter().flatten().any(|required| required == name);
    let (required, optional): (Vec<_>, Vec<_>) = properties.iter().partition(|(name, _)| is_required(name));
    let show = |(name, property): (&String, &Value), mark| {
        format!("\"{name}\"{mark}: {}", property["type"].as_str().unwrap_or("any"))
    };
    let members: Vec<String> = required
        .into_iter()
        .map(|member| show(member, ""))
        .chain(optional.into_iter().map(|member| show(member, "?")))
        .collect();
    format!("{{{}}}", members.join(", "))
}

#[cfg(test)]
#[path = "arguments_tests.rs"]
mod tests;
