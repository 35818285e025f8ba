//! Conditions against the graph and the roles: every one that an edge names is there and can be read, what it refers to
//! exists as far as the schemas tell, and no edge stands where it is never tried.
//!
//! Apart from the graph because it needs the language of conditions.

use std::collections::{BTreeMap, BTreeSet};

use super::graph::Schemas;
use super::is_name;
use crate::condition::{self, Names, Steps};
use crate::diagnostics::Diagnostics;
use crate::moderator::START;
use crate::raw::{RawCondition, RawEdge, RawNode};
use crate::schema_analysis::kept_fields;
use crate::values::Condition;

/// Fields that an output can have whatever the role's schema says: a role that asks a person.
const ALWAYS: [&str; 2] = ["$status", "reason"];

/// For those who write the expression where its name belongs.
const EXPRESSION: &str = "`when` has the name of a condition; the expression goes to \
                          `conditions: { NAME: { description: …, expression: … } }`";

pub(super) fn check(
    raw: &[RawCondition],
    nodes: &[RawNode],
    schemas: &Schemas<'_>,
    problems: &mut Diagnostics<'_>,
) -> BTreeMap<String, Condition> {
    let mut users: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for node in nodes {
        for edges in tried_together(node) {
            in_order(&edges, node, problems);
            for condition in edges.iter().filter_map(|edge| edge.when.as_ref()) {
                users.entry(&condition.text).or_default().insert(&node.role);
                if !raw.iter().any(|known| known.name == condition.text) {
                    let message =
                        format!("an edge names the condition `{}`, which is not defined", condition.text);
                    let is_expression = !is_name(&condition.text);
                    let mut near =
                        || problems.meant(&condition.text, raw.iter().map(|known| known.name.as_str()));
                    let hint = if is_expression { Some(EXPRESSION.to_owned()) } else { near() };
                    let hint = hint.unwrap_or_else(|| {
                        format!(
                            "add `conditions: {{ {}: {{ description: …, expression: … }} }}`",
                            condition.text
                        )
                    });
                    problems.at(&condition.pointer, message, hint);
                }
            }
        }
    }
    let nobody = BTreeSet::new();
    for condition in raw {
        let users = users.get(condition.name.as_str()).unwrap_or(&nobody);
        if users.is_empty() {
            let message = format!("no edge names the condition `{}`", condition.name);
            problems.warn_at_key(&condition.pointer, message, None);
        }
        check_expression(condition, users, schemas, problems);
    }
    raw.iter().map(|raw| (raw.name.clone(), stored(raw))).collect()
}

fn stored(raw: &RawCondition) -> Condition {
    let text =
        |text: &Option<crate::raw::RawText>| text.as_ref().map_or_else(String::new, |text| text.text.clone());
    Condition { description: text(&raw.description), expression: text(&raw.expression) }
}

/// The edges of each status, or all of a list.
fn tried_together(node: &RawNode) -> Vec<Vec<&RawEdge>> {
    let mut together: BTreeMap<&str, Vec<&RawEdge>> = BTreeMap::new();
    for edge in node.edges.iter().flatten() {
        together.entry(&edge.status).or_default().push(edge);
    }
    together.into_values().collect()
}

/// The first edge without a condition is followed whatever comes after it.
fn in_order(edges: &[&RawEdge], node: &RawNode, problems: &mut Diagnostics<'_>) {
    let of = match node.listed {
        true => format!("`{}`", node.role),
        false => format!("status `{}` of `{}`", edges[0].status, node.role),
    };
    match edges.iter().position(|edge| edge.when.is_none()) {
        Some(fallback) => {
            for edge in &edges[fallback + 1..] {
                let message = format!("this edge of {of} is never tried: one before it has no condition");
                problems.at(&edge.pointer, message, "put the edge without a condition last".to_owned());
            }
        }
        None => {
            let message =
                format!("{of} has no fallback: a run stops with an error where no condition is true");
            let (pointer, hint) = match node.listed {
                true => (&node.pointer, "add `{ role: …, condition: null }` as the last one"),
                false => (&edges[0].status_pointer, "add an edge without `when` as the last one"),
            };
            problems.warn_at_key(pointer, message, hint.to_owned());
        }
    }
}

fn check_expression(
    raw: &RawCondition,
    users: &BTreeSet<&str>,
    schemas: &Schemas<'_>,
    problems: &mut Diagnostics<'_>,
) {
    let Some(expression) = &raw.expression else { return };
    let names = match condition::check(&expression.text) {
        Ok(names) => names,
        Err(error) => {
            let message = format!("the expression of condition `{}` is refused: {error}", raw.name);
            problems.at(&expression.pointer, message, None);
            return;
        }
    };
    let Names { unknown, roles, fields, unquoted } = names;
    for name in unquoted {
        let message = format!(
            "condition `{}` has the variable `${name}` where a field of an output is meant",
            raw.name
        );
        problems.at(
            &expression.pointer,
            message,
            format!("write the field between backquotes: output.`${name}`"),
        );
    }
    for (place, name) in unknown {
        let message = format!("condition `{}` names `{name}`, which {place} does not have", raw.name);
        let hint = problems.meant(&name, condition::known(place));
        problems.at(&expression.pointer, message, hint);
    }
    for role in roles.iter().filter(|role| !role.is_empty() && !schemas.contains_key(role.as_str())) {
        let message = format!("condition `{}` names the role `{role}`, which is no role", raw.name);
        let hint = problems.meant(role, schemas.keys());
        problems.at(&expression.pointer, message, hint);
    }
    for (steps, field) in fields {
        if let Some((of, known)) = outputs(&steps, users, schemas)
            && !known.contains(field.as_str())
            && !ALWAYS.contains(&field.as_str())
        {
            let message = format!("condition `{}` names `{field}`, which no output of {of} has", raw.name);
            let hint = problems.meant(&field, known);
            let hint = hint.map(|hint| match hint.contains("`$") {
                true => format!("{hint} (a field whose name begins with `$` is written between backquotes)"),
                false => hint,
            });
            problems.at(&expression.pointer, message, hint);
        }
    }
}

/// The roles whose outputs a part of an expression is about, in words, and the fields that these have. None where a
/// schema was refused or a role is unknown, which has been reported.
fn outputs<'s>(
    steps: &Steps,
    users: &BTreeSet<&str>,
    schemas: &Schemas<'s>,
) -> Option<(String, BTreeSet<&'s str>)> {
    let roles: Vec<&str> = match steps {
        Steps::Of(role) => vec![role.as_str()],
        // At $START the last step is that of whoever ended the thread.
        Steps::Last if users.contains(START) => schemas.keys().copied().collect(),
        Steps::Last => users.iter().copied().collect(),
        Steps::Any => schemas.keys().copied().collect(),
    };
    if roles.is_empty() {
        return None;
    }
    let schemas: Option<Vec<_>> =
        roles.iter().map(|role| schemas.get(role).copied().filter(|schema| !schema.is_null())).collect();
    let named: Vec<String> = roles.iter().map(|role| format!("`{role}`")).collect();
    let of = match steps {
        Steps::Any => "any role".to_owned(),
        Steps::Last | Steps::Of(_) => format!("role {}", named.join(", ")),
    };
    Some((of, schemas?.into_iter().flat_map(kept_fields).collect()))
}
