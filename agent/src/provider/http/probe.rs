//! One small question to an endpoint: which models it serves. For people who wonder whether a run would reach it.
//!
//! Apart from completions because it is tried once and read generously: many endpoints list no models.

use std::time::Duration;

use async_openai::config::Config;
use serde_json::Value;
use tokio::time::timeout;

use super::HttpProvider;
use super::transport::{fault_of, refusal};
use crate::provider::ProviderError;
use crate::provider::fault::Fault;

/// How long the answer may take.
const PATIENCE: Duration = Duration::from_secs(15);

impl HttpProvider {
    /// The models that the endpoint lists; `None` where it answers but has no such list.
    ///
    /// # Errors
    /// When nobody answers, or the answer is a refusal.
    pub(crate) async fn models(&self) -> Result<Option<Vec<String>>, ProviderError> {
        let url = self.endpoint.shown.replace("/chat/completions", "/models");
        match timeout(PATIENCE, self.ask()).await {
            Ok(Err(Fault::Status { status: 404 | 405, .. })) => Ok(None),
            Ok(answer) => answer.map_err(|fault| fault.into_error(&url)),
            Err(_) => {
                let reason = format!("no answer within {} s", PATIENCE.as_secs());
                Err(ProviderError::Unreachable { url, reason })
            }
        }
    }

    async fn ask(&self) -> Result<Option<Vec<String>>, Fault> {
        let request = self.http.get(self.endpoint.url("/models")).headers(self.endpoint.headers());
        let response =
            request.query(&self.endpoint.query()).send().await.map_err(|error| fault_of(&error))?;
        if !response.status().is_success() {
            return Err(refusal(response, &self.endpoint.secrets).await);
        }
        let Ok(list) = response.json::<Value>().await else { return Ok(None) };
        let Some(models) = list["data"].as_array() else { return Ok(None) };
        Ok(Some(models.iter().filter_map(|model| model["id"].as_str().map(str::to_owned)).collect()))
    }
}
