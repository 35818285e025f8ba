//! The graph against the roles: every edge leads somewhere, every answer has an edge, every role is reached, and every
//! template can be rendered from what the role answers.
//!
//! Apart from the roles because each rule here compares two parts of the file.

use std::collections::{BTreeMap, BTreeSet};

use crate::moderator::{END, Edge, Edges, Graph, START, SUSPEND, Targets, Transition};
use crate::template;
use serde_json::{Value, json};

use crate::diagnostics::Diagnostics;
use crate::raw::{RawEdge, RawNode, RawRole, RawText};
use crate::schema_analysis::{self, Answers, Statuses};

/// The schema of each role; null where it was refused, which has been reported.
pub(super) type Schemas<'r> = BTreeMap<&'r str, &'r Value>;

pub(super) fn check(
    nodes: Vec<RawNode>,
    roles: &[RawRole],
    schemas: &Schemas<'_>,
    problems: &mut Diagnostics<'_>,
) -> Graph {
    let start = json!({"properties": {"$status": {"enum": ["new", "resume"]}}});
    if !nodes.iter().any(|node| node.role == START) {
        let hint = format!("add `{START}: {{ new: {{ role: …, prompt: … }} }}`");
        problems.at_key("/graph", format!("the graph has no `{START}`"), hint);
    }
    for node in &nodes {
        match schemas.get(node.role.as_str()) {
            Some(schema) => check_node(node, schema, schemas, problems),
            None if node.role == START => check_node(node, &start, schemas, problems),
            None => {
                let message = format!("the graph has edges of `{}`, which is no role", node.role);
                let hint = problems.meant(&node.role, schemas.keys());
                problems.at_key(&node.pointer, message, hint);
            }
        }
    }
    without_edges(&nodes, roles, schemas, problems);
    unreached(&nodes, roles, schemas, problems);
    nodes
        .into_iter()
        .map(|node| {
            let edges = node.edges.unwrap_or_default();
            (node.role, if node.listed { listed(edges) } else { by_status(edges) })
        })
        .collect()
}

fn listed(raw: Vec<RawEdge>) -> Edges {
    let transition = |raw: RawEdge| Transition {
        role: raw.role.map_or_else(String::new, |role| role.text),
        condition: raw.when.map(|condition| condition.text),
        prompt: raw.prompt.map(|prompt| prompt.text),
        location: raw.location.map(|location| location.text),
    };
    Edges::Listed(raw.into_iter().map(transition).collect())
}

fn by_status(raw: Vec<RawEdge>) -> Edges {
    let text = |text: Option<RawText>| text.map_or_else(String::new, |text| text.text);
    let mut statuses: BTreeMap<String, Targets> = BTreeMap::new();
    for raw in raw {
        let edge = Edge {
            role: text(raw.role),
            prompt: text(raw.prompt),
            location: raw.location.map(|location| location.text),
            when: raw.when.map(|condition| condition.text),
        };
        statuses.entry(raw.status).or_insert_with(|| Targets(Vec::new())).0.push(edge);
    }
    Edges::ByStatus(statuses)
}

fn check_node(node: &RawNode, schema: &Value, schemas: &Schemas<'_>, problems: &mut Diagnostics<'_>) {
    let Some(edges) = node.edges.as_ref().filter(|edges| !edges.is_empty()) else { return };
    let answers = (!schema.is_null()).then(|| Answers::of(schema));
    if let Some(answers) = answers.as_ref().filter(|_| !node.listed) {
        check_statuses(node, edges, answers, problems);
    }
    for edge in edges {
        if let Some(role) = &edge.role {
            check_target(role, schemas, problems);
            if node.role == START && role.text == SUSPEND {
                let message = format!("an edge of `{START}` leads to `{SUSPEND}`: no role could be resumed");
                problems.at(
                    &role.pointer,
                    message,
                    Some("begin with a role; it can suspend itself".to_owned()),
                );
            }
        }
        if let Some(prompt) = edge.prompt.as_ref().filter(|prompt| prompt.text.trim().is_empty()) {
            let hint = "every edge says something, also the ones to $END and $SUSPEND".to_owned();
            let of = if node.listed { "a transition".to_owned() } else { format!("`{}`", edge.status) };
            problems.at(&prompt.pointer, format!("the prompt of {of} is blank"), hint);
        }
        for template in [&edge.prompt, &edge.location].into_iter().flatten() {
            let status = (!node.listed).then_some(edge.status.as_str());
            check_template(template, (&node.role, status), answers.as_ref(), problems);
        }
    }
}

fn check_statuses(node: &RawNode, edges: &[RawEdge], answers: &Answers<'_>, problems: &mut Diagnostics<'_>) {
    let Statuses::Listed(statuses) = answers.statuses() else { return };
    let is_start = node.role == START;
    let of = if is_start { format!("`{START}`") } else { format!("role `{}`", node.role) };
    for edge in edges.iter().filter(|edge| !statuses.contains(&edge.status)) {
        let never = if is_start { "has no" } else { "never ends with" };
        let message = format!("{of} {never} status `{}`", edge.status);
        let hint = problems.meant(&edge.status, statuses);
        problems.at_key(&edge.status_pointer, message, hint);
    }
    // A resumed thread needs an edge only when there is something to resume to; a role suspends itself without one.
    let optional = |status: &str| status == SUSPEND || (is_start && status == "resume");
    // A misspelt status is reported once, where it stands.
    let given: BTreeSet<String> = edges
        .iter()
        .filter_map(|edge| match statuses.contains(&edge.status) {
            true => Some(edge.status.clone()),
            false => problems.nearest(&edge.status, statuses),
        })
        .collect();
    for status in statuses.iter().filter(|status| !optional(status) && !given.contains(*status)) {
        let hint = format!("add `{status}: {{ role: …, prompt: … }}`");
        problems.at_key(&node.pointer, format!("{of} has no edge for status `{status}`"), hint);
    }
}

fn check_target(role: &RawText, schemas: &Schemas<'_>, problems: &mut Diagnostics<'_>) {
    if !schemas.contains_key(role.text.as_str()) && ![END, SUSPEND].contains(&role.text.as_str()) {
        let known = schemas.keys().copied().chain([END, SUSPEND]);
        let message = format!("an edge leads to `{}`, which is no role", role.text);
        let hint = problems.meant(&role.text, known);
        problems.at(&role.pointer, message, hint);
    }
}

/// `answers` are those of the role; none where its schema was refused, which has been reported.
fn check_template(
    template: &RawText,
    (role, status): (&str, Option<&str>),
    answers: Option<&Answers<'_>>,
    problems: &mut Diagnostics<'_>,
) {
    let names = match template::names(&template.text) {
        Ok(names) => names,
        Err(error) => {
            let line = template.text[..error.offset()].matches('\n').count() + 1;
            let place =
                if template.text.contains('\n') { format!(" (line {line} of it)") } else { String::new() };
            problems.at(&template.pointer, format!("the template does not parse{place}: {error}"), None);
            return;
        }
    };
    let Some(answers) = answers else { return };
    // A transition is followed whatever the status.
    let kept_at_all = |name: &&template::Name| status.is_none() && answers.keeps_at_all(&name.name);
    let status = status.unwrap_or_default();
    let unknown = names.iter().filter(|name| !answers.has(status, name) && !kept_at_all(name));
    let unknown: BTreeSet<&str> = unknown.map(|name| name.name.as_str()).collect();
    if role == START {
        unknown_at_start(template, (status, &unknown), problems);
        return;
    }
    for name in unknown {
        let message = match answers.keeps_at_all(name) {
            true => format!(
                "the template names `{name}`, which no answer of role `{role}` with status `{status}` has"
            ),
            false => format!("the template names `{name}`, which no answer of role `{role}` has"),
        };
        let kept = std::iter::once_with(|| answers.kept(status)).flatten();
        let hint = problems.meant(name, kept);
        problems.at(&template.pointer, message, hint);
    }
}

/// What a thread begins with is the task, which no template names: all else renders to nothing, which does no harm while
/// something is left.
fn unknown_at_start(
    template: &RawText,
    (status, unknown): (&str, &BTreeSet<&str>),
    problems: &mut Diagnostics<'_>,
) {
    if unknown.is_empty() {
        return;
    }
    let names: Vec<String> = unknown.iter().map(|name| format!("`{name}`")).collect();
    let rendered = template::render(&template.text, &json!({"$status": status}));
    let becomes = match rendered.is_ok_and(|text| text.trim().is_empty()) {
        true => "so that all of it renders to nothing, and no step can be made from it",
        false => "so that nothing stands in the place",
    };
    problems.warn_at(
        &template.pointer,
        format!("the template names {}, but at {START} there is only `$status`, {becomes}", names.join(", ")),
        "the task itself is given to the first role without being named here".to_owned(),
    );
}

fn without_edges(
    nodes: &[RawNode],
    roles: &[RawRole],
    schemas: &Schemas<'_>,
    problems: &mut Diagnostics<'_>,
) {
    let by_role: BTreeMap<&str, &RawNode> = nodes.iter().map(|node| (node.role.as_str(), node)).collect();
    let without = |role: &&RawRole| match by_role.get(role.name.as_str()) {
        // What is no mapping has been reported.
        Some(node) => node.edges.as_ref().is_some_and(Vec::is_empty),
        None => true,
    };
    for role in roles.iter().filter(without) {
        let schema = schemas.get(role.name.as_str()).copied().unwrap_or(&Value::Null);
        let hint = match schema_analysis::statuses(schema) {
            Statuses::Listed(statuses) => {
                let statuses: Vec<String> = statuses.into_iter().collect();
                Some(format!("add `{}` to the graph, with an edge for: {}", role.name, statuses.join(", ")))
            }
            Statuses::Any | Statuses::Undeclared => None,
        };
        problems.at_key(&role.pointer, format!("role `{}` has no edges in the graph", role.name), hint);
    }
    if let Some(start) = nodes.iter().find(|node| node.role == START)
        && start.edges.as_ref().is_some_and(Vec::is_empty)
    {
        problems.at_key(&start.pointer, format!("`{START}` has no edge for status `new`"), None);
    }
}

fn unreached(nodes: &[RawNode], roles: &[RawRole], schemas: &Schemas<'_>, problems: &mut Diagnostics<'_>) {
    let by_role: BTreeMap<&str, &RawNode> = nodes.iter().map(|node| (node.role.as_str(), node)).collect();
    let mut reached = BTreeSet::new();
    let mut open = vec![START.to_owned()];
    while let Some(role) = open.pop() {
        let edges = by_role.get(role.as_str()).and_then(|node| node.edges.as_ref());
        for target in edges.into_iter().flatten().filter_map(|edge| edge.role.as_ref()) {
            // A misspelt target is reported where it stands; the role it means counts as reached.
            let known = schemas.contains_key(target.text.as_str());
            let role = if known {
                Some(target.text.clone())
            } else {
                problems.nearest(&target.text, schemas.keys())
            };
            open.extend(role.filter(|role| reached.insert(role.clone())));
        }
    }
    // Without a start nothing is reached, and that is the one problem to report.
    let starts =
        |node: &RawNode| node.role == START && node.edges.as_ref().is_some_and(|edges| !edges.is_empty());
    if !nodes.iter().any(starts) {
        return;
    }
    for role in roles.iter().filter(|role| !reached.contains(&role.name)) {
        let message = format!("role `{}` is never reached from {START}", role.name);
        problems.at_key(&role.pointer, message, None);
    }
}
