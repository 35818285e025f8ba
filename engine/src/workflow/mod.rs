//! Workflows in files, in the store and by name.
//!
//! What a workflow's text means is [`uwf_workflow`]'s. Here are the files it is read from (`files`), the node it is
//! stored as, how a name becomes one (`discover`, `registry`), and what a name meant before (`history`). This module never
//! moves a thread; it only says what the next step would be made of.

mod discover;
mod files;
mod history;
mod registry;

use std::io;
use std::path::PathBuf;

use crate::builtin::{META_SCHEMA, WORKFLOW, WORKFLOW_2};
use serde_json::Value;
use uwf_store::{Hash, Store, StoreError};
use uwf_workflow::{Invalid, NAME_HINT};

pub use discover::{directories, is_mock};
pub use files::{load, read};
pub use history::{Back, HistoryEntry, history, remove, rollback};
pub(crate) use registry::registration;
pub use registry::{ListedWorkflow, REGISTRY, Resolved, WorkflowOrigin, add, anchored, list, resolve};
pub use uwf_workflow::moderator::{Edge, Graph};
pub use uwf_workflow::{CheckedRole, CheckedWorkflow, CompactRule, Diagnostic, Role, Workflow};

/// Why there is no such workflow.
#[derive(Debug, thiserror::Error)]
pub enum WorkflowError {
    /// The file cannot be read.
    #[error("cannot read workflow file {path}: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The file says something that cannot be.
    #[error(transparent)]
    Invalid(#[from] Invalid),
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
    NotInHistory {
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
            WorkflowError::BadName { .. } => Some(NAME_HINT.to_owned()),
            WorkflowError::NotInHistory { name, .. } => {
                Some(format!("`uwf workflow history {name}` shows what it was"))
            }
            WorkflowError::NotAWorkflow { title: Some(title), .. } if title.starts_with("uwf-workflow-") => {
                Some("it needs a newer engine".to_owned())
            }
            WorkflowError::Read { source, .. } if source.kind() == io::ErrorKind::NotFound => Some(
                "a path that is typed counts from the current directory, one in config.yaml from the directory of that file; \
                 `uwf workflow list` shows the workflows that are found by name"
                    .to_owned(),
            ),
            WorkflowError::NotAWorkflow { .. } | WorkflowError::Read { .. } => {
                Some("`uwf workflow list` shows the workflows that are found from here".to_owned())
            }
            WorkflowError::Store(error) => error.hint(),
            _ => None,
        }
    }
}

/// Stores the workflow and the schemas of its roles.
///
/// # Errors
/// When the store fails; then nothing refers to what was written.
pub fn put(store: &Store, workflow: &CheckedWorkflow) -> Result<Hash, WorkflowError> {
    let mut nodes: Vec<(Hash, Value)> =
        workflow.roles.values().map(|role| (META_SCHEMA, role.schema.clone())).collect();
    nodes.push((workflow.type_(), workflow.payload()));
    store.put_all(&nodes)?;
    Ok(workflow.hash())
}

/// Reads a stored workflow.
///
/// # Errors
/// When there is no such node or it is no workflow.
pub fn get(store: &Store, hash: &Hash) -> Result<Workflow, WorkflowError> {
    let node = store.get(hash)?;
    if ![WORKFLOW, WORKFLOW_2].contains(&node.type_) {
        let schema = store.schema_of(&node.type_).ok();
        let title = schema.and_then(|schema| schema.get("title")?.as_str().map(str::to_owned));
        return Err(WorkflowError::NotAWorkflow { hash: *hash, type_: node.type_, title });
    }
    serde_json::from_value(node.payload)
        .map_err(|error| WorkflowError::Malformed { hash: *hash, why: error.to_string() })
}

#[cfg(test)]
mod tests;
