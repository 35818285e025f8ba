//! What an endpoint says about an error, and what its words mean: money, a right, a conversation that is too long.
//!
//! Apart because a reply with a bad status and an error inside a good one say the same. Pure: whoever reads one (`read`)
//! has already removed the secrets from its words.

mod read;

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

pub(crate) use self::read::of_body;
pub(in crate::provider) use self::read::{excerpt, is_error, is_within, of_value};

/// What an endpoint said about an error.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ApiError {
    /// Its words, cut to a readable length.
    pub(crate) message: String,
    /// Its machine-readable code (`insufficient_quota`, or a status as text), where given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) code: Option<String>,
    /// Its kind of error (`invalid_request_error` …), where given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) kind: Option<String>,
    /// The field of the request that it is about, where given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) param: Option<String>,
    /// The endpoint's id of the request, for its support.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) request_id: Option<String>,
    /// Whether the endpoint says that the same request may succeed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) should_retry: Option<bool>,
    /// How long it asks to wait, where it says so in the body.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) retry_delay: Option<Duration>,
    /// The text that the endpoint could not read as tool calls, where it hands it back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) failed_generation: Option<String>,
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

impl ApiError {
    /// An API error of words only.
    pub(crate) fn words(message: impl Into<String>) -> ApiError {
        ApiError { message: message.into(), ..ApiError::default() }
    }

    fn is_any_of(&self, words: &[&str]) -> bool {
        [&self.code, &self.kind].into_iter().flatten().any(|word| words.contains(&word.as_str()))
    }

    /// Whether a right is missing, or the request itself is wrong.
    pub(crate) fn is_permanent(&self) -> bool {
        self.is_any_of(PERMANENT)
    }

    /// Whether it says that the conversation is too long.
    pub(crate) fn is_too_long(&self) -> bool {
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

impl fmt::Display for ApiError {
    /// Its words, and the id of the request for those who ask the endpoint's support.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.request_id {
            Some(id) => write!(f, "{} (request {id})", self.message),
            None => f.write_str(&self.message),
        }
    }
}
