//! The events of one reply → an assembly that is whole, or the error.
//!
//! Apart because here the end is judged: what is cut off is never taken for an answer.

use std::ops::ControlFlow;
use std::time::Duration;

use serde_json::value::RawValue;
use tokio::time::{Instant, timeout_at};

use super::body::{DONE, ReplyEvents};
use crate::provider::EventSink;
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

/// Reads to the end. `on_event` receives what arrives; after an error none of it counts.
pub(super) async fn read(
    events: &mut ReplyEvents,
    mut assembly: Box<dyn Assembly>,
    secrets: &Secrets,
    on_event: EventSink<'_>,
) -> Result<Box<dyn Assembly>, AttemptError> {
    let (mut garbled, mut deadline) = (None, None);
    let end = loop {
        if deadline.is_none() && assembly.is_finished() {
            deadline = Some(Instant::now() + AFTER_END);
        }
        let event = match next(events, deadline).await? {
            ControlFlow::Continue(event) => event,
            ControlFlow::Break(end) => break end,
        };
        match (serde_json::from_str::<&RawValue>(&event), event.trim()) {
            (Ok(json), _) => {
                assembly.push(&whole_characters(json.get()), secrets, on_event)?;
                if assembly.is_over() {
                    break End::Done;
                }
            }
            // Sent to keep the connection alive.
            (Err(_), "") => {}
            (Err(_), DONE) => break End::Done,
            // Half an event before the end of the body, or a damaged one: the end tells.
            (Err(_), text) if !assembly.is_finished() => {
                garbled = Some(api_error::excerpt(&secrets.clean(text)));
            }
            (Err(_), _) => {}
        }
    };
    checked(assembly, end, garbled)
}

/// The next event, or how they ended: at the deadline, too, since some keep the connection open behind a reply that is
/// over.
///
/// # Errors
/// The reply is too long: another try would be as long.
async fn next(
    events: &mut ReplyEvents,
    deadline: Option<Instant>,
) -> Result<ControlFlow<End, String>, AttemptError> {
    let next = match deadline {
        None => events.next().await,
        Some(deadline) => timeout_at(deadline, events.next()).await.unwrap_or(Ok(None)),
    };
    match next {
        Ok(Some(event)) => Ok(ControlFlow::Continue(event)),
        Ok(None) => Ok(ControlFlow::Break(End::Body)),
        Err(error @ AttemptError::Oversized { .. }) => Err(error),
        Err(error) => Ok(ControlFlow::Break(End::Broken(error.to_string()))),
    }
}

/// The assembly, if the reply came whole. `garbled` is the start of an event that is not JSON.
fn checked(
    assembly: Box<dyn Assembly>,
    end: End,
    garbled: Option<String>,
) -> Result<Box<dyn Assembly>, AttemptError> {
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
