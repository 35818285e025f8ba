//! Providers: whatever can complete a conversation. The trait, its errors, and the kinds there are.
//!
//! Apart so that the loop knows one shape only. A provider holds its own retry policy; it never touches the
//! workspace, the journal or the store.

#[cfg(test)]
pub(crate) mod any_order;
mod api_error;
pub(crate) mod attempt_error;
mod call_ids;
pub(crate) mod dialect;
pub(crate) mod fields;
pub(crate) mod http;
pub mod message;
mod mock;
mod model_facts;
pub(crate) mod quirks;
pub(crate) mod recorded;
pub(crate) mod retry;
pub(crate) mod script;
pub(crate) mod sent;
mod trial;
pub(crate) mod wire;
pub(crate) mod wires;

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use attempt_error::AttemptError;
use message::{Completion, Request};
use thiserror::Error;

pub(crate) use http::{EchoReasoning, IDLE, innermost, look_up};
pub use http::{HttpConfig, HttpProvider, Served, host_and_path};
pub(crate) use mock::Mock;
pub(crate) use quirks::Learnt;
pub(crate) use retry::RetryPolicy;
pub use script::Script;
pub(crate) use script::{ScriptPosition, ScriptedPage};
pub use sent::SentRequest;
pub use trial::{Trial, trial};
pub use wire::Wire;

/// What arrives while a completion is under way, for people and event streams; the completion repeats all of it.
#[derive(Clone, Debug, PartialEq)]
pub enum CompletionEvent<'a> {
    /// A piece of the text.
    Text(&'a str),
    /// A piece of the reasoning.
    Reasoning(&'a str),
    /// An attempt failed and is tried again after `wait`.
    Retry {
        /// The attempt that failed, from 1.
        attempt: u32,
        /// How long until the next one.
        wait: Duration,
        /// Why, in words.
        reason: &'a str,
    },
    /// A request goes out: of each attempt, before anything of its reply.
    Sent(&'a SentRequest),
    /// The attempt failed, whatever comes of that.
    Failed(&'a AttemptError),
    /// The endpoint refused something, and is asked otherwise from here on.
    Learnt {
        /// What changes, in words.
        change: &'a str,
        /// The refusal, in words.
        reason: &'a str,
    },
}

/// Whoever receives what arrives.
pub(crate) type EventSink<'a> = &'a mut dyn FnMut(CompletionEvent<'_>);

/// The completion to come.
pub(crate) type Completing<'a> = Pin<Box<dyn Future<Output = Result<Completion, ProviderError>> + 'a>>;

/// Something that completes a conversation.
pub(crate) trait ChatProvider {
    /// Asks for the next turn. `on_event` receives what arrives meanwhile; after a retry the text begins anew.
    fn complete<'a>(&'a mut self, request: Request<'a>, on_event: EventSink<'a>) -> Completing<'a>;

    /// The window that the server has for the model, where it tells.
    fn window<'a>(&'a mut self) -> Pin<Box<dyn Future<Output = Option<u64>> + 'a>> {
        Box::pin(std::future::ready(None))
    }

    /// What the endpoint's refusals have taught up to now, for another run of the same thread.
    fn learnt(&self) -> Option<Learnt> {
        None
    }

    /// Which behaviour of a script was drawn for this run.
    fn behaviour(&self) -> Option<&str> {
        None
    }
}

/// Why there is no completion. No variant carries a key or a header.
#[derive(Debug, Error)]
pub enum ProviderError {
    /// Nobody answers there.
    #[error("the endpoint {url} cannot be reached: {reason}")]
    Unreachable {
        /// The URL that was asked, without its query.
        url: String,
        /// The innermost cause.
        reason: String,
    },
    /// The endpoint refused for good.
    #[error("the endpoint {url} answered {status}: {message}")]
    Refused {
        /// The URL that was asked.
        url: String,
        /// The HTTP status (200 when the error came inside a reply).
        status: u16,
        /// The endpoint's words, cut to a readable length.
        message: String,
    },
    /// Money or a quota is used up: waiting does not mend it.
    #[error("the endpoint {url} answered {status}: {message}")]
    NoCredit {
        /// The URL that was asked.
        url: String,
        /// The HTTP status (200 when the error came inside a reply).
        status: u16,
        /// The endpoint's words.
        message: String,
    },
    /// The endpoint went on failing until the tries or the time were used up.
    #[error("the endpoint {url} failed {}: {last}", times(*.attempts))]
    Exhausted {
        /// The URL that was asked.
        url: String,
        /// How many attempts were made.
        attempts: u32,
        /// The last failure.
        last: String,
    },
    /// The conversation is longer than the model's window.
    #[error("the conversation is longer than the model's context window: {message}")]
    ContextLength {
        /// The endpoint's words.
        message: String,
    },
    /// The reply could not be understood.
    #[error("the reply of {url} is not a completion: {reason}")]
    Malformed {
        /// The URL that was asked.
        url: String,
        /// What was wrong, with the start of the body.
        reason: String,
    },
    /// The provider is not set up rightly (a bad base URL, a key that cannot be a header …).
    #[error("{0}")]
    Setup(String),
    /// A model that is code of the program gave no reply.
    #[error("the model {name} failed: {reason}")]
    Model {
        /// What it is called.
        name: String,
        /// Its own words.
        reason: String,
    },
    /// The mock script does not fit the run.
    #[error("mock script {script}: {reason}")]
    Script {
        /// The script file.
        script: String,
        /// Which entry, and what was expected.
        reason: String,
    },
}

fn times(attempts: u32) -> String {
    if attempts == 1 { "once, with".to_owned() } else { format!("{attempts} times, at last with") }
}

impl ProviderError {
    /// The error with what is known of the key, where the endpoint does not take it: whether one was sent, and from where.
    pub(crate) fn with_key(mut self, from: Option<&str>) -> ProviderError {
        if let ProviderError::Refused { status: 401 | 403, message, .. } = &mut self {
            match from {
                Some(place) => message.push_str(&format!("; the key from {place} was sent")),
                None => message.push_str("; no key was sent"),
            }
        }
        self
    }

    /// What the person can do about it, where there is something to say.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            ProviderError::Unreachable { .. } => {
                Some("check --base-url (or provider.baseUrl) and that the server runs")
            }
            ProviderError::Refused { status: 401 | 403, .. } => {
                Some("check the API key: UWF_API_KEY, or apiKey / apiKeyEnv of the provider")
            }
            ProviderError::NoCredit { .. } => {
                Some("add credit to the account, or raise its limit: waiting does not help")
            }
            ProviderError::Refused { status: 404, .. } => {
                Some("check the base URL (usually ending in /v1) and the model's name")
            }
            ProviderError::Malformed { .. } => {
                Some("check that the base URL is that of a model's API (usually ending in /v1)")
            }
            ProviderError::ContextLength { .. } => Some("use a model with a larger window"),
            ProviderError::Script { .. } => Some("mend the script, or the workflow it is meant for"),
            _ => None,
        }
    }
}
