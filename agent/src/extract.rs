//! The last resort for an answer that is none: another model is asked, once and in JSON mode, for the fields that the
//! text holds.
//!
//! Apart because it is off unless `modelOverrides.extract` names a model, and because it is no part of the
//! conversation: it has messages of its own, recorded with their own kind. What it says is judged like any answer.

use std::time::Instant;

use serde_json::{Map, Value};

use crate::frontmatter::{self, Extracted};
use crate::journal::Entry;
use crate::provider::ChatProvider;
use crate::provider::message::{Message, MessageKind, Request, Sampling, Speaker, ToolChoice};
use crate::react::{React, Stopped};

/// Who is asked.
pub(crate) struct Extractor {
    /// Who completes.
    pub provider: Box<dyn ChatProvider>,
    /// The model's name.
    pub model: String,
}

impl Extractor {
    /// The answer that `text` was meant to be; none where there is nothing to be had. Only what must end the run is an
    /// error: a failing extraction is not.
    ///
    /// # Errors
    /// See [`Stopped`].
    pub(crate) async fn extract(
        &mut self,
        react: &mut React<'_>,
        text: &str,
        (schema, hash): (&Value, uwf_store::Hash),
    ) -> Result<Option<Extracted>, Stopped> {
        let rules = uwf_prompts::extraction(schema)?;
        let asked = uwf_prompts::extraction_of(text)?;
        let messages = [(Speaker::System, rules), (Speaker::User, asked)]
            .map(|(speaker, text)| Message::text(speaker, MessageKind::Extract, text));
        for message in &messages {
            react.append_message(message.clone())?;
        }
        react.sync()?;
        let sampling = Sampling { json_object: true, ..Sampling::default() };
        let request = Request {
            messages: &messages,
            tools: &[],
            tool_choice: ToolChoice::None,
            model: &self.model,
            sampling: &sampling,
        };
        let begun = Instant::now();
        let completed = react.complete(self.provider.as_mut(), request).await;
        let completion = match completed {
            Ok(Some(completion)) => completion,
            Ok(None) | Err(Stopped::Provider(_)) => return Ok(None),
            Err(Stopped::Interrupted(signal)) => return Err(react.interrupted(signal).await),
            Err(stopped) => return Err(stopped),
        };
        let answer = react.receive(MessageKind::Extract, completion, begun.elapsed())?;
        Ok(judged(&answer.text, text, (schema, hash)))
    }
}

/// What came of it, if the other model was asked already.
pub(crate) fn from_journal(
    entries: &[Entry],
    text: &str,
    schema: (&Value, uwf_store::Hash),
) -> Option<Option<Extracted>> {
    entries.iter().rev().find_map(|entry| match entry {
        Entry::Answered { message, .. } if message.kind == MessageKind::Extract => {
            Some(judged(&message.content, text, schema))
        }
        _ => None,
    })
}

fn judged(reply: &str, text: &str, schema: (&Value, uwf_store::Hash)) -> Option<Extracted> {
    fields(reply).and_then(|fields| frontmatter::judge(fields, text, schema).ok())
}

/// The object in a reply: bare, or in a code fence where an endpoint knows no JSON mode.
fn fields(reply: &str) -> Option<Map<String, Value>> {
    let (from, to) = (reply.find('{')?, reply.rfind('}')?);
    serde_json::from_str(reply.get(from..=to)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_found_bare_or_fenced() {
        for reply in ["{\"a\": 1}", "```json\n{\"a\": 1}\n```\n", " Here: {\"a\": 1}."] {
            assert_eq!(fields(reply).unwrap()["a"], 1, "{reply}");
        }
        for reply in ["", "[1]", "}{", "{\"a\":", "null"] {
            assert!(fields(reply).is_none(), "{reply}");
        }
    }
}
