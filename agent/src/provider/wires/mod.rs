//! The wires: how a neutral request is written for an endpoint, and how what it sends is read.
//!
//! Apart because the vendors' field names stop here. Each wire has two halves: `write` (request → [`Outgoing`]) and an
//! [`Assembly`] (events → completion). Pure: a wire opens no connection, waits for nothing and knows no key.

pub(in crate::provider) mod arguments;
pub(crate) mod chat;
pub(in crate::provider) mod lenient;
pub(crate) mod messages;
pub(crate) mod responses;
#[cfg(test)]
pub(in crate::provider) mod samples;
pub(in crate::provider) mod usage;
pub(in crate::provider) mod written;

use std::mem::take;

use serde_json::{Map, Value};

use self::written::Written;
use super::EventSink;
use super::api_error::{self, ApiError};
use super::attempt_error::AttemptError;
use super::dialect::{Cache, Dialect};
use super::fields::Fields;
use super::message::{
    Completion, Message, ModelOrigin, Native, Request, Speaker, ToolChoice, make_ids_unique,
};
use super::model_facts::ModelFacts;
use super::wire::Wire;
use crate::secrets::Secrets;

impl Wire {
    /// The request as it is sent.
    pub(in crate::provider) fn write(
        self,
        request: &Request<'_>,
        target: &RequestTarget<'_>,
        written: &mut Written,
    ) -> Outgoing {
        match self {
            Wire::Chat => chat::write::write(request, target, written),
            Wire::Responses => responses::write::write(request, target, written),
            Wire::Messages => messages::write::write(request, target, written),
        }
    }

    /// A reply of which nothing has come.
    pub(in crate::provider) fn assembly(self) -> Box<dyn Assembly> {
        match self {
            Wire::Chat => Box::<chat::assemble::ChatAssembly>::default(),
            Wire::Responses => Box::<responses::assemble::ResponsesAssembly>::default(),
            Wire::Messages => Box::<messages::assemble::MessagesAssembly>::default(),
        }
    }
}

/// The mark of Anthropic and those who imitate it: up to here the prompt is to be cached.
pub(in crate::provider) const CACHE_MARK: &str = r#""cache_control":{"type":"ephemeral"}"#;

/// The messages whose end is worth a cache mark: the last one that is not the model's, and the one that was the last when
/// the model was asked before. An endpoint looks back some twenty blocks from a mark for what it has, and a turn of many
/// calls has more.
pub(in crate::provider) fn marked(messages: &[Message]) -> [Option<usize>; 2] {
    let ours = |message: &Message| matches!(message.role, Speaker::User | Speaker::Tool);
    let last = messages.iter().rposition(ours);
    let turn =
        last.and_then(|last| messages[..last].iter().rposition(|message| message.role == Speaker::Assistant));
    let before = turn.and_then(|turn| messages[..turn].iter().rposition(ours));
    [last, before]
}

/// Whom a request is written for.
#[derive(Clone, Copy, Debug)]
pub(in crate::provider) struct RequestTarget<'a> {
    /// The wire, the host and the model: what goes back verbatim goes back to these alone.
    pub(in crate::provider) origin: &'a ModelOrigin,
    /// What the endpoint wants to see or not to see.
    pub(in crate::provider) dialect: &'a Dialect,
    /// What is known of the model.
    pub(in crate::provider) model: &'a ModelFacts,
    /// Names the runs that share a prompt prefix, for endpoints that cache by such a key; at most 64 characters.
    pub(in crate::provider) cache_key: &'a str,
    /// Whether to ask for a stream.
    pub(in crate::provider) stream: bool,
}

impl RequestTarget<'_> {
    /// The temperature, where the model takes one.
    pub(in crate::provider) fn temperature(&self, request: &Request<'_>) -> Option<f64> {
        request.sampling.temperature.filter(|_| self.model.takes_temperature(request.sampling))
    }

    /// The fields that every request to the endpoint has.
    pub(in crate::provider) fn fields(&self) -> Map<String, Value> {
        serde_json::from_str(self.dialect.fields).unwrap_or_default()
    }

    /// The key by which the endpoint caches.
    pub(in crate::provider) fn prompt_cache_key(&self) -> Option<&str> {
        (self.dialect.cache == Cache::Key && !self.cache_key.is_empty()).then_some(self.cache_key)
    }

    /// The headers of a request: the one that keeps a run on one server.
    pub(in crate::provider) fn headers(&self) -> Vec<(String, String)> {
        let name = self.dialect.session_header.as_deref().filter(|_| !self.cache_key.is_empty());
        name.map(|name| (name.to_owned(), self.cache_key.to_owned())).into_iter().collect()
    }
}

/// OpenAI's word for whether tools may be called, where there are any.
pub(in crate::provider) fn tool_choice(request: &Request<'_>) -> Option<&'static str> {
    (!request.tools.is_empty()).then_some(match request.tool_choice {
        ToolChoice::Auto => "auto",
        ToolChoice::None => "none",
    })
}

/// The error of an event that is one, without secrets.
pub(in crate::provider) fn error_of(event: Value, secrets: &Secrets) -> AttemptError {
    AttemptError::in_band(api_error::of_value(&secrets.clean_value(event)))
}

/// The error of a reply that ends for this reason, if that is one: some words for the end are errors.
pub(in crate::provider) fn error_of_ending(reason: &str) -> Option<AttemptError> {
    let code = match reason {
        "error" | "network_error" => None,
        "model_context_window_exceeded" => Some("context_length_exceeded".to_owned()),
        _ => return None,
    };
    let api_error = ApiError::words(format!("the endpoint ended the reply with {reason:?}"));
    Some(AttemptError::in_band(ApiError { code, ..api_error }))
}

/// The error of a reply of which a content filter has left nothing.
pub(in crate::provider) fn held_back() -> AttemptError {
    let api_error = ApiError::words("the endpoint's content filter held the whole reply back");
    AttemptError::in_band(ApiError { code: Some("content_filter".to_owned()), ..api_error })
}

/// A request as a wire writes it.
#[derive(Debug)]
pub(in crate::provider) struct Outgoing {
    /// The fields of the body, in order: what changes from turn to turn stands behind what does not.
    pub(in crate::provider) fields: Fields,
    /// Headers that this very request needs.
    pub(in crate::provider) headers: Vec<(String, String)>,
}

/// What finishes an assembly.
#[derive(Clone, Copy, Debug)]
pub(in crate::provider) struct Ending<'a> {
    /// The conversation: new tool calls get ids that are not in it.
    pub(in crate::provider) conversation: &'a [Message],
    /// Who answered.
    pub(in crate::provider) origin: &'a ModelOrigin,
    /// What must not be in a completion.
    pub(in crate::provider) secrets: &'a Secrets,
}

impl Ending<'_> {
    /// What goes back verbatim.
    pub(in crate::provider) fn native(&self, value: String) -> Native {
        Native { origin: self.origin.clone(), value, prefix_changed: false }
    }

    /// The completion of all that came, without secrets.
    pub(in crate::provider) fn complete(
        &self,
        assembly: Box<dyn Assembly>,
    ) -> Result<Completion, AttemptError> {
        assembly.finish(self).map(|completion| self.cleaned(completion))
    }

    /// The completion without secrets, and with ids that are still unique. A changed signature is refused, so nothing is
    /// blotted out in a native part: where it, or what names a call, holds a secret there is none, and the neutral words go
    /// back instead.
    fn cleaned(&self, completion: Completion) -> Completion {
        let Completion { content, reasoning, mut tool_calls, finish_reason, usage, native, raw } = completion;
        let clean = |text: String| self.secrets.clean(&text).into_owned();
        let holds_any = |text: &str| self.secrets.clean(text) != text;
        let is_named = tool_calls.iter().any(|call| holds_any(&call.id) || holds_any(&call.name));
        for call in &mut tool_calls {
            call.id = clean(take(&mut call.id));
            call.name = clean(take(&mut call.name));
            call.arguments = self.secrets.clean_json(take(&mut call.arguments));
        }
        if is_named {
            make_ids_unique(&mut tool_calls, self.conversation);
        }
        let is_kept =
            |native: &Native| !is_named && self.secrets.clean_json(native.value.clone()) == native.value;
        Completion {
            content: clean(content),
            reasoning: reasoning.map(clean),
            tool_calls,
            finish_reason: finish_reason.map(clean),
            usage,
            native: native.filter(is_kept),
            raw: self.secrets.clean_value(raw),
        }
    }
}

/// A reply as far as it has come, whatever the wire. Nothing of it is used unless it is finished.
pub(in crate::provider) trait Assembly {
    /// Takes the next event in, a JSON text; the whole body of a reply that does not stream is one event. An error within
    /// it is the error, whatever else it holds.
    fn push(&mut self, event: &str, secrets: &Secrets, on_event: EventSink<'_>) -> Result<(), AttemptError>;

    /// Whether the endpoint has said that the reply is over.
    fn is_finished(&self) -> bool;

    /// Whether nothing that counts can follow: some keep the connection open.
    fn is_over(&self) -> bool {
        self.is_finished()
    }

    /// Whether `[DONE]` ends a reply that does not say itself that it is over.
    fn ends_with_done(&self) -> bool {
        false
    }

    /// The completion as the endpoint gave it: [`Ending::complete`] is what takes the secrets out of it.
    fn finish(self: Box<Self>, ending: &Ending<'_>) -> Result<Completion, AttemptError>;
}
