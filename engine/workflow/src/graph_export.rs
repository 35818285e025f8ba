//! A workflow's graph as a picture in words: Mermaid for pages that render it, DOT for Graphviz; and as the [`nodes`] and
//! [`edges`] that whoever draws it himself needs.
//!
//! Pure, and apart because it knows nothing of what it draws but names: which roles have played, which is next and
//! which has failed comes in as a [`ThreadProgress`].

use std::collections::BTreeSet;
use std::fmt::Write;

use crate::moderator::{END, START, Way};

use crate::values::Workflow;

/// How far a thread has come.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ThreadProgress {
    /// Roles that have played, and [`END`] once the thread is there.
    pub done: BTreeSet<String>,
    /// Who plays next, or waits for a person.
    pub current: Option<String>,
    /// Roles whose last visits failed.
    pub failed: BTreeSet<String>,
}

/// How a node is painted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paint {
    /// Nothing is to be said of it.
    Plain,
    /// It has played.
    Done,
    /// It plays, is next, or waits for a person.
    Current,
    /// Its last visit failed.
    Failed,
}

impl ThreadProgress {
    /// The thread has come to its end.
    pub fn ended(mut self) -> ThreadProgress {
        self.done.insert(END.to_owned());
        self
    }

    fn of(&self, name: &str) -> Paint {
        match () {
            () if self.failed.contains(name) => Paint::Failed,
            () if self.current.as_deref() == Some(name) => Paint::Current,
            () if self.done.contains(name) => Paint::Done,
            () => Paint::Plain,
        }
    }
}

/// One of the things that an edge connects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraphNode<'w> {
    /// The role, or [`START`], [`END`] or [`SUSPEND`](crate::moderator::SUSPEND).
    pub name: &'w str,
    /// How it is painted.
    pub paint: Paint,
}

/// The start, the roles by name, and the ends that edges lead to.
pub fn nodes<'w>(workflow: &'w Workflow, progress: &ThreadProgress) -> Vec<GraphNode<'w>> {
    let targets: BTreeSet<&str> = edges(workflow).map(|edge| edge.to).collect();
    let roles = workflow.roles.keys().map(String::as_str);
    let ends = targets.into_iter().filter(|target| !workflow.roles.contains_key(*target));
    let names = std::iter::once(START).chain(roles).chain(ends.filter(|end| *end != START));
    names.map(|name| GraphNode { name, paint: progress.of(name) }).collect()
}

/// What a fallback is called: an edge that is followed when no condition is true.
const FALLBACK: &str = "FALLBACK";

/// One edge as it is drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraphEdge<'w> {
    /// Where it begins.
    pub from: &'w str,
    /// Where it leads.
    pub to: &'w str,
    /// The status, and on what condition.
    pub label: String,
    /// Whether it is a fallback, which is dashed.
    pub fallback: bool,
}

/// Every edge, in the order of the graph.
pub fn edges(workflow: &Workflow) -> impl Iterator<Item = GraphEdge<'_>> {
    workflow.graph.iter().flat_map(|(from, edges)| {
        let ways = edges.ways();
        let lines: Vec<GraphEdge<'_>> = ways
            .iter()
            .map(|way| {
                // The one edge of a status, or of a role, is no fallback of anything.
                let alone = ways.iter().filter(|other| other.status == way.status).count() == 1;
                let fallback = way.condition.is_none() && !alone;
                let label = label(workflow, way, fallback);
                GraphEdge { from, to: way.role, label, fallback }
            })
            .collect();
        lines
    })
}

/// The status, and on what condition: in the words of its description, else by its name.
fn label(workflow: &Workflow, way: &Way<'_>, fallback: bool) -> String {
    let condition = way.condition.map(|name| match workflow.conditions.get(name) {
        Some(condition) if !condition.description.is_empty() => condition.description.as_str(),
        _ => name,
    });
    let condition = condition.or(fallback.then_some(FALLBACK));
    way.status.into_iter().chain(condition).collect::<Vec<_>>().join(": ")
}

/// The graph as a Mermaid flowchart.
pub fn mermaid(workflow: &Workflow, progress: &ThreadProgress) -> String {
    let points = nodes(workflow, progress);
    // Names can be words of the language: nodes are numbered.
    let id =
        |name: &str| format!("n{}", points.iter().position(|point| point.name == name).unwrap_or_default());
    let mut text = "flowchart TD\n".to_owned();
    for point in &points {
        let (open, close) = if point.name.starts_with('$') { ("([", "])") } else { ("[", "]") };
        line(&mut text, &format!("{}{open}\"{}\"{close}", id(point.name), mermaid_text(point.name)));
    }
    for GraphEdge { from, to, label, fallback } in edges(workflow) {
        let arrow = if fallback { "-.->" } else { "-->" };
        let label = match label.as_str() {
            "" => String::new(),
            label => format!("|\"{}\"|", mermaid_text(label)),
        };
        line(&mut text, &format!("{} {arrow}{label} {}", id(from), id(to)));
    }
    for (paint, class, style) in [
        (Paint::Done, "done", "fill:#d3f9d8,stroke:#2b8a3e"),
        (Paint::Current, "current", "fill:#fff3bf,stroke:#e67700,stroke-width:3px"),
        (Paint::Failed, "failed", "fill:#ffe3e3,stroke:#c92a2a"),
    ] {
        let painted: Vec<String> =
            points.iter().filter(|point| point.paint == paint).map(|point| id(point.name)).collect();
        if !painted.is_empty() {
            line(&mut text, &format!("classDef {class} {style}"));
            line(&mut text, &format!("class {} {class}", painted.join(",")));
        }
    }
    text
}

/// The graph in Graphviz's language.
pub fn dot(workflow: &Workflow, progress: &ThreadProgress) -> String {
    let mut text = format!("digraph {} {{\n", dot_text(&workflow.name));
    line(&mut text, "node [shape=box, style=\"rounded,filled\", fillcolor=white];");
    for point in nodes(workflow, progress) {
        let shape = if point.name.starts_with('$') { "shape=oval" } else { "shape=box" };
        let style = match point.paint {
            Paint::Plain => "",
            Paint::Done => ", fillcolor=\"#d3f9d8\", color=\"#2b8a3e\"",
            Paint::Current => ", fillcolor=\"#fff3bf\", color=\"#e67700\", penwidth=3",
            Paint::Failed => ", fillcolor=\"#ffe3e3\", color=\"#c92a2a\"",
        };
        line(&mut text, &format!("{} [{shape}{style}];", dot_text(point.name)));
    }
    for GraphEdge { from, to, label, fallback } in edges(workflow) {
        let (from, to, label) = (dot_text(from), dot_text(to), dot_text(&label));
        let style = if fallback { ", style=dashed" } else { "" };
        line(&mut text, &format!("{from} -> {to} [label={label}{style}];"));
    }
    text + "}\n"
}

fn line(text: &mut String, content: &str) {
    writeln!(text, "  {content}").expect("a String takes everything");
}

/// Within quotes; Mermaid has entities, with `#` for `&`.
fn mermaid_text(text: &str) -> String {
    let escape = |character: char| match character {
        '"' | '#' | '<' | '>' | '&' | '`' => format!("#{};", u32::from(character)),
        control if control.is_control() => " ".to_owned(),
        plain => plain.to_string(),
    };
    text.chars().map(escape).collect()
}

fn dot_text(text: &str) -> String {
    let escape = |character: char| match character {
        '"' | '\\' => format!("\\{character}"),
        control if control.is_control() => " ".to_owned(),
        plain => plain.to_string(),
    };
    format!("\"{}\"", text.chars().map(escape).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{FIX_BUG, FLOW, checked};

    fn progress() -> ThreadProgress {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        ThreadProgress {
            done: names(&["finder", "fixer"]),
            current: Some("reviewer".to_owned()),
            failed: names(&["fixer"]),
        }
    }

    #[test]
    fn every_role_and_edge_is_drawn_and_progress_is_painted() {
        let workflow = checked(FIX_BUG).to_stored();
        insta::assert_snapshot!("mermaid", mermaid(&workflow, &progress()));
        insta::assert_snapshot!("dot", dot(&workflow, &progress().ended()));
        assert!(!mermaid(&workflow, &ThreadProgress::default()).contains("class"));
    }

    #[test]
    fn a_status_may_be_any_text() {
        let odd = FLOW.replace("waits", "'say \"what\\#<b>'");
        let workflow = checked(&odd).to_stored();
        let (mermaid, dot) =
            (mermaid(&workflow, &ThreadProgress::default()), dot(&workflow, &ThreadProgress::default()));
        assert!(mermaid.contains(r#"|"say #34;what\#35;#60;b#62;"|"#), "{mermaid}");
        assert!(dot.contains(r#"[label="say \"what\\#<b>"]"#), "{dot}");
    }
}
