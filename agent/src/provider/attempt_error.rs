//! How one attempt at a completion failed, and what that means: try again, or give up with which error.
//!
//! Apart because the real client and the scripted one must judge alike. Pure: it waits for nothing and knows no
//! key; whoever makes an `AttemptError` has already removed the secrets from its words.

use std::fmt;
use std::time::Duration;

use thiserror::Error;

use super::ProviderError;

/// What an endpoint said about an error.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Complaint {
    /// Its words, cut to a readable length.
    pub(crate) message: String,
    /// Its machine-readable code (`insufficient_quota`, or a status as text), where given.
    pub(crate) code: Option<String>,
    /// Its kind of error (`invalid_request_error` …), where given.
    pub(crate) kind: Option<String>,
    /// The field of the request that it is about, where given.
    pub(crate) param: Option<String>,
    /// The endpoint's id of the request, for its support.
    pub(crate) request_id: Option<String>,
    /// Whether the endpoint says that the same request may succeed.
    pub(crate) should_retry: Option<bool>,
    /// How long it asks to wait, where it says so in the body.
    pub(crate) retry_delay: Option<Duration>,
    /// The text that the endpoint could not read as tool calls, where it hands it back.
    pub(crate) generation: Option<String>,
}

/// How one attempt failed.
#[derive(Clone, Debug, PartialEq, Error)]
pub(crate) enum AttemptError {
    /// Nobody answered: the name is unknown, or nobody listens there.
    #[error("{reason}")]
    Connect { reason: String },
    /// The connection was lost, or fell silent, before the reply was whole.
    #[error("{reason}")]
    Cut { reason: String },
    /// A status that is no success.
    #[error("{status}: {complaint}")]
    Status { status: u16, complaint: Box<Complaint>, retry_after: Option<Duration> },
    /// An error inside a reply with a good status.
    #[error("an error inside the reply: {complaint}")]
    InBand { complaint: Box<Complaint> },
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

/// Codes and kinds of errors that waiting does not mend: money,
const MONEY: &[&str] = &[
    "insufficient_quota",
    "billing_hard_limit_reached",
    "billing_not_active",
    "insufficient_balance",
    "access_terminated",
    "account_deactivated",
    "billing_error",
    "GoUsageLimitError",
    // z.ai: the limit of hours, of the week, of the balance.
    "1308",
    "1310",
    "1113",
];

/// and rights, or the request itself.
const PERMANENT: &[&str] = &[
    "invalid_api_key",
    "authentication_error",
    "permission_error",
    "permission_denied",
    "invalid_request_error",
    "not_found_error",
    "model_not_found",
    "content_filter",
    "invalid_prompt",
    "refusal",
    "400",
    "401",
    "402",
    "403",
    "404",
    "422",
];

/// Codes that say that the conversation is too long.
const TOO_LONG_CODES: &[&str] =
    &["context_length_exceeded", "exceed_context_size_error", "string_above_max_length", "request_too_large"];

/// Words that say the same where there is no code (lower case): as vendors and servers word it, each with an example in
/// the tests.
const TOO_LONG_WORDS: &[&str] = &[
    "context length",
    "context_length",
    "context window",
    "context size",
    "maximum context",
    "input token count",
    "prompt too long",
    "prompt is too long",
    "prompt exceeds max length",
    "input is too long",
    "too many tokens",
    "exceed context limit",
    "request too large",
    "reduce the length",
    "maximum prompt length",
    "prompt token count",
    "model token limit",
    "token limit exceeded",
    "range of input length should be",
    "maximum allowed input length",
    "model_context_window_exceeded",
];

/// Words of passing things that sound like it (lower case).
const NOT_TOO_LONG: &[&str] = &["throttling", "rate limit", "too many requests", "per minute", "per day"];

/// Words that say that money or a quota is used up (lower case): waiting does not mend it.
const MONEY_WORDS: &[&str] = &[
    "credit balance is too low",
    "insufficient balance",
    "insufficient credits",
    "insufficient_quota",
    "exceeded your current quota",
    "gousagelimiterror",
    "usage limit reached",
    "out of credits",
];

/// What stands for the words of an error that has none.
pub(crate) const NO_WORDS: &str = "no explanation";

impl Complaint {
    /// A complaint of words only.
    pub(crate) fn words(message: impl Into<String>) -> Complaint {
        Complaint { message: message.into(), ..Complaint::default() }
    }

    fn is_any_of(&self, words: &[&str]) -> bool {
        [&self.code, &self.kind].into_iter().flatten().any(|said| words.contains(&said.as_str()))
    }

    fn is_too_long(&self) -> bool {
        let message = self.message.to_lowercase();
        let says = |list: &[&str]| list.iter().any(|words| message.contains(words));
        let is_said = says(TOO_LONG_WORDS) || exceeds_a_limit(&message);
        self.is_any_of(TOO_LONG_CODES) || (is_said && !says(NOT_TOO_LONG))
    }

    /// Whether it refuses a stream, as some models do.
    pub(crate) fn is_about_streaming(&self) -> bool {
        let message = self.message.to_lowercase();
        let mut words = message.split(|c: char| !c.is_alphanumeric());
        let names_it = words.any(|word| word == "stream" || word == "streaming");
        names_it
            && ["support", "not allowed", "not available", "must be false"]
                .iter()
                .any(|word| message.contains(word))
    }

    /// Whether money is missing, whatever the status says.
    pub(crate) fn is_about_money(&self) -> bool {
        let message = self.message.to_lowercase();
        // Google words limits of a minute like that, and says how long to wait.
        let waits = self.retry_delay.is_some();
        self.is_any_of(MONEY) || (!waits && MONEY_WORDS.iter().any(|words| message.contains(words)))
    }
}

/// `prompt token count of X exceeds the limit of Y`: with the number, since limits of rates are worded alike.
fn exceeds_a_limit(message: &str) -> bool {
    let limit = message.split_once("exceeds the limit of ").map(|(_, limit)| limit);
    message.contains("token") && limit.is_some_and(|limit| limit.starts_with(|c: char| c.is_ascii_digit()))
}

impl fmt::Display for Complaint {
    /// Its words, and the id of the request for those who ask the endpoint's support.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.request_id {
            Some(id) => write!(f, "{} (request {id})", self.message),
            None => f.write_str(&self.message),
        }
    }
}

impl AttemptError {
    /// An error inside a reply with a good status.
    pub(crate) fn in_band(complaint: Complaint) -> AttemptError {
        AttemptError::InBand { complaint: Box::new(complaint) }
    }

    /// The same with the endpoint's id of the request, where that is told outside of its words.
    pub(crate) fn with_request_id(mut self, id: Option<String>) -> AttemptError {
        match &mut self {
            AttemptError::Status { complaint, .. } | AttemptError::InBand { complaint } => {
                complaint.request_id = complaint.request_id.take().or(id);
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
        if let AttemptError::Status { status: 400, complaint, .. } = &mut self
            && complaint.message == NO_WORDS
        {
            complaint.code = Some("context_length_exceeded".to_owned());
        }
        self
    }

    /// Whether it is worth trying again. (The rules: RFC 9110 for the statuses, `Retry-After` where it is given.)
    pub(crate) fn retry_decision(&self) -> RetryDecision {
        match self {
            AttemptError::Connect { .. } | AttemptError::Cut { .. } => RetryDecision::Retry { asked: None },
            AttemptError::Status { status, complaint, retry_after } => {
                let usual = matches!(status, 408 | 409 | 425 | 429 | 500..=599);
                let passing = complaint.should_retry.unwrap_or(usual)
                    && !complaint.is_about_money()
                    && !self.is_too_long();
                // A generation the endpoint could not read may come out right the next time.
                if passing || complaint.generation.is_some() {
                    RetryDecision::Retry { asked: *retry_after }
                } else {
                    RetryDecision::Final
                }
            }
            AttemptError::InBand { complaint } => {
                let permanent =
                    complaint.is_about_money() || complaint.is_any_of(PERMANENT) || self.is_too_long();
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
            AttemptError::Status { status: 400 | 422 | 500, complaint, .. }
            | AttemptError::InBand { complaint } => complaint.is_too_long(),
            AttemptError::Status { status: 429, complaint, .. } => {
                complaint.message.to_lowercase().contains("request too large")
            }
            _ => false,
        }
    }

    /// The error of a provider whose attempt is not repeated. `url` is where it happened, without secrets.
    pub(crate) fn into_error(self, url: &str) -> ProviderError {
        let too_long = self.is_too_long();
        let url = url.to_owned();
        let refused = |status: u16, complaint: &Complaint| {
            let (url, message) = (url.clone(), complaint.to_string());
            match status == 402 || complaint.is_about_money() {
                true => ProviderError::NoCredit { url, status, message },
                false => ProviderError::Refused { url, status, message },
            }
        };
        match self {
            AttemptError::Status { complaint, .. } | AttemptError::InBand { complaint } if too_long => {
                ProviderError::ContextLength { message: complaint.to_string() }
            }
            AttemptError::Connect { reason } => ProviderError::Unreachable { url, reason },
            AttemptError::Status { status, complaint, .. } => refused(status, &complaint),
            AttemptError::InBand { complaint } => refused(200, &complaint),
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
