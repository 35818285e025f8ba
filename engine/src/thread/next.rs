//! Where a thread goes from its head: the moderator, asked with the last role and its output.

use serde_json::{Value, json};
use uwf_store::Store;
use uwf_workflow::ARTIFACTS;
use uwf_workflow::moderator::{self, Route, SUSPEND, Target};

use super::{Head, HeadKind, Status, ThreadError, artifacts_of};
use crate::record::{self, Artifact};
use crate::workflow::Workflow;

/// The route from `head`. Costs two reads at most (the last output, and its artifacts), however long the chain is. An output that asks a
/// person leads to them whatever the graph says.
///
/// # Errors
/// The last output cannot be read, or no edge of the graph fits it.
pub fn next(store: &Store, workflow: &Workflow, head: &Head) -> Result<Route, ThreadError> {
    let (role, output) = match &head.kind {
        HeadKind::Start(_) => (moderator::START, begin("new")),
        HeadKind::Step(step) => {
            let output = store.get(&step.output)?.payload;
            (step.role.as_str(), with_artifacts(output, &artifacts_of(store, step)?))
        }
    };
    if record::status(&output) == Some(SUSPEND) {
        let prompt = record::reason(&output).unwrap_or_default().to_owned();
        return Ok(Route { target: Target::Suspend, prompt, location: None });
    }
    Ok(moderator::route(&workflow.graph, role, &output)?)
}

/// What templates see: the output, and the artifacts of the step where that has no field of their name.
fn with_artifacts(mut output: Value, artifacts: &[Artifact]) -> Value {
    if let Value::Object(fields) = &mut output
        && !artifacts.is_empty()
    {
        fields.entry(ARTIFACTS).or_insert_with(|| json!(artifacts));
    }
    output
}

/// The route on which an ended thread begins again.
///
/// # Errors
/// The graph has no edge from `$START` for `resume`, or its prompt cannot be rendered.
pub fn again(workflow: &Workflow) -> Result<Route, ThreadError> {
    Ok(moderator::route(&workflow.graph, moderator::START, &begin("resume"))?)
}

/// What stands for an output where no role has spoken: the graph's `$START` edges are chosen by it.
fn begin(status: &str) -> Value {
    json!({"$status": status})
}

/// Whose turn it is, when it was tried and failed: the next role, the one that asked, or the one that takes an ended
/// thread up.
pub fn retried(workflow: &Workflow, status: &Status, next: Option<&str>) -> Option<String> {
    match status {
        Status::Idle => next.map(str::to_owned),
        Status::Suspended { role, .. } => Some(role.clone()),
        Status::Ended { .. } => match again(workflow).ok()?.target {
            Target::Role(role) => Some(role),
            Target::End | Target::Suspend => None,
        },
        Status::Cancelled { .. } => None,
    }
}
