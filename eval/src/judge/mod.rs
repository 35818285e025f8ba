//! What is said of a case: each judge for itself, and all together.
//!
//! `seen` is the thread as judges read it; a file each for the judges that come with the program; `script` runs those of a task,
//! confined and on a copy of the workspace, and `model` asks a model. A judge that fails says so, and gives no score.

mod claims;
mod copies;
mod frontmatter;
mod hallucination;
mod model;
mod script;
mod seen;
mod sizes;
mod tokens;
mod upstream;
mod words;

use std::path::Path;

use serde::Serialize;
use serde_json::Value;
use uwf_agent::Provider;
use uwf_engine::builtin::META_SCHEMA;
use uwf_engine::spawn::StopSignal;
use uwf_engine::{Env, ThreadId};
use uwf_store::{Hash, Store, StoreError};

use crate::EvalError;
use crate::case::Outcome;
use crate::measure::Measured;
use crate::record::{Records, RunJudge, payload};
use crate::task::{Builtin, JudgeKind, JudgeSpec};

use self::copies::Copies;
use self::seen::Seen;

/// What judges are run with.
pub struct Judging<'a> {
    /// The program `uwf`.
    pub program: &'a str,
    /// The environment of scripts; what sounds secret is not for them.
    pub env: &'a Env,
    /// How much of a sandbox scripts need: `strict`, `best-effort` or `off`.
    pub sandbox: &'a str,
    /// Where copies of workspaces are made.
    pub root: &'a Path,
    /// Who completes for a model of that name.
    pub provider: &'a (dyn Fn(&str) -> Result<Provider, String> + Sync),
    /// Set when this program is to stop.
    pub stop: &'a StopSignal,
}

/// What is judged.
pub(crate) struct Subject<'a> {
    /// The thread.
    pub(crate) thread: ThreadId,
    /// Where it stands.
    pub(crate) head: Hash,
    /// Where it worked.
    pub(crate) workspace: &'a Path,
    /// The workspace before the thread.
    pub(crate) before: Hash,
    /// The workspace after it.
    pub(crate) after: Hash,
    /// What it took.
    pub(crate) measured: &'a Measured,
    /// What was asked for.
    pub(crate) prompt: &'a str,
    /// The directory of the task.
    pub(crate) task: &'a Path,
}

/// What one judge says, before it is recorded.
pub(crate) struct Said {
    score: Option<f64>,
    data: Option<Hash>,
    votes: Vec<f64>,
    cost_usd: Option<f64>,
}

impl Said {
    fn of(score: impl Into<Option<f64>>, data: Hash) -> Said {
        Said { score: score.into(), data: Some(data), votes: Vec::new(), cost_usd: None }
    }
}

/// Why there is nothing to record of a judge.
enum Silent {
    /// It could not say: its own failure, in words.
    Error(String),
    /// The same, and what was paid for it in USD.
    Paid(String, Option<f64>),
    /// There is nothing that it could judge.
    Nothing,
    /// Nobody could: the store or the disk refuses.
    Broken(EvalError),
}

impl Silent {
    /// The same where so much was paid for it.
    fn paid(self, cost: Option<f64>) -> Silent {
        match self {
            Silent::Error(why) => Silent::Paid(why, cost),
            other => other,
        }
    }
}

impl<E: Into<EvalError>> From<E> for Silent {
    fn from(error: E) -> Silent {
        Silent::Broken(error.into())
    }
}

impl Judging<'_> {
    /// Whether programs that judge run in a sandbox.
    fn is_confined(&self) -> bool {
        self.sandbox != "off"
    }
}

/// Where what judges found is kept: gives the hash of the node, of this type and with this payload.
pub(crate) type Keep<'a> = dyn Fn(&Hash, &Value) -> Result<Hash, StoreError> + 'a;

/// Has all judges of a task judge a case.
///
/// # Errors
/// The record of the thread cannot be read, or what judges found cannot be written; that a judge fails is none.
pub(crate) fn all(
    judging: &Judging<'_>,
    store: &Store,
    records: &Records,
    (judges, subject, keep): (&[JudgeSpec], &Subject<'_>, &Keep<'_>),
) -> Result<Vec<RunJudge>, EvalError> {
    let seen = Seen::of(store, subject)?;
    let copies = Copies::new(judging.root, subject)?;
    let bench = Bench { judging, store, records, subject, seen: &seen, copies: &copies, keep };
    let mut said = Vec::with_capacity(judges.len());
    for judge in judges {
        said.push(bench.judged(judge)?);
    }
    Ok(said)
}

/// What every judge of a case is given.
struct Bench<'a> {
    judging: &'a Judging<'a>,
    store: &'a Store,
    records: &'a Records,
    subject: &'a Subject<'a>,
    seen: &'a Seen,
    copies: &'a Copies<'a>,
    keep: &'a Keep<'a>,
}

impl Bench<'_> {
    fn judged(&self, judge: &JudgeSpec) -> Result<RunJudge, EvalError> {
        let (name, weight) = (judge.name.clone(), judge.weight);
        let nothing = RunJudge {
            name,
            score: None,
            weight,
            data_hash: None,
            error: None,
            votes: Vec::new(),
            cost_usd: None,
        };
        let said = match &judge.kind {
            JudgeKind::Builtin(builtin) => self.builtin(builtin),
            JudgeKind::Script { entry, timeout } => script::judge(self, judge, (entry, *timeout)),
            JudgeKind::Model { model, rubric, votes, max_cost } => {
                model::judge(self, judge, &model::Ask { model, rubric, votes: *votes, max_cost: *max_cost })
            }
        };
        match said {
            Ok(Said { score: None, .. }) if weight > 0.0 => {
                Ok(RunJudge { error: Some("it gave no score".to_owned()), ..nothing })
            }
            Ok(Said { score, data, votes, cost_usd }) => {
                Ok(RunJudge { score, data_hash: data, votes, cost_usd, ..nothing })
            }
            Err(Silent::Error(why)) => Ok(RunJudge { error: Some(why), ..nothing }),
            Err(Silent::Paid(why, cost_usd)) => Ok(RunJudge { error: Some(why), cost_usd, ..nothing }),
            Err(Silent::Nothing) => Ok(nothing),
            Err(Silent::Broken(error)) => Err(error),
        }
    }

    fn builtin(&self, builtin: &Builtin) -> Result<Said, Silent> {
        match builtin {
            Builtin::FrontmatterCompliance => frontmatter::judge(self),
            Builtin::UpstreamConsumption => upstream::judge(self),
            Builtin::Hallucination { model } => hallucination::judge(self, model.as_ref()),
            Builtin::TokenStats => tokens::judge(self),
            Builtin::Cost { budget } => sizes::cost(self, *budget),
            Builtin::DiffSize { budget } => sizes::diff(self, *budget),
            Builtin::Tests { command, timeout } => script::tests(self, command, *timeout),
        }
    }

    /// Keeps what was found. That it is such that no store takes it is the judge's own failure: the next one's may be taken.
    fn keep(&self, type_: &Hash, found: &impl Serialize) -> Result<Hash, Silent> {
        (self.keep)(type_, &payload(found)).map_err(untaken)
    }

    /// Keeps the schema of what a judge of the task finds, which is the type of that.
    fn keep_schema(&self, schema: &Value) -> Result<Hash, Silent> {
        self.keep(&META_SCHEMA, schema)
    }
}

fn untaken(error: StoreError) -> Silent {
    use StoreError::{Invalid, Schema, TooDeep};
    match error {
        why @ (Invalid { .. } | Schema(_) | TooDeep { .. }) => {
            Silent::Error(format!("what it found cannot be kept: {why}"))
        }
        other => Silent::Broken(other.into()),
    }
}

/// What all judges of a case say together.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Scored {
    pub(crate) outcome: Outcome,
    pub(crate) overall: Option<f64>,
    pub(crate) reason: Option<String>,
}

/// The score of a case that ended so: Σ weight × score / Σ weight of the judges that have a weight. Where one of these could not
/// say there is none. Where there is nothing to judge that is 0 if the workflow failed, and no score if it did not.
pub(crate) fn overall(outcome: Outcome, reason: Option<String>, judges: &[RunJudge]) -> Scored {
    if outcome == Outcome::Error {
        return Scored { outcome, overall: None, reason };
    }
    let (mut sum, mut weights, mut silent) = (0.0, 0.0, Vec::new());
    for judge in judges.iter().filter(|judge| judge.weight > 0.0) {
        weights += judge.weight;
        match judge.score {
            Some(score) => sum += judge.weight * score,
            None if outcome == Outcome::Failed && judge.error.is_none() => {}
            None => silent.push(judge.name.as_str()),
        }
    }
    if !silent.is_empty() {
        let silent = format!("no score of {}", silent.join(", "));
        let reason = reason.map_or(silent.clone(), |why| format!("{why}; {silent}"));
        return Scored { outcome: Outcome::Unscored, overall: None, reason: Some(reason) };
    }
    let overall = if weights > 0.0 { (sum / weights).clamp(0.0, 1.0) } else { 0.0 };
    Scored { outcome, overall: Some(overall), reason }
}

#[cfg(test)]
mod tests;
