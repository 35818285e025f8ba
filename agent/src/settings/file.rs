//! `agents/builtin.yaml`: its shape, and what is in it.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use secrecy::SecretString;
use serde::Deserialize;
use serde_json::{Value, json};
use uwf_engine::config;

use super::SettingsError;
use crate::confinement::FileSandbox;
use crate::prices::Prices;
use crate::provider::{EchoReasoning, RetryPolicy};

/// `agents/builtin.yaml`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct File {
    pub(super) provider: Option<FileProvider>,
    pub(super) model: Option<String>,
    pub(super) context_window: Option<u64>,
    pub(super) prices: BTreeMap<String, Prices>,
    pub(super) budget: FileBudget,
    pub(super) roles: BTreeMap<String, Value>,
    pub(super) sandbox: FileSandbox,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct FileProvider {
    pub(super) base_url: String,
    pub(super) api_key: Option<SecretString>,
    pub(super) api_key_env: Option<String>,
    pub(super) headers: BTreeMap<String, String>,
    pub(super) stream: Option<bool>,
    pub(super) echo_reasoning: EchoReasoning,
    pub(super) idle_seconds: Option<u64>,
    pub(super) retry: FileRetry,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct FileRetry {
    pub(super) tries: Option<u32>,
    pub(super) seconds: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct FileBudget {
    pub(super) turns: Option<u64>,
    pub(super) tokens: Option<u64>,
    pub(super) seconds: Option<u64>,
    pub(super) usd: Option<f64>,
}

impl File {
    /// The file, or nothing where there is none.
    pub(super) fn load(path: &Path) -> Result<File, SettingsError> {
        let value = config::checked(path, &shape())?;
        serde_json::from_value(value).map_err(|_| SettingsError::Invalid {
            path: path.display().to_string(),
            line: None,
            message: "not of the expected shape".to_owned(),
        })
    }
}

/// The shape of `agents/builtin.yaml`; keys that are not ours are left alone.
fn shape() -> Value {
    let text = json!({"type": "string", "minLength": 1});
    let count = json!({"type": "integer", "minimum": 0});
    let some = json!({"type": "integer", "minimum": 1});
    let flag = json!({"type": "boolean"});
    let record = |properties: Value| json!({"type": "object", "properties": properties});
    let closed = |properties: Value| json!({"type": "object", "properties": properties, "additionalProperties": false});
    let provider = json!({
        "baseUrl": text, "apiKey": text, "apiKeyEnv": text, "stream": flag,
        "headers": {"type": "object", "additionalProperties": {"type": "string"}},
        "echoReasoning": {"enum": ["auto", "never", "with-tool-calls", "always"]},
        "idleSeconds": some, "retry": closed(json!({"tries": some, "seconds": count})),
    });
    let amount = json!({"type": "number", "minimum": 0});
    let prices = json!({
        "type": "object", "required": ["input", "output"], "additionalProperties": false,
        "properties": {"input": amount, "output": amount, "cachedInput": amount},
    });
    let paths = json!({"type": "array", "items": text});
    let sandbox = json!({
        "level": {"enum": ["strict", "best-effort", "off"]}, "network": flag, "writable": paths, "readable": paths,
        "gitPrograms": flag, "limits": closed(json!({"processes": some, "fileBytes": some, "memoryBytes": some})),
    });
    record(json!({
        "provider": {"type": "object", "required": ["baseUrl"], "properties": provider},
        "model": text,
        "contextWindow": {"type": "integer", "minimum": 1000},
        "prices": {"type": "object", "additionalProperties": prices},
        "budget": record(json!({"turns": count, "tokens": count, "seconds": count, "usd": amount})),
        "sandbox": closed(sandbox),
        "roles": {"type": "object", "additionalProperties": {"type": "object"}},
    }))
}

impl FileRetry {
    pub(super) fn policy(self) -> RetryPolicy {
        let default = RetryPolicy::default();
        RetryPolicy {
            tries: self.tries.unwrap_or(default.tries),
            budget: self.seconds.map_or(default.budget, Duration::from_secs),
            ..default
        }
    }
}
