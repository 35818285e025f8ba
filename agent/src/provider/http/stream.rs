//! The events of one reply, as the client library reads them, → an assembly that is whole, or the error.
//!
//! Apart because here the end is judged: what is cut off is never taken for an answer.

use std::time::Duration;

use async_openai::error::OpenAIError;
use async_openai::types::stream::StreamResponse;
use futures_util::StreamExt;
use serde_json::value::RawValue;
use tokio::time::{Instant, timeout_at};

use super::body::BodyEnd;
use super::network_error::attempt_error;
use crate::provider::Progress;
use crate::provider::api_error;
use crate::provider::attempt_error::AttemptError;
use crate::provider::wires::Assembly;
use crate::provider::wires::lenient::whole_characters;
use crate::secrets::Secrets;

/// What comes behind the reason of the end, usage for example, comes soon.
const AFTER_END: Duration = Duration::from_secs(5);

/// How the events ended.
enum StreamEnd {
    /// With `[DONE]`, behind which the library reads nothing.
    Done,
    /// The body ended, without `[DONE]`.
    Body,
    /// The connection failed.
    Broken(String),
}

/// Reads to the end. What arrives is told to `progress`; after an error none of it counts.
pub(super) async fn read(
    mut events: StreamResponse<Box<RawValue>>,
    mut assembly: Box<dyn Assembly>,
    secrets: &Secrets,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Box<dyn Assembly>, AttemptError> {
    let mut garbled = None;
    let mut end = StreamEnd::Done;
    let mut waits_until = None;
    loop {
        if waits_until.is_none() && assembly.is_finished() {
            waits_until = Some(Instant::now() + AFTER_END);
        }
        let next = match waits_until {
            None => events.next().await,
            // Some keep the connection open behind a reply that is over.
            Some(deadline) => timeout_at(deadline, events.next()).await.unwrap_or_default(),
        };
        let Some(event) = next else { break };
        match event {
            Ok(event) => match BodyEnd::read(event.get()) {
                Some(BodyEnd::Clean) => end = StreamEnd::Body,
                Some(BodyEnd::Broken(reason)) => end = StreamEnd::Broken(reason),
                // Another try would be as long.
                Some(BodyEnd::Oversized(limit)) => return Err(AttemptError::Oversized { limit }),
                None => {
                    assembly.push(&whole_characters(event.get()), secrets, progress)?;
                    if assembly.is_over() {
                        break;
                    }
                }
            },
            Err(OpenAIError::JSONDeserialize(_, text)) => match text.trim() {
                // Sent to keep the connection alive.
                "" => {}
                // The library knows the end mark without blanks only.
                "[DONE]" => break,
                // Half an event before the end of the body, or a damaged one: the end tells.
                text if !assembly.is_finished() => garbled = Some(api_error::excerpt(&secrets.clean(text))),
                _ => {}
            },
            Err(error) => end = StreamEnd::Broken(error.to_string()),
        }
    }
    let cut = |reason| Err(AttemptError::Cut { reason });
    let is_over = assembly.is_finished() || (matches!(end, StreamEnd::Done) && assembly.ends_with_done());
    match (end, garbled) {
        // Even behind the reason of the end something may be missing: the rest of the calls, or of their arguments.
        (StreamEnd::Broken(reason), _) => cut(reason),
        _ if !is_over => cut("the stream ended before the reply was over".to_owned()),
        (_, Some(event)) => cut(format!("an event of the stream is not JSON: {event}")),
        _ => Ok(assembly),
    }
}

/// What the library hands on, or what its own error before any event means.
pub(super) fn refused(error: OpenAIError) -> AttemptError {
    match error {
        OpenAIError::Boxed(error) => match error.downcast::<AttemptError>() {
            Ok(error) => *error,
            Err(error) => AttemptError::Setup { reason: error.to_string() },
        },
        OpenAIError::Reqwest(error) => attempt_error(&error),
        error => AttemptError::Setup { reason: error.to_string() },
    }
}
