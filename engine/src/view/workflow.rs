//! A workflow: the node it is, and as a row among others or of its own past.

use serde::Serialize;
use serde_json::{Value, json};
use uwf_store::{Hash, Store};

use crate::workflow::{self, HistoryEntry, ListedWorkflow, Resolved, WorkflowError};

/// A workflow, as `workflow show` prints it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WorkflowView {
    /// The node that it is, or will be once it is stored.
    pub hash: Hash,
    /// What it is called.
    pub name: String,
    /// The node's type.
    #[serde(rename = "type")]
    pub type_: Hash,
    /// The node's payload.
    pub payload: Value,
    /// When the node was put, in milliseconds since the epoch; none for a file that is not stored.
    pub timestamp: Option<u64>,
}

impl WorkflowView {
    /// The workflow that a reference led to.
    ///
    /// # Errors
    /// The nodes or the variables of the store cannot be read.
    pub fn of(store: &Store, resolved: &Resolved) -> Result<WorkflowView, WorkflowError> {
        let (hash, type_, payload, timestamp) = match &resolved.checked {
            Some(checked) => {
                let hash = checked.hash();
                (
                    hash,
                    checked.type_(),
                    json!(checked.to_stored()),
                    store.find(&hash)?.map(|node| node.timestamp),
                )
            }
            None => {
                let hash = resolved.hash.expect("what is no file was found by its hash");
                let node = store.get(&hash)?;
                (hash, node.type_, node.payload, Some(node.timestamp))
            }
        };
        Ok(WorkflowView { hash, name: resolved.name.clone(), type_, payload, timestamp })
    }
}

/// A workflow as a row of `workflow list`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WorkflowRow {
    /// What to call it by.
    pub name: String,
    /// The node; `(local)` for a file, whose hash changes with it.
    pub hash: String,
    /// `local` or `registry`.
    pub origin: &'static str,
}

impl From<&ListedWorkflow> for WorkflowRow {
    fn from(listed: &ListedWorkflow) -> WorkflowRow {
        let hash = listed.hash.map_or("(local)".to_owned(), |hash| hash.to_string());
        WorkflowRow { name: listed.name.clone(), hash, origin: listed.origin.as_str() }
    }
}

/// What a name meant, as a row of `workflow history`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HistoryView {
    /// How many entries ago; 0 is now.
    pub n: usize,
    /// The workflow.
    pub hash: Hash,
    /// Since when, in milliseconds since the epoch.
    pub set_at: u64,
    /// What it is for; nothing where the node is gone.
    pub description: String,
}

impl HistoryView {
    /// What was meant `n` entries ago. One that another program has collected has no description any more.
    pub fn of(store: &Store, n: usize, entry: &HistoryEntry) -> HistoryView {
        let description = workflow::get(store, &entry.hash).map(|workflow| workflow.description);
        HistoryView {
            n,
            hash: entry.hash,
            set_at: entry.set_at,
            description: description.unwrap_or_default(),
        }
    }
}
