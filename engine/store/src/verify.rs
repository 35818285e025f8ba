//! Whether everything in a store is what it says it is.
//!
//! One pass over the node directory, node by node: what is kept in memory is only what is wrong, and the names. A second
//! pass, to say who refers to a corrupt node, happens only if there is one. Never repairs and never deletes.

use std::collections::BTreeMap;

use super::finding::{Finding, Referrer};
use super::hash::Hash;
use super::node::Node;
use super::nodes::NodeEntry;
use super::{Store, StoreError, Variable};
use crate::parallel;
use crate::schema::Violation;

/// How much was looked at, and how much of it was wrong.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct VerifyReport {
    /// Node files read.
    pub nodes: u64,
    /// Rows of variables read.
    pub variables: u64,
    /// Findings reported.
    pub findings: u64,
}

/// What is wrong with one node, before it is known who refers to it.
enum NodeProblem {
    Corrupt(String),
    Missing,
    Invalid(Hash, Vec<Violation>),
}

/// The nodes with a problem, and who refers to them.
type NodeProblems = BTreeMap<Hash, (NodeProblem, Vec<Referrer>)>;

impl Store {
    /// Looks at every file and every variable and hands each finding to `visit`: strays, variables, nodes by hash. An
    /// error means that the store could not be looked at, not that something is wrong in it.
    ///
    /// # Errors
    /// The nodes or the variables cannot be listed.
    pub fn verify(&self, visit: &mut dyn FnMut(Finding)) -> Result<VerifyReport, StoreError> {
        let mut report = VerifyReport::default();
        let mut problems = NodeProblems::new();
        for entry in self.nodes.entries(self.now())? {
            match entry? {
                NodeEntry::Node(hash) => {
                    report.nodes += 1;
                    self.examine(hash, &mut problems)?;
                }
                NodeEntry::Stray(path) => {
                    report.findings += 1;
                    visit(Finding::Stray { path });
                }
            }
        }
        report.variables = self.examine_variables(&mut problems, &mut |finding| {
            report.findings += 1;
            visit(finding);
        })?;
        self.add_referrers(&mut problems)?;
        report.findings += problems.len() as u64;
        problems
            .into_iter()
            .for_each(|(hash, (problem, referred_by))| visit(finding(hash, problem, referred_by)));
        Ok(report)
    }

    fn examine(&self, hash: Hash, problems: &mut NodeProblems) -> Result<(), StoreError> {
        let node = match self.find(&hash) {
            Ok(Some(node)) => node,
            // Collected since the directory was read.
            Ok(None) => return Ok(()),
            Err(StoreError::Corrupt { why, .. }) => {
                problems.insert(hash, (NodeProblem::Corrupt(why), Vec::new()));
                return Ok(());
            }
            Err(StoreError::Io { source, .. }) => {
                problems
                    .insert(hash, (NodeProblem::Corrupt(format!("it cannot be read: {source}")), Vec::new()));
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        let violations = self.violations(&node)?;
        if !violations.is_empty() {
            problems.insert(hash, (NodeProblem::Invalid(node.type_, violations), Vec::new()));
        }
        for edge in self.known_edges(&node)? {
            if !self.nodes.has(&edge) {
                refer(problems, edge, Referrer::Node(hash));
            }
        }
        Ok(())
    }

    /// The edges as far as files can be read; one that cannot is a finding of its own.
    fn known_edges(&self, node: &Node) -> Result<Vec<Hash>, StoreError> {
        match self.edges(node) {
            Err(StoreError::Io { .. }) => Ok(vec![node.type_]),
            edges => edges,
        }
    }

    /// A type that is missing or corrupt is a finding of its own, not one of each node that has it.
    fn violations(&self, node: &Node) -> Result<Vec<Violation>, StoreError> {
        match self.validate(&node.type_, &node.payload) {
            Ok(violations) => Ok(violations),
            Err(StoreError::Schema(error)) => Ok(vec![Violation::from(error)]),
            Err(error @ StoreError::UnknownType { exists: true, .. }) => {
                Ok(vec![Violation::whole(error.to_string())])
            }
            Err(StoreError::UnknownType { .. } | StoreError::Corrupt { .. } | StoreError::Io { .. }) => {
                Ok(Vec::new())
            }
            Err(error) => Err(error),
        }
    }

    fn examine_variables(
        &self,
        problems: &mut NodeProblems,
        visit: &mut dyn FnMut(Finding),
    ) -> Result<u64, StoreError> {
        let (mut count, mut read) = (0, Vec::new());
        self.vars.each_row("", &mut |row| {
            count += 1;
            for hash in [row.value.parse(), row.schema.parse()].into_iter().flatten() {
                if problems.contains_key(&hash) || !self.nodes.has(&hash) {
                    refer(problems, hash, Referrer::Variable(row.name.clone()));
                }
            }
            match Variable::try_from(row) {
                Ok(Variable { name, schema, value, .. }) => read.push((name, schema, value)),
                Err(StoreError::DamagedVariable { name, why }) => visit(Finding::Variable { name, why }),
                Err(error) => return Err(error),
            }
            Ok(())
        })?;
        // What is wrong with a node itself is told of the node.
        let types =
            parallel::map(&read, |(.., value)| self.find(value).ok().flatten().map(|node| node.type_));
        for ((name, schema, value), type_) in read.into_iter().zip(types) {
            if let Some(type_) = type_.filter(|type_| *type_ != schema) {
                let why = format!("node {value} is of type {type_}, not {schema}");
                visit(Finding::Variable { name, why });
            }
        }
        Ok(count)
    }

    /// Who refers to a missing node is known already; for the others the nodes are read once more.
    fn add_referrers(&self, problems: &mut NodeProblems) -> Result<(), StoreError> {
        if problems.values().all(|(problem, _)| matches!(problem, NodeProblem::Missing)) {
            return Ok(());
        }
        for entry in self.nodes.entries(self.now())? {
            let NodeEntry::Node(hash) = entry? else { continue };
            let Ok(Some(node)) = self.find(&hash) else { continue };
            for edge in self.known_edges(&node)?.into_iter().filter(|edge| *edge != hash) {
                if let Some((NodeProblem::Corrupt(_) | NodeProblem::Invalid(..), referred_by)) =
                    problems.get_mut(&edge)
                {
                    referred_by.push(Referrer::Node(hash));
                }
            }
        }
        Ok(())
    }
}

fn refer(problems: &mut NodeProblems, hash: Hash, referrer: Referrer) {
    problems.entry(hash).or_insert((NodeProblem::Missing, Vec::new())).1.push(referrer);
}

fn finding(hash: Hash, problem: NodeProblem, mut referred_by: Vec<Referrer>) -> Finding {
    referred_by.sort();
    match problem {
        NodeProblem::Corrupt(why) => Finding::Corrupt { hash, why, referred_by },
        NodeProblem::Missing => Finding::Missing { hash, referred_by },
        NodeProblem::Invalid(type_, violations) => Finding::Invalid { hash, type_, violations, referred_by },
    }
}

#[cfg(test)]
#[cfg(feature = "sqlite")]
#[path = "verify_tests.rs"]
mod tests;
