//! Whether every run can end: from each role that is reached there is a way to an end.
//!
//! Apart because it looks at ways of any length, where the other rules look at an edge.

use std::collections::{BTreeMap, BTreeSet};

use super::graph::Schemas;
use crate::diagnostics::Diagnostics;
use crate::moderator::{END, START, SUSPEND};
use crate::raw::RawNode;

/// Reports roles from which no edge leads to an end, however far one goes. Where conditions choose the way, that is a
/// mistake; a graph without any may have been stored long ago, and is only warned of.
pub(super) fn check(nodes: &[RawNode], schemas: &Schemas<'_>, problems: &mut Diagnostics<'_>) {
    let targets: BTreeMap<&str, BTreeSet<&str>> =
        nodes.iter().map(|node| (node.role.as_str(), targets(node))).collect();
    // What leads nowhere, or to something that is no role, has been reported.
    let known = |role: &str| targets.get(role).is_some_and(|targets| !targets.is_empty());
    let mut ending: BTreeSet<&str> = BTreeSet::new();
    loop {
        let ends =
            |target: &&str| [END, SUSPEND].contains(target) || !known(target) || ending.contains(target);
        let more: Vec<&str> = targets
            .iter()
            .filter(|(role, targets)| !ending.contains(*role) && targets.iter().any(ends))
            .map(|(role, _)| *role)
            .collect();
        if more.is_empty() {
            break;
        }
        ending.extend(more);
    }
    let reached = reached(&targets);
    let strict =
        nodes.iter().any(|node| node.listed || node.edges.iter().flatten().any(|edge| edge.when.is_some()));
    let lost = |node: &&RawNode| {
        let role = node.role.as_str();
        known(role) && reached.contains(role) && schemas.contains_key(role) && !ending.contains(role)
    };
    for node in nodes.iter().filter(lost) {
        let message =
            format!("no run that comes to role `{}` can end: no way leads to {END} or {SUSPEND}", node.role);
        let hint = format!("add an edge to {END} to one of the roles on the way");
        match strict {
            true => problems.at_key(&node.pointer, message, hint),
            false => problems.warn_at_key(&node.pointer, message, hint),
        }
    }
}

fn targets(node: &RawNode) -> BTreeSet<&str> {
    let edges = node.edges.iter().flatten();
    edges.filter_map(|edge| edge.role.as_ref()).map(|role| role.text.as_str()).collect()
}

fn reached<'n>(targets: &BTreeMap<&'n str, BTreeSet<&'n str>>) -> BTreeSet<&'n str> {
    let (mut reached, mut open) = (BTreeSet::new(), vec![START]);
    while let Some(role) = open.pop() {
        for target in targets.get(role).into_iter().flatten() {
            if reached.insert(*target) {
                open.push(target);
            }
        }
    }
    reached
}
