//! A workflow: the node it is, and as a row among others or of its own past.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Value, json};
use uwf_store::{Hash, Store};

use crate::workflow::{
    self, CheckedWorkflow, HistoryEntry, ListedWorkflow, Resolved, WorkflowError, WorkflowOrigin,
};

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
    /// How it was found: `hash`, `file`, `local` or `registry`.
    pub origin: &'static str,
    /// The file that it was read from, if it was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The schemas of its roles' answers, by the hashes that the payload has.
    pub schemas: BTreeMap<Hash, Value>,
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
        let schemas = match &resolved.checked {
            Some(checked) => schemas_of_file(checked),
            None => schemas_of(store, &payload),
        };
        Ok(WorkflowView {
            hash,
            name: resolved.name.clone(),
            type_,
            payload,
            timestamp,
            origin: resolved.origin.as_str(),
            path: path(&resolved.origin),
            schemas,
        })
    }
}

fn schemas_of_file(checked: &CheckedWorkflow) -> BTreeMap<Hash, Value> {
    let stored = checked.to_stored();
    let roles = stored.roles.iter().filter_map(|(name, role)| Some((role, checked.roles.get(name)?)));
    roles.map(|(stored, role)| (stored.frontmatter, role.schema.clone())).collect()
}

/// Those that are there: what another program has collected is not shown.
fn schemas_of(store: &Store, payload: &Value) -> BTreeMap<Hash, Value> {
    let roles = payload["roles"].as_object().into_iter().flat_map(|roles| roles.values());
    let hashes = roles.filter_map(|role| role["frontmatter"].as_str()?.parse().ok());
    hashes.filter_map(|hash: Hash| Some((hash, store.get(&hash).ok()?.payload))).collect()
}

fn path(origin: &WorkflowOrigin) -> Option<String> {
    match origin {
        WorkflowOrigin::File(path) | WorkflowOrigin::Local(path) => Some(path.display().to_string()),
        WorkflowOrigin::Hash | WorkflowOrigin::Registry => None,
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
    /// The file of a local one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

impl From<&ListedWorkflow> for WorkflowRow {
    fn from(listed: &ListedWorkflow) -> WorkflowRow {
        let hash = listed.hash.map_or("(local)".to_owned(), |hash| hash.to_string());
        let (origin, path) = (listed.origin.as_str(), path(&listed.origin));
        WorkflowRow { name: listed.name.clone(), hash, origin, path }
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
