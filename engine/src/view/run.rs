//! What a whole run of a thread came to: where the thread stands, what its last step answered, what all of it cost.

use serde::Serialize;
use serde_json::Value;
use uwf_store::{Hash, Store};
use uwf_workflow::frontmatter;

use super::thread::{FailedStep, ThreadView};
use crate::exec::{StepReport, StepResult};
use crate::record;
use crate::thread::{self, ThreadError, ThreadId, Usage};

/// What `uwf run` prints.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RunView {
    /// The thread.
    pub thread: ThreadId,
    /// Its Workflow node.
    pub workflow: Hash,
    /// `idle`, `suspended`, `paused` or `end`.
    pub status: &'static str,
    /// What the last step puts out; null where there is none, or where it failed.
    pub output: Option<Value>,
    /// What the last step says below that.
    pub body: Option<String>,
    /// USD, as far as prices are known.
    pub cost: Option<f64>,
    /// What all steps used, the failed one included.
    pub usage: Option<Usage>,
    /// The steps that were made.
    pub steps: Vec<RunStep>,
    /// What is asked, while the thread is suspended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suspend_message: Option<String>,
    /// Why it is paused, while it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pause_reason: Option<String>,
    /// The step that failed; null where none did.
    pub error: Option<FailedStep>,
    /// What to do, where something is in the way.
    pub hint: Option<String>,
}

/// A step of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RunStep {
    /// The StepNode.
    pub hash: Hash,
    /// Who played.
    pub role: String,
    /// The `$status` of its output.
    pub status: String,
    /// How long it took.
    pub duration_ms: u64,
    /// USD, where prices are known.
    pub cost: Option<f64>,
    /// Why it counts as failed; absent where it does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl RunView {
    /// What these steps of a thread came to, that stands as `view` says.
    ///
    /// # Errors
    /// What a step answered cannot be read.
    pub fn of(store: &Store, view: ThreadView, reports: &[StepReport]) -> Result<RunView, ThreadError> {
        let steps: Vec<RunStep> = reports.iter().filter_map(|report| RunStep::of(store, report)).collect();
        let last =
            reports.iter().rev().find_map(|report| report.played.as_ref().map(|played| (report, played)));
        let last = last.filter(|(report, _)| report.failure.is_none()).map(|(_, played)| played);
        let body = last.map(|played| body_of(store, played)).transpose()?.flatten();
        let used = reports.iter().filter_map(|report| report.played.as_ref()?.step.usage.clone());
        let ThreadView { thread, workflow, status, suspend_message, pause_reason, error, hint, .. } = view;
        Ok(RunView {
            thread,
            workflow,
            status,
            output: last.map(|played| played.output.clone()),
            body,
            cost: steps.iter().filter_map(|step| step.cost).reduce(|one, other| one + other),
            usage: used.reduce(Usage::with),
            steps,
            suspend_message,
            pause_reason,
            error,
            hint,
        })
    }

    /// The answer for people: the text of the last step, else the one text in its output; none where there is neither.
    pub fn answer(&self) -> Option<&str> {
        let body = self.body.as_deref().filter(|body| !body.trim().is_empty());
        body.or_else(|| {
            let fields = self.output.as_ref()?.as_object()?;
            let mut texts = fields.iter().filter(|(name, _)| *name != "$status");
            match (texts.next(), texts.next()) {
                (Some((_, Value::String(text))), None) => Some(text),
                _ => None,
            }
        })
    }
}

impl RunStep {
    fn of(store: &Store, report: &StepReport) -> Option<RunStep> {
        let StepResult { hash, step, output } = report.played.as_ref()?;
        Some(RunStep {
            hash: *hash,
            role: step.role.clone(),
            status: record::status(output).unwrap_or_default().to_owned(),
            duration_ms: step.duration_ms(),
            // A record of another shape has no cost.
            cost: thread::detail_of(store, step).ok().and_then(|detail| detail.cost),
            error: report.failure.clone(),
        })
    }
}

fn body_of(store: &Store, played: &StepResult) -> Result<Option<String>, ThreadError> {
    let answer = thread::answer_of(store, &played.step.detail)?;
    Ok(answer.map(|answer| frontmatter::body(&answer)).filter(|body| !body.is_empty()))
}
