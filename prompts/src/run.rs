//! What a model is told while it works: reminders, warnings, the last turn.
//!
//! Apart from the corrections, which speak of an answer; these speak of the run. The numbers are the caller's: nothing
//! here counts or decides.

use crate::fields::fields;
use crate::system::example_answer;
use crate::templates::{PromptError, context, render};
use crate::views::{DeadlineView, GraceView, LeftOutView, NudgeView, RepeatedView};
use serde::Serialize;

/// What can be missing from a text that is no answer: whole sentences for [`NudgeView::missing`].
pub mod missing {
    /// No text and no tool call.
    pub const EMPTY: &str = include_str!("../templates/missing_empty.md").trim_ascii_end();
    /// A tool call written as text.
    pub const TOOL_CALL: &str = include_str!("../templates/missing_tool_call.md").trim_ascii_end();
    /// Reasoning and nothing after it.
    pub const ONLY_REASONING: &str = include_str!("../templates/missing_only_reasoning.md").trim_ascii_end();
}

/// A call was under way when the run was interrupted: what is told instead of, or below, its result.
pub const INTERRUPTED: &str = include_str!("../templates/interrupted.md").trim_ascii_end();

/// A text came that is no answer: what was missing, and what to do.
///
/// # Errors
/// The template cannot be rendered.
pub fn nudge(view: &NudgeView<'_>) -> Result<String, PromptError> {
    render(&NudgeView { missing: view.missing.trim(), ..*view })
}

/// A budget runs out: how much is left, and to come to an end; from 95 % on, to answer now.
///
/// # Errors
/// The template cannot be rendered.
pub fn deadline(view: &DeadlineView<'_>) -> Result<String, PromptError> {
    render(view)
}

/// The same call came again and again with the same result: to do something else.
///
/// # Errors
/// The template cannot be rendered.
pub fn repeated(view: &RepeatedView<'_>) -> Result<String, PromptError> {
    render(view)
}

/// What stands in the place of an old tool result.
///
/// # Errors
/// The template cannot be rendered.
pub fn left_out(view: &LeftOutView<'_>) -> Result<String, PromptError> {
    render(view)
}

/// The conversation grows too long: the model is to sum up its work.
///
/// # Errors
/// The template cannot be rendered.
pub fn summarise() -> Result<String, PromptError> {
    render(&Summarise {})
}

/// What stands in the place of what was summed up.
///
/// # Errors
/// The template cannot be rendered.
pub fn summary(text: &str) -> Result<String, PromptError> {
    render(&Summary { text: text.trim() })
}

/// The budget has run out: one turn without tools, which must be the final answer.
///
/// # Errors
/// The template cannot be rendered.
pub fn grace(view: &GraceView<'_>) -> Result<String, PromptError> {
    let forms = fields(view.schema);
    let examples: Result<Vec<String>, PromptError> =
        forms.iter().map(|form| example_answer(&form.example)).collect();
    render(&Grace { budget: view.budget.trim(), several: forms.len() > 1, examples: examples?.join("\n\n") })
}

/// A question about work that is over.
///
/// # Errors
/// The template cannot be rendered.
pub fn question(text: &str) -> Result<String, PromptError> {
    render(&QuestionText { question: text.trim() })
}

#[derive(Default, Serialize)]
pub(crate) struct QuestionText<'a> {
    question: &'a str,
}
context!(QuestionText<'_>, "question");

context!(NudgeView<'_>, "nudge");
context!(DeadlineView<'_>, "deadline");
context!(RepeatedView<'_>, "repeated");
context!(LeftOutView<'_>, "left_out");

#[derive(Default, Serialize)]
pub(crate) struct Summarise {}
context!(Summarise, "summarise");

#[derive(Default, Serialize)]
pub(crate) struct Summary<'a> {
    text: &'a str,
}
context!(Summary<'_>, "summary");

#[derive(Default, Serialize)]
pub(crate) struct Grace<'a> {
    budget: &'a str,
    several: bool,
    examples: String,
}
context!(Grace<'_>, "grace");

#[cfg(test)]
#[path = "run_tests.rs"]
mod tests;
