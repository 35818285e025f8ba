//! A graph as it is stored: who can come next after whom.
//!
//! Apart from the routing because drawing, checking and storing need the shape alone. A node has one of two forms: by
//! the status of the role's output, or the older list, which knows no status. Where no edge has a condition and none is in
//! a list, it is stored as it always was.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Role → what can come after it.
pub type Graph = BTreeMap<String, Edges>;

/// What can come after a role.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Edges {
    /// The status of its output → the edges to try.
    ByStatus(BTreeMap<String, Targets>),
    /// Transitions to try, whatever the status.
    Listed(Vec<Transition>),
}

/// Edges that are tried in order; mostly it is one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "OneOrMore", into = "OneOrMore")]
pub struct Targets(pub Vec<Edge>);

/// One edge of a graph, as it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Edge {
    /// A role, [`END`](super::END) or [`SUSPEND`](super::SUSPEND).
    pub role: String,
    /// Template of what the next role is told, or of what a suspended or ended thread says.
    pub prompt: String,
    /// Template of the directory the next role works in, relative to the thread's; `None`: the thread's own.
    #[serde(default)]
    pub location: Option<String>,
    /// The condition on which it is followed; `None`: always.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<String>,
}

/// One entry of the list form, as it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Transition {
    /// A role, [`END`](super::END) or [`SUSPEND`](super::SUSPEND).
    pub role: String,
    /// The condition on which it is followed; `None`: always, which makes it the fallback.
    #[serde(default)]
    pub condition: Option<String>,
    /// Template as in [`Edge::prompt`]; `None`: what the last role delivered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// As in [`Edge::location`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<String>,
}

/// An edge, or a list of some.
#[derive(Clone, Serialize, Deserialize)]
#[serde(untagged)]
enum OneOrMore {
    One(Edge),
    More(Vec<Edge>),
}

impl From<OneOrMore> for Targets {
    fn from(stored: OneOrMore) -> Targets {
        match stored {
            OneOrMore::One(edge) => Targets(vec![edge]),
            OneOrMore::More(edges) => Targets(edges),
        }
    }
}

impl From<Targets> for OneOrMore {
    fn from(Targets(mut edges): Targets) -> OneOrMore {
        match edges.len() {
            1 => OneOrMore::One(edges.remove(0)),
            _ => OneOrMore::More(edges),
        }
    }
}

/// An edge of either form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Way<'g> {
    /// The status it belongs to; `None` in the list form.
    pub status: Option<&'g str>,
    /// A role, [`END`](super::END) or [`SUSPEND`](super::SUSPEND).
    pub role: &'g str,
    /// The condition on which it is followed.
    pub condition: Option<&'g str>,
    /// Template of the prompt.
    pub prompt: Option<&'g str>,
    /// Template of the directory.
    pub location: Option<&'g str>,
}

impl<'g> Way<'g> {
    fn of_edge(status: &'g str, edge: &'g Edge) -> Way<'g> {
        Way {
            status: Some(status),
            role: &edge.role,
            condition: edge.when.as_deref(),
            prompt: Some(&edge.prompt),
            location: edge.location.as_deref(),
        }
    }

    fn of_transition(transition: &'g Transition) -> Way<'g> {
        Way {
            status: None,
            role: &transition.role,
            condition: transition.condition.as_deref(),
            prompt: transition.prompt.as_deref(),
            location: transition.location.as_deref(),
        }
    }
}

impl Edges {
    /// All edges: by the status, and those of one status in their order.
    pub fn ways(&self) -> Vec<Way<'_>> {
        match self {
            Edges::ByStatus(statuses) => statuses
                .iter()
                .flat_map(|(status, targets)| targets.0.iter().map(|edge| Way::of_edge(status, edge)))
                .collect(),
            Edges::Listed(transitions) => transitions.iter().map(Way::of_transition).collect(),
        }
    }

    /// The edges of one status, in the order in which they are tried; all of them in the list form.
    pub fn ways_for(&self, status: &str) -> Vec<Way<'_>> {
        self.ways().into_iter().filter(|way| way.status.is_none_or(|its| its == status)).collect()
    }

    /// Whether it can be stored as every engine reads it: each status has one edge, and no edge has a condition.
    pub fn is_plain(&self) -> bool {
        match self {
            Edges::ByStatus(statuses) => {
                let plain = |targets: &Targets| matches!(targets.0.as_slice(), [edge] if edge.when.is_none());
                statuses.values().all(plain)
            }
            Edges::Listed(_) => false,
        }
    }
}
