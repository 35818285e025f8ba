//! What a role is told when it is called: the task, what has happened, what to do now.
//!
//! Apart from the system message because it grows with the thread. Answers of other roles are quoted and cut here;
//! the task and the edge prompt are orders and stand as they are.

use crate::templates::{PromptError, context, render};
use crate::views::{ArtifactView, ContinuationView, FinishedStepView, OpeningView};
use crate::{example, quote};
use serde::Serialize;
use serde_json::Value;
use uwf_workflow::markdown::fenced;

/// How much of an earlier answer's text is shown, in characters.
const ANSWER: usize = 4_000;
/// How much of an answer is shown of all but the last [`RECENT`] steps, in characters, so that a long thread does not
/// fill the model's window.
const OLD_ANSWER: usize = 500;
/// How many steps count as recent.
const RECENT: usize = 8;
/// How much of one field of an earlier answer is shown, in characters.
const FIELD: usize = 1_000;
/// How many of the files that are kept of a step are named.
const ARTIFACTS: usize = 40;
/// The longest name of a role or status that is shown, in characters.
const NAME: usize = 120;

/// The first message to a role on its first visit: the thread's task always, the summary of earlier steps where there is one,
/// the steps so far, the edge prompt last
/// (once only when it is the task itself).
///
/// # Errors
/// The template cannot be rendered.
pub fn opening(view: &OpeningView<'_>) -> Result<String, PromptError> {
    let (task, edge_prompt) = (view.task.trim(), view.edge_prompt.trim());
    render(&Opening {
        task,
        summary: view.summary.map(|summary| fenced("", summary.trim())).unwrap_or_default(),
        progress: progress(view.happened)?,
        failures: view.previous_failures,
        edge_prompt: if edge_prompt == task { "" } else { edge_prompt },
    })
}

/// The message to a role on a later visit: what happened since its last answer, then the edge prompt.
///
/// # Errors
/// The template cannot be rendered.
pub fn continuation(view: &ContinuationView<'_>) -> Result<String, PromptError> {
    render(&Continuation {
        visit: view.visit,
        summarised: view.summarised,
        progress: progress(view.happened)?,
        failures: view.previous_failures,
        edge_prompt: view.edge_prompt.trim(),
    })
}

#[derive(Default, Serialize)]
pub(crate) struct Opening<'a> {
    task: &'a str,
    summary: String,
    progress: String,
    failures: usize,
    edge_prompt: &'a str,
}
context!(Opening<'_>, "opening");

#[derive(Default, Serialize)]
pub(crate) struct Continuation<'a> {
    visit: usize,
    summarised: bool,
    progress: String,
    failures: usize,
    edge_prompt: &'a str,
}
context!(Continuation<'_>, "continuation");

#[derive(Default, Serialize)]
pub(crate) struct ProgressText {
    steps: String,
}
context!(ProgressText, "progress");

#[derive(Default, Serialize)]
pub(crate) struct StepText {
    role: String,
    status: Option<String>,
    fields: Option<String>,
    artifacts: Option<String>,
    left_out: usize,
    answer: Option<String>,
}
context!(StepText, "step");

fn progress(happened: &[FinishedStepView<'_>]) -> Result<String, PromptError> {
    if happened.is_empty() {
        return Ok(String::new());
    }
    let old = happened.len().saturating_sub(RECENT);
    let limit = |index: usize| if index < old { OLD_ANSWER } else { ANSWER };
    let steps: Result<Vec<String>, PromptError> =
        happened.iter().enumerate().map(|(index, view)| step(view, limit(index))).collect();
    render(&ProgressText { steps: steps?.join("\n\n") })
}

fn step(view: &FinishedStepView<'_>, limit: usize) -> Result<String, PromptError> {
    let answer = view.answer_body.map(str::trim).filter(|body| !body.is_empty());
    render(&StepText {
        role: quote::inline(view.role, NAME),
        status: (!view.status.is_empty()).then(|| quote::inline(view.status, NAME)),
        fields: output_lines(view.output).map(|lines| fenced("", &lines)),
        artifacts: artifact_lines(view.artifacts).map(|lines| fenced("", &lines)),
        left_out: view.artifacts.len().saturating_sub(ARTIFACTS),
        answer: answer.map(|body| fenced("", &quote::cut(body, limit, "\n"))),
    })
}

/// One line a field, `name: value` as compact JSON; none when there is nothing but the status.
fn output_lines(output: &Value) -> Option<String> {
    let map = output.as_object()?;
    let mut fields: Vec<(&String, &Value)> = map.iter().filter(|(name, _)| *name != "$status").collect();
    fields.sort_by_key(|(name, _)| *name);
    let line = |(name, value): &(&String, &Value)| {
        let name = example::scalar(&Value::from(name.as_str()));
        format!("{name}: {}", quote::cut(&quote::compact(value), FIELD, " "))
    };
    (!fields.is_empty()).then(|| fields.iter().map(line).collect::<Vec<_>>().join("\n"))
}

/// One line a file: its path and its length; of a node its name and its hash. None where nothing is kept.
fn artifact_lines(artifacts: &[ArtifactView<'_>]) -> Option<String> {
    let line = |artifact: &ArtifactView<'_>| {
        let name = quote::compact(&Value::from(artifact.name));
        let size = artifact.size.map(|size| format!(", {size} bytes")).unwrap_or_default();
        match artifact.path {
            Some(path) if path == artifact.name => format!("file {name}{size}"),
            Some(path) => format!("file {}, called {name}{size}", quote::compact(&Value::from(path))),
            None => format!("node {}, called {name}{size}", artifact.content),
        }
    };
    let shown: Vec<String> = artifacts.iter().take(ARTIFACTS).map(line).collect();
    (!shown.is_empty()).then(|| shown.join("\n"))
}

#[cfg(test)]
#[path = "opening_tests.rs"]
mod tests;
