//! The events of one reply → an assembly that is whole, or the fault.
//!
//! Apart because here the end is judged: what is cut off is never taken for an answer.

use std::time::Duration;

use serde_json::value::RawValue;
use tokio::time::{Instant, timeout_at};

use super::body::{DONE, Events};
use crate::provider::Progress;
use crate::provider::api_error;
use crate::provider::attempt_error::AttemptError;
use crate::provider::wires::Assembly;
use crate::provider::wires::lenient::whole_characters;
use crate::secrets::Secrets;

/// What comes behind the reason of the end, usage for example, comes soon.
const AFTER_END: Duration = Duration::from_secs(5);

/// How the events ended.
enum End {
    /// With `[DONE]`, behind which nothing is read.
    Done,
    /// The body ended, without `[DONE]`.
    Body,
    /// The connection failed.
    Broken(String),
}

/// Reads to the end. What arrives is told to `progress`; after a fault none of it counts.
pub(super) async fn read(
    events: &mut Events,
    mut assembly: Box<dyn Assembly>,
    secrets: &Secrets,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Box<dyn Assembly>, AttemptError> {
    let mut garbled = None;
    let mut end = End::Done;
    let mut waits_until = None;
    loop {
        if waits_until.is_none() && assembly.is_finished() {
            waits_until = Some(Instant::now() + AFTER_END);
        }
        let next = match waits_until {
            None => events.next().await,
            // Some keep the connection open behind a reply that is over.
            Some(deadline) => match timeout_at(deadline, events.next()).await {
                Ok(next) => next,
                Err(_) => break,
            },
        };
        let event = match next {
            Ok(Some(event)) => event,
            Ok(None) => {
                end = End::Body;
                break;
            }
            // Another try would be as long.
            Err(fault @ AttemptError::Oversized { .. }) => return Err(fault),
            Err(fault) => {
                end = End::Broken(fault.to_string());
                break;
            }
        };
        match (serde_json::from_str::<&RawValue>(&event), event.trim()) {
            (Ok(json), _) => {
                assembly.push(&whole_characters(json.get()), secrets, progress)?;
                if assembly.is_over() {
                    break;
                }
            }
            // Sent to keep the connection alive.
            (Err(_), "") => {}
            (Err(_), DONE) => break,
            // Half an event before the end of the body, or a damaged one: the end tells.
            (Err(_), text) if !assembly.is_finished() => {
                garbled = Some(api_error::excerpt(&secrets.clean(text)));
            }
            (Err(_), _) => {}
        }
    }
    let cut = |reason| Err(AttemptError::Cut { reason });
    let is_over = assembly.is_finished() || (matches!(end, End::Done) && assembly.ends_with_done());
    match (end, garbled) {
        // Even behind the reason of the end something may be missing: the rest of the calls, or of their arguments.
        (End::Broken(reason), _) => cut(reason),
        _ if !is_over => cut("the stream ended before the reply was over".to_owned()),
        (_, Some(event)) => cut(format!("an event of the stream is not JSON: {event}")),
        _ => Ok(assembly),
    }
}
