//! Events → one completion. A whole reply is a stream of one event.
//!
//! Apart because it is pure: events in, completion events and a completion out, however the bytes were cut. Nothing of an
//! assembly is used unless it is finished.

use serde_json::{Map, Value, json};

use super::block::Blocks;
use super::event::{self, MessagesEvent, MessagesField};
use crate::provider::EventSink;
use crate::provider::api_error::{self, ApiError};
use crate::provider::attempt_error::AttemptError;
use crate::provider::message::{Completion, make_ids_unique};
use crate::provider::wires::{self, Ending, lenient};
use crate::secrets::Secrets;

/// A completion as far as it has come.
#[derive(Default)]
pub(in crate::provider) struct MessagesAssembly {
    /// The fields of the message as a whole: `id`, `model` …
    head: Map<String, Value>,
    /// The reply itself, where it came whole.
    whole: Option<Value>,
    blocks: Blocks,
    stop_reason: Option<String>,
    /// What is counted, each field as it was told last.
    usage: Map<String, Value>,
    /// Whether a reply has begun,
    begun: bool,
    /// and whether it has ended.
    ended: bool,
}

impl MessagesAssembly {
    /// A reply that came whole.
    fn take_whole(
        &mut self,
        event: &MessagesEvent<'_>,
        value: Value,
        on_event: EventSink<'_>,
    ) -> Result<(), AttemptError> {
        for block in event.blocks().unwrap_or_default() {
            self.blocks.begin(None, &block, true, on_event);
        }
        self.usage.extend(event::map(event.usage));
        (self.begun, self.ended, self.whole) = (true, true, Some(value));
        self.stop(&event.stop_reason, event.stop_details)
    }

    /// Why the reply ends. Some ends are errors.
    fn stop(&mut self, reason: &str, details: MessagesField<'_>) -> Result<(), AttemptError> {
        if reason == "refusal" {
            let details = event::map(details);
            let detail = |key: &str| details.get(key).and_then(Value::as_str).map(api_error::excerpt);
            let why = detail("explanation").or_else(|| detail("category"));
            let why = why.map(|why| format!(": {why}")).unwrap_or_default();
            let api_error = ApiError::words(format!("the model refused to answer{why}"));
            return Err(AttemptError::in_band(ApiError { code: Some("refusal".to_owned()), ..api_error }));
        }
        if let Some(error) = wires::error_of_ending(reason) {
            return Err(error);
        }
        if !reason.is_empty() {
            self.stop_reason = Some(reason.to_owned());
        }
        Ok(())
    }

    /// What is wrong with a reply that can be no completion.
    fn problem(&self) -> Option<AttemptError> {
        if !self.begun {
            return Some(AttemptError::Empty);
        }
        if !self.ended {
            return Some(AttemptError::Cut {
                reason: "the stream ended before the reply was over".to_owned(),
            });
        }
        let filtered = matches!(self.stop_reason.as_deref(), Some("sensitive" | "content_filter"));
        (filtered && self.blocks.is_plain() && self.blocks.text().is_empty()).then(wires::held_back)
    }

    /// The reply as it would have come whole.
    fn raw(&mut self) -> Value {
        let mut reply = std::mem::take(&mut self.head);
        let blocks = self.blocks.all();
        let blocks =
            blocks.iter().map(|block| serde_json::from_str::<Value>(block.get()).unwrap_or_default());
        reply.insert("content".to_owned(), blocks.collect());
        reply.insert("stop_reason".to_owned(), json!(self.stop_reason));
        reply.insert("usage".to_owned(), Value::Object(std::mem::take(&mut self.usage)));
        Value::Object(reply)
    }
}

impl wires::Assembly for MessagesAssembly {
    fn push(&mut self, event: &str, secrets: &Secrets, on_event: EventSink<'_>) -> Result<(), AttemptError> {
        let mut unique = String::new();
        let (read, _): (MessagesEvent<'_>, _) = lenient::event(event, &mut unique);
        // Read as a whole is only what may be an error, and what is kept: most events of a stream are neither.
        let value = || serde_json::from_str::<Value>(event).unwrap_or_default();
        if let Some(failed) = failed(&read, value) {
            return Err(wires::error_of(failed, secrets));
        }
        match &*read.kind {
            "message_start" => {
                self.begun = true;
                self.head = event::map(read.message);
                if let Some(Value::Object(usage)) = self.head.remove("usage") {
                    self.usage.extend(usage.into_iter().filter(|(_, value)| !value.is_null()));
                }
            }
            "content_block_start" => {
                self.begun = true;
                if let Some(block) = read.content_block {
                    self.blocks.begin(read.index, block, false, on_event);
                }
            }
            "content_block_delta" => {
                self.begun = true;
                self.blocks.extend(read.index, &read.delta, on_event);
            }
            "message_delta" => {
                self.begun = true;
                self.usage.extend(event::map(read.usage));
                self.stop(&read.delta.stop_reason, read.delta.stop_details)?;
            }
            "message_stop" => self.ended = true,
            "message" | "" if read.blocks().is_some() => self.take_whole(&read, value(), on_event)?,
            _ => {}
        }
        Ok(())
    }

    fn is_finished(&self) -> bool {
        self.ended && self.begun
    }

    /// A body that is no reply at all ends so, too: `finish` tells what is missing.
    fn ends_with_done(&self) -> bool {
        true
    }

    fn finish(mut self: Box<Self>, ending: &Ending<'_>) -> Result<Completion, AttemptError> {
        if let Some(problem) = self.problem() {
            return Err(problem);
        }
        let mut tool_calls = self.blocks.calls();
        make_ids_unique(&mut tool_calls, ending.conversation);
        let native = self.blocks.native().filter(|_| !self.blocks.is_plain());
        let native = native.and_then(|blocks| Some(ending.native(serde_json::to_string(&blocks).ok()?)));
        let usage = event::tokens(&self.usage);
        let (content, reasoning) = (self.blocks.text(), self.blocks.thinking());
        let whole = self.whole.take();
        let raw = whole.unwrap_or_else(|| self.raw());
        Ok(Completion {
            content,
            reasoning: Some(reasoning).filter(|text| !text.is_empty()),
            tool_calls,
            finish_reason: self.stop_reason,
            usage,
            native,
            raw,
        })
    }
}

/// The event as it came, if it is an error.
fn failed(event: &MessagesEvent<'_>, value: impl Fn() -> Value) -> Option<Value> {
    match &*event.kind {
        "error" => Some(value()),
        // What proxies say has other shapes.
        "" if event.blocks().is_none() => Some(value()).filter(api_error::is_within),
        _ => event.error.map(|_| value()).filter(|value| value.get("error").is_some_and(api_error::is_error)),
    }
}

#[cfg(test)]
#[path = "assemble_tests.rs"]
mod tests;
