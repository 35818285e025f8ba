//! What a thread is run for: two cases of the same sample would be run alike, so that one thread does for both.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use uwf_engine::thread::ThreadOptions;
use uwf_store::Hash;

/// What a thread is run for. Its hash is the name under which the thread is found again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Sample {
    /// The Workflow node.
    pub workflow: Hash,
    /// The content of the fixture and the limits of the task.
    pub task: String,
    /// What is asked for.
    pub prompt: String,
    /// The agent.
    pub agent: String,
    /// The model, where one was named.
    pub model: Option<String>,
    /// The text of the script that plays in the place of a model, as a hash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mock: Option<String>,
    /// How much of a sandbox was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<String>,
    /// What was chosen for the thread, but for its script.
    #[serde(default, skip_serializing_if = "ThreadOptions::is_empty")]
    pub options: ThreadOptions,
    /// What is configured and not typed, by its name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, String>,
    /// The version of the engine, which says the prompts' own words.
    pub engine_version: String,
    /// The seed of its scripted behaviours.
    pub seed: u64,
    /// Which of the task's cases it is: a model does not say the same twice.
    pub repeat: u32,
}
