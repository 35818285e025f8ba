//! What a run tells beside its answer, whether there is one or not.

use uwf_engine::ThreadId;
use uwf_store::Hash;

use super::error::AgentError;
use crate::classify::TextClass;
use crate::frontmatter;
use crate::journal::Entry;
use crate::provider::message::{MessageKind, TokenUsage};
use crate::usd::Usd;

/// A run that is over: what came of it, and how.
#[derive(Debug)]
#[non_exhaustive]
pub struct Run<T> {
    /// The answer, or why there is none.
    pub answer: Result<T, AgentError>,
    /// What the model said below the fields of its answer, in markdown; empty where there is no answer.
    pub text: String,
    /// What it took: on success and failure alike.
    pub report: Report,
}

/// What a run took, and what happened in it.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Report {
    /// Completions.
    pub turns: u64,
    /// The tokens of all of them. Its `cost_usd` is empty: see [`Report::cost`].
    pub usage: TokenUsage,
    /// What they cost; none where neither the endpoint nor a price tells.
    pub cost: Option<Usd>,
    /// Each text that the model gave for an answer, in order, and what was wrong with it.
    pub attempts: Vec<AnswerAttempt>,
    /// The run log: the entries of the journal, in order. Times are ms since the epoch.
    pub log: Vec<Entry>,
    /// The thread that the run was made in, where it got that far.
    pub thread: Option<ThreadId>,
    /// The step that records it; none of a run that stopped before its end.
    pub step: Option<Hash>,
}

/// A text that was meant as an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AnswerAttempt {
    /// The text, frontmatter included.
    pub text: String,
    /// What was wrong with it, in words; none of the one that was taken.
    pub wrong: Option<String>,
}

/// Who says what is wrong with a text.
pub(super) type Judge<'a> = &'a dyn Fn(&str) -> Result<(), frontmatter::ExtractError>;

impl Report {
    /// What the entries tell.
    pub(super) fn of(log: Vec<Entry>, judge: Judge<'_>) -> Report {
        let mut report = Report::default();
        for entry in &log {
            let Entry::Answered { message, usage, .. } = entry else { continue };
            report.turns += 1;
            add(&mut report.usage, usage.unwrap_or_default());
            if message.kind == MessageKind::Turn && message.tool_calls.is_empty() {
                let text = message.content.clone();
                let wrong = wrong(&text, judge);
                report.attempts.push(AnswerAttempt { text, wrong });
            }
        }
        Report { log, ..report }
    }
}

fn wrong(text: &str, judge: Judge<'_>) -> Option<String> {
    match TextClass::of(text) {
        TextClass::Text(_) => judge(text).err().map(|error| error.to_string()),
        TextClass::Nothing => Some("it is empty".to_owned()),
        TextClass::LeakedCall => Some("it is the call of a tool, written as text".to_owned()),
    }
}

fn add(sum: &mut TokenUsage, usage: TokenUsage) {
    sum.input_tokens += usage.input_tokens;
    sum.output_tokens += usage.output_tokens;
    sum.cached_tokens += usage.cached_tokens;
    sum.written_tokens += usage.written_tokens;
    sum.reasoning_tokens += usage.reasoning_tokens;
}
