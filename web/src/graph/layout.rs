//! Where nodes, edges and labels go: dagre's layout, by the library, from top to bottom.
//!
//! Apart because it knows sizes alone, no words. The work is bounded: a workflow may come from anybody, and one that is too
//! large to draw has no picture.

use std::collections::BTreeMap;

use dugong::graphlib::{Graph, GraphOptions};
use dugong::{EdgeLabel, GraphLabel, NodeLabel, WorkControl, WorkError, layout_controlled};

/// How much the library may do: some thousand times what a large workflow takes.
const WORK: usize = 10_000_000;
/// Around the picture.
const MARGIN: f64 = 12.0;

/// Width and height.
pub(super) type Size = (f64, f64);

/// A place in the picture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Place {
    pub(super) x: f64,
    pub(super) y: f64,
}

/// An edge that is to be laid out.
pub(super) struct Line {
    pub(super) from: usize,
    pub(super) to: usize,
    /// The size of its label.
    pub(super) label: Size,
}

/// Where everything is.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) size: Size,
    /// The middle of each node.
    pub(super) nodes: Vec<Place>,
    /// Each edge's course, and the middle of its label.
    pub(super) lines: Vec<(Vec<Place>, Place)>,
}

/// Lays out nodes of these sizes; none where that takes too much work, or there is no such layout.
pub(super) fn lay_out(nodes: &[Size], lines: &[Line]) -> Option<Layout> {
    let options = GraphOptions { multigraph: true, compound: false, directed: true };
    let mut graph: Graph<NodeLabel, EdgeLabel, GraphLabel> = Graph::new(options);
    let label = GraphLabel { nodesep: 36.0, ranksep: 34.0, edgesep: 18.0, ..GraphLabel::default() };
    graph.set_graph(GraphLabel { marginx: MARGIN, marginy: MARGIN, ..label });
    for (at, &(width, height)) in nodes.iter().enumerate() {
        graph.set_node(id(at), NodeLabel { width, height, ..NodeLabel::default() });
    }
    for (at, line) in lines.iter().enumerate() {
        let (width, height) = line.label;
        let label = EdgeLabel { width, height, weight: 1.0, ..EdgeLabel::default() };
        graph.set_edge_named(id(line.from), id(line.to), Some(id(at)), Some(label));
    }
    layout_controlled(&mut graph, &mut Bounded(WORK)).ok()?;
    let found = nodes.iter().enumerate().map(|(at, _)| {
        let node = graph.node(&id(at))?;
        Some(Place { x: node.x?, y: node.y? })
    });
    let found: Vec<Place> = found.collect::<Option<_>>()?;
    let courses = lines.iter().enumerate().map(|(at, line)| {
        let edge = graph.edge(&id(line.from), &id(line.to), Some(&id(at)))?;
        let points: Vec<Place> = edge.points.iter().map(|point| Place { x: point.x, y: point.y }).collect();
        let middle = points.get(points.len() / 2).copied()?;
        Some((points, Place { x: edge.x.unwrap_or(middle.x), y: edge.y.unwrap_or(middle.y) }))
    });
    let layout = Layout { size: (0.0, 0.0), nodes: found, lines: courses.collect::<Option<_>>()? };
    Some(spread(layout, nodes, lines))
}

fn id(at: usize) -> String {
    format!("n{at}")
}

/// Labels of loops are to the right of these; the picture is as large as all that is in it.
fn spread(mut layout: Layout, nodes: &[Size], lines: &[Line]) -> Layout {
    let mut loops: BTreeMap<usize, f64> = BTreeMap::new();
    for (line, (points, label)) in lines.iter().zip(&mut layout.lines) {
        if line.from != line.to {
            continue;
        }
        let (middle, (width, height)) = (layout.nodes[line.from], nodes[line.from]);
        // One below the other, where there are several.
        let nth = loops.entry(line.from).or_insert(0.0);
        let (right, lower) = (middle.x + width / 2.0, middle.y + *nth * (line.label.1 + 6.0));
        let reach = right + 26.0;
        *points = [
            (right, lower - height / 4.0),
            (reach, lower - height / 3.0),
            (reach, lower + height / 3.0),
            (right, lower + height / 4.0),
        ]
        .map(|(x, y)| Place { x, y })
        .to_vec();
        *label = Place { x: reach + 4.0 + line.label.0 / 2.0, y: lower };
        *nth += 1.0;
    }
    let ends = |place: &Place, (width, height): Size| (place.x + width / 2.0, place.y + height / 2.0);
    let of_nodes = layout.nodes.iter().zip(nodes).map(|(place, size)| ends(place, *size));
    let of_labels = layout.lines.iter().zip(lines).map(|((_, place), line)| ends(place, line.label));
    let of_points = layout.lines.iter().flat_map(|(points, _)| points).map(|point| (point.x, point.y));
    let far = of_nodes
        .chain(of_labels)
        .chain(of_points)
        .fold((0.0_f64, 0.0_f64), |far, end| (far.0.max(end.0), far.1.max(end.1)));
    layout.size = (far.0 + MARGIN, far.1 + MARGIN);
    layout
}

/// Ends the work when it is too much.
struct Bounded(usize);

impl WorkControl for Bounded {
    fn charge(&mut self, units: usize) -> Result<(), WorkError> {
        self.0 = self.0.checked_sub(units).ok_or(WorkError::Interrupted)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_below_is_below_and_nothing_is_outside() {
        let line = |from, to| Line { from, to, label: (40.0, 16.0) };
        let lines = [line(0, 1), line(1, 2), line(2, 1), line(1, 1), line(1, 1)];
        let layout = lay_out(&[(80.0, 36.0); 3], &lines).unwrap();
        assert!(layout.nodes[0].y < layout.nodes[1].y && layout.nodes[1].y < layout.nodes[2].y);
        let inside = |place: &Place| {
            (0.0..=layout.size.0).contains(&place.x) && (0.0..=layout.size.1).contains(&place.y)
        };
        assert!(
            layout.lines.iter().flat_map(|(points, label)| points.iter().chain([label])).all(inside),
            "{layout:?}"
        );
        let [one, other] = [3, 4].map(|at| layout.lines[at].1.y);
        assert!(other - one > 16.0, "labels of two loops do not cover each other");
    }

    #[test]
    fn a_graph_of_thousands_has_no_picture_and_takes_no_minute() {
        let begun = std::time::Instant::now();
        let lines: Vec<Line> = (0..60_000)
            .map(|n| Line { from: n % 3000, to: (n * 7919 + n / 3000) % 3000, label: (40.0, 16.0) })
            .collect();
        assert!(lay_out(&[(80.0, 36.0); 3000], &lines).is_none());
        assert!(begun.elapsed().as_secs() < 30, "{:?}", begun.elapsed());
    }
}
