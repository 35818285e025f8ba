//! The edges between nodes: which nodes one refers to, and which can be reached from one.
//!
//! An edge is a string whose schema has `format: ocas_ref`, found by walking schema and payload together; a node's type
//! is an edge too. Where a schema leaves a choice, each alternative counts: an edge too many keeps a node, an edge too
//! few loses one. Never changes anything.

use std::collections::{BTreeSet, HashSet, VecDeque};

use serde_json::{Map, Value};

use super::hash::Hash;
use super::node::Node;
use super::{Finding, Referrer, Store, StoreError};

/// What can be reached from a node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Walk {
    /// The nodes, in the order they were first seen, the root first.
    pub nodes: Vec<Hash>,
    /// Nodes that are not there, each with the first that refers to it.
    pub missing: Vec<(Hash, Hash)>,
    /// Nodes that cannot be read, each with the first that refers to it and the reason; nothing beyond them is known.
    pub corrupt: Vec<(Hash, Hash, String)>,
}

impl Store {
    /// The nodes that a node refers to, in order, without its type.
    ///
    /// # Errors
    /// The node or its type is missing or damaged.
    pub fn refs(&self, hash: &Hash) -> Result<Vec<Hash>, StoreError> {
        self.refs_of(&self.get(hash)?)
    }

    /// The same of a node that was read.
    ///
    /// # Errors
    /// Its type is missing or damaged.
    pub fn refs_of(&self, node: &Node) -> Result<Vec<Hash>, StoreError> {
        Ok(refs_under(self.type_(&node.type_)?.value(), &node.payload))
    }

    /// Every node that can be reached from this one, over references and types. What is missing or corrupt on the way
    /// is listed; only the root must be there.
    ///
    /// # Errors
    /// The root is missing or damaged, or a file on the way cannot be read.
    pub fn walk(&self, root: &Hash) -> Result<Walk, StoreError> {
        self.get(root)?;
        let mut walk = Walk::default();
        let mut seen = HashSet::from([*root]);
        let mut queue = VecDeque::from([(*root, *root)]);
        while let Some((hash, referred_by)) = queue.pop_front() {
            let node = match self.find(&hash) {
                Ok(Some(node)) => node,
                Ok(None) => {
                    walk.missing.push((hash, referred_by));
                    continue;
                }
                Err(StoreError::Corrupt { hash, why }) => {
                    walk.corrupt.push((hash, referred_by, why));
                    continue;
                }
                Err(error) => return Err(error),
            };
            walk.nodes.push(hash);
            for edge in self.edges(&node)? {
                if seen.insert(edge) {
                    queue.push_back((edge, hash));
                }
            }
        }
        Ok(walk)
    }

    /// Everything that can be reached from these nodes, each after all that it refers to: what must be copied for them
    /// to be whole elsewhere, in the order in which it can be stored.
    ///
    /// # Errors
    /// [`StoreError::Unsound`] when something on the way is missing or corrupt.
    pub fn closure(&self, roots: &[Hash]) -> Result<Vec<Hash>, StoreError> {
        let (mut nodes, mut findings) = (BTreeSet::new(), Vec::new());
        for root in roots {
            if nodes.contains(root) {
                continue;
            }
            let Walk { nodes: reached, missing, corrupt } = self.walk(root)?;
            nodes.extend(reached);
            let missing = missing.into_iter();
            findings.extend(missing.map(|(hash, referrer)| Finding::Missing {
                hash,
                referred_by: vec![Referrer::Node(referrer)],
            }));
            let corrupt = corrupt.into_iter();
            findings.extend(corrupt.map(|(hash, referrer, why)| Finding::Corrupt {
                hash,
                why,
                referred_by: vec![Referrer::Node(referrer)],
            }));
        }
        if !findings.is_empty() {
            return Err(StoreError::Unsound { findings });
        }
        let mut order = self.referrers_first(&nodes);
        order.reverse();
        Ok(order)
    }

    /// The nodes in an order in which each comes before those it refers to: the reverse of the order in which a walk
    /// that goes down first leaves them.
    pub(super) fn referrers_first(&self, nodes: &BTreeSet<Hash>) -> Vec<Hash> {
        enum TraversalStep {
            Enter(Hash),
            Leave(Hash),
        }
        let (mut seen, mut order) = (HashSet::new(), Vec::with_capacity(nodes.len()));
        let mut steps = Vec::new();
        for root in nodes {
            steps.push(TraversalStep::Enter(*root));
            while let Some(step) = steps.pop() {
                match step {
                    TraversalStep::Leave(hash) => order.push(hash),
                    TraversalStep::Enter(hash) if seen.insert(hash) => {
                        steps.push(TraversalStep::Leave(hash));
                        // One that cannot be read refers to nothing that could be told.
                        let node = self.find(&hash).ok().flatten();
                        let edges = node.and_then(|node| self.edges(&node).ok()).unwrap_or_default();
                        let inside = edges.into_iter().filter(|edge| nodes.contains(edge));
                        steps.extend(inside.filter(|edge| !seen.contains(edge)).map(TraversalStep::Enter));
                    }
                    TraversalStep::Enter(_) => {}
                }
            }
        }
        order.reverse();
        order
    }

    /// References, then the type. The references of a node whose type is missing or corrupt are unknown: the type, which
    /// is then found to be so itself, is all there is. That a file cannot be read just now is an error: to take such a
    /// node for one without references would be to give away what it refers to.
    pub(super) fn edges(&self, node: &Node) -> Result<Vec<Hash>, StoreError> {
        let mut edges = match self.refs_of(node) {
            Ok(refs) => refs,
            Err(StoreError::UnknownType { .. } | StoreError::Corrupt { .. }) => Vec::new(),
            Err(error) => return Err(error),
        };
        edges.push(node.type_);
        Ok(edges)
    }
}

/// The edges that a payload has under its schema, in order.
pub(super) fn refs_under(schema: &Value, payload: &Value) -> Vec<Hash> {
    let mut refs = BTreeSet::new();
    collect(schema, payload, &mut refs);
    refs.into_iter().collect()
}

/// Adds the edges that this part of a payload has under this part of its schema.
fn collect(schema: &Value, payload: &Value, refs: &mut BTreeSet<Hash>) {
    let Value::Object(keywords) = schema else { return };
    match payload {
        Value::String(text) if keywords.get("format").is_some_and(|format| format == "ocas_ref") => {
            refs.extend(text.parse::<Hash>().ok());
        }
        Value::Array(items) => collect_items(keywords, items, refs),
        Value::Object(map) => collect_properties(keywords, map, refs),
        _ => {}
    }
    for keyword in ["anyOf", "oneOf", "allOf"] {
        let alternatives = keywords.get(keyword).and_then(Value::as_array);
        alternatives.into_iter().flatten().for_each(|schema| collect(schema, payload, refs));
    }
    for keyword in ["if", "then", "else"] {
        keywords.get(keyword).into_iter().for_each(|schema| collect(schema, payload, refs));
    }
}

fn collect_items(keywords: &Map<String, Value>, items: &[Value], refs: &mut BTreeSet<Hash>) {
    for schema in ["items", "contains"].iter().filter_map(|keyword| keywords.get(*keyword)) {
        items.iter().for_each(|item| collect(schema, item, refs));
    }
    let tuple = keywords.get("prefixItems").and_then(Value::as_array);
    for (schema, item) in tuple.into_iter().flatten().zip(items) {
        collect(schema, item, refs);
    }
}

/// Property names are not matched against `patternProperties`: each of its schemas counts as an alternative.
fn collect_properties(keywords: &Map<String, Value>, map: &Map<String, Value>, refs: &mut BTreeSet<Hash>) {
    let named = keywords.get("properties").and_then(Value::as_object);
    let patterns = keywords.get("patternProperties").and_then(Value::as_object);
    for (name, value) in map {
        let schema = named.and_then(|named| named.get(name)).or_else(|| keywords.get("additionalProperties"));
        schema.into_iter().for_each(|schema| collect(schema, value, refs));
        patterns.into_iter().flat_map(Map::values).for_each(|schema| collect(schema, value, refs));
    }
}

#[cfg(test)]
#[cfg(feature = "sqlite")]
#[path = "graph_tests.rs"]
mod tests;
