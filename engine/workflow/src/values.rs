//! A workflow as values: as it is stored, and as a file that passed every check says it.
//!
//! Apart because routing, drawing and storing all take these; how they come to be is for `read` and what it calls. The
//! two forms differ in the schemas alone, which the stored one refers to by their hashes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use uwf_store::Hash;
use uwf_store::schema::builtin::META_SCHEMA;

use crate::diagnostics::{self, Diagnostic};
use crate::moderator::Graph;

/// The type of stored workflows: roles and graph.
pub const WORKFLOW: Hash = Hash::from_static("73WN2ZCV9037P");

/// A workflow as it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Workflow {
    /// Its name in the registry.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// Who takes part.
    pub roles: BTreeMap<String, Role>,
    /// Who comes next.
    pub graph: Graph,
}

/// A role as it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Role {
    /// One line about it.
    pub description: String,
    /// What it is to achieve.
    pub goal: String,
    /// What it is good at.
    pub capabilities: Vec<String>,
    /// How it goes about it.
    pub procedure: String,
    /// What its answer is to contain.
    pub output: String,
    /// The JSON Schema of its answers' frontmatter.
    pub frontmatter: Hash,
}

/// A workflow file that passed every check.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckedWorkflow {
    /// Its name in the registry; fit for a variable name.
    pub name: String,
    /// What it is for; may be empty.
    pub description: String,
    /// Who takes part.
    pub roles: BTreeMap<String, CheckedRole>,
    /// Who comes next. Every edge leads to one of the roles or to a reserved target.
    pub graph: Graph,
    /// What is probably not meant, in the order of the text; none of it is stored.
    pub warnings: Vec<Diagnostic>,
}

/// A role with its schema still in place.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckedRole {
    /// One line about it; may be empty.
    pub description: String,
    /// What it is to achieve.
    pub goal: String,
    /// What it is good at.
    pub capabilities: Vec<String>,
    /// How it goes about it; may be empty.
    pub procedure: String,
    /// What its answer is to contain; may be empty.
    pub output: String,
    /// The JSON Schema of its answers' frontmatter: storable, titled, and declaring `$status`.
    pub schema: Value,
}

impl CheckedWorkflow {
    /// What people are to be told of the file: a text for each warning, its hint on a line of its own.
    pub fn told_warnings(&self) -> Vec<String> {
        diagnostics::told(&self.warnings, |warning| warning.with_hint("  "))
    }

    /// The stored form, its schemas replaced by their hashes.
    pub fn to_stored(&self) -> Workflow {
        let role = |role: &CheckedRole| Role {
            description: role.description.clone(),
            goal: role.goal.clone(),
            capabilities: role.capabilities.clone(),
            procedure: role.procedure.clone(),
            output: role.output.clone(),
            frontmatter: Hash::of(&META_SCHEMA, &role.schema),
        };
        Workflow {
            name: self.name.clone(),
            description: self.description.clone(),
            roles: self.roles.iter().map(|(name, checked)| (name.clone(), role(checked))).collect(),
            graph: self.graph.clone(),
        }
    }

    /// What is in its node.
    pub fn payload(&self) -> Value {
        serde_json::to_value(self.to_stored()).expect("strings, lists and maps with text keys are JSON")
    }

    /// The hash that it has, or would have, in every store.
    pub fn hash(&self) -> Hash {
        Hash::of(&WORKFLOW, &self.payload())
    }
}
