//! What a role can answer, read from its frontmatter schema: the statuses, and the names a template may use.
//!
//! Apart because it is the one place that interprets a schema without a payload. It errs on the side of allowing:
//! where a schema leaves something open, so does this. Only a field that is asked for and never kept is
//! always a mistake.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::template::Name;

/// Keywords with a list of schemas that apply to the same value.
const VARIANTS: [&str; 3] = ["oneOf", "anyOf", "allOf"];

/// The values that `$status` can have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Statuses {
    /// No variant, or not every variant, declares `$status`.
    Undeclared,
    /// Declared without a list of values.
    Any,
    /// `const`, `enum`, or one of these in each variant.
    Listed(BTreeSet<String>),
}

impl Statuses {
    /// Both must hold.
    fn and(self, other: Statuses) -> Statuses {
        match (self, other) {
            (Statuses::Undeclared, other) | (other, Statuses::Undeclared) => other,
            (Statuses::Any, other) | (other, Statuses::Any) => other,
            (Statuses::Listed(mut a), Statuses::Listed(b)) => {
                a.retain(|status| b.contains(status));
                Statuses::Listed(a)
            }
        }
    }

    /// One of them holds.
    fn or(self, other: Statuses) -> Statuses {
        match (self, other) {
            (Statuses::Undeclared, _) | (_, Statuses::Undeclared) => Statuses::Undeclared,
            (Statuses::Any, _) | (_, Statuses::Any) => Statuses::Any,
            (Statuses::Listed(mut a), Statuses::Listed(b)) => {
                // Each of many variants adds one: a new set for each would cost the square of their number.
                a.extend(b);
                Statuses::Listed(a)
            }
        }
    }
}

pub(super) fn statuses(schema: &Value) -> Statuses {
    let own = schema.get("properties").and_then(|properties| properties.get("$status"));
    combine(schema, own.map_or(Statuses::Undeclared, values), statuses)
}

/// The texts that a schema of one value admits.
fn values(schema: &Value) -> Statuses {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let own = match (schema.get("const"), schema.get("enum").and_then(Value::as_array)) {
        (Some(value), _) => Statuses::Listed(text(value).into_iter().collect()),
        (None, Some(values)) => Statuses::Listed(values.iter().filter_map(text).collect()),
        (None, None) => Statuses::Any,
    };
    combine(schema, own, values)
}

fn combine(schema: &Value, own: Statuses, each: fn(&Value) -> Statuses) -> Statuses {
    let choice = |keyword| variants(schema, keyword).iter().map(each).reduce(Statuses::or);
    let all = variants(schema, "allOf").iter().map(each);
    choice("oneOf").into_iter().chain(choice("anyOf")).chain(all).fold(own, Statuses::and)
}

fn variants<'s>(schema: &'s Value, keyword: &str) -> &'s [Value] {
    schema.get(keyword).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Whether a role with this schema can have what the template's name looks up. Only names that a schema lists are
/// kept from an answer, so at the root what is not listed is not there.
pub(super) fn has(schema: &Value, name: &Name) -> bool {
    let root = vec![schema];
    if name.name == "$status" || name.name.starts_with("$status.") {
        return true;
    }
    let mut scopes = vec![root];
    for section in &name.within {
        match find(&scopes, section) {
            Found::Schemas(found) => scopes.push(found.into_iter().map(item).collect()),
            // A section that is itself unknown is a problem of its own.
            Found::Open | Found::Nothing => return true,
        }
    }
    !matches!(find(&scopes, &name.name), Found::Nothing)
}

/// The fields that are kept of an answer: what `properties` declares, at the root of the schema and of its variants.
pub fn kept_fields(schema: &Value) -> BTreeSet<&str> {
    let mut found = BTreeSet::new();
    let mut open = vec![schema];
    while let Some(schema) = open.pop() {
        if let Some(Value::Object(properties)) = schema.get("properties") {
            found.extend(properties.keys().map(String::as_str));
        }
        open.extend(alternatives(schema));
    }
    found
}

/// What no answer can give.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Impossible {
    /// A field that is not kept, since nothing declares it.
    Field(String),
    /// Something else than a mapping.
    Type,
    /// More fields than are declared.
    Fields(u64),
}

/// What the schema, or one of its variants, asks for in vain: each with its pointer below the schema. In a variant only
/// fields are looked for, since an answer need not be of each.
pub(super) fn impossible(schema: &Value) -> Vec<(String, Impossible)> {
    let (mut found, kept) = (Vec::new(), kept_fields(schema));
    let mut open = vec![(String::new(), schema, true)];
    while let Some((pointer, schema, always)) = open.pop() {
        for (at, name) in variants(schema, "required").iter().enumerate() {
            if let Some(name) = name.as_str().filter(|name| !kept.contains(name)) {
                found.push((format!("{pointer}/required/{at}"), Impossible::Field(name.to_owned())));
            }
        }
        if always && schema.get("type").is_some_and(|type_| !is_object(type_)) {
            found.push((format!("{pointer}/type"), Impossible::Type));
        }
        let asked = schema.get("minProperties").and_then(Value::as_u64);
        if let Some(asked) = asked.filter(|asked| always && *asked > kept.len() as u64) {
            found.push((format!("{pointer}/minProperties"), Impossible::Fields(asked)));
        }
        for keyword in VARIANTS {
            let each = variants(schema, keyword).iter().enumerate();
            let always = always && keyword == "allOf";
            open.extend(each.map(|(at, variant)| (format!("{pointer}/{keyword}/{at}"), variant, always)));
        }
        if schema.get("if").is_some() {
            let branches = ["then", "else"].into_iter();
            let branches = branches.filter_map(|keyword| Some((keyword, schema.get(keyword)?)));
            open.extend(branches.map(|(keyword, branch)| (format!("{pointer}/{keyword}"), branch, false)));
        }
    }
    found
}

fn is_object(type_: &Value) -> bool {
    match type_ {
        Value::Array(types) => types.iter().any(|type_| type_ == "object"),
        type_ => type_ == "object",
    }
}

enum Found<'s> {
    Schemas(Vec<&'s Value>),
    /// The schema does not say.
    Open,
    Nothing,
}

fn find<'s>(scopes: &[Vec<&'s Value>], name: &str) -> Found<'s> {
    if name == "." {
        return Found::Schemas(scopes.last().cloned().unwrap_or_default());
    }
    for (depth, scope) in scopes.iter().enumerate().rev() {
        let found = path(scope, name, depth == 0);
        if !matches!(found, Found::Nothing) {
            return found;
        }
    }
    Found::Nothing
}

fn path<'s>(scope: &[&'s Value], name: &str, root: bool) -> Found<'s> {
    let mut schemas = scope.to_vec();
    for (index, step) in name.split('.').enumerate() {
        let found: Vec<&Value> = schemas.iter().flat_map(|schema| members(schema, step)).collect();
        if found.is_empty() {
            // Lists and texts have a length that no schema names.
            let has_length = step == "length" && index > 0;
            let closed = (root && index == 0) || schemas.iter().all(|schema| is_closed(schema));
            return if closed && !has_length { Found::Nothing } else { Found::Open };
        }
        schemas = found;
    }
    Found::Schemas(schemas)
}

/// The schemas of a member, in all variants.
fn members<'s>(schema: &'s Value, name: &str) -> Vec<&'s Value> {
    let mut found: Vec<&Value> = Vec::new();
    found.extend(schema.get("properties").and_then(|properties| properties.get(name)));
    found.extend(schema.get("items").filter(|_| name.parse::<usize>().is_ok()));
    for alternative in alternatives(schema) {
        found.extend(members(alternative, name));
    }
    found
}

/// What a section over a value of this schema looks into: each item of a list, else the value.
fn item(schema: &Value) -> &Value {
    schema.get("items").unwrap_or(schema)
}

/// Whether the schema lists its members and says nothing of others, or is of something that has none.
fn is_closed(schema: &Value) -> bool {
    if let Some("string" | "number" | "integer" | "boolean" | "null") =
        schema.get("type").and_then(Value::as_str)
    {
        return true;
    }
    let lists = schema.get("properties").is_some() || alternatives(schema).any(is_closed);
    lists && schema.get("additionalProperties").is_none_or(|additional| additional == false)
}

fn alternatives(schema: &Value) -> impl Iterator<Item = &Value> {
    let lists = VARIANTS.into_iter().flat_map(|keyword| variants(schema, keyword));
    lists.chain(["if", "then", "else"].into_iter().filter_map(|keyword| schema.get(keyword)))
}

#[cfg(test)]
#[path = "answers_tests.rs"]
mod tests;
