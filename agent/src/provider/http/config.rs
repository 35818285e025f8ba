//! How to reach an endpoint and how to talk to it, as settings say it.

use std::collections::BTreeMap;
use std::time::Duration;

use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::endpoint::host_and_path;
use crate::provider::dialect::{Dialect, DialectSettings, Echo};
use crate::provider::quirks::Learnt;
use crate::provider::retry::RetryPolicy;
use crate::provider::wire::Wire;

/// The longest silence, unless it is set otherwise.
pub(crate) const IDLE: Duration = Duration::from_secs(120);

/// How to reach an endpoint, and how to talk to it.
#[derive(Clone)]
pub struct HttpConfig {
    /// Usually ends in `/v1`; a `/` at its end and the path of a wire are trimmed, a query is kept.
    pub base_url: String,
    /// The model's name as the endpoint knows it.
    pub model: String,
    /// The key, sent to the host of the base URL only.
    pub api_key: Option<SecretString>,
    /// Where the key was found, for people.
    pub key_from: Option<String>,
    /// Further headers of every request; one that carries a key replaces the key.
    pub headers: BTreeMap<String, String>,
    /// The wire; `None` is that of the dialect, or what a refusal names.
    pub(crate) wire: Option<Wire>,
    /// What is known better than the table of dialects.
    pub(crate) dialect: DialectSettings,
    /// The model's window in tokens, where it is set.
    pub window: Option<u64>,
    /// Fields that are merged into the body of every request, last.
    pub request_body: Map<String, Value>,
    /// Names the runs that share a prompt prefix; at most 64 characters.
    pub cache_key: String,
    /// What earlier runs of the thread have learnt of any endpoint and model, the latest first.
    pub(crate) learnt: Vec<Learnt>,
    /// Whether to ask for a stream.
    pub stream: bool,
    /// The longest silence of a stream; a reply that does not stream has five times as long.
    pub idle: Duration,
    /// The role that runs, told to loopback addresses only.
    pub role: String,
    /// How many steps the thread has before it, told to loopback addresses only; none outside a run.
    pub step: Option<usize>,
    /// Which of the model's reasoning is sent back to it.
    pub(crate) echo_reasoning: EchoReasoning,
    /// How failures are tried again.
    pub(crate) retry: RetryPolicy,
}

impl HttpConfig {
    /// The defaults: streaming, 120 s of silence, no key.
    pub(crate) fn new(base_url: impl Into<String>, model: impl Into<String>) -> HttpConfig {
        HttpConfig {
            base_url: base_url.into(),
            model: model.into(),
            api_key: None,
            key_from: None,
            headers: BTreeMap::new(),
            wire: None,
            dialect: DialectSettings::default(),
            window: None,
            request_body: Map::new(),
            cache_key: String::new(),
            learnt: Vec::new(),
            stream: true,
            idle: IDLE,
            role: String::new(),
            step: None,
            echo_reasoning: EchoReasoning::Auto,
            retry: RetryPolicy::default(),
        }
    }

    /// How to talk to the endpoint, before anything was learnt.
    pub(crate) fn dialect(&self) -> Dialect {
        let (host, path) = host_and_path(&self.base_url).unwrap_or_default();
        let mut dialect = self.dialect.over(Dialect::of(&host, &path, &self.model));
        let wire = self.wire.unwrap_or(dialect.wire);
        dialect = dialect.on(wire);
        match self.echo_reasoning {
            EchoReasoning::Auto => {}
            EchoReasoning::Never => (dialect.echo, dialect.echoes_native) = (Echo::Never, false),
            EchoReasoning::WithToolCalls => dialect.echo = Echo::WithToolCalls,
            EchoReasoning::Always => dialect.echo = Echo::Always,
        }
        dialect
    }
}

/// Which of the model's reasoning is sent back to it. Endpoints differ: most ignore it, some refuse it, some refuse
/// a conversation without it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum EchoReasoning {
    /// As the endpoint's dialect says, or its refusal.
    #[default]
    Auto,
    /// None.
    Never,
    /// That of turns with tool calls.
    WithToolCalls,
    /// All.
    Always,
}
