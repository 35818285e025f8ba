//! A case that is finished: what was run, how it ended, and what was said of it.

use serde::{Deserialize, Serialize};
use uwf_store::Hash;

use crate::case::{Case, GivenUp, JudgeScore, Outcome, Tokens};

/// A case that is finished.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EvalRun {
    /// The task.
    pub task: String,
    /// What played.
    pub config: RunConfig,
    /// The thread; none where it could not even begin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_id: Option<String>,
    /// The judges, in the order of the task.
    pub judges: Vec<RunJudge>,
    /// From 0 to 1; null where there is no score.
    pub overall: Option<f64>,
    /// When it was judged, in milliseconds since the epoch.
    pub timestamp: u64,
    /// How it ended.
    pub outcome: Outcome,
    /// Why it is not scored, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Why the workflow did not come to its end, where it did not; whatever judges say of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// The evaluation that it was run for.
    pub evaluation: String,
    /// Which of the task's cases it is, from 1.
    pub repeat: u32,
    /// The seed of its scripted behaviours.
    pub seed: u64,
    /// What the task said: its file, its fixture, its judges and their schemas.
    pub task_hash: String,
    /// The Workflow node.
    pub workflow: Hash,
    /// Where the thread stood when it was judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<Hash>,
    /// The workspace as it was before the thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Hash>,
    /// The workspace as it was judged, without what is left out of snapshots.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Hash>,
    /// All of it; none where not all could be kept, so that it cannot be judged again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left: Option<Hash>,
    /// Its directory of git's, where it had one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_git: Option<Hash>,
    /// What the thread cost in USD, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// How long its steps took.
    pub seconds: f64,
    /// How many steps its chain has.
    pub steps: u64,
    /// What its steps used.
    pub usage: Tokens,
    /// Whether the thread is one that another evaluation ran.
    #[serde(default)]
    pub cached: bool,
    /// What was begun for it before, and given up.
    #[serde(default, skip_serializing_if = "GivenUp::is_nothing")]
    pub given_up: GivenUp,
}

/// What played.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunConfig {
    /// The agent.
    pub agent: String,
    /// The model, where that is known.
    pub model: Option<String>,
    /// The version of the engine.
    pub engine_version: String,
    /// How much of a sandbox was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<String>,
}

/// What one judge said.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunJudge {
    /// The judge.
    pub name: String,
    /// From 0 to 1; null where it could not say, or has nothing to score.
    pub score: Option<f64>,
    /// Its part of the score.
    pub weight: f64,
    /// What it found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data_hash: Option<Hash>,
    /// Why it could not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Its single votes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub votes: Vec<f64>,
    /// What it cost in USD.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
}

impl EvalRun {
    /// The case that it tells of, recorded as the node `hash`.
    pub fn case(self, hash: &Hash) -> Case {
        Case {
            task: self.task,
            repeat: self.repeat,
            outcome: self.outcome,
            score: self.overall,
            reason: self.reason,
            judges: self.judges.into_iter().map(RunJudge::score).collect(),
            cost_usd: self.cost_usd,
            seconds: self.seconds,
            steps: self.steps,
            tokens: self.usage,
            thread: self.thread_id,
            seed: self.seed,
            cached: self.cached,
            given_up: self.given_up,
            run: hash.to_string(),
        }
    }
}

impl RunJudge {
    fn score(self) -> JudgeScore {
        JudgeScore {
            name: self.name,
            weight: self.weight,
            score: self.score,
            error: self.error,
            data_hash: self.data_hash.map(|hash| hash.to_string()),
            votes: self.votes,
            cost_usd: self.cost_usd,
        }
    }
}
