//! The settings of a run as its record says them, for whoever plays it again: no file, no environment and no key has a part in
//! them.
//!
//! Apart from `recorded`, by which an interrupted run goes on under what is asked for now.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use uwf_engine::Env;
use uwf_engine::record::{RecordedEndpoint, RecordedProvider, RecordedSettings};

use super::provenance::SettingSource;
use super::{
    Endpoint, Flags, ProviderSettings, Settings, SettingsError, SnapshotSettings, WindowSize, WindowSource,
    recorded,
};
use crate::provider::dialect::DialectSettings;
use crate::provider::wire::Wire;
use crate::provider::{EchoReasoning, HttpConfig, RetryPolicy};

/// What of an endpoint somebody has set, and what therefore counts for more than the table of dialects.
#[derive(Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct SetOfEndpoint {
    #[serde(skip_serializing_if = "Option::is_none")]
    wire: Option<Wire>,
    #[serde(skip_serializing_if = "is_default")]
    dialect: DialectSettings,
    #[serde(skip_serializing_if = "is_default")]
    echo_reasoning: EchoReasoning,
    #[serde(skip_serializing_if = "Option::is_none")]
    context_window: Option<u64>,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl Endpoint {
    /// What of it is set; null where nothing is.
    pub(super) fn set(&self) -> Value {
        let set = SetOfEndpoint {
            wire: self.wire,
            dialect: self.dialect.clone(),
            echo_reasoning: self.echo_reasoning,
            context_window: self.context_window.as_ref().map(|(size, _)| *size),
        };
        if is_default(&set) { Value::Null } else { json!(set) }
    }

    /// An endpoint on record, and a model of it.
    fn on_record(recorded: RecordedEndpoint, model: &str) -> Endpoint {
        let set: SetOfEndpoint = serde_json::from_value(recorded.set).unwrap_or_default();
        let base_url = recorded.base_url.trim_end_matches(recorded::QUERY);
        let HttpConfig { headers, .. } = HttpConfig::new(base_url, model);
        Endpoint {
            base_url: base_url.to_owned(),
            model: model.to_owned(),
            api_key: None,
            key_from: None,
            wire: set.wire,
            dialect: set.dialect,
            request_body: recorded.request_body.as_object().cloned().unwrap_or_default(),
            context_window: set.context_window.map(|size| (size, SettingSource::Default)),
            headers,
            stream: recorded.stream,
            echo_reasoning: set.echo_reasoning,
            idle: Duration::from_secs(recorded.idle_seconds),
            retry: RetryPolicy::default(),
        }
    }
}

impl Settings {
    /// The settings that a run began with, or went on with. `home` is a directory without settings.
    ///
    /// # Errors
    /// What on record is no setting.
    pub(crate) fn on_record(settings: &Value, home: &Path) -> Result<Settings, SettingsError> {
        let script = Some(PathBuf::from("record"));
        let flags = Flags { mock: script, ..Flags::default() }.or_recorded(settings);
        let loaded = Settings::load(flags, &Env::default(), home)?;
        let RecordedSettings { provider, extract, extract_from, context_window, window_from, prices, .. } =
            RecordedSettings::of(settings.clone());
        let from = window_from.as_deref().and_then(WindowSource::named);
        let window = context_window.zip(from).map(|(size, from)| WindowSize { size, from });
        let extract = extract.zip(extract_from);
        let provider = match provider {
            RecordedProvider::Endpoint(endpoint) => {
                ProviderSettings::Http(Box::new(Endpoint::on_record(endpoint, &loaded.model)))
            }
            RecordedProvider::Script { .. } | RecordedProvider::Other(_) => loaded.provider,
        };
        Ok(Settings {
            provider,
            extract: extract.map(|(model, endpoint)| Endpoint::on_record(endpoint, &model)),
            prices: serde_json::from_value(prices).ok(),
            window: window.unwrap_or(loaded.window),
            snapshots: SnapshotSettings { enabled: false, ..loaded.snapshots },
            ..loaded
        })
    }
}
