//! What was set for a run, as its record and its journal keep it: everything but keys and headers.
//!
//! What is an agent's own business stays JSON. A run that goes on has settings that an earlier version may have written:
//! so the node keeps the value as it is, and this is how it is written anew and read.

use serde::{Deserialize, Serialize};
use serde_json::{Number, Value, json};

use super::lenient;

/// What was set for a run. Read it with [`RecordedSettings::of`]: plain deserialising refuses the whole for one field
/// that is something else.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RecordedSettings {
    /// Who completes.
    pub provider: RecordedProvider,
    /// The model's name as its endpoint knows it.
    pub model: Option<String>,
    /// The model that is asked for the fields of an answer that is none.
    pub extract: Option<String>,
    /// Where that model is; absent where there is none, and in settings of earlier versions.
    #[serde(deserialize_with = "lenient::field", skip_serializing_if = "Option::is_none")]
    pub extract_from: Option<RecordedEndpoint>,
    /// How the model samples.
    pub sampling: Value,
    /// How many tokens the model takes at once.
    pub context_window: Option<u64>,
    /// Who says so: `set`, `catalogue` or `assumed`; absent in settings of earlier versions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window_from: Option<String>,
    /// What tokens cost.
    pub prices: Value,
    /// What the run may spend; none where nothing is said of that.
    #[serde(deserialize_with = "lenient::record")]
    pub budget: Option<RecordedBudget>,
    /// The tools it has; all of them where none are named.
    pub tools: Option<Vec<String>>,
    /// How the role narrows all this.
    pub role: Value,
    /// What commands are to run under.
    pub sandbox: Value,
    /// What is captured of the workspace; absent in settings of earlier versions.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub snapshots: Value,
    /// The MCP servers that it had, without what may be a secret; absent where there were none.
    #[serde(deserialize_with = "lenient::field", skip_serializing_if = "Vec::is_empty")]
    pub mcp: Vec<Value>,
    /// What could be fetched from the web; absent where nothing could.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub fetch: Value,
    /// What was found out about the endpoint on the way; absent where nothing was.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub learnt: Value,
    /// What held before each interruption, the first one first; absent where the run was not interrupted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub interrupted: Vec<Interrupted>,
}

/// The agent of a visit that was played by an adapter, by what was set for it.
pub fn adapted(settings: &Value) -> Option<&str> {
    settings["agent"].as_str().filter(|_| settings["definition"].is_string())
}

/// Who completes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum RecordedProvider {
    /// A script in the place of a model.
    Script {
        /// The file.
        mock: String,
        /// What its behaviours were drawn from; absent where nobody said.
        #[serde(default, deserialize_with = "lenient::field", skip_serializing_if = "Option::is_none")]
        seed: Option<u64>,
        /// The behaviour that was drawn; absent where there was one way to go.
        #[serde(default, deserialize_with = "lenient::field", skip_serializing_if = "Option::is_none")]
        behaviour: Option<String>,
    },
    /// An endpoint.
    Endpoint(RecordedEndpoint),
    /// What is neither.
    Other(Value),
}

impl Default for RecordedProvider {
    fn default() -> RecordedProvider {
        RecordedProvider::Other(Value::Null)
    }
}

/// Where completions come from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RecordedEndpoint {
    /// Without a query, which may hold a key.
    pub base_url: String,
    /// Whether it streams.
    #[serde(default, deserialize_with = "lenient::field")]
    pub stream: bool,
    /// The wire that is spoken.
    #[serde(default, deserialize_with = "lenient::field")]
    pub wire: String,
    /// The vendor's dialect of it.
    #[serde(default, deserialize_with = "lenient::field")]
    pub dialect: String,
    /// What every request has beside what the wire says.
    #[serde(default)]
    pub request_body: Value,
    /// How long it may be silent, in seconds.
    #[serde(default, deserialize_with = "lenient::field")]
    pub idle_seconds: u64,
    /// How often a request is tried again.
    #[serde(default, deserialize_with = "lenient::field")]
    pub retry: Retry,
    /// What of all this somebody has set, in the words of the settings; absent where nothing was.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub set: Value,
}

/// How often a request is tried again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retry {
    /// At most so many tries.
    pub tries: u64,
    /// At most so long, in seconds.
    pub seconds: u64,
}

/// What a run may spend; what is none is unlimited. Read as a part of the settings, by [`RecordedSettings::of`]: plain
/// deserialising is strict.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RecordedBudget {
    /// Turns of the model.
    pub turns: Option<u64>,
    /// Tokens, sent and received together.
    pub tokens: Option<u64>,
    /// Wall time in seconds; whole ones are an integer.
    pub seconds: Option<Number>,
    /// Money.
    pub usd: Option<f64>,
}

/// A stretch of a run that was cut off, with what its commands ran under.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Interrupted {
    /// Its first sign of life, in milliseconds since the epoch.
    pub started_at_ms: u64,
    /// Its last sign of life, in milliseconds since the epoch.
    pub last_at_ms: u64,
    /// What commands ran under.
    pub sandbox: Value,
}

impl RecordedSettings {
    /// What a value says of settings, whoever wrote it.
    pub fn of(value: Value) -> RecordedSettings {
        lenient::object(value)
    }

    /// The settings that a run began with, whichever version wrote them, with what came of it.
    pub fn completed(mut begun: Value, learnt: Option<Value>, interrupted: &[Interrupted]) -> Value {
        if let Some(learnt) = learnt {
            begun["learnt"] = learnt;
        }
        if !interrupted.is_empty() {
            begun["interrupted"] = json!(interrupted);
        }
        begun
    }
}

impl RecordedProvider {
    /// The script that stands in for a model.
    pub fn script(&self) -> Option<&str> {
        match self {
            RecordedProvider::Script { mock, .. } => Some(mock),
            RecordedProvider::Endpoint(_) | RecordedProvider::Other(_) => None,
        }
    }

    /// What the behaviours of the script were drawn from.
    pub fn seed(&self) -> Option<u64> {
        match self {
            RecordedProvider::Script { seed, .. } => *seed,
            RecordedProvider::Endpoint(_) | RecordedProvider::Other(_) => None,
        }
    }

    /// The endpoint's base URL.
    pub fn base_url(&self) -> Option<&str> {
        match self {
            RecordedProvider::Endpoint(endpoint) => Some(&endpoint.base_url),
            RecordedProvider::Script { .. } | RecordedProvider::Other(_) => None,
        }
    }
}
