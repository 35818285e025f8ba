//! What a step made beside its output: its text, and the files and nodes that its role's `artifacts` name.

use serde::{Deserialize, Serialize};
use serde_json::json;
use uwf_store::{Batch, Hash, Store, StoreError};

use crate::builtin;

/// The `content` of a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepContent {
    /// A text node: the whole answer; none where the record has no text.
    pub text: Option<Hash>,
    /// What is kept of the step, in the order of the role's `artifacts`; no two have one name.
    pub refs: Vec<Artifact>,
}

/// A file or a node that is kept of a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Artifact {
    /// A file's path; of a node where in the output it was named, as `figures/0`.
    pub name: String,
    /// The file's path below the directory of the step, its parts joined by `/`; none of a node that is no file.
    pub path: Option<String>,
    /// The node: of a file its content, as [`Batch::put_blob`] stores it.
    pub content: Hash,
    /// How many bytes the content has; none of a node that is none.
    pub size: Option<u64>,
}

impl StepContent {
    /// Adds it to a batch.
    ///
    /// # Errors
    /// The node cannot be written.
    pub fn put(&self, batch: &mut Batch<'_>) -> Result<Hash, StoreError> {
        batch.put(&builtin::UWF_CONTENT, &json!(self))
    }

    /// The content of that name.
    ///
    /// # Errors
    /// The node cannot be read, or is no such content.
    pub fn read(store: &Store, hash: &Hash) -> Result<StepContent, StoreError> {
        let node = store.get(hash)?;
        let damaged = |error: serde_json::Error| StoreError::Corrupt { hash: *hash, why: error.to_string() };
        serde_json::from_value(node.payload).map_err(damaged)
    }
}
