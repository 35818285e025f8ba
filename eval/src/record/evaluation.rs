//! An evaluation: what is run, and what came of it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use uwf_engine::thread::ThreadOptions;
use uwf_store::Hash;

/// An evaluation. While it goes on, `cases` has none, and the variables of its cases tell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Evaluation {
    /// Its name.
    pub name: String,
    /// What is the same for all cases.
    pub config: EvalConfig,
    /// The tasks, in the order in which they were typed.
    pub tasks: Vec<TaskRef>,
    /// The cases that are finished, by task and repeat.
    pub cases: Vec<CaseRef>,
    /// When it began, in milliseconds since the epoch.
    pub started_at: u64,
    /// When its last case was finished; none while it goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<u64>,
    /// Whether it was run elsewhere: its paths are those of another machine, and its cases cannot be run here. The schema
    /// does not have this, since it would be another type then.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub imported: bool,
}

impl Evaluation {
    /// How many cases it has once it is finished.
    pub fn planned(&self) -> usize {
        self.tasks.len() * self.config.count as usize
    }
}

/// What is the same for all cases.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EvalConfig {
    /// The agent.
    pub agent: String,
    /// The model, where one was named.
    pub model: Option<String>,
    /// The version of the engine.
    pub engine_version: String,
    /// How much of a sandbox was asked for; none is what is configured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<String>,
    /// What the seeds of the cases are made of.
    pub seed: u64,
    /// How often each task is run.
    pub count: u32,
    /// The script that plays in the place of a model, where one does for all tasks; its text, as a hash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mock: Option<String>,
    /// Whether each task's own script plays in the place of a model.
    #[serde(default)]
    pub offline: bool,
    /// The script that plays in the place of judges that are models; a path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judge_mock: Option<String>,
    /// Its text, as a hash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judge_mock_hash: Option<String>,
    /// Whether threads of other evaluations are not taken, whoever goes on with it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fresh: bool,
    /// Whether workspaces stay where they are once their case is recorded, whoever goes on with it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub keep: bool,
    /// What is configured and not typed, by its name: who plays, where models are served, what commands may reach.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, String>,
    /// What else was chosen for every thread.
    #[serde(default, skip_serializing_if = "ThreadOptions::is_empty")]
    pub options: ThreadOptions,
}

/// A task of an evaluation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskRef {
    /// Its name.
    pub name: String,
    /// Where it lay.
    pub path: String,
    /// What it said: its file, its fixture, its judges and their schemas.
    pub hash: String,
    /// The Workflow node that is run for it.
    pub workflow: Hash,
    /// What that is called.
    pub workflow_name: String,
    /// What a thread sees of it, as a hash: the fixture and the limits.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub seen: String,
    /// What is asked for.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub prompt: String,
}

/// A case that is finished.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CaseRef {
    /// The task.
    pub task: String,
    /// Which of the task's cases, from 1.
    pub repeat: u32,
    /// The [`EvalRun`](super::EvalRun).
    pub run: Hash,
}
