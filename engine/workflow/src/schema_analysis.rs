//! What a role can answer, read from its frontmatter schema: the statuses, and the names a template may use.
//!
//! Apart because it is the one place that interprets a schema without a payload. It errs on the side of allowing:
//! where a schema leaves something open, so does this. Only a field that is asked for and never kept is
//! always a mistake. The same schema as a person reads it is in [`forms`].

pub mod forms;
pub(crate) mod pointed;

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use serde_json::Value;
use uwf_store::schema::listed;

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
    let own = listed(schema)
        .map_or(Statuses::Any, |values| Statuses::Listed(values.iter().filter_map(text).collect()));
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

/// What answers with each status can hold. A variant of the schema that lists other statuses has no say in them.
///
/// Made once for a schema, because a schema can have as many variants as it has statuses.
pub(super) struct Answers<'s> {
    statuses: Statuses,
    /// What is kept of any answer.
    kept: BTreeSet<&'s str>,
    /// The first holds for answers with every status.
    groups: Vec<Group<'s>>,
    /// Which of the others hold for those with this one.
    only: BTreeMap<String, Vec<usize>>,
}

/// Parts of a schema that hold for the same statuses.
#[derive(Default)]
struct Group<'s> {
    schemas: Vec<&'s Value>,
    /// What these keep of an answer.
    kept: BTreeSet<&'s str>,
}

impl<'s> Answers<'s> {
    pub(super) fn of(schema: &'s Value) -> Answers<'s> {
        let (mut groups, mut only) = (vec![Group::default()], BTreeMap::<String, Vec<usize>>::new());
        let everything: Option<Rc<BTreeSet<String>>> = None;
        let mut open = vec![(schema, 0, everything)];
        while let Some((schema, group, statuses)) = open.pop() {
            groups[group].schemas.push(schema);
            groups[group].kept.extend(own_fields(schema));
            open.extend(together(schema).map(|part| (part, group, statuses.clone())));
            for variant in choices(schema) {
                let Some(narrowed) = narrowed(statuses.as_deref(), variant) else {
                    open.push((variant, group, statuses.clone()));
                    continue;
                };
                for status in &narrowed {
                    only.entry(status.clone()).or_default().push(groups.len());
                }
                open.push((variant, groups.len(), Some(Rc::new(narrowed))));
                groups.push(Group::default());
            }
        }
        Answers { statuses: statuses(schema), kept: kept_fields(schema), groups, only }
    }

    /// What answers end with.
    pub(super) fn statuses(&self) -> &Statuses {
        &self.statuses
    }

    /// Whether a template that is rendered with an answer of this status can have what its name looks up. Only names that
    /// a schema lists are kept from an answer, so at the root what is not listed is not there.
    pub(super) fn has(&self, status: &str, name: &Name) -> bool {
        let text = name.name.as_str();
        if text == "$status" || text.starts_with("$status.") {
            return true;
        }
        // Most names are fields, which need no walk through all variants.
        if name.within.is_empty() && !text.contains('.') {
            return self.keeps(status, text);
        }
        let mut scopes =
            vec![self.groups_of(status).flat_map(|group| group.schemas.iter().copied()).collect()];
        for section in &name.within {
            match find(&scopes, section) {
                Found::Schemas(found) => scopes.push(found.into_iter().map(item).collect()),
                // A section that is itself unknown is a problem of its own.
                Found::Open | Found::Nothing => return true,
            }
        }
        !matches!(find(&scopes, text), Found::Nothing)
    }

    /// The fields that are kept of an answer with this status.
    pub(super) fn kept(&self, status: &str) -> BTreeSet<&'s str> {
        self.groups_of(status).flat_map(|group| group.kept.iter().copied()).collect()
    }

    /// Whether the field is kept of an answer with any status.
    pub(super) fn keeps_at_all(&self, field: &str) -> bool {
        self.kept.contains(field)
    }

    fn keeps(&self, status: &str, field: &str) -> bool {
        match self.is_never(status) {
            true => self.kept.contains(field),
            false => self.groups_of(status).any(|group| group.kept.contains(field)),
        }
    }

    /// A status that no answer has is a problem of its own: nothing further is held against it.
    fn groups_of(&self, status: &str) -> Box<dyn Iterator<Item = &Group<'s>> + '_> {
        if self.is_never(status) {
            return Box::new(self.groups.iter());
        }
        let only = self.only.get(status).into_iter().flatten();
        Box::new([0].iter().chain(only).map(|at| &self.groups[*at]))
    }

    fn is_never(&self, status: &str) -> bool {
        matches!(&self.statuses, Statuses::Listed(listed) if !listed.contains(status))
    }
}

/// The statuses with which an answer can be of a variant, within those of what it is a variant of; `None`: with the same.
fn narrowed(within: Option<&BTreeSet<String>>, variant: &Value) -> Option<BTreeSet<String>> {
    let Statuses::Listed(mut own) = statuses(variant) else { return None };
    own.retain(|status| within.is_none_or(|within| within.contains(status)));
    Some(own)
}

fn own_field<'s>(schema: &'s Value, name: &str) -> Option<&'s Value> {
    schema.get("properties")?.get(name)
}

fn own_fields(schema: &Value) -> impl Iterator<Item = &str> + use<'_> {
    let properties = schema.get("properties").and_then(Value::as_object);
    properties.into_iter().flat_map(|properties| properties.keys()).map(String::as_str)
}

/// The fields that are kept of an answer: what `properties` declares, at the root of the schema and of its variants.
pub fn kept_fields(schema: &Value) -> BTreeSet<&str> {
    let mut found = BTreeSet::new();
    let mut open = vec![schema];
    while let Some(schema) = open.pop() {
        found.extend(own_fields(schema));
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
        let found: Vec<&Value> = match root && index == 0 {
            // The variants that have a say are beside each other.
            true => schemas.iter().filter_map(|schema| own_field(schema, step)).collect(),
            false => schemas.iter().flat_map(|schema| members(schema, step)).collect(),
        };
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
    found.extend(own_field(schema, name));
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
    choices(schema).chain(together(schema))
}

/// Schemas of which an answer is one.
fn choices(schema: &Value) -> impl Iterator<Item = &Value> {
    ["oneOf", "anyOf"].into_iter().flat_map(|keyword| variants(schema, keyword))
}

/// Schemas that may hold for any answer.
fn together(schema: &Value) -> impl Iterator<Item = &Value> {
    let branches = ["if", "then", "else"].into_iter().filter_map(|keyword| schema.get(keyword));
    variants(schema, "allOf").iter().chain(branches)
}

#[cfg(test)]
#[path = "schema_analysis_tests.rs"]
mod tests;
