//! The events of one reply, as the client library reads them, → an assembly that is whole, or the fault.
//!
//! Apart because here the end is judged: what is cut off is never taken for an answer.

use async_openai::error::OpenAIError;
use async_openai::types::stream::StreamResponse;
use futures_util::StreamExt;
use serde_json::Value;

use super::assemble::Assembly;
use super::transport::{BodyEnd, fault_of};
use crate::provider::Progress;
use crate::provider::fault::Fault;
use crate::secrets::Secrets;

/// How the events ended.
enum End {
    /// With `[DONE]`, behind which the library reads nothing.
    Done,
    /// The body ended, without `[DONE]`.
    Body,
    /// The connection failed.
    Broken(String),
}

/// Reads to the end. What arrives is told to `progress`; after a fault none of it counts.
pub(super) async fn read(
    mut events: StreamResponse<Value>,
    secrets: &Secrets,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Assembly, Fault> {
    let mut assembly = Assembly::default();
    let mut garbled = false;
    let mut end = End::Done;
    while let Some(event) = events.next().await {
        match event {
            Ok(event) => match BodyEnd::read(&event) {
                Some(BodyEnd::Clean) => end = End::Body,
                Some(BodyEnd::Broken(reason)) => end = End::Broken(reason),
                None => assembly.push(&event, secrets, progress)?,
            },
            // The library knows the end mark without blanks only.
            Err(OpenAIError::JSONDeserialize(_, text)) if text.trim() == "[DONE]" => break,
            // Half an event before the end of the body, or a damaged one: the end tells.
            Err(OpenAIError::JSONDeserialize(..)) => garbled |= !assembly.is_finished(),
            Err(error) => end = End::Broken(error.to_string()),
        }
    }
    let cut = |reason: &str| Err(Fault::Cut { reason: reason.to_owned() });
    match end {
        End::Broken(reason) if !assembly.is_finished() => cut(&reason),
        End::Body if !assembly.is_finished() => cut("the stream ended before the reply was over"),
        _ if garbled => cut("an event of the stream is not JSON"),
        _ => Ok(assembly),
    }
}

/// The fault behind an error of the library before any event.
pub(super) fn refused(error: OpenAIError) -> Fault {
    match error {
        OpenAIError::Boxed(error) => match error.downcast::<Fault>() {
            Ok(fault) => *fault,
            Err(error) => Fault::Setup { reason: error.to_string() },
        },
        OpenAIError::Reqwest(error) => fault_of(&error),
        error => Fault::Setup { reason: error.to_string() },
    }
}
