//! `providers` and `models`: where models are served, how they are asked, what they are called.
//!
//! Apart because these two grow with what endpoints demand. What the values mean is for the agent to say; here they are
//! read and checked.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::masked;

/// An endpoint where models are served.
#[derive(Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProviderConfig {
    /// Its base URL, `https://api.openai.com/v1` for example.
    pub base_url: String,
    /// The key itself.
    #[serde(default)]
    pub api_key: Option<String>,
    /// The environment variable that holds the key.
    #[serde(default)]
    pub api_key_env: Option<String>,
    /// The API it is asked over: `auto`, `chat`, `responses` or `messages`.
    #[serde(default)]
    pub wire: Option<String>,
    /// The name of the set of habits it has, where its host does not tell.
    #[serde(default)]
    pub dialect: Option<String>,
    /// Headers of every request; their values may be secret.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// Fields of every request, beside those that are always there. A field without a value (null) is left out.
    #[serde(default)]
    pub request_body: Map<String, Value>,
}

impl fmt::Debug for ProviderConfig {
    /// Without the key and the values of headers.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("ProviderConfig")
            .field("base_url", &self.base_url)
            .field("api_key", &self.api_key.as_ref().map(|_| "***"))
            .field("api_key_env", &self.api_key_env)
            .field("wire", &self.wire)
            .field("dialect", &self.dialect)
            .field("headers", &self.headers.keys().collect::<Vec<_>>())
            .field("request_body", &masked(&Value::Object(self.request_body.clone()), ""))
            .finish()
    }
}

/// A model of a provider.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelConfig {
    /// The provider's name.
    pub provider: String,
    /// The model as that provider calls it.
    pub name: String,
    /// Fields of every request to this model; they win over the provider's.
    #[serde(default)]
    pub request_body: Map<String, Value>,
    /// The context window in tokens, where what is known of the model is not so.
    #[serde(default)]
    pub context_window: Option<u64>,
}

/// The shape of one entry of `providers`.
pub(super) fn provider_shape() -> Value {
    let text = json!({"type": "string", "minLength": 1});
    json!({"type": "object", "required": ["baseUrl"], "properties": {
        "baseUrl": text, "apiKey": text, "apiKeyEnv": text,
        "wire": {"enum": ["auto", "chat", "responses", "messages"]},
        "dialect": text,
        "headers": {"type": "object", "additionalProperties": {"type": "string"}},
        "requestBody": {"type": "object", "additionalProperties": true},
    }})
}

/// The shape of one entry of `models`.
pub(super) fn model_shape() -> Value {
    let text = json!({"type": "string", "minLength": 1});
    json!({"type": "object", "required": ["provider", "name"], "properties": {
        "provider": text, "name": text,
        "requestBody": {"type": "object", "additionalProperties": true},
        "contextWindow": {"type": "integer", "minimum": 1000},
    }})
}
