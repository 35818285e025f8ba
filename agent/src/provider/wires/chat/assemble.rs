//! Events → one completion. A whole reply is a stream of one event.
//!
//! Apart because it is pure: events in, completion events and a completion out, however the bytes were cut. Nothing of an
//! assembly is used unless it is finished.

use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::chunk::{ChatChoice, ChatDelta, Chunk};
use super::native::{self, ReasoningDetails};
use super::reply;
use super::tool_call_assembler::ToolCallAssembler;
use crate::provider::api_error;
use crate::provider::attempt_error::AttemptError;
use crate::provider::dialect::ReasoningField;
use crate::provider::message::{Completion, TokenUsage};
use crate::provider::wires::{self, Ending, held_back};
use crate::provider::{CompletionEvent, EventSink};
use crate::secrets::Secrets;

/// A completion as far as it has come.
#[derive(Default)]
pub(in crate::provider) struct ChatAssembly {
    /// The fields of the first event as a whole: `id`, `model` …
    head: Option<Map<String, Value>>,
    /// The last name of the model: the first event of some has none yet.
    model: Option<String>,
    /// The reply itself, where it came whole.
    whole: Option<Value>,
    content: String,
    reasoning: String,
    refusal: String,
    /// The field the reasoning came in.
    reasoning_field: Option<ReasoningField>,
    details: ReasoningDetails,
    extra_content: Option<Box<RawValue>>,
    calls: ToolCallAssembler,
    finish_reason: Option<String>,
    usage: Option<TokenUsage>,
    /// Whether the model said anything, be it an empty text.
    spoke: bool,
}

impl ChatAssembly {
    fn take(&mut self, choice: &ChatChoice, on_event: EventSink<'_>) -> Result<(), AttemptError> {
        match choice.finish_reason.as_deref() {
            // An empty reason, which some send with every chunk, never hides a real one.
            Some("") if self.finish_reason.is_some() => {}
            Some(reason) => match wires::error_of_ending(reason) {
                Some(error) => return Err(error),
                None => self.finish_reason = Some(reason.to_owned()),
            },
            None => {}
        }
        if let Some(delta) = choice.delta() {
            self.spoke = true;
            self.append(delta, on_event);
            match choice.is_whole() {
                true => self.calls.take_whole(&delta.tool_calls),
                false => self.calls.take(&delta.tool_calls),
            }
        }
        Ok(())
    }

    fn append(&mut self, delta: &ChatDelta, on_event: EventSink<'_>) {
        let (content, thinking) = delta.content();
        let fields = [
            (delta.reasoning_content.as_deref(), ReasoningField::ReasoningContent),
            (delta.reasoning.as_deref(), ReasoningField::Reasoning),
        ];
        // Some send the same text in both fields: the first that holds any counts.
        let reasoning =
            fields.into_iter().find_map(|(text, field)| Some((text.filter(|text| !text.is_empty())?, field)));
        let part = (!thinking.is_empty()).then_some(ReasoningField::ContentPart);
        if let Some(field) = reasoning.map(|(_, field)| field).or(part) {
            self.reasoning_field.get_or_insert(field);
        }
        self.details.take(&delta.reasoning_details);
        if self.extra_content.is_none() {
            self.extra_content.clone_from(&delta.extra_content);
        }
        // Most repeat in plain words what their details hold; where none do, those are the words.
        let detailed =
            if reasoning.is_none() { native::words(&delta.reasoning_details) } else { String::new() };
        for text in [reasoning.map_or("", |(text, _)| text), thinking.as_str(), detailed.as_str()] {
            if !text.is_empty() {
                self.reasoning.push_str(text);
                on_event(CompletionEvent::Reasoning(text));
            }
        }
        if !content.is_empty() {
            self.content.push_str(&content);
            on_event(CompletionEvent::Text(&content));
        }
        self.refusal.push_str(delta.refusal.as_deref().unwrap_or_default());
    }
}

impl wires::Assembly for ChatAssembly {
    fn push(&mut self, event: &str, secrets: &Secrets, on_event: EventSink<'_>) -> Result<(), AttemptError> {
        let chunk = Chunk::read(event);
        // Read as a whole is only what may be an error, and what is kept: most events of a stream are neither.
        let value = || serde_json::from_str::<Value>(event).unwrap_or_default();
        if chunk.choices.is_empty() || event.contains("\"error\"") {
            let failed = chunk.choices.iter().find_map(|choice| choice.error.clone());
            let failed = Some(value()).filter(api_error::is_within).or(failed.filter(api_error::is_error));
            if let Some(failed) = failed {
                return Err(wires::error_of(failed, secrets));
            }
        }
        self.usage = chunk.usage().or(self.usage);
        self.head.get_or_insert_with(|| value().as_object().cloned().unwrap_or_default());
        // One choice was asked for; chunks without any (filters, usage) are passed over.
        let Some(choice) = chunk.choices.iter().find(|choice| choice.index.unwrap_or(0) == 0) else {
            return Ok(());
        };
        if choice.is_whole() {
            self.whole = Some(value());
        }
        self.take(choice, on_event)?;
        self.model = chunk.model.or(self.model.take());
        Ok(())
    }

    fn is_finished(&self) -> bool {
        self.whole.is_some() || self.finish_reason.as_deref().is_some_and(|reason| !reason.is_empty())
    }

    /// Usage comes behind the reason of the end.
    fn is_over(&self) -> bool {
        false
    }

    fn ends_with_done(&self) -> bool {
        true
    }

    fn finish(self: Box<Self>, ending: &Ending<'_>) -> Result<Completion, AttemptError> {
        if !self.spoke {
            return Err(AttemptError::Empty);
        }
        let silent = [&self.content, &self.reasoning, &self.refusal].into_iter().all(String::is_empty);
        let filtered = matches!(self.finish_reason.as_deref(), Some("content_filter" | "sensitive"));
        if silent && self.calls.is_empty() && filtered {
            return Err(held_back());
        }
        let (tool_calls, extra) = self.calls.finish(ending.conversation);
        let details = self.details.finish();
        let echoed = native::ChatNative {
            reasoning_field: self.reasoning_field.filter(|field| *field != ReasoningField::ReasoningContent),
            reasoning_details: details.as_deref(),
            extra_content: self.extra_content.as_deref(),
            calls: if extra.iter().any(Option::is_some) {
                extra.iter().map(Option::as_deref).collect()
            } else {
                Vec::new()
            },
        };
        let content = if self.content.is_empty() { self.refusal } else { self.content };
        let mut completion = Completion {
            content,
            reasoning: Some(self.reasoning).filter(|text| !text.is_empty()),
            tool_calls,
            finish_reason: self.finish_reason,
            usage: self.usage,
            native: echoed.text().map(|text| ending.native(text)),
            ..Completion::default()
        };
        let (head, model) = (self.head, self.model);
        let raw = self.whole.unwrap_or_else(|| {
            let mut head = head.unwrap_or_default();
            head.extend(model.map(|model| ("model".to_owned(), Value::from(model))));
            reply::body(head, &completion)
        });
        completion.raw = raw;
        Ok(completion)
    }
}

#[cfg(test)]
#[path = "assemble_tests.rs"]
mod tests;
