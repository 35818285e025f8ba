//! How one attempt at a completion failed, and what that means: try again, or give up with which error.
//!
//! Apart because the real client and the scripted one must judge alike. Pure: it waits for nothing and knows no
//! key; whoever fills a `Fault` has already removed the secrets from its words.

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
    /// The text that the endpoint could not read as tool calls, where it hands it back.
    pub(crate) generation: Option<String>,
}

/// How one attempt failed.
#[derive(Clone, Debug, PartialEq, Error)]
pub(crate) enum Fault {
    /// Nobody answered: the name is unknown, or nobody listens there.
    #[error("{reason}")]
    Connect { reason: String },
    /// The connection was lost, or fell silent, before the reply was whole.
    #[error("{reason}")]
    Cut { reason: String },
    /// A status that is no success.
    #[error("{status}: {}", complaint.message)]
    Status { status: u16, complaint: Complaint, retry_after: Option<Duration> },
    /// An error inside a reply with a good status.
    #[error("an error inside the reply: {}", complaint.message)]
    InBand { complaint: Complaint },
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

/// What to do after a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
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

/// Words that say the same where there is no code (lower case).
const TOO_LONG_WORDS: &[&str] = &[
    "context length",
    "context window",
    "context size",
    "maximum context",
    "input token count",
    "prompt is too long",
    "input is too long",
    "too many tokens",
    "request too large",
    "reduce the length",
];

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
        self.is_any_of(TOO_LONG_CODES) || TOO_LONG_WORDS.iter().any(|words| message.contains(words))
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
    fn is_about_money(&self) -> bool {
        self.is_any_of(MONEY)
    }
}

impl Fault {
    /// Whether it is worth trying again. (The rules: RFC 9110 for the statuses, `Retry-After` where it is given.)
    pub(crate) fn verdict(&self) -> Verdict {
        match self {
            Fault::Connect { .. } | Fault::Cut { .. } => Verdict::Retry { asked: None },
            Fault::Status { status, complaint, retry_after } => {
                let passing = matches!(status, 408 | 409 | 425 | 429 | 500..=599)
                    && !complaint.is_about_money()
                    && !self.is_too_long();
                // A generation the endpoint could not read may come out right the next time.
                if passing || complaint.generation.is_some() {
                    Verdict::Retry { asked: *retry_after }
                } else {
                    Verdict::Final
                }
            }
            Fault::InBand { complaint } => {
                let permanent =
                    complaint.is_about_money() || complaint.is_any_of(PERMANENT) || self.is_too_long();
                if permanent { Verdict::Final } else { Verdict::Retry { asked: None } }
            }
            Fault::Empty | Fault::Malformed { .. } | Fault::Oversized { .. } | Fault::Setup { .. } => {
                Verdict::Final
            }
        }
    }

    /// Whether the endpoint says that the conversation does not fit its window.
    fn is_too_long(&self) -> bool {
        match self {
            Fault::Status { status: 413, .. } => true,
            // Other statuses use such words for passing things ("too many tokens per minute").
            Fault::Status { status: 400 | 422 | 500, complaint, .. } | Fault::InBand { complaint } => {
                complaint.is_too_long()
            }
            Fault::Status { status: 429, complaint, .. } => {
                complaint.message.to_lowercase().contains("request too large")
            }
            _ => false,
        }
    }

    /// The error of a fault that is not tried again. `url` is where it happened, without secrets.
    pub(crate) fn into_error(self, url: &str) -> ProviderError {
        let too_long = self.is_too_long();
        let url = url.to_owned();
        match self {
            Fault::Status { complaint, .. } | Fault::InBand { complaint } if too_long => {
                ProviderError::ContextLength { message: complaint.message }
            }
            Fault::Connect { reason } => ProviderError::Unreachable { url, reason },
            Fault::Status { status, complaint, .. } => {
                ProviderError::Refused { url, status, message: complaint.message }
            }
            Fault::InBand { complaint } => {
                ProviderError::Refused { url, status: 200, message: complaint.message }
            }
            Fault::Empty | Fault::Oversized { .. } => {
                ProviderError::Malformed { url, reason: self.to_string() }
            }
            Fault::Cut { reason } | Fault::Malformed { reason } => ProviderError::Malformed { url, reason },
            Fault::Setup { reason } => ProviderError::Setup(reason),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(status: u16, code: Option<&str>, message: &str) -> Fault {
        let complaint = Complaint { code: code.map(str::to_owned), ..Complaint::words(message) };
        Fault::Status { status, complaint, retry_after: None }
    }

    fn retried(fault: &Fault) -> bool {
        matches!(fault.verdict(), Verdict::Retry { .. })
    }

    #[test]
    fn statuses_that_pass_are_retried_and_others_not() {
        for passing in [408, 409, 429, 500, 502, 503, 529] {
            assert!(retried(&status(passing, None, "busy")), "{passing}");
        }
        for permanent in [301, 400, 401, 402, 403, 404, 413, 422] {
            assert!(!retried(&status(permanent, None, "no")), "{permanent}");
        }
    }

    #[test]
    fn money_is_never_waited_for() {
        assert!(!retried(&status(429, Some("insufficient_quota"), "You exceeded your current quota")));
        let kind = Complaint { kind: Some("insufficient_quota".into()), ..Complaint::words("no") };
        assert!(!retried(&Fault::InBand { complaint: kind }));
    }

    #[test]
    fn a_conversation_that_is_too_long_is_an_error_of_its_own() {
        for fault in [
            status(400, Some("context_length_exceeded"), "no"),
            status(400, None, "This model's maximum context length is 8192 tokens."),
            status(413, None, "payload too large"),
            status(429, None, "Request too large for gpt-4o on tokens per min (TPM): Limit 30000"),
            Fault::InBand { complaint: Complaint::words("prompt is too long: 9 > 8") },
        ] {
            assert!(!retried(&fault), "{fault}");
            let error = fault.into_error("http://x");
            assert!(matches!(error, ProviderError::ContextLength { .. }), "{error}");
        }
        assert!(retried(&status(429, None, "too many tokens per minute")));
    }

    #[test]
    fn an_error_inside_a_reply_passes_unless_its_code_says_otherwise() {
        let coded = |code: &str| Fault::InBand {
            complaint: Complaint { code: Some(code.to_owned()), ..Complaint::words("x") },
        };
        assert!(retried(&coded("502")));
        assert!(retried(&coded("server_error")));
        assert!(!retried(&coded("401")));
        assert!(matches!(coded("401").into_error("u"), ProviderError::Refused { status: 200, .. }));
    }

    #[test]
    fn a_generation_that_could_not_be_read_is_asked_for_again() {
        let complaint = Complaint { generation: Some("<function=".into()), ..Complaint::words("failed") };
        assert!(retried(&Fault::Status { status: 400, complaint, retry_after: None }));
    }
}
