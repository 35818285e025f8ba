//! What a model is told while it works: reminders, warnings, the last turn.
//!
//! Apart from the corrections, which speak of an answer; these speak of the run. The numbers are the caller's: nothing
//! here counts or decides.

use crate::environment::{PromptError, context, render};
use crate::fields::fields;
use crate::system::example;
use crate::views::{DeadlineView, GraceView, NudgeView};
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
pub fn nudge(view: &NudgeView<'_>) -> Result<String, PromptError> {
    render(&Nudge { missing: view.missing.trim(), attempt: view.attempt, of: view.of })
}

/// A budget runs out: how much is left, and to come to an end; from 95 % on, to answer now.
pub fn deadline(view: &DeadlineView<'_>) -> Result<String, PromptError> {
    render(&Deadline {
        used: view.used,
        total: view.total,
        left: view.total.saturating_sub(view.used),
        unit: view.unit,
        last: u128::from(view.used) * 100 >= u128::from(view.total) * 95,
    })
}

/// The budget has run out: one turn without tools, which must be the final answer.
pub fn grace(view: &GraceView<'_>) -> Result<String, PromptError> {
    let forms = fields(view.schema);
    let examples: Result<Vec<String>, PromptError> =
        forms.iter().map(|form| example(&form.example)).collect();
    render(&Grace { budget: view.budget.trim(), several: forms.len() > 1, examples: examples?.join("\n\n") })
}

/// A question about work that is over.
pub fn question(text: &str) -> Result<String, PromptError> {
    render(&Question { question: text.trim() })
}

#[derive(Default, Serialize)]
pub(crate) struct Question<'a> {
    question: &'a str,
}
context!(Question<'_>, "question");

#[derive(Default, Serialize)]
pub(crate) struct Nudge<'a> {
    missing: &'a str,
    attempt: usize,
    of: usize,
}
context!(Nudge<'_>, "nudge");

#[derive(Default, Serialize)]
pub(crate) struct Deadline<'a> {
    used: u64,
    total: u64,
    left: u64,
    unit: &'a str,
    last: bool,
}
context!(Deadline<'_>, "deadline");

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
