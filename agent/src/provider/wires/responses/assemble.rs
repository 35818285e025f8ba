//! Events → one completion. A whole response is a stream of one event.
//!
//! Apart because it is pure: events in, completion events and a completion out, however the texts were cut. Nothing of an
//! assembly is used unless it is finished.

use serde_json::Value;
use serde_json::value::RawValue;

use super::event::{Response, ResponsesEvent};
use super::items::{DeltaKind, Items};
use super::turn::ResponsesTurn;
use crate::provider::EventSink;
use crate::provider::api_error::{self, ApiError};
use crate::provider::attempt_error::AttemptError;
use crate::provider::message::{Completion, TokenUsage};
use crate::provider::wires::{self, Ending, held_back, lenient};
use crate::secrets::Secrets;

/// A completion as far as it has come.
#[derive(Default)]
pub(in crate::provider) struct ResponsesAssembly {
    items: Items,
    end: Option<ResponsesEnd>,
    /// Whether something came that is no event, and no response either.
    is_strange: bool,
}

/// What the end told.
struct ResponsesEnd {
    /// Why the output is incomplete, if it is.
    incomplete: Option<String>,
    usage: Option<TokenUsage>,
    response: Value,
}

impl ResponsesAssembly {
    fn take(
        &mut self,
        (event, text): (&ResponsesEvent<'_>, &str),
        secrets: &Secrets,
        on_event: EventSink<'_>,
    ) -> Result<(), AttemptError> {
        match &*event.kind {
            "response.output_text.delta" => self.items.append(DeltaKind::Text, event, on_event),
            "response.refusal.delta" => self.items.append(DeltaKind::Refusal, event, on_event),
            "response.reasoning_summary_text.delta" | "response.reasoning_summary.delta" => {
                self.items.append(DeltaKind::Summary, event, on_event);
            }
            "response.reasoning_text.delta" | "response.reasoning.delta" => {
                self.items.append(DeltaKind::Reasoning, event, on_event);
            }
            "response.function_call_arguments.delta" => {
                self.items.append(DeltaKind::Arguments, event, on_event)
            }
            "response.function_call_arguments.done" => self.items.set_arguments(event),
            "response.output_item.added" => self.items.begin(event),
            "response.output_item.done" => self.items.done(event, on_event),
            kind @ ("response.completed"
            | "response.done"
            | "response.incomplete"
            | "response.failed"
            | "response.cancelled") => {
                let response = event.response.map_or("{}", RawValue::get);
                self.end((kind.trim_start_matches("response."), response), secrets, on_event)?;
            }
            _ if event.is_whole() => self.end(("", text), secrets, on_event)?,
            "" => self.is_strange = true,
            _ => {}
        }
        Ok(())
    }

    /// The end of a stream, whose event says how it ended; or a whole response, which says so itself.
    fn end(
        &mut self,
        (kind, response): (&str, &str),
        secrets: &Secrets,
        on_event: EventSink<'_>,
    ) -> Result<(), AttemptError> {
        let read = Response::read(response);
        let value: Value = serde_json::from_str(response).unwrap_or_default();
        let status = read.status.as_str();
        let bad = [kind, status].into_iter().find(|word| matches!(*word, "failed" | "cancelled"));
        if api_error::is_error(&read.error) {
            return Err(wires::error_of(value, secrets));
        }
        if let Some(bad) = bad {
            let words = format!("the endpoint ended the reply as {bad}");
            return Err(AttemptError::in_band(ApiError::words(words)));
        }
        if kind.is_empty() && matches!(status, "queued" | "in_progress") {
            return Ok(());
        }
        let is_incomplete =
            kind == "incomplete" || status == "incomplete" || (status.is_empty() && read.reason().is_some());
        let incomplete = is_incomplete.then(|| read.reason().unwrap_or("incomplete").to_owned());
        self.items.end(&read.output, on_event);
        self.end = Some(ResponsesEnd { incomplete, usage: read.usage(), response: value });
        Ok(())
    }
}

impl wires::Assembly for ResponsesAssembly {
    fn push(&mut self, event: &str, secrets: &Secrets, on_event: EventSink<'_>) -> Result<(), AttemptError> {
        let mut unique = String::new();
        let (read, text): (ResponsesEvent<'_>, _) = lenient::event(event, &mut unique);
        let fails = |value: &Value| match &*read.kind {
            "error" | "response.error" => true,
            "" if !read.is_whole() => api_error::is_within(value),
            _ => value.get("error").is_some_and(api_error::is_error),
        };
        if (read.error.is_some() || matches!(&*read.kind, "" | "error" | "response.error"))
            && let Some(failed) = serde_json::from_str::<Value>(event).ok().filter(fails)
        {
            return Err(wires::error_of(failed, secrets));
        }
        self.take((&read, text), secrets, on_event)
    }

    fn is_finished(&self) -> bool {
        self.end.is_some()
    }

    /// Where nothing came that could be cut off, another reply of the same endpoint will be as strange.
    fn ends_with_done(&self) -> bool {
        self.is_strange && self.items.is_empty()
    }

    fn finish(self: Box<Self>, ending: &Ending<'_>) -> Result<Completion, AttemptError> {
        let end = self.end.ok_or(AttemptError::Empty)?;
        let turn = ResponsesTurn::of(self.items.finish());
        match end.incomplete.as_deref() {
            Some("content_filter") if turn.is_silent() => return Err(held_back()),
            None if turn.is_nothing() => return Err(AttemptError::Empty),
            None if turn.has_lost_a_call() => {
                return Err(AttemptError::Cut {
                    reason: "a tool call of the reply did not come whole".to_owned(),
                });
            }
            _ => {}
        }
        let native = turn.native(ending.conversation).filter(|_| end.incomplete.is_none());
        let tool_calls = turn.calls(ending.conversation);
        let finish_reason = match end.incomplete.as_deref() {
            Some("max_output_tokens" | "max_tokens") => "length",
            Some(reason) => reason,
            None if tool_calls.is_empty() => "stop",
            None => "tool_calls",
        };
        Ok(Completion {
            content: turn.content(),
            reasoning: Some(turn.reasoning()).filter(|text| !text.is_empty()),
            tool_calls,
            finish_reason: Some(finish_reason.to_owned()),
            usage: end.usage,
            native: native.map(|text| ending.native(text)),
            raw: turn.within(end.response),
        })
    }
}

#[cfg(test)]
#[path = "assemble_tests.rs"]
mod tests;
