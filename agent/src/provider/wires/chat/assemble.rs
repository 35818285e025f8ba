//! Events → one completion. A whole reply is a stream of one event.
//!
//! Apart because it is pure: events in, progress and a completion out, however the bytes were cut. Nothing of an
//! assembly is used unless it is finished.

use serde_json::{Map, Value};

use super::calls::Calls;
use super::chunk::{Choice, Chunk, Said};
use super::reply;
use super::write::ReasoningField;
use crate::provider::Progress;
use crate::provider::fault::{Complaint, Fault};
use crate::provider::http::complaint;
use crate::provider::message::{Completion, Message, TokenUsage};
use crate::secrets::Secrets;

/// A completion as far as it has come.
#[derive(Default)]
pub(in crate::provider) struct Assembly {
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
    pub(in crate::provider) reasoning_field: Option<ReasoningField>,
    calls: Calls,
    finish_reason: Option<String>,
    usage: Option<TokenUsage>,
    /// Whether the model said anything, be it an empty text.
    spoke: bool,
}

impl Assembly {
    /// Takes the next event, a JSON text, in. An error within it is the fault, whatever else it holds.
    pub(in crate::provider) fn push(
        &mut self,
        event: &str,
        secrets: &Secrets,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<(), Fault> {
        let chunk = Chunk::read(event);
        // Read as a whole is only what may be an error, and what is kept: most events of a stream are neither.
        let value = || serde_json::from_str::<Value>(event).unwrap_or_default();
        if chunk.choices.is_empty() || event.contains("\"error\"") {
            let failed = chunk.choices.iter().find_map(|choice| choice.error.clone());
            let failed = Some(value()).filter(complaint::is_within).or(failed.filter(complaint::is_error));
            if let Some(failed) = failed {
                return Err(Fault::InBand { complaint: complaint::of_value(&secrets.clean_value(failed)) });
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
        self.take(choice, progress)?;
        self.model = chunk.model.or(self.model.take());
        Ok(())
    }

    fn take(&mut self, choice: &Choice, progress: &mut dyn FnMut(Progress<'_>)) -> Result<(), Fault> {
        match choice.finish_reason.as_deref() {
            // An empty reason, which some send with every chunk, never hides a real one.
            Some("") if self.finish_reason.is_some() => {}
            Some("error") => {
                let complaint = Complaint::words("the endpoint ended the reply with finish_reason \"error\"");
                return Err(Fault::InBand { complaint });
            }
            Some(reason) => self.finish_reason = Some(reason.to_owned()),
            None => {}
        }
        if let Some(said) = choice.said() {
            self.spoke = true;
            self.hear(said, progress);
            match choice.is_whole() {
                true => self.calls.take_whole(&said.tool_calls),
                false => self.calls.take(&said.tool_calls),
            }
        }
        Ok(())
    }

    fn hear(&mut self, said: &Said, progress: &mut dyn FnMut(Progress<'_>)) {
        let (content, thinking) = said.content();
        let fields = [
            (said.reasoning_content.as_deref(), ReasoningField::ReasoningContent),
            (said.reasoning.as_deref(), ReasoningField::Reasoning),
        ];
        // Some send the same text in both fields: the first that holds any counts.
        let told =
            fields.into_iter().find_map(|(text, field)| Some((text.filter(|text| !text.is_empty())?, field)));
        if let Some((_, field)) = told {
            self.reasoning_field.get_or_insert(field);
        }
        for text in [told.map_or("", |(text, _)| text), thinking.as_str()] {
            if !text.is_empty() {
                self.reasoning.push_str(text);
                progress(Progress::Reasoning(text));
            }
        }
        if !content.is_empty() {
            self.content.push_str(&content);
            progress(Progress::Text(&content));
        }
        self.refusal.push_str(said.refusal.as_deref().unwrap_or_default());
    }

    /// Whether the endpoint has said that the reply is over.
    pub(in crate::provider) fn is_finished(&self) -> bool {
        self.whole.is_some() || self.finish_reason.as_deref().is_some_and(|reason| !reason.is_empty())
    }

    /// The completion. `said` is the conversation: new tool calls get ids that are not in it.
    pub(in crate::provider) fn finish(
        self,
        said: &[Message],
        secrets: &Secrets,
    ) -> Result<Completion, Fault> {
        if !self.spoke {
            return Err(Fault::Empty);
        }
        let silent = [&self.content, &self.reasoning, &self.refusal].into_iter().all(String::is_empty);
        if silent && self.calls.is_empty() && self.finish_reason.as_deref() == Some("content_filter") {
            let complaint = Complaint::words("the endpoint's content filter held the whole reply back");
            return Err(Fault::InBand { complaint: Complaint { code: self.finish_reason, ..complaint } });
        }
        let content = if self.content.is_empty() { self.refusal } else { self.content };
        let clean = |text: String| secrets.clean(&text).into_owned();
        let mut tool_calls = self.calls.finish(said);
        tool_calls.iter_mut().for_each(|call| call.arguments = clean(std::mem::take(&mut call.arguments)));
        let mut completion = Completion {
            content: clean(content),
            reasoning: Some(clean(self.reasoning)).filter(|text| !text.is_empty()),
            tool_calls,
            finish_reason: self.finish_reason,
            usage: self.usage,
            raw: Value::Null,
        };
        let raw = self.whole.unwrap_or_else(|| {
            let mut head = self.head.unwrap_or_default();
            head.extend(self.model.map(|model| ("model".to_owned(), Value::from(model))));
            reply::body(head, &completion)
        });
        completion.raw = secrets.clean_value(raw);
        Ok(completion)
    }
}

#[cfg(test)]
#[path = "assemble_tests.rs"]
mod tests;
