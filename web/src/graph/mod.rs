//! A workflow's graph as an SVG: one picture for pages and for `uwf workflow graph --as svg`.
//!
//! Which node is where comes from [`layout`], what is drawn from [`uwf_workflow::graph_export`]. Sizes of words are guesses
//! on the safe side: nothing here has fonts.

mod layout;
mod shape;

use std::collections::BTreeMap;

use maud::{Markup, PreEscaped, html};
use uwf_workflow::Workflow;
use uwf_workflow::graph_export::{self, GraphNode, Paint, ThreadProgress};
use uwf_workflow::moderator::{END, START, SUSPEND};

use self::layout::{Layout, Line, Place, Size, lay_out};
use crate::text::{first_line, visible};

/// How many characters of a name, and of a line of a label, are drawn; all of it is in its title.
const NAME: usize = 28;
const LABEL: usize = 36;
/// How many lines a label has at most.
const LABEL_LINES: usize = 6;
/// The height of a line of a label.
const LINE: f64 = 16.0;

/// What the picture of a thread shows besides the graph.
#[derive(Default)]
pub(crate) struct Shown<'a> {
    pub(crate) progress: ThreadProgress,
    /// Whether the current role plays just now.
    pub(crate) active: bool,
    /// How often each role has played.
    pub(crate) visits: BTreeMap<String, usize>,
    /// Where a click on a role leads.
    pub(crate) link: Option<&'a dyn Fn(&str) -> String>,
}

/// The graph as a file of its own.
pub fn svg(workflow: &Workflow, progress: &ThreadProgress) -> String {
    let shown = Shown { progress: progress.clone(), ..Shown::default() };
    let style = html! { style { (PreEscaped(include_str!("../../assets/graph.css"))) } };
    format!("{}\n", draw(workflow, &shown, &style).into_string())
}

/// The graph within a page, which has the styles.
pub(crate) fn within_page(workflow: &Workflow, shown: &Shown<'_>) -> Markup {
    draw(workflow, shown, &PreEscaped(String::new()))
}

/// Edges between the same nodes are drawn as one, with a line of its label each.
struct Drawn<'w> {
    line: Line,
    labels: Vec<String>,
    fallback: bool,
    names: (&'w str, &'w str),
}

fn drawn<'w>(workflow: &'w Workflow, nodes: &[GraphNode<'w>]) -> Vec<Drawn<'w>> {
    let mut all: Vec<Drawn<'w>> = Vec::new();
    let at = |name: &str| nodes.iter().position(|node| node.name == name);
    for edge in graph_export::edges(workflow) {
        // An edge from a node that is none is in no checked workflow.
        let (Some(from), Some(to)) = (at(edge.from), at(edge.to)) else { continue };
        let same = |drawn: &&mut Drawn<'_>| {
            (drawn.line.from, drawn.line.to, drawn.fallback) == (from, to, edge.fallback)
        };
        match all.iter_mut().find(same) {
            Some(drawn) => drawn.labels.push(edge.label),
            None => {
                let line = Line { from, to, label: (0.0, 0.0) };
                all.push(Drawn {
                    line,
                    labels: vec![edge.label],
                    fallback: edge.fallback,
                    names: (edge.from, edge.to),
                });
            }
        }
    }
    for drawn in &mut all {
        let lines = label_lines(&drawn.labels);
        let width = lines.iter().map(|line| width(line, 6.8)).fold(0.0, f64::max);
        drawn.line.label =
            if width > 0.0 { (width + 8.0, LINE * lines.len() as f64 + 2.0) } else { (0.0, 0.0) };
    }
    all
}

/// What of a label is drawn.
fn label_lines(labels: &[String]) -> Vec<String> {
    let more = labels.len().saturating_sub(LABEL_LINES);
    let shown = labels.iter().take(if more > 0 { LABEL_LINES - 1 } else { LABEL_LINES });
    let lines = shown.map(|label| first_line(label, LABEL)).filter(|line| !line.is_empty());
    lines.chain((more > 0).then(|| format!("and {} more", more + 1))).collect()
}

/// About how wide a text is.
fn width(text: &str, per_character: f64) -> f64 {
    let wide = |character: char| if u32::from(character) > 0x1100 { 1.9 } else { 1.0 };
    text.chars().map(|character| wide(character) * per_character).sum()
}

fn node_size(name: &str) -> Size {
    (width(&first_line(name, NAME), 8.2).max(44.0) + 28.0, 38.0)
}

fn draw(workflow: &Workflow, shown: &Shown<'_>, style: &Markup) -> Markup {
    let nodes = graph_export::nodes(workflow, &shown.progress);
    let edges = drawn(workflow, &nodes);
    let sizes: Vec<Size> = nodes.iter().map(|node| node_size(node.name)).collect();
    let lines: Vec<Line> = edges.iter().map(|edge| Line { ..edge.line }).collect();
    let Some(layout) = lay_out(&sizes, &lines) else {
        return html! {
            svg xmlns="http://www.w3.org/2000/svg" class="graph" viewBox="0 0 360 40" width="360" height="40" role="img" {
                (style)
                text .name x="180" y="20" { "This graph is too large to be drawn." }
            }
        };
    };
    let Layout { size: (wide, high), .. } = layout;
    let (wide, high) = (wide.ceil(), high.ceil());
    html! {
        svg xmlns="http://www.w3.org/2000/svg" class={ "graph" (if shown.active { " active" } else { "" }) }
            viewBox={ "0 0 " (wide) " " (high) } width=(wide) height=(high) role=(if shown.link.is_some() { "group" } else { "img" })
            aria-label={ "Graph of " (visible(&workflow.name)) } {
            (style)
            @for (edge, (points, label)) in edges.iter().zip(&layout.lines) { (draw_edge(edge, points, *label)) }
            @for ((node, size), place) in nodes.iter().zip(&sizes).zip(&layout.nodes) {
                (draw_node(workflow, shown, node, (*size, *place)))
            }
        }
    }
}

fn draw_edge(edge: &Drawn<'_>, points: &[Place], label: Place) -> Markup {
    let (course, head) = shape::course(points);
    let lines = label_lines(&edge.labels);
    let (width, height) = edge.line.label;
    let first = label.y - LINE * (lines.len() as f64 - 1.0) / 2.0;
    html! {
        g .edge .fallback[edge.fallback] {
            title { (visible(edge.names.0)) " → " (visible(edge.names.1)) @for label in &edge.labels { "\n" (visible(label)) } }
            path d=(course) {}
            polygon points=(head) {}
            @if !lines.is_empty() {
                rect .behind x=(shape::short(label.x - width / 2.0)) y=(shape::short(label.y - height / 2.0)) width=(shape::short(width)) height=(shape::short(height)) rx="3" {}
            }
            @for (at, line) in lines.iter().enumerate() {
                text .label x=(shape::short(label.x)) y=(shape::short(first + LINE * at as f64)) { (line) }
            }
        }
    }
}

fn draw_node(
    workflow: &Workflow,
    shown: &Shown<'_>,
    node: &GraphNode<'_>,
    ((width, height), place): (Size, Place),
) -> Markup {
    let role = workflow.roles.get(node.name);
    let about = match node.name {
        START => "Where a thread begins",
        END => "The thread has ended",
        SUSPEND => "The thread waits for a person",
        _ => role.map_or("", |role| role.description.as_str()),
    };
    let paint = match node.paint {
        Paint::Plain => "",
        Paint::Done => " done",
        Paint::Current => " current",
        Paint::Failed => " failed",
    };
    let state = match node.paint {
        Paint::Plain => "",
        Paint::Done => " (has played)",
        Paint::Current if shown.active => " (plays now)",
        Paint::Current => " (next)",
        Paint::Failed => " (failed)",
    };
    let state = if role.is_some() { state } else { "" };
    let visits = shown.visits.get(node.name).copied().unwrap_or_default();
    let (left, top) = (place.x - width / 2.0, place.y - height / 2.0);
    let inner = html! {
        title { (visible(node.name)) (state) @if !about.is_empty() { "\n" (visible(about)) } }
        rect .shape x=(shape::short(left)) y=(shape::short(top)) width=(shape::short(width)) height=(shape::short(height))
            rx=(if role.is_some() { 8 } else { 19 }) {}
        text .name x=(shape::short(place.x)) y=(shape::short(place.y)) { (first_line(node.name, NAME)) }
        @if visits > 1 { text .count x=(shape::short(left + width)) y=(shape::short(top - 5.0)) { "×" (visits) } }
    };
    let link = shown.link.filter(|_| visits > 0).map(|link| link(node.name));
    html! {
        g class={ "node" (if role.is_some() { "" } else { " end" }) (paint) } {
            @match link {
                Some(link) => a href=(link) { (inner) },
                None => (inner),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use uwf_engine::workflow;

    fn stored(text: &str) -> Workflow {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("w.yaml");
        std::fs::write(&file, text).unwrap();
        workflow::load(&file).unwrap().to_stored()
    }

    #[test]
    fn every_edge_is_drawn_and_progress_is_painted() {
        let workflow = stored(include_str!("../../../engine/workflow/testdata/workflows/flow.yaml"));
        let progress = ThreadProgress {
            done: ["writer".to_owned()].into(),
            current: Some("checker".to_owned()),
            failed: BTreeSet::new(),
        };
        insta::assert_snapshot!("flow", svg(&workflow, &progress));
    }

    #[test]
    fn a_hostile_name_is_no_markup() {
        let text = uwf_engine::fixture::FLOW.replace("waits", "'</text><script>alert(1)</script>\"&\\u202e'");
        let drawn = svg(&stored(&text), &ThreadProgress::default());
        assert!(!drawn.contains("<script") && drawn.contains("&lt;script&gt;"), "{drawn}");
    }
}
