//! What an agent of another kind is told: one text a call, since it has a conversation of its own, or none.
//!
//! Apart from the messages of a conversation, which are made as for any model: here they become the text of a call.

use serde::Serialize;
use uwf_workflow::markdown::fenced;

use crate::templates::{PromptError, context, render};

/// A run that was interrupted goes on in the agent's own session: what is said there.
pub const RESUMED: &str = include_str!("../templates/resumed.md").trim_ascii_end();

/// What was said in a conversation.
#[derive(Clone, Copy, Debug)]
pub struct SaidView<'a> {
    /// Whether the agent said it.
    pub own: bool,
    /// What.
    pub text: &'a str,
}

/// A conversation as one text, for an agent that remembers nothing of it: the rules, and what was said since. A single thing that
/// was said stands as it is.
///
/// # Errors
/// The template cannot be rendered.
pub fn transcript(rules: &str, said: &[SaidView<'_>]) -> Result<String, PromptError> {
    if let [only] = said {
        return Ok(format!("{}\n\n{}", rules.trim(), only.text.trim()));
    }
    let part = |part: &SaidView<'_>| render(&TranscriptPart { own: part.own, text: part.text.trim() });
    let parts: Result<Vec<String>, PromptError> = said.iter().map(part).collect();
    render(&Transcript { rules: rules.trim(), parts: parts?.join("\n\n") })
}

/// A question about a step, for an agent that has no part of its conversation; `question` is what [`crate::question`] makes.
///
/// # Errors
/// The template cannot be rendered.
pub fn asked_anew(record: &str, question: &str) -> Result<String, PromptError> {
    render(&AskedAnew { record: fenced("", record.trim()), question: question.trim() })
}

#[derive(Default, Serialize)]
pub(crate) struct Transcript<'a> {
    rules: &'a str,
    parts: String,
}
context!(Transcript<'_>, "transcript");

#[derive(Default, Serialize)]
pub(crate) struct TranscriptPart<'a> {
    own: bool,
    text: &'a str,
}
context!(TranscriptPart<'_>, "transcript_part");

#[derive(Default, Serialize)]
pub(crate) struct AskedAnew<'a> {
    record: String,
    question: &'a str,
}
context!(AskedAnew<'_>, "asked_anew");

#[cfg(test)]
mod tests {
    use super::*;

    fn said(own: bool, text: &str) -> SaidView<'_> {
        SaidView { own, text }
    }

    #[test]
    fn one_thing_stands_as_it_is_and_several_have_headings() {
        assert_eq!(transcript("Rules.\n", &[said(false, "Do it.\n")]).unwrap(), "Rules.\n\nDo it.");
        let several = [said(false, "Do it."), said(true, "Done {{ so }}."), said(false, "Again.")];
        insta::assert_snapshot!("transcript", transcript("Rules.", &several).unwrap());
    }

    #[test]
    fn a_question_stands_behind_the_record() {
        insta::assert_snapshot!("asked_anew", asked_anew("assistant: I did it.", "Why?").unwrap());
    }
}
