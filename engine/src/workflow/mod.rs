//! Workflows: YAML → checked → stored, and how a name becomes one.
//!
//! A workflow file goes through four stages, each a value: text and included files (`include`), what was typed
//! (`raw`), what it means (`check`), the stored node. Finding one by name (`discover`, `registry`) is apart
//! from reading it; what a name meant before (`past`), how a workflow looks (`draw`) and what an editor knows of it
//! (`editor`) are apart, too. This module never moves a thread; it only says what the next step would be made of.

mod answers;
mod check;
mod discover;
mod draw;
mod editor;
mod include;
mod past;
mod problem;
mod raw;
mod registry;

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use answers::kept_fields;
pub use draw::{Progress, dot, mermaid};
pub use editor::schema;
pub use past::{Back, Past, history, rollback};
pub use problem::Problem;
pub(crate) use registry::registration;
pub use registry::{Listed, Origin, REGISTRY, Resolved, add, list, resolve};
pub use uwf_workflow::moderator::{Edge, Graph};

use include::Source;
use problem::Problems;
use uwf_store::schema::builtin::{META_SCHEMA, WORKFLOW};
use uwf_store::{Hash, Store, StoreError};

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
    pub warnings: Vec<Problem>,
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

/// Why there is no such workflow.
#[derive(Debug, thiserror::Error)]
pub enum WorkflowError {
    /// The file cannot be read.
    #[error("cannot read workflow file {path}: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file says something that cannot be. Holds everything that is wrong with it, in the order of the text.
    #[error("{} has {}{}", path.display(), count(problems), lines(problems))]
    Invalid {
        /// The file.
        path: PathBuf,
        /// At least one.
        problems: Vec<Problem>,
    },
    /// No hash, file, workflow nearby or registered workflow of that name.
    #[error("no workflow `{reference}`")]
    Unknown {
        /// What was asked for.
        reference: String,
        /// The names there are, nearest first.
        known: Vec<String>,
    },
    /// A text that cannot be registered.
    #[error("`{name}` is no name of a workflow")]
    BadName {
        /// The text.
        name: String,
    },
    /// The history of a name does not go back to what was asked for.
    #[error("the history of workflow `{name}` does not go back to {wanted}")]
    NoSuchPast {
        /// The workflow.
        name: String,
        /// A number or a hash.
        wanted: String,
    },
    /// The node is something else than a workflow that this engine can run.
    #[error("node {hash} is no workflow: its type is {type_}{}", title.as_ref().map(|title| format!(" ({title})")).unwrap_or_default())]
    NotAWorkflow {
        /// The node.
        hash: Hash,
        /// Its type.
        type_: Hash,
        /// The title of that type's schema, if it has one.
        title: Option<String>,
    },
    /// A workflow node whose payload does not have the shape that its type promises.
    #[error("workflow {hash} cannot be read: {why}")]
    Malformed {
        /// The node.
        hash: Hash,
        /// What does not fit.
        why: String,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl WorkflowError {
    /// What to do, for the line below the error.
    pub fn hint(&self) -> Option<String> {
        match self {
            WorkflowError::Unknown { known, .. } if known.is_empty() => {
                Some("put one into .workflow/<name>.yaml, or add one: uwf workflow add <file>".to_owned())
            }
            WorkflowError::Unknown { known, .. } => Some(format!("there is: {}", known.join(", "))),
            WorkflowError::BadName { .. } => Some(check::NAME_HINT.to_owned()),
            WorkflowError::NoSuchPast { name, .. } => {
                Some(format!("`uwf workflow history {name}` shows what it was"))
            }
            WorkflowError::NotAWorkflow { title: Some(title), .. } if title.starts_with("uwf-workflow-") => {
                Some("it needs a newer engine".to_owned())
            }
            WorkflowError::NotAWorkflow { .. } | WorkflowError::Read { .. } => {
                Some("`uwf workflow list` shows the workflows that are found from here".to_owned())
            }
            WorkflowError::Store(error) => error.hint(),
            _ => None,
        }
    }
}

fn count(problems: &[Problem]) -> String {
    match problems.len() {
        1 => "a problem".to_owned(),
        many => format!("{many} problems"),
    }
}

fn lines(problems: &[Problem]) -> String {
    let told = problem::told(problems, |problem| problem.with_hint("    "));
    told.into_iter().map(|told| format!("\n  {told}")).collect()
}

/// Reads and checks a workflow file. Nothing is stored.
///
/// # Errors
/// [`WorkflowError::Read`], or [`WorkflowError::Invalid`] with all problems at once.
pub fn load(path: &Path) -> Result<CheckedWorkflow, WorkflowError> {
    checked(path, Source::load(path)?)
}

/// The same of a text that is in no file: errors call it `name`, and what it includes is in `directory`.
///
/// # Errors
/// As [`load`].
pub fn read(input: &mut dyn Read, name: &Path, directory: &Path) -> Result<CheckedWorkflow, WorkflowError> {
    checked(name, Source::read(input, name, directory)?)
}

fn checked(
    path: &Path,
    (source, mut found): (Source, Vec<Problem>),
) -> Result<CheckedWorkflow, WorkflowError> {
    let mut problems = Problems::new(&source);
    let raw = raw::read(source.value(), &mut problems);
    let checked = check::check(raw, &mut problems);
    let (wrong, warnings) = problems.into_found();
    found.extend(wrong);
    if found.is_empty() {
        return Ok(CheckedWorkflow { warnings: in_order(path, warnings), ..checked });
    }
    // Whoever has to mend a file is told of everything at once.
    found.extend(warnings);
    Err(WorkflowError::Invalid { path: path.to_owned(), problems: in_order(path, found) })
}

/// Each problem once, the workflow's own file first, then what it includes.
fn in_order(path: &Path, mut problems: Vec<Problem>) -> Vec<Problem> {
    problems.sort_by(|a, b| (a.file != path, a).cmp(&(b.file != path, b)));
    problems.dedup();
    problems
}

/// The hash that the workflow has, or would have, in every store.
pub fn hash_of(workflow: &CheckedWorkflow) -> Hash {
    Hash::of(&WORKFLOW, &workflow.payload())
}

/// Stores the workflow and the schemas of its roles.
///
/// # Errors
/// When the store fails; then nothing refers to what was written.
pub fn put(store: &Store, workflow: &CheckedWorkflow) -> Result<Hash, WorkflowError> {
    let mut nodes: Vec<(Hash, Value)> =
        workflow.roles.values().map(|role| (META_SCHEMA, role.schema.clone())).collect();
    nodes.push((WORKFLOW, workflow.payload()));
    store.put_all(&nodes)?;
    Ok(hash_of(workflow))
}

/// Reads a stored workflow.
///
/// # Errors
/// When there is no such node or it is no workflow.
pub fn get(store: &Store, hash: &Hash) -> Result<Workflow, WorkflowError> {
    let node = store.get(hash)?;
    if node.type_ != WORKFLOW {
        let schema = store.schema_of(&node.type_).ok();
        let title = schema.and_then(|schema| schema.get("title")?.as_str().map(str::to_owned));
        return Err(WorkflowError::NotAWorkflow { hash: *hash, type_: node.type_, title });
    }
    serde_json::from_value(node.payload)
        .map_err(|error| WorkflowError::Malformed { hash: *hash, why: error.to_string() })
}

impl CheckedWorkflow {
    /// What people are to be told of the file: a text for each warning, its hint on a line of its own.
    pub fn told_warnings(&self) -> Vec<String> {
        problem::told(&self.warnings, |warning| warning.with_hint("  "))
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

    fn payload(&self) -> Value {
        serde_json::to_value(self.to_stored()).expect("strings, lists and maps with text keys are JSON")
    }
}

#[cfg(test)]
mod tests;
