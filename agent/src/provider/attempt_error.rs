//! How one attempt at a completion failed, and what that means: try again, or give up with which error.
//!
//! Apart because the real client and the scripted one must judge alike. Pure: it waits for nothing and knows no
//! key; whoever makes an `AttemptError` has already removed the secrets from its words.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::ProviderError;
use super::api_error::{ApiError, NO_WORDS};

/// How one attempt failed.
#[derive(Clone, Debug, PartialEq, Error, Serialize, Deserialize)]
#[serde(tag = "error", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum AttemptError {
    /// Nobody answered: the name is unknown, or nobody listens there.
    #[error("{reason}")]
    Connect { reason: String },
    /// The connection was lost, or fell silent, before the reply was whole.
    #[error("{reason}")]
    Cut { reason: String },
    /// A status that is no success.
    #[error("{status}: {api_error}")]
    Status {
        status: u16,
        api_error: Box<ApiError>,
        #[serde(skip_serializing_if = "Option::is_none")]
        retry_after: Option<Duration>,
    },
    /// An error inside a reply with a good status.
    #[error("an error inside the reply: {api_error}")]
    InBand { api_error: Box<ApiError> },
    /// A whole reply in which the model says nothing at all.
    #[error("the reply holds no choices")]
    Empty,
    /// A whole reply that is no completion.
    #[error("{reason}")]
    Malformed { reason: String },
    /// A reply that is no stream and longer than any completion is.
    #[error("the reply is longer than {limit} bytes")]
    Oversized { limit: usize },
    /// The request could not even be made.
    #[error("{reason}")]
    Setup { reason: String },
}

/// What to do after a failed attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RetryDecision {
    /// The same request may succeed: after this long where the endpoint said so, else after the policy's wait.
    Retry { asked: Option<Duration> },
    /// The same request will fail again.
    Final,
}

impl AttemptError {
    /// An error inside a reply with a good status.
    pub(crate) fn in_band(api_error: ApiError) -> AttemptError {
        AttemptError::InBand { api_error: Box::new(api_error) }
    }

    /// The same with the endpoint's id of the request, where that is told outside of its words.
    pub(crate) fn with_request_id(mut self, id: Option<String>) -> AttemptError {
        match &mut self {
            AttemptError::Status { api_error, .. } | AttemptError::InBand { api_error } => {
                api_error.request_id = api_error.request_id.take().or(id);
            }
            AttemptError::Cut { reason } | AttemptError::Malformed { reason } => {
                id.into_iter().for_each(|id| reason.push_str(&format!(" (request {id})")));
            }
            AttemptError::Connect { .. }
            | AttemptError::Empty
            | AttemptError::Oversized { .. }
            | AttemptError::Setup { .. } => {}
        }
        self
    }

    /// The same where a refusal without any words means that the conversation is too long.
    pub(crate) fn with_overflow_named(mut self) -> AttemptError {
        if let AttemptError::Status { status: 400, api_error, .. } = &mut self
            && api_error.message == NO_WORDS
        {
            api_error.code = Some("context_length_exceeded".to_owned());
        }
        self
    }

    /// Whether it is worth trying again. (The rules: RFC 9110 for the statuses, `Retry-After` where it is given.)
    pub(crate) fn retry_decision(&self) -> RetryDecision {
        match self {
            AttemptError::Connect { .. } | AttemptError::Cut { .. } => RetryDecision::Retry { asked: None },
            AttemptError::Status { status, api_error, retry_after } => {
                let usual = matches!(status, 408 | 409 | 425 | 429 | 500..=599);
                let passing = api_error.should_retry.unwrap_or(usual)
                    && !api_error.is_about_money()
                    && !self.is_too_long();
                // A generation the endpoint could not read may come out right the next time.
                if passing || api_error.failed_generation.is_some() {
                    RetryDecision::Retry { asked: *retry_after }
                } else {
                    RetryDecision::Final
                }
            }
            AttemptError::InBand { api_error } => {
                let permanent = api_error.is_about_money() || api_error.is_permanent() || self.is_too_long();
                if permanent { RetryDecision::Final } else { RetryDecision::Retry { asked: None } }
            }
            AttemptError::Empty
            | AttemptError::Malformed { .. }
            | AttemptError::Oversized { .. }
            | AttemptError::Setup { .. } => RetryDecision::Final,
        }
    }

    /// Whether the endpoint says that the conversation does not fit its window.
    pub(crate) fn is_too_long(&self) -> bool {
        match self {
            AttemptError::Status { status: 413, .. } => true,
            // Other statuses use such words for passing things ("too many tokens per minute").
            AttemptError::Status { status: 400 | 422 | 500, api_error, .. }
            | AttemptError::InBand { api_error } => api_error.is_too_long(),
            AttemptError::Status { status: 429, api_error, .. } => {
                api_error.message.to_lowercase().contains("request too large")
            }
            _ => false,
        }
    }

    /// The error of a provider whose attempt is not repeated. `url` is where it happened, without secrets.
    pub(crate) fn into_error(self, url: &str) -> ProviderError {
        let too_long = self.is_too_long();
        let url = url.to_owned();
        let refused = |status: u16, api_error: &ApiError| {
            let (url, message) = (url.clone(), api_error.to_string());
            match status == 402 || api_error.is_about_money() {
                true => ProviderError::NoCredit { url, status, message },
                false => ProviderError::Refused { url, status, message },
            }
        };
        match self {
            AttemptError::Status { api_error, .. } | AttemptError::InBand { api_error } if too_long => {
                ProviderError::ContextLength { message: api_error.to_string() }
            }
            AttemptError::Connect { reason } => ProviderError::Unreachable { url, reason },
            AttemptError::Status { status, api_error, .. } => refused(status, &api_error),
            AttemptError::InBand { api_error } => refused(200, &api_error),
            AttemptError::Empty | AttemptError::Oversized { .. } => {
                ProviderError::Malformed { url, reason: self.to_string() }
            }
            AttemptError::Cut { reason } | AttemptError::Malformed { reason } => {
                ProviderError::Malformed { url, reason }
            }
            AttemptError::Setup { reason } => ProviderError::Setup(reason),
        }
    }
}

#[cfg(test)]
#[path = "attempt_error_tests.rs"]
mod tests;
