//! Where the model is and which key is meant for it: a key goes to no host but the one it was configured for.

use std::collections::BTreeMap;
use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use uwf_engine::Env;
use uwf_engine::config::{Config, ProviderConfig};

use super::file::{File, FileProvider};
use super::{Flags, SettingsError, begun, without_query};
use crate::provider::{EchoReasoning, HttpConfig, IDLE, RetryPolicy};

/// An OpenAI-compatible endpoint.
#[derive(Clone, Debug)]
pub(crate) struct Endpoint {
    /// Where, up to and without `/chat/completions`.
    pub base_url: String,
    /// The key meant for this host.
    pub api_key: Option<SecretString>,
    /// Headers to send along.
    pub headers: BTreeMap<String, String>,
    /// Whether to ask for a stream.
    pub stream: bool,
    /// Which of the model's reasoning it gets back.
    pub echo_reasoning: EchoReasoning,
    /// The longest silence of a stream.
    pub idle: Duration,
    /// How failures are tried again.
    pub retry: RetryPolicy,
}

impl Endpoint {
    /// The same as the provider takes it.
    pub(crate) fn config(&self) -> HttpConfig {
        let Endpoint { base_url, api_key, headers, stream, echo_reasoning, idle, retry } = self.clone();
        HttpConfig { api_key, headers, stream, echo_reasoning, idle, retry, ..HttpConfig::new(base_url) }
    }
}

/// The endpoint and the model's name.
pub(super) fn endpoint(
    flags: &Flags,
    file: File,
    env: &Env,
    config: &Config,
) -> Result<(Endpoint, String), SettingsError> {
    let wanted = flags.model.clone().or_else(|| env.text("UWF_MODEL").map(str::to_owned));
    let File { provider, model: file_model, .. } = file;
    let (configured, model) = match provider {
        Some(provider) => (Some(provider), wanted.or(file_model)),
        None => from_config(config, wanted.or(file_model)),
    };
    let base_url = flags.base_url.clone().or_else(|| env.text("UWF_BASE_URL").map(str::to_owned));
    let configured_url = configured.as_ref().map(|provider| provider.base_url.clone());
    let is_configured = |url: &String| configured_url.as_deref().map(without_query).as_ref() == Some(url);
    let begun = flags.begun_at.clone().filter(|url| !is_configured(url));
    let base_url = base_url.or(begun).or_else(|| configured_url.clone()).ok_or_else(|| no_model(config))?;
    if base_url.ends_with(begun::QUERY) {
        let why = "of the interrupted run had a query, which is not kept: pass --base-url again";
        return Err(SettingsError::BaseUrl(why.to_owned()));
    }
    let host = host(&base_url)?;
    let is_host = |url: &str| self::host(url).is_ok_and(|other| other == host);
    let same_host = configured_url.is_some_and(|url| is_host(&url));
    let elsewhere = || config.providers.values().find(|provider| is_host(&provider.base_url)).map(provided);
    let configured = if same_host { configured } else { elsewhere() };
    let same_host = configured.is_some();
    let configured = configured.unwrap_or_default();
    let api_key = key(env, &host, same_host.then_some(&configured))?;
    let endpoint = Endpoint {
        base_url,
        api_key,
        headers: if same_host { configured.headers } else { BTreeMap::new() },
        stream: configured.stream.unwrap_or(true),
        echo_reasoning: configured.echo_reasoning,
        idle: configured.idle_seconds.map_or(IDLE, Duration::from_secs),
        retry: configured.retry.policy(),
    };
    Ok((endpoint, model.ok_or_else(|| no_model(config))?))
}

/// Nothing says which model, or what says it names none.
fn no_model(config: &Config) -> SettingsError {
    let provider_of = |alias: &String| config.providers.get(&config.models.get(alias)?.provider);
    match default_model(config) {
        Some((key, alias)) if provider_of(alias).is_none() => {
            SettingsError::NoSuchModel { key, alias: alias.clone() }
        }
        _ => SettingsError::NoModel,
    }
}

/// The alias that counts where none is wanted, and the setting that gives it.
fn default_model(config: &Config) -> Option<(&'static str, &String)> {
    let of_agents = config.model_overrides.get("agent").map(|alias| ("modelOverrides.agent", alias));
    of_agents.or(config.default_model.as_ref().map(|alias| ("defaultModel", alias)))
}

/// `config.yaml`'s models: the wanted one if it is an alias there, else the one for agents, else the default. A name
/// that is no alias goes to the default's provider as it is.
fn from_config(config: &Config, wanted: Option<String>) -> (Option<FileProvider>, Option<String>) {
    let default = default_model(config).map(|(_, alias)| alias);
    let alias = wanted.as_ref().filter(|name| config.models.contains_key(*name)).or(default);
    let Some(model) = alias.and_then(|alias| config.models.get(alias)) else {
        return (None, wanted);
    };
    let provider = config.providers.get(&model.provider).map(provided);
    let raw = wanted.filter(|name| !config.models.contains_key(name));
    (provider, Some(raw.unwrap_or_else(|| model.name.clone())))
}

/// A provider of `config.yaml`.
pub(super) fn provided(provider: &ProviderConfig) -> FileProvider {
    FileProvider {
        base_url: provider.base_url.clone(),
        api_key: provider.api_key.clone().map(SecretString::from),
        api_key_env: provider.api_key_env.clone(),
        ..FileProvider::default()
    }
}

/// The key for `host`: what was set for this run, else what is configured for this very host; `OPENAI_API_KEY` goes to
/// OpenAI alone. Local servers need none.
fn key(
    env: &Env,
    host: &str,
    configured: Option<&FileProvider>,
) -> Result<Option<SecretString>, SettingsError> {
    let secret = |text: &str| SecretString::from(text.trim().to_owned());
    if let Some(key) = env.text("UWF_API_KEY") {
        return Ok(Some(secret(key)));
    }
    configured_key(env, host, configured)
}

/// The key that is configured for this very host; `OPENAI_API_KEY` is OpenAI's.
pub(super) fn configured_key(
    env: &Env,
    host: &str,
    configured: Option<&FileProvider>,
) -> Result<Option<SecretString>, SettingsError> {
    let secret = |text: &str| SecretString::from(text.trim().to_owned());
    if let Some(key) = configured.and_then(|provider| provider.api_key.as_ref()) {
        return Ok(Some(secret(key.expose_secret())));
    }
    if let Some(name) = configured.and_then(|provider| provider.api_key_env.as_deref()) {
        return env.text(name).map(secret).map(Some).ok_or_else(|| SettingsError::NoKey(name.to_owned()));
    }
    let openai = host.starts_with("https://api.openai.com:");
    Ok(env.text("OPENAI_API_KEY").filter(|_| openai).map(secret))
}

/// Scheme, host and port: what a key is meant for.
pub(super) fn host(base_url: &str) -> Result<String, SettingsError> {
    let refused = |why: &str| SettingsError::BaseUrl(why.to_owned());
    let url =
        reqwest::Url::parse(base_url.trim()).map_err(|error| refused(&format!("is no URL: {error}")))?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(refused(
            "holds a user name or password: give the key by UWF_API_KEY or apiKeyEnv instead",
        ));
    }
    match (url.scheme(), url.host_str()) {
        ("http" | "https", Some(host)) => {
            Ok(format!("{}://{host}:{}", url.scheme(), url.port_or_known_default().unwrap_or_default()))
        }
        _ => Err(refused("must start with http:// or https://")),
    }
}
