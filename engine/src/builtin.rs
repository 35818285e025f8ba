//! The schemas of the engine's own nodes, and the store with them in it.
//!
//! Apart from `uwf-store`, which knows no workflow, thread or step: what it must know of them is handed in here, by the
//! one function that opens a store. Hashes are written down so that knowing a type costs nothing; a test recomputes
//! each. The schemas themselves are a data file and are only parsed for a store that lacks one. Changing a schema
//! changes its hash, and so makes a new type: nodes of the old one stay what they are.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;
pub use uwf_store::schema::builtin::{META_SCHEMA, TEXT};
use uwf_store::{Clock, Hash, Profile, Store, StoreError};
pub use uwf_workflow::{WORKFLOW, WORKFLOW_2};

use crate::variables::HEADS;

/// The first node of a thread.
pub const START_NODE: Hash = Hash::from_static("44P8EP6N3NXZ5");
/// One step of a thread.
pub const STEP_NODE: Hash = Hash::from_static("0RXS7QWMG3KNV");
/// The output of a step that failed.
pub const ERROR_OUTPUT: Hash = Hash::from_static("8KPJ61GZX0N6R");
/// The output of a step that waits for somebody.
pub const SUSPEND_OUTPUT: Hash = Hash::from_static("E7A9HKZVD39BK");
/// One message of an agent's conversation. `turns` of [`UWF_DETAIL`] are such nodes.
pub const UWF_TURN: Hash = Hash::from_static("6RFCG1NZM8MZ5");
/// How a step came about: the conversation, what it cost, what it changed.
pub const UWF_DETAIL: Hash = Hash::from_static("5JKBKWMVVBKG3");
/// What happened in a run, entry by entry: `log` of [`UWF_DETAIL`].
pub const UWF_RUN_LOG: Hash = Hash::from_static("74M18EC5K4M91");
/// What a person had undone, or done again, of what a step changed in the workspace.
pub const UWF_UNDO: Hash = Hash::from_static("4TNJ1XT4N1DDR");
/// The first node of a thread that another one started.
pub const UWF_START: Hash = Hash::from_static("84PJ75CTF1MV5");
/// One step of a thread that refers to more than a [`STEP_NODE`] can: earlier steps, another thread, a summary, artifacts.
pub const UWF_STEP: Hash = Hash::from_static("4S3M4NBJB15HW");
/// What a step made: its text and its artifacts.
pub const UWF_CONTENT: Hash = Hash::from_static("DCNRYTGZM1FW5");

/// The types that a StartNode can have.
pub const STARTS: [Hash; 2] = [START_NODE, UWF_START];
/// The types that a StepNode can have.
pub const STEPS: [Hash; 2] = [STEP_NODE, UWF_STEP];

/// What the engine needs of every store.
pub const PROFILE: Profile = Profile {
    schemas: &[
        WORKFLOW,
        START_NODE,
        STEP_NODE,
        ERROR_OUTPUT,
        SUSPEND_OUTPUT,
        UWF_TURN,
        UWF_DETAIL,
        UWF_RUN_LOG,
        UWF_UNDO,
        WORKFLOW_2,
        UWF_START,
        UWF_STEP,
        UWF_CONTENT,
    ],
    values: || schemas().into_values().collect(),
    // Other engines move a head by deleting the row, then inserting the new one.
    moved: Some(HEADS),
};

/// Opens the store in a directory, creating what a store must have and this one lacks.
///
/// # Errors
/// The store cannot be opened, or lacks nodes that it must have and that cannot be written.
pub fn open_store(root: &Path, clock: Clock) -> Result<Store, StoreError> {
    Store::open(root, PROFILE, clock)
}

/// The schemas themselves, by title.
fn schemas() -> BTreeMap<String, Value> {
    serde_json::from_str(include_str!("builtin/schemas.json")).expect("the file is part of this program")
}

#[cfg(test)]
mod tests;
