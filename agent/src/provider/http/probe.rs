//! Small questions to an endpoint: which models it serves, and how large the window is that it has loaded one with.
//!
//! Apart from completions because each is tried once and read generously: many endpoints list no models, and what the
//! servers people run themselves tell of their window has a place of its own in each.

use std::time::Duration;

use async_openai::config::Config;
use futures_util::StreamExt;
use serde_json::Value;
use tokio::time::timeout;

use super::HttpProvider;
use super::body::{next, take};
use super::network_error::attempt_error;
use super::transport::refusal;
use crate::provider::ProviderError;
use crate::provider::attempt_error::AttemptError;

/// How long the answer may take.
const PATIENCE: Duration = Duration::from_secs(15);

/// How long a run waits for what it can do without.
const SHORT_PATIENCE: Duration = Duration::from_secs(3);

/// No list of models is longer, in bytes.
const LIST_LIMIT: usize = 16 << 20;

/// The fields in which servers tell the window of a model; what is loaded stands before what could be.
const WINDOWS: [&str; 8] = [
    "loaded_context_length",
    "max_model_len",
    "context_length",
    "context_window",
    "max_context_length",
    "max_input_tokens",
    "inputTokenLimit",
    "n_ctx",
];

/// Where servers that people run themselves tell it: Ollama, llama.cpp, LM Studio.
const LOCAL: [&str; 3] = ["/api/ps", "/props", "/api/v0/models"];

/// A model that an endpoint lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Served {
    /// Its name.
    pub id: String,
    /// Its window in tokens, where told.
    pub window: Option<u64>,
}

impl HttpProvider {
    /// The models that the endpoint lists; `None` where it answers but has no such list.
    ///
    /// # Errors
    /// When nobody answers, or the answer is a refusal.
    pub async fn models(&self) -> Result<Option<Vec<Served>>, ProviderError> {
        let [url, shown] = self.endpoint.models(self.dialect.wire);
        match timeout(PATIENCE, self.get(&url, true)).await {
            Ok(Err(AttemptError::Status { status: 404 | 405, .. })) => Ok(None),
            Ok(Ok(list)) => Ok(list.and_then(|list| served(&list))),
            Ok(Err(error)) => Err(error.into_error(&shown).with_key(self.config.key_from.as_deref())),
            Err(_) => {
                let reason = format!("no answer within {} s", PATIENCE.as_secs());
                Err(ProviderError::Unreachable { url: shown, reason })
            }
        }
    }

    /// The window that the server has for the model, where it tells. It never fails: a run goes on without.
    pub async fn served_window(&self) -> Option<u64> {
        timeout(SHORT_PATIENCE, self.find_window()).await.ok().flatten()
    }

    async fn find_window(&self) -> Option<u64> {
        // A server of one's own speaks no TLS, and is asked what it has loaded: that is less than the model can.
        if !self.endpoint.is_tls {
            for path in LOCAL {
                let answer = self.get(&format!("{}{path}", self.endpoint.server()), false).await;
                if let Some(window) =
                    answer.ok().flatten().and_then(|answer| loaded(&answer, &self.config.model))
                {
                    return Some(window);
                }
            }
        }
        let [url, _] = self.endpoint.models(self.dialect.wire);
        let list = self.get(&url, true).await.ok().flatten()?;
        served(&list)?.into_iter().find(|served| served.is(&self.config.model))?.window
    }

    /// The answer to a question; the key goes to the API's own paths alone.
    async fn get(&self, url: &str, with_key: bool) -> Result<Option<Value>, AttemptError> {
        let endpoint = self.endpoint.for_request(&self.dialect, &[]);
        let mut request = self.http.get(url);
        if with_key {
            request = request.headers(endpoint.headers()).query(&endpoint.query());
        }
        let response = request.send().await.map_err(|error| attempt_error(&error))?;
        if !response.status().is_success() {
            return Err(refusal(response, &endpoint.secrets).await);
        }
        let (mut body, mut bytes) = (response.bytes_stream().boxed(), Vec::new());
        while let Some(piece) = next(&mut body, PATIENCE).await? {
            take(&mut bytes, &piece, LIST_LIMIT)?;
        }
        Ok(serde_json::from_slice(&bytes).ok())
    }
}

impl Served {
    /// Whether this is the model of that name: Ollama lists names with a tag, and takes those without.
    pub fn is(&self, model: &str) -> bool {
        self.id == model || self.id.strip_suffix(":latest") == Some(model)
    }
}

/// The models in a list, in the shape that all vendors have taken over.
fn served(list: &Value) -> Option<Vec<Served>> {
    let models = list["data"].as_array()?;
    let served = |model: &Value| {
        let id = model["id"].as_str()?;
        // Google lists names of resources, and takes those of models.
        let id = id.strip_prefix("models/").unwrap_or(id).to_owned();
        Some(Served { id, window: window_of(model) })
    };
    Some(models.iter().filter_map(served).collect())
}

/// What a server of one's own has loaded the model with.
fn loaded(answer: &Value, model: &str) -> Option<u64> {
    let lists = ["models", "data"].iter().filter_map(|key| answer[*key].as_array());
    let is_it = |entry: &&Value| {
        let named = |key: &str| entry[key].as_str();
        let names = ["id", "name", "model"].into_iter().filter_map(named);
        names.into_iter().any(|name| name == model || name.strip_suffix(":latest") == Some(model))
    };
    let listed = lists.flatten().find(is_it).and_then(window_of);
    listed.or_else(|| window_of(&answer["default_generation_settings"]))
}

fn window_of(model: &Value) -> Option<u64> {
    let places = [model, &model["top_provider"], &model["limits"]];
    let window = |key: &&str| places.iter().find_map(|place| place[*key].as_u64());
    WINDOWS.iter().find_map(window).filter(|window| *window >= 256)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_server_tells_its_window_in_its_own_way() {
        for (model, window) in [
            (json!({"id": "m", "max_model_len": 32_768}), Some(32_768)),
            (json!({"id": "m", "context_length": 131_072, "top_provider": {}}), Some(131_072)),
            (json!({"id": "m", "context_window": 8192}), Some(8192)),
            (json!({"id": "m", "max_input_tokens": 200_000}), Some(200_000)),
            (json!({"id": "m", "context_length": "many"}), None),
            (json!({"id": "m", "context_length": 0}), None),
            (json!({"id": "m"}), None),
        ] {
            let list = served(&json!({"data": [{"no": "name"}, model]})).unwrap();
            assert_eq!(list, [Served { id: "m".into(), window }], "{model}");
        }
        assert_eq!(served(&json!({"models": []})), None);
    }

    #[test]
    fn what_is_loaded_counts_not_what_could_be() {
        let ollama =
            json!({"models": [{"name": "qwen3:latest", "model": "qwen3:latest", "context_length": 4096}]});
        let studio =
            json!({"data": [{"id": "q", "max_context_length": 32_768, "loaded_context_length": 4096}]});
        let llama = json!({"default_generation_settings": {"n_ctx": 4096}, "total_slots": 1});
        for (answer, model) in
            [(&ollama, "qwen3"), (&ollama, "qwen3:latest"), (&studio, "q"), (&llama, "any")]
        {
            assert_eq!(loaded(answer, model), Some(4096), "{answer}");
        }
        assert_eq!(loaded(&ollama, "other"), None);
    }
}
