//! A provider that gives the replies of a recorded run to requests in neutral words: of a script or of a model that is code.
//!
//! The replies of an endpoint are given by `http`, since it writes its requests. Who keeps the recording is told by a trait, so
//! that nothing here knows a journal.

use std::fmt;

use super::message::{Completion, Request};
use super::retry::{AfterFailure, Attempts, RetryPolicy};
use super::sent::{LastSent, neutral};
use super::{ChatProvider, Completing, CompletionEvent, EventSink, ProviderError};
use crate::provider::attempt_error::AttemptError;

/// What is on record of the requests of a run.
pub(crate) trait RecordedReplies: fmt::Debug + Send + Sync {
    /// Keeps the body that is sent, to show it.
    fn sends(&self, body: String);

    /// What came of the request that was sent just now.
    fn outcome(&self) -> RecordedOutcome;

    /// The window that the server told, where that is what comes next.
    fn told_window(&self) -> Option<u64>;
}

/// What came of a request that was sent.
#[derive(Clone, Debug)]
pub(crate) enum RecordedOutcome {
    /// The model's turn.
    Answered(Box<Completion>),
    /// The attempt failed; and what the provider did then.
    Failed(AttemptError, AfterFailure),
    /// The time for it was over.
    Abandoned,
    /// No attempt was made, or the process ended; and what it said of that.
    None(String),
}

/// See the module.
pub(crate) struct ReplayedProvider {
    recording: Box<dyn RecordedReplies>,
    last_sent: LastSent,
    url: String,
}

impl ReplayedProvider {
    /// The replies of that recording; `name` is what errors call the model.
    pub(crate) fn new(recording: Box<dyn RecordedReplies>, name: &str) -> ReplayedProvider {
        ReplayedProvider { recording, last_sent: LastSent::default(), url: format!("mock:{name}") }
    }
}

impl ChatProvider for ReplayedProvider {
    fn complete<'a>(&'a mut self, request: Request<'a>, on_event: EventSink<'a>) -> Completing<'a> {
        Box::pin(async move {
            let policy = RetryPolicy::default();
            let mut attempts = Attempts::new(&policy);
            loop {
                let body = neutral(&request);
                self.recording.sends(serde_json::to_string(&body).unwrap_or_default());
                on_event(CompletionEvent::Sent(&self.last_sent.next(&body)));
                match reply(self.recording.as_ref()).await? {
                    Ok(completion) => return Ok(completion),
                    Err((error, after)) => {
                        on_event(CompletionEvent::Failed(&error));
                        attempts.replayed(error, &self.url, after).await?;
                    }
                }
            }
        })
    }
}

/// The recorded reply to the request that was sent just now, or how the attempt failed and what was done then. One that nobody
/// waited for never comes.
///
/// # Errors
/// No attempt was made, or nobody knows what came of it.
pub(crate) async fn reply(
    recording: &dyn RecordedReplies,
) -> Result<Result<Completion, (AttemptError, AfterFailure)>, ProviderError> {
    match recording.outcome() {
        RecordedOutcome::Answered(completion) => Ok(Ok(*completion)),
        RecordedOutcome::Failed(error, after) => Ok(Err((error, after))),
        RecordedOutcome::Abandoned => std::future::pending().await,
        RecordedOutcome::None(why) => Err(ProviderError::Setup(why)),
    }
}
