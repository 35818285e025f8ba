//! What a role must write: a JSON Schema as a list of fields in plain words, form by form.
//!
//! Apart because the system message, the corrections and the last turn all speak of the same fields. It describes and
//! never judges: validation is the engine's.

use crate::{example, quote};
use serde_json::{Map, Value};
use uwf_workflow::schema_analysis::forms;

/// One way to fill in the frontmatter: the whole schema, or one alternative of its `oneOf`/`anyOf`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaForm {
    /// The values `$status` may have in this form; empty when the schema does not say.
    pub statuses: Vec<String>,
    /// The schema's `description`, on one line; empty when it has none.
    pub description: String,
    /// The fields: `$status` first, then the required ones; what is inside a field follows it, one level deeper.
    pub fields: Vec<Field>,
    /// What holds for the form as a whole, a phrase each.
    pub rules: Vec<String>,
    /// A worked example in YAML, without the `---` lines; a `<…>` stands for each free text.
    pub example: String,
}

/// One field, or what is inside one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// 0 for a field of the frontmatter itself.
    pub depth: usize,
    /// The name as inline code, or `each item`, `shape 1` … for what is inside a list or has no name.
    pub label: String,
    /// What kind of value: `string`, `list of numbers`, `exactly done` …
    pub kind: String,
    /// Whether it must be there; `None` for what has no name.
    pub required: Option<bool>,
    /// What else must hold, a phrase each: `at least 1 character`.
    pub rules: Vec<String>,
    /// The schema's `description`, on one line; empty when it has none.
    pub description: String,
}

/// The longest value or pattern that is quoted from a schema, in characters.
const QUOTED: usize = 300;

/// How the label of one shape of several begins; the label of a name begins with a backtick.
const SHAPE: &str = "shape ";

/// The forms of a role's frontmatter schema, at least one.
pub fn fields(schema: &Value) -> Vec<SchemaForm> {
    forms::of(schema).iter().map(form).collect()
}

/// What the schema wants of a value, on one line: `integer; at least 1`, and each shape when there are several.
pub(crate) fn expectation(schema: &Value) -> String {
    let mut found = Vec::new();
    describe(&mut found, FieldHeader { depth: 0, label: String::new(), required: None }, schema);
    let phrase = |field: &Field| {
        let phrases = std::iter::once(&field.kind).chain(&field.rules).map(String::as_str);
        let phrase = phrases.collect::<Vec<_>>().join("; ");
        if field.depth == 0 { phrase } else { format!("{} ({phrase})", field.label) }
    };
    let is_shown = |field: &&Field| field.depth == 0 || (field.depth == 1 && field.label.starts_with(SHAPE));
    found.iter().filter(is_shown).map(phrase).collect::<Vec<_>>().join(", ")
}

fn form(schema: &Value) -> SchemaForm {
    let mut fields = Vec::new();
    describe_properties(&mut fields, 0, schema);
    let mut rules = rules(schema);
    rules.retain(|rule| rule != NO_OTHER_KEYS);
    SchemaForm {
        statuses: forms::statuses(schema).into_iter().map(str::to_owned).collect(),
        description: description(schema),
        fields,
        rules,
        example: example::yaml(schema),
    }
}

/// The part of a field that its schema does not tell: how deep it is, and what it is called there.
struct FieldHeader {
    depth: usize,
    label: String,
    required: Option<bool>,
}

fn describe_properties(found: &mut Vec<Field>, depth: usize, schema: &Value) {
    for property in forms::properties(schema) {
        let label = quote::inline(&example::scalar(&Value::from(property.name)), QUOTED);
        describe(found, FieldHeader { depth, label, required: Some(property.required) }, property.schema);
    }
}

fn describe(found: &mut Vec<Field>, header: FieldHeader, schema: &Value) {
    let (nullable, options) = forms::without_null(schema);
    let shapes = options.len() > 1 && !options.iter().all(is_plain);
    let mut kind = match options.as_slice() {
        [] => "null".to_owned(),
        _ if shapes => format!("one of {} shapes", options.len()),
        _ => options.iter().map(kind).collect::<Vec<_>>().join(" or "),
    };
    if nullable && !options.is_empty() {
        kind.push_str(" or null");
    }
    let mut rules = if let [only] = options.as_slice() { rules(only) } else { Vec::new() };
    rules.extend(hints(schema));
    let depth = header.depth + 1;
    let FieldHeader { label, required, .. } = header;
    found.push(Field { depth: header.depth, label, kind, required, rules, description: description(schema) });
    match options.as_slice() {
        [only] => describe_inside(found, depth, only),
        many if shapes => {
            for (index, option) in many.iter().enumerate() {
                let label = format!("{SHAPE}{}", index + 1);
                describe(found, FieldHeader { depth, label, required: None }, &without_hints(option));
            }
        }
        _ => {}
    }
}

fn describe_inside(found: &mut Vec<Field>, depth: usize, schema: &Value) {
    describe_properties(found, depth, schema);
    if let Some(items) = schema.get("items").filter(|items| !is_basic(items)) {
        describe(found, FieldHeader { depth, label: "each item".to_owned(), required: None }, items);
    }
}

/// Whether the kind alone says everything.
fn is_plain(schema: &Value) -> bool {
    let nothing_inside = forms::properties(schema).is_empty() && schema.get("items").is_none_or(is_basic);
    nothing_inside && rules(schema).is_empty()
}

/// Whether it is a type and nothing more.
fn is_basic(schema: &Value) -> bool {
    schema.as_object().is_some_and(|map| map.keys().all(|key| key == "type" || key == "title"))
}

fn kind(schema: &Value) -> String {
    if let Some(value) = schema.get("const") {
        return format!("exactly {}", code(value));
    }
    if let Some(values) = forms::list(schema, "enum") {
        return format!("one of {}", values.iter().map(code).collect::<Vec<_>>().join(", "));
    }
    match (forms::types(schema).as_slice(), schema.get("items")) {
        ([], _) => "any value".to_owned(),
        (["array"], Some(items)) if is_basic(items) => list_of(&forms::types(items)),
        (types, _) => types.iter().map(|name| type_name(name)).collect::<Vec<_>>().join(" or "),
    }
}

fn list_of(types: &[&str]) -> String {
    match types {
        [] => "list".to_owned(),
        [one] => format!("list of {}s", type_name(one)),
        many => {
            format!("list of ({})", many.iter().map(|name| type_name(name)).collect::<Vec<_>>().join(" or "))
        }
    }
}

fn type_name(name: &str) -> &str {
    match name {
        "array" => "list",
        other => other,
    }
}

const NO_OTHER_KEYS: &str = "no other keys";

/// Keywords with one number, and how they read.
const BOUNDS: [(&str, &str, &str); 11] = [
    ("minimum", "at least ", ""),
    ("exclusiveMinimum", "more than ", ""),
    ("maximum", "at most ", ""),
    ("exclusiveMaximum", "less than ", ""),
    ("multipleOf", "a multiple of ", ""),
    ("minLength", "at least ", " characters"),
    ("maxLength", "at most ", " characters"),
    ("minItems", "at least ", " items"),
    ("maxItems", "at most ", " items"),
    ("minProperties", "at least ", " keys"),
    ("maxProperties", "at most ", " keys"),
];

/// Keywords that no phrase does justice to: quoted as they are.
const QUOTED_KEYWORDS: [&str; 10] = [
    "allOf",
    "contains",
    "else",
    "if",
    "not",
    "patternProperties",
    "prefixItems",
    "propertyNames",
    "then",
    "additionalItems",
];

fn rules(schema: &Value) -> Vec<String> {
    let bound = |(keyword, before, after): &(&str, &str, &str)| {
        schema.get(*keyword).map(|bound| singular(&format!("{before}{bound}{after}")))
    };
    let mut rules: Vec<String> = BOUNDS.iter().filter_map(bound).collect();
    if let Some(pattern) = schema.get("pattern").and_then(Value::as_str) {
        rules.push(format!("matches the regular expression {}", quote::inline(pattern, QUOTED)));
    }
    match schema.get("format").and_then(Value::as_str) {
        Some("ocas_ref") => rules.push("the 13-character hash of a stored node".to_owned()),
        Some(format) => rules.push(format!("format {format}")),
        None => {}
    }
    if schema.get("uniqueItems") == Some(&Value::Bool(true)) {
        rules.push("no item twice".to_owned());
    }
    match schema.get("additionalProperties") {
        Some(Value::Bool(false)) => rules.push(NO_OTHER_KEYS.to_owned()),
        Some(other @ Value::Object(_)) => rules.push(format!("other keys: {}", expectation(other))),
        _ => {}
    }
    rules.extend(quoted(schema));
    rules
}

fn singular(phrase: &str) -> String {
    match phrase.strip_suffix('s') {
        Some(one) if phrase.contains(" 1 ") => one.to_owned(),
        _ => phrase.to_owned(),
    }
}

fn quoted(schema: &Value) -> Option<String> {
    let kept: Map<String, Value> = QUOTED_KEYWORDS
        .iter()
        .filter_map(|keyword| Some(((*keyword).to_owned(), schema.get(keyword)?.clone())))
        .collect();
    (!kept.is_empty())
        .then(|| format!("obeys the JSON Schema {}", quote::inline_json(&Value::Object(kept), QUOTED)))
}

/// What helps to choose a value but does not bind.
fn hints(schema: &Value) -> Vec<String> {
    let mut hints = Vec::new();
    if let Some(value) = schema.get("default") {
        hints.push(format!("default {}", code(value)));
    }
    if let Some(values) = forms::list(schema, "examples") {
        hints.push(format!("for example {}", values.iter().take(3).map(code).collect::<Vec<_>>().join(", ")));
    }
    if schema.get("deprecated") == Some(&Value::Bool(true)) {
        hints.push("deprecated, leave it out".to_owned());
    }
    hints
}

/// One shape of several, without what was said of all of them.
fn without_hints(schema: &Value) -> Value {
    let mut schema = schema.clone();
    if let Some(map) = schema.as_object_mut() {
        map.retain(|keyword, _| {
            !matches!(keyword.as_str(), "default" | "examples" | "deprecated" | "description")
        });
    }
    schema
}

fn description(schema: &Value) -> String {
    let text = schema.get("description").and_then(Value::as_str).unwrap_or_default();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn code(value: &Value) -> String {
    quote::inline(&example::scalar(value), QUOTED)
}

#[cfg(test)]
#[path = "fields_tests.rs"]
mod tests;
