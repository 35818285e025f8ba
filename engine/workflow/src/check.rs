//! What was typed → what it means, or everything that is wrong with it.
//!
//! Apart because it is the only judge of a workflow: what passes here can be stored and routed. This file checks the
//! names and the roles; [`graph`] checks the graph against them, [`conditions`] what edges depend on, [`ends`] whether
//! runs can end. It never reads a file and never writes a node.

mod artifacts;
mod calls;
mod compact;
#[cfg(test)]
#[cfg(feature = "conditions")]
mod condition_tests;
mod conditions;
mod ends;
mod graph;
#[cfg(test)]
mod tests;

pub use self::compact::KEEP;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use uwf_store::is_deeper;
use uwf_store::schema::pointer::escape;
use uwf_store::schema::{self, SchemaError};

use crate::diagnostics::Diagnostics;
use crate::raw::{RawRole, RawSchema, RawText, RawWorkflow};
use crate::schema_analysis::{self, Impossible, Statuses};
use crate::values::{CheckedRole, CheckedWorkflow};

/// Well within what a node may hold; files that include each other could nest deeper.
const MAX_SCHEMA_DEPTH: usize = 64;

/// The workflow, as good as it can be made of what was typed. It is fit for use only if there were no problems.
pub(super) fn check(raw: RawWorkflow, problems: &mut Diagnostics<'_>) -> CheckedWorkflow {
    let name = raw.name.map_or_else(String::new, |name| workflow_name(name, problems));
    let raw_roles = raw.roles.as_deref().unwrap_or_default();
    // What comes after these is no matter of a status.
    let listed: BTreeSet<&str> =
        raw.graph.iter().flatten().filter(|node| node.listed).map(|node| node.role.as_str()).collect();
    let roles: BTreeMap<String, CheckedRole> = raw_roles
        .iter()
        .map(|raw| (raw.name.clone(), role(&name, raw, listed.contains(raw.name.as_str()), problems)))
        .collect();
    let output_maps = calls::outputs(raw.output, &roles, problems);
    let (graph, conditions) = match (raw.graph, &raw.roles) {
        (Some(nodes), Some(raw_roles)) => {
            let seen: Vec<_> =
                roles.iter().map(|(name, role)| (name.as_str(), artifacts::seen(role))).collect();
            let schemas = seen.iter().map(|(name, schema)| (*name, schema.as_ref())).collect();
            let conditions = conditions::check(&raw.conditions, &nodes, &schemas, problems);
            ends::check(&nodes, &schemas, problems);
            (graph::check(nodes, raw_roles, &schemas, problems), conditions)
        }
        // Without roles every edge would be wrong.
        _ => Default::default(),
    };
    let description = raw.description.map_or_else(String::new, |description| description.text);
    CheckedWorkflow {
        name,
        description,
        roles,
        graph,
        conditions,
        compact: compact::check(raw.compact, problems),
        output_maps,
        warnings: Vec::new(),
    }
}

fn workflow_name(name: RawText, problems: &mut Diagnostics<'_>) -> String {
    if !is_name(&name.text) {
        problems.at(
            &name.pointer,
            format!("workflow name `{}` cannot be stored", name.text),
            NAME_HINT.to_owned(),
        );
    }
    name.text
}

/// What names are made of, for whoever typed another.
pub const NAME_HINT: &str = "names are made of letters, digits, `.`, `_` and `-`, and do not begin with `-`";

/// Names become parts of variable names, which allow no more than this, and arguments of programs, which take what
/// begins with `-` for an option.
pub fn is_name(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with('-')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
}

fn role(workflow: &str, raw: &RawRole, listed: bool, problems: &mut Diagnostics<'_>) -> CheckedRole {
    if !is_name(&raw.name) {
        let message = format!("role name `{}` cannot be stored", raw.name);
        problems.at_key(&raw.pointer, message, NAME_HINT.to_owned());
    }
    if let Some(goal) = raw.goal.as_ref().filter(|goal| goal.text.trim().is_empty()) {
        problems.at(&goal.pointer, format!("the goal of role `{}` is blank", raw.name), None);
    }
    let frontmatter = |schema| frontmatter((workflow, listed), raw, schema, problems);
    let schema = raw.frontmatter.as_ref().map_or(Value::Null, frontmatter);
    CheckedRole {
        description: text_of(raw.description.as_ref()),
        goal: text_of(raw.goal.as_ref()),
        capabilities: raw.capabilities.clone(),
        procedure: text_of(raw.procedure.as_ref()),
        output: text_of(raw.output.as_ref()),
        artifacts: artifacts::check(raw, &schema, problems),
        schema,
        context: calls::context(&raw.context, problems),
    }
}

/// The schema with its title; null if it is refused, so that nothing further is held against it.
fn frontmatter(
    (workflow, listed): (&str, bool),
    role: &RawRole,
    RawSchema { schema, pointer }: &RawSchema,
    problems: &mut Diagnostics<'_>,
) -> Value {
    if is_deeper(schema, MAX_SCHEMA_DEPTH) {
        let message = format!(
            "the frontmatter schema of role `{}` is nested deeper than {MAX_SCHEMA_DEPTH} levels",
            role.name
        );
        problems.at_key(pointer, message, None);
        return Value::Null;
    }
    // Validating anything finds what may be stored but cannot be validated against.
    let usable = schema::check(schema).and_then(|()| schema::validate(schema, &json!({})).map(drop));
    if let Err(error) = usable {
        let (below, message) = describe(&error);
        let message = format!("the frontmatter schema of role `{}` is refused: {message}", role.name);
        problems.at_key(&format!("{pointer}{below}"), message, schema_hint(&error));
        return Value::Null;
    }
    if listed && schema_analysis::kept_fields(schema).is_empty() {
        let message = format!("the frontmatter schema of role `{}` declares no field", role.name);
        let hint = "declare under `properties` what its answers hold".to_owned();
        problems.at_key(pointer, message, hint);
        return Value::Null;
    }
    if !listed && !declares_status(pointer, role, schema, problems) {
        return Value::Null;
    }
    can_be_answered(pointer, role, schema, problems);
    let mut schema = schema.clone();
    if let Value::Object(keywords) = &mut schema {
        keywords.entry("title").or_insert_with(|| Value::from(format!("{workflow}.{}", role.name)));
    }
    schema
}

fn declares_status(pointer: &str, role: &RawRole, schema: &Value, problems: &mut Diagnostics<'_>) -> bool {
    match schema_analysis::statuses(schema) {
        Statuses::Undeclared => {
            let message =
                format!("the frontmatter schema of role `{}` does not declare `$status`", role.name);
            let hint = "declare it under `properties`, in every variant: `$status: { const: done }`";
            problems.at_key(pointer, message, hint.to_owned());
            false
        }
        Statuses::Listed(statuses) if statuses.is_empty() => {
            let message = format!("`$status` of role `{}` admits no text", role.name);
            problems.at_key(pointer, message, "its values are texts: quote them".to_owned());
            false
        }
        Statuses::Listed(_) | Statuses::Any => true,
    }
}

/// A run of whoever asks for what is never kept of an answer would fail, whatever it answers.
fn can_be_answered(pointer: &str, role: &RawRole, schema: &Value, problems: &mut Diagnostics<'_>) {
    let role = &role.name;
    let kept = schema_analysis::kept_fields(schema);
    for (below, what) in schema_analysis::impossible(schema) {
        let pointer = format!("{pointer}{below}");
        let (message, hint) = match what {
            Impossible::Field(name) => (
                format!(
                    "role `{role}` requires `{name}`, which is not declared and so never kept of an answer"
                ),
                Some(match problems.nearest(&name, &kept) {
                    Some(meant) => {
                        format!("did you mean `{meant}`? else declare `{name}` under `properties`")
                    }
                    None => format!("declare `{name}` under `properties`"),
                }),
            ),
            Impossible::Type => (
                format!("an answer of role `{role}` is a mapping, and can be nothing else"),
                Some("write `type: object`".to_owned()),
            ),
            Impossible::Fields(asked) => (
                format!("role `{role}` is asked for {asked} fields, and {} are declared", kept.len()),
                Some("only what `properties` declares is kept of an answer".to_owned()),
            ),
        };
        problems.at(&pointer, message, hint);
    }
}

/// The pointer below the schema, and the error without it: the problem has a position of its own.
fn describe(error: &SchemaError) -> (String, String) {
    let path = error.path();
    let keyword = match error {
        SchemaError::UnknownKeyword { keyword, .. }
        | SchemaError::BadKeyword { keyword, .. }
        | SchemaError::Unsupported { keyword, .. } => Some(keyword),
        SchemaError::NotAnObject { .. } | SchemaError::Unusable { .. } => None,
    };
    let message = error.to_string();
    let position = if path.is_empty() { "schema: ".to_owned() } else { format!("schema at {path}: ") };
    let message = message.strip_prefix(&position).unwrap_or(&message).to_owned();
    (keyword.map_or_else(|| path.to_owned(), |keyword| format!("{path}/{}", escape(keyword))), message)
}

fn schema_hint(error: &SchemaError) -> Option<String> {
    let SchemaError::UnknownKeyword { keyword, .. } = error else { return None };
    match keyword.as_str() {
        "$ref" | "$defs" | "definitions" | "$id" | "$schema" => {
            Some("schemas stand alone: write the referenced schema in its place".to_owned())
        }
        _ => None,
    }
}

fn text_of(text: Option<&RawText>) -> String {
    text.map_or_else(String::new, |text| text.text.clone())
}
