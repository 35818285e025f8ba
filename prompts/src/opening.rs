//! What a role is told when it is called: the task, what has happened, what to do now.
//!
//! Apart from the system message because it grows with the thread. Answers of other roles are quoted and cut here;
//! the task and the edge prompt are orders and stand as they are.

use crate::templates::{PromptError, context, render};
use crate::views::{ContinuationView, FinishedStepView, OpeningView};
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
/// The longest name of a role or status that is shown, in characters.
const NAME: usize = 120;

/// The first message to a role on its first visit: the thread's task always, the steps so far, the edge prompt last
/// (once only when it is the task itself).
///
/// # Errors
/// The template cannot be rendered.
pub fn opening(view: &OpeningView<'_>) -> Result<String, PromptError> {
    let (task, edge_prompt) = (view.task.trim(), view.edge_prompt.trim());
    render(&Opening {
        task,
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
        progress: progress(view.happened)?,
        failures: view.previous_failures,
        edge_prompt: view.edge_prompt.trim(),
    })
}

#[derive(Default, Serialize)]
pub(crate) struct Opening<'a> {
    task: &'a str,
    progress: String,
    failures: usize,
    edge_prompt: &'a str,
}
context!(Opening<'_>, "opening");

#[derive(Default, Serialize)]
pub(crate) struct Continuation<'a> {
    visit: usize,
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

#[cfg(test)]
#[path = "opening_tests.rs"]
mod tests;
