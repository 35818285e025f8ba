//! A provider that gives the replies of a recorded run to requests in neutral words: of a script or of a model that is code.
//!
//! The replies of an endpoint are given by `http`, since it writes its requests.

use super::message::{Completion, Request};
use super::retry::{Attempts, RetryPolicy};
use super::sent::{LastSent, neutral};
use super::{ChatProvider, Completing, CompletionEvent, EventSink, ProviderError};
use crate::journal::{Entry, RecordedOutcome, SharedRecording};
use crate::provider::attempt_error::AttemptError;

/// See the module.
pub(crate) struct RecordedProvider {
    recording: SharedRecording,
    last_sent: LastSent,
    url: String,
}

impl RecordedProvider {
    /// The replies of that recording; `name` is what errors call the model.
    pub(crate) fn new(recording: SharedRecording, name: &str) -> RecordedProvider {
        RecordedProvider { recording, last_sent: LastSent::default(), url: format!("mock:{name}") }
    }
}

impl ChatProvider for RecordedProvider {
    fn complete<'a>(&'a mut self, request: Request<'a>, on_event: EventSink<'a>) -> Completing<'a> {
        Box::pin(async move {
            let policy = RetryPolicy::default();
            let mut attempts = Attempts::new(&policy);
            loop {
                let body = neutral(&request);
                self.recording.sends(serde_json::to_string(&body).unwrap_or_default());
                on_event(CompletionEvent::Sent(&self.last_sent.next(&body)));
                match reply(&self.recording).await? {
                    Ok(completion) => return Ok(completion),
                    Err((error, is_repeated)) => {
                        on_event(CompletionEvent::Failed(&error));
                        attempts.replayed(error, &self.url, is_repeated)?;
                    }
                }
            }
        })
    }
}

/// The recorded reply to the request that was sent just now, or how the attempt failed and whether it was repeated. One that
/// nobody waited for never comes.
///
/// # Errors
/// No attempt was made, or nobody knows what came of it.
pub(crate) async fn reply(
    recording: &SharedRecording,
) -> Result<Result<Completion, (AttemptError, bool)>, ProviderError> {
    match recording.outcome() {
        RecordedOutcome::Answered(entry) => Ok(Ok(completion(*entry))),
        RecordedOutcome::Failed(error, is_repeated) => Ok(Err((error, is_repeated))),
        RecordedOutcome::Abandoned => std::future::pending().await,
        RecordedOutcome::None(why) => Err(ProviderError::Setup(why)),
    }
}

fn completion(entry: Entry) -> Completion {
    let Entry::Answered { message, usage, finish_reason, .. } = entry else { return Completion::default() };
    Completion {
        content: message.content,
        reasoning: message.reasoning,
        tool_calls: message.tool_calls,
        finish_reason,
        usage,
        native: message.native,
        raw: serde_json::Value::Null,
    }
}
