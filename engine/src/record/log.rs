//! The log of a run: what happened, in order.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use uwf_store::{Batch, Hash, Store, StoreError};

use super::lenient;
use crate::builtin;

/// Every entry of the journal of a run, in order. What an entry is, is the agent's business: the engine knows that each has a
/// field `entry` that says of which kind it is, that `turn` refers to a turn, and that `snapshot.tree` refers to a workspace.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunLog {
    /// A text node: the tools as they were declared to the model, as JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<Hash>,
    /// The entries.
    pub entries: Vec<Value>,
}

impl RunLog {
    /// The log at `hash`.
    ///
    /// # Errors
    /// The node cannot be read.
    pub fn read(store: &Store, hash: &Hash) -> Result<RunLog, StoreError> {
        Ok(lenient::object(store.get(hash)?.payload))
    }

    /// Adds it to what is to be stored.
    ///
    /// # Errors
    /// The node cannot be written.
    pub fn put(self, batch: &mut Batch<'_>) -> Result<Hash, StoreError> {
        // A log is long: its entries are not copied.
        let tools = self.tools.map(|tools| ("tools".to_owned(), json!(tools)));
        let entries = ("entries".to_owned(), Value::Array(self.entries));
        batch.put(&builtin::UWF_RUN_LOG, &tools.into_iter().chain([entries]).collect())
    }
}
