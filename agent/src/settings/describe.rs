//! What is said of the settings: to the journal and the record everything but keys and headers, and which secrets are in
//! them.
//!
//! Apart because it is the other way round: from what holds to what may be shown.

use secrecy::ExposeSecret;
use serde_json::{Number, Value, json};
use uwf_engine::record;
use uwf_store::json::sorted;
use uwf_store::sounds_secret;

use super::{Endpoint, Limits, McpServer, ProviderSettings, Settings, recorded};
use crate::additions::OwnProvider;
use crate::fetch::FetchPolicy;
use crate::secrets::{Secrets, secret_texts};
use crate::usd::Usd;

impl Settings {
    /// The settings of a run without behaviours.
    #[cfg(test)]
    pub(crate) fn describe(&self) -> Value {
        self.describe_run(None)
    }

    /// The settings as the journal and the record keep them: everything but keys and headers; and the behaviour of a script
    /// that was drawn.
    pub(crate) fn describe_run(&self, behaviour: Option<&str>) -> Value {
        let behaviour = behaviour.map(str::to_owned);
        let provider = match &self.provider {
            ProviderSettings::Mock(script) => {
                let mock = script.path.display().to_string();
                record::RecordedProvider::Script { mock, seed: script.seed, behaviour }
            }
            ProviderSettings::Http(endpoint) => {
                record::RecordedProvider::Endpoint(self.endpoint_on_record(endpoint))
            }
            ProviderSettings::Own(OwnProvider::Script(script)) => {
                let seed = Some(script.seed()).filter(|seed| *seed != 0);
                record::RecordedProvider::Script { mock: script.name().to_owned(), seed, behaviour }
            }
            ProviderSettings::Own(own) => record::RecordedProvider::Other(json!({"code": own.name()})),
        };
        let seconds = self.limits.time.and_then(|time| match time.subsec_nanos() {
            0 => Some(Number::from(time.as_secs())),
            _ => Number::from_f64(time.as_secs_f64()),
        });
        let Limits { turns, tokens, usd, .. } = self.limits;
        let usd = usd.map(Usd::in_dollars);
        sorted(json!(record::RecordedSettings {
            provider,
            model: Some(self.model.clone()),
            extract: self.extract.as_ref().map(|endpoint| endpoint.model.clone()),
            extract_from: self.extract.as_ref().map(|endpoint| self.endpoint_on_record(endpoint)),
            sampling: json!(self.sampling),
            context_window: Some(self.window.size),
            window_from: Some(self.window.from.as_str().to_owned()),
            prices: json!(self.prices),
            budget: Some(record::RecordedBudget { turns: Some(turns), tokens, seconds, usd }),
            tools: self.tools.clone(),
            role: json!(self.permissions),
            sandbox: self.sandbox.describe(),
            snapshots: self.snapshots.describe(),
            mcp: self.mcp.iter().map(McpServer::describe).collect(),
            fetch: json!(self.fetch.as_ref().map(FetchPolicy::describe)),
            ..record::RecordedSettings::default()
        }))
    }

    fn endpoint_on_record(&self, endpoint: &Endpoint) -> record::RecordedEndpoint {
        let dialect = endpoint.dialect();
        record::RecordedEndpoint {
            base_url: without_query(&endpoint.base_url),
            stream: endpoint.stream,
            wire: dialect.wire.as_str().to_owned(),
            dialect: dialect.name.to_owned(),
            request_body: self.secrets().clean_value(json!(endpoint.request_body)),
            idle_seconds: endpoint.idle.as_secs(),
            retry: record::Retry {
                tries: endpoint.retry.tries.into(),
                seconds: endpoint.retry.budget.as_secs(),
            },
            set: endpoint.set(),
        }
    }

    /// What must never be shown, recorded or handed to a command.
    pub fn secrets(&self) -> Secrets {
        let mut secrets = Secrets::default();
        let main = self.provider.endpoint();
        for Endpoint { base_url, api_key, headers, request_body, .. } in main.into_iter().chain(&self.extract)
        {
            request_body.iter().for_each(|(name, value)| {
                let field = json!({ name: value });
                secret_texts(&field).into_iter().for_each(|text| secrets.add(text));
            });
            api_key.iter().for_each(|key| secrets.add(key.expose_secret()));
            headers.iter().filter(|(name, _)| sounds_secret(name)).for_each(|(_, value)| secrets.add(value));
            let url = reqwest::Url::parse(base_url).ok();
            let query = url.iter().flat_map(reqwest::Url::query_pairs);
            query.filter(|(name, _)| sounds_secret(name)).for_each(|(_, value)| secrets.add(&value));
        }
        self.mcp.iter().for_each(|server| server.secrets(&mut secrets));
        secrets
    }
}

/// A query may hold a key.
pub(super) fn without_query(base_url: &str) -> String {
    match base_url.split_once('?') {
        Some((shown, _)) => format!("{shown}{}", recorded::QUERY),
        None => base_url.to_owned(),
    }
}
