//! The graph and its conditions as they were typed.
//!
//! Apart because an edge can be written in three ways: as the one target of a status, as one of several, and in a list
//! that knows no status. All become the same here.

use serde_json::Value;

use super::{RawEntry, RawText, Section};
use crate::diagnostics::Diagnostics;
use crate::yaml::kind;

/// `graph.<role>`.
pub(crate) struct RawNode {
    pub(crate) role: String,
    pub(crate) pointer: String,
    /// Whether it has the older form, a list of transitions.
    pub(crate) listed: bool,
    /// `None`: neither a mapping nor a list, which has been reported.
    pub(crate) edges: Option<Vec<RawEdge>>,
}

/// `graph.<role>.<status>`, one of several there, or `graph.<role>[n]`.
#[derive(Default)]
pub(crate) struct RawEdge {
    /// Empty in a list of transitions.
    pub(crate) status: String,
    /// Where the status is.
    pub(crate) status_pointer: String,
    pub(crate) pointer: String,
    pub(crate) role: Option<RawText>,
    pub(crate) prompt: Option<RawText>,
    pub(crate) location: Option<RawText>,
    /// `when`, or the `condition` of a transition.
    pub(crate) when: Option<RawText>,
}

/// `conditions.<name>`.
pub(crate) struct RawCondition {
    pub(crate) name: String,
    pub(crate) pointer: String,
    pub(crate) description: Option<RawText>,
    pub(crate) expression: Option<RawText>,
}

pub(super) fn node(entry: RawEntry<'_>, problems: &mut Diagnostics<'_>) -> RawNode {
    let RawEntry { name, value, pointer } = entry;
    let role = name.to_owned();
    if let Value::Array(items) = value {
        let transition = |(at, item)| transition(item, format!("{pointer}/{at}"), problems);
        let edges = items.iter().enumerate().map(transition).collect();
        return RawNode { role, listed: true, edges: Some(edges), pointer };
    }
    let section = Section::open(value, pointer.clone(), &format!("the edges of `{name}`"), problems);
    let edges = section.map(|edges| edges.entries().flat_map(|entry| targets(entry, problems)).collect());
    RawNode { role, listed: false, edges, pointer }
}

/// The edges of a status: one, or a list of some.
fn targets(entry: RawEntry<'_>, problems: &mut Diagnostics<'_>) -> Vec<RawEdge> {
    let RawEntry { name, value, pointer } = entry;
    let what = format!("the edge `{name}`");
    let of_status =
        |edge: RawEdge| RawEdge { status: name.to_owned(), status_pointer: pointer.clone(), ..edge };
    match value {
        Value::Array(items) if !items.is_empty() => {
            let below = items.iter().enumerate().map(|(at, item)| (item, format!("{pointer}/{at}")));
            below.map(|(item, pointer)| of_status(edge(item, pointer, &what, problems))).collect()
        }
        Value::Array(_) => {
            problems.at(&pointer, format!("{what} is an empty list"), None);
            vec![of_status(RawEdge { pointer: pointer.clone(), ..RawEdge::default() })]
        }
        value => vec![of_status(edge(value, pointer.clone(), &what, problems))],
    }
}

/// An edge of the wrong shape is still an edge, as with roles.
fn edge(value: &Value, pointer: String, what: &str, problems: &mut Diagnostics<'_>) -> RawEdge {
    let Some(section) = Section::open(value, pointer.clone(), what, problems) else {
        return RawEdge { pointer, ..RawEdge::default() };
    };
    section.tell_others((&["role", "prompt"], &["location", "when"]), problems);
    RawEdge {
        role: section.required("role", problems),
        prompt: section.required("prompt", problems),
        location: section.text("location", problems),
        when: section.text("when", problems),
        pointer,
        ..RawEdge::default()
    }
}

fn transition(value: &Value, pointer: String, problems: &mut Diagnostics<'_>) -> RawEdge {
    let Some(section) = Section::open(value, pointer.clone(), "a transition", problems) else {
        return RawEdge { pointer, ..RawEdge::default() };
    };
    section.tell_others((&["role"], &["condition", "prompt", "location"]), problems);
    RawEdge {
        role: section.required("role", problems),
        prompt: section.text("prompt", problems),
        location: section.text("location", problems),
        when: section.text("condition", problems),
        pointer,
        ..RawEdge::default()
    }
}

pub(super) fn conditions(top: &Section<'_>, problems: &mut Diagnostics<'_>) -> Vec<RawCondition> {
    let value = match top.map.get("conditions") {
        None | Some(Value::Null) => return Vec::new(),
        Some(value) => value,
    };
    if let Value::Array(_) = value {
        let message = format!("`conditions` must be a mapping, got {}", kind(value));
        let hint = "write `NAME: { description: …, expression: … }`".to_owned();
        problems.at(&top.below("conditions"), message, hint);
        return Vec::new();
    }
    let section = Section::open(value, top.below("conditions"), "`conditions`", problems);
    section.iter().flat_map(Section::entries).map(|entry| condition(entry, problems)).collect()
}

/// A condition of the wrong shape is still one: the edges that name it are not wrong.
fn condition(entry: RawEntry<'_>, problems: &mut Diagnostics<'_>) -> RawCondition {
    let RawEntry { name, value, pointer } = entry;
    let Some(section) = Section::open(value, pointer.clone(), &format!("condition `{name}`"), problems)
    else {
        return RawCondition { name: name.to_owned(), pointer, description: None, expression: None };
    };
    section.tell_others((&["expression"], &["description"]), problems);
    RawCondition {
        name: name.to_owned(),
        description: section.text("description", problems),
        expression: section.required("expression", problems),
        pointer,
    }
}
