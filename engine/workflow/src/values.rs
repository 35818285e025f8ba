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
use crate::moderator::{Edges, Graph};

/// The type of stored workflows: roles and graph.
pub const WORKFLOW: Hash = Hash::from_static("73WN2ZCV9037P");
/// The type of stored workflows that say more than roles and edges: see [`Workflow::type_`].
pub const WORKFLOW_2: Hash = Hash::from_static("EX4DPNPYBFX92");

/// The field that templates see the artifacts of a step under, unless its output has one of that name.
pub const ARTIFACTS: &str = "artifacts";

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
    /// What edges can depend on, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub conditions: BTreeMap<String, Condition>,
    /// When the history of a thread is summed up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compact: Option<CompactRule>,
    /// What becomes of the output of another workflow that plays a role, by the role and the field of its own output.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub output: OutputMaps,
}

/// Role → field of its output → where that is from.
pub type OutputMaps = BTreeMap<String, BTreeMap<String, OutputField>>;

/// A condition as it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Condition {
    /// What it says, for people.
    pub description: String,
    /// The JSONata expression.
    pub expression: String,
}

/// When the history of a thread is summed up, and how much of it stays as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompactRule {
    /// After so many steps since the last summary.
    pub after: u32,
    /// So many steps at the end stay.
    pub keep: u32,
}

/// Where a field of an output is from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputField {
    /// The JSON pointer into the output of the workflow that played.
    pub from: String,
    /// What stands for a text found there; any other is taken as it is.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub values: BTreeMap<String, Value>,
}

impl Workflow {
    /// The type of its node: [`WORKFLOW`], which every engine reads, unless it says what that cannot hold.
    pub fn type_(&self) -> Hash {
        let more = |role: &Role| !role.artifacts.is_empty() || !role.context.is_empty();
        let is_plain = self.conditions.is_empty()
            && self.compact.is_none()
            && self.output.is_empty()
            && !self.roles.values().any(more)
            && self.graph.values().all(Edges::is_plain);
        if is_plain { WORKFLOW } else { WORKFLOW_2 }
    }
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
    /// What of its output are files or nodes that it made: JSON pointers, or globs of files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<String>,
    /// Whose steps it sees beside those of its own thread.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub context: Vec<ContextSource>,
}

/// Whose steps a role can see beside those of its own thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ContextSource {
    /// Those before the call, of the thread that called this one.
    Caller,
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
    /// What edges can depend on, by name.
    pub conditions: BTreeMap<String, Condition>,
    /// When the history of a thread is summed up.
    pub compact: Option<CompactRule>,
    /// What becomes of the output of another workflow that plays a role.
    pub output_maps: OutputMaps,
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
    /// The JSON Schema of its answers' frontmatter: storable, titled, and declaring `$status` unless what comes
    /// next is no matter of it.
    pub schema: Value,
    /// What of its output are files or nodes that it made.
    pub artifacts: Vec<String>,
    /// Whose steps it sees beside those of its own thread.
    pub context: Vec<ContextSource>,
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
            artifacts: role.artifacts.clone(),
            context: role.context.clone(),
        };
        Workflow {
            name: self.name.clone(),
            description: self.description.clone(),
            roles: self.roles.iter().map(|(name, checked)| (name.clone(), role(checked))).collect(),
            graph: self.graph.clone(),
            conditions: self.conditions.clone(),
            compact: self.compact,
            output: self.output_maps.clone(),
        }
    }

    /// What is in its node.
    pub fn payload(&self) -> Value {
        serde_json::to_value(self.to_stored()).expect("strings, lists and maps with text keys are JSON")
    }

    /// The type of its node.
    pub fn type_(&self) -> Hash {
        self.to_stored().type_()
    }

    /// The hash that it has, or would have, in every store.
    pub fn hash(&self) -> Hash {
        Hash::of(&self.type_(), &self.payload())
    }
}
