//! The worked example: frontmatter that obeys a schema, with a visible `<…>` for each free text.
//!
//! Apart because three things must agree on it: the example in a prompt, the list of its placeholders, and the check
//! whether an answer copied one. YAML is only written here, never read.

use crate::quote;
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use uwf_workflow::pointer::escape;
use uwf_workflow::schema_analysis::forms;
use uwf_workflow::yaml;

/// Stands for the question in the example of a suspended answer.
pub(crate) const SUSPEND_REASON: &str = "<your question to the person>";

/// Stands for the text below the frontmatter.
pub(crate) const BODY: &str = "<your answer, in markdown>";

/// Every placeholder of the worked examples of a role's frontmatter schema: JSON pointer and text, by pointer.
pub fn placeholders(schema: &Value) -> Vec<(String, String)> {
    let mut found = BTreeSet::new();
    for form in forms::of(schema) {
        collect(&root(&form), "", &mut found);
    }
    found.into_iter().collect()
}

/// The JSON pointer of a value of `output` (the first by name) that is a placeholder of the worked examples, in
/// whatever field it stands; also that of a suspended answer's example. `None` for an answer that was really written.
pub fn copied_placeholder(schema: &Value, output: &Value) -> Option<String> {
    let mut texts: BTreeSet<String> = placeholders(schema).into_iter().map(|(_, text)| text).collect();
    texts.insert(SUSPEND_REASON.to_owned());
    find(output, "", &texts)
}

/// The example of one form, in YAML without the `---` lines; ends with a newline.
pub(crate) fn yaml(form: &Value) -> String {
    let mut text = String::new();
    match root(form) {
        ExampleNode::Map(entries) if !entries.is_empty() => write_map(&mut text, &entries, 0),
        _ => text.push_str("$status: done\n"),
    }
    text
}

/// A JSON value on one line of YAML: plain where YAML reads it back as the same string, else as JSON.
pub(crate) fn scalar(value: &Value) -> String {
    match value.as_str() {
        Some(text) => yaml::quoted_unless_plain(text),
        None => quote::compact(value),
    }
}

/// The example before it is text.
enum ExampleNode {
    /// A value, and what to say behind it.
    Scalar(Value, Option<String>),
    /// A free text to be replaced.
    Placeholder(String),
    List(Vec<ExampleNode>),
    Map(Vec<ExampleEntry>),
}

struct ExampleEntry {
    name: String,
    required: bool,
    node: ExampleNode,
}

fn root(form: &Value) -> ExampleNode {
    ExampleNode::Map(entries(form))
}

fn entries(schema: &Value) -> Vec<ExampleEntry> {
    let entry = |property: forms::Property<'_>| ExampleEntry {
        name: property.name.to_owned(),
        required: property.required || property.name == "$status",
        node: node(property.schema, property.name),
    };
    forms::properties(schema).into_iter().map(entry).collect()
}

fn node(schema: &Value, name: &str) -> ExampleNode {
    let (_, options) = forms::without_null(schema);
    let Some(schema) = options.first() else { return ExampleNode::Scalar(Value::Null, None) };
    if let Some(value) = schema.get("const") {
        return ExampleNode::Scalar(value.clone(), None);
    }
    if let Some(values) = forms::list(schema, "enum") {
        return choice(values);
    }
    match forms::types(schema).into_iter().find(|name| *name != "null") {
        Some("integer") => ExampleNode::Scalar(number(schema, true), Some("an integer".to_owned())),
        Some("number") => ExampleNode::Scalar(number(schema, false), Some("a number".to_owned())),
        Some("boolean") => ExampleNode::Scalar(Value::Bool(true), Some("or: false".to_owned())),
        Some("array") => list(schema, name),
        Some("object") => ExampleNode::Map(entries(schema)),
        _ => ExampleNode::Placeholder(format!("<{name}>")),
    }
}

fn choice(values: &[Value]) -> ExampleNode {
    let first = values.iter().find(|value| !value.is_null()).unwrap_or(&Value::Null);
    let others: Vec<String> = values.iter().filter(|value| *value != first).map(scalar).collect();
    ExampleNode::Scalar(first.clone(), (!others.is_empty()).then(|| format!("or: {}", others.join(", "))))
}

fn list(schema: &Value, name: &str) -> ExampleNode {
    let bound = |keyword: &str| schema.get(keyword).and_then(Value::as_u64);
    let most = bound("maxItems").unwrap_or(u64::MAX);
    let count = bound("minItems").unwrap_or(0).clamp(1, 5).min(most);
    let free = Value::Object(Map::new());
    let items = schema.get("items").unwrap_or(&free);
    let item = |index: u64| match count {
        1 => node(items, &format!("{name} item")),
        _ => node(items, &format!("{name} item {}", index + 1)),
    };
    ExampleNode::List((0..count).map(item).collect())
}

/// The number nearest to zero that the bounds allow, as far as they are simple.
fn number(schema: &Value, integer: bool) -> Value {
    let bound = |keyword: &str| schema.get(keyword).and_then(Value::as_f64);
    let gap = match (bound("exclusiveMinimum"), bound("exclusiveMaximum").or(bound("maximum"))) {
        (Some(low), Some(high)) if !integer => (high - low) / 2.0,
        _ => 1.0,
    };
    let low =
        bound("minimum").or(bound("exclusiveMinimum").map(|low| low + gap)).unwrap_or(f64::NEG_INFINITY);
    let high = bound("maximum").or(bound("exclusiveMaximum").map(|high| high - gap)).unwrap_or(f64::INFINITY);
    let step = bound("multipleOf").filter(|step| *step > 0.0).or(integer.then_some(1.0));
    let near = if low > 0.0 { low } else { high.min(0.0) };
    let value = match step {
        Some(step) if near > 0.0 => (near / step).ceil() * step,
        Some(step) => (near / step).floor() * step,
        None => near,
    };
    if value.fract() == 0.0 && value.abs() < 9.0e15 {
        #[expect(clippy::cast_possible_truncation, reason = "integral and within 53 bits")]
        return Value::from(value as i64);
    }
    Value::from(value)
}

fn collect(node: &ExampleNode, path: &str, found: &mut BTreeSet<(String, String)>) {
    match node {
        ExampleNode::Scalar(..) => {}
        ExampleNode::Placeholder(text) => {
            found.insert((path.to_owned(), text.clone()));
        }
        ExampleNode::List(items) => {
            for (index, item) in items.iter().enumerate() {
                collect(item, &format!("{path}/{index}"), found);
            }
        }
        ExampleNode::Map(entries) => {
            for entry in entries {
                collect(&entry.node, &pointer(path, &entry.name), found);
            }
        }
    }
}

fn find(value: &Value, path: &str, texts: &BTreeSet<String>) -> Option<String> {
    match value {
        Value::String(text) => texts.contains(text.trim()).then(|| path.to_owned()),
        Value::Array(items) => {
            items.iter().enumerate().find_map(|(index, item)| find(item, &format!("{path}/{index}"), texts))
        }
        Value::Object(map) => {
            map.iter().filter_map(|(name, value)| find(value, &pointer(path, name), texts)).min()
        }
        _ => None,
    }
}

fn pointer(path: &str, name: &str) -> String {
    format!("{path}/{}", escape(name))
}

fn write_map(text: &mut String, entries: &[ExampleEntry], indent: usize) {
    for entry in entries {
        let key = scalar(&Value::from(entry.name.as_str()));
        text.push_str(&format!("{:indent$}{key}:", ""));
        write_value(text, entry, indent);
    }
}

fn write_value(text: &mut String, entry: &ExampleEntry, indent: usize) {
    let optional = (!entry.required).then(|| "optional".to_owned());
    match inside(&entry.node, indent + 2) {
        Some(lines) => text.push_str(&format!("{}\n{lines}", comment([optional, None]))),
        None => {
            let (value, note) = leaf_text(&entry.node);
            text.push_str(&format!(" {value}{}\n", comment([optional, note])));
        }
    }
}

/// The lines of what is in a list or a map, if anything is.
fn inside(node: &ExampleNode, indent: usize) -> Option<String> {
    let mut text = String::new();
    match node {
        ExampleNode::List(items) => write_list(&mut text, items, indent),
        ExampleNode::Map(entries) => write_map(&mut text, entries, indent),
        ExampleNode::Scalar(..) | ExampleNode::Placeholder(_) => {}
    }
    (!text.is_empty()).then_some(text)
}

fn write_list(text: &mut String, items: &[ExampleNode], indent: usize) {
    for item in items {
        let lines = inside(item, indent + 2).unwrap_or_else(|| {
            let (value, note) = leaf_text(item);
            format!("{value}{}\n", comment([None, note]))
        });
        text.push_str(&format!("{:indent$}- {}", "", lines.trim_start()));
    }
}

fn leaf_text(node: &ExampleNode) -> (String, Option<String>) {
    match node {
        ExampleNode::Scalar(value, note) => (scalar(value), note.clone()),
        ExampleNode::Placeholder(text) => (Value::from(text.as_str()).to_string(), None),
        ExampleNode::List(_) => ("[]".to_owned(), None),
        ExampleNode::Map(_) => ("{}".to_owned(), None),
    }
}

fn comment(notes: [Option<String>; 2]) -> String {
    let notes: Vec<String> = notes.into_iter().flatten().collect();
    if notes.is_empty() { String::new() } else { format!("  # {}", notes.join("; ")) }
}

#[cfg(test)]
#[path = "example_tests.rs"]
mod tests;
