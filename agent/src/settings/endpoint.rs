//! Where the model is and which key is meant for it: a key goes to no host but the one it was configured for.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use serde_json::{Map, Value};
use uwf_engine::Env;
use uwf_engine::config::{Config, ModelConfig, ProviderConfig};

use super::file::{CONFIG, File, FileProvider, FileWire};
use super::{Flags, SettingsError, begun, without_query};
use crate::provider::dialect::{Dialect, DialectSettings};
use crate::provider::wires::Wire;
use crate::provider::{EchoReasoning, HttpConfig, IDLE, RetryPolicy};

/// An endpoint, and a model of it.
#[derive(Clone)]
pub(crate) struct Endpoint {
    /// Where, up to and without `/chat/completions`.
    pub base_url: String,
    /// The model as the endpoint calls it.
    pub model: String,
    /// The key meant for this host.
    pub api_key: Option<SecretString>,
    /// Where the key was found, for people.
    pub key_from: Option<String>,
    /// The wire, where it is set.
    pub wire: Option<Wire>,
    /// What is set of the dialect.
    pub dialect: DialectSettings,
    /// Fields that every request has beside ours.
    pub request_body: Map<String, Value>,
    /// The model's window, where it is set for this model.
    pub context_window: Option<u64>,
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

impl fmt::Debug for Endpoint {
    /// Without keys, headers and fields of the body: any of these may hold a secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = without_query(&self.base_url);
        f.debug_struct("Endpoint")
            .field("base_url", &place)
            .field("model", &self.model)
            .finish_non_exhaustive()
    }
}

impl Endpoint {
    /// How it is talked to, before anything was learnt.
    pub(crate) fn dialect(&self) -> Dialect {
        self.config().dialect()
    }

    /// The same as the provider takes it.
    pub(crate) fn config(&self) -> HttpConfig {
        let Endpoint { base_url, model, api_key, key_from, wire, dialect, request_body, .. } = self.clone();
        let (headers, retry) = (self.headers.clone(), self.retry.clone());
        let Endpoint { stream, echo_reasoning, idle, .. } = *self;
        HttpConfig {
            api_key,
            key_from,
            headers,
            wire,
            dialect,
            window: self.context_window,
            request_body,
            stream,
            echo_reasoning,
            idle,
            retry,
            ..HttpConfig::new(base_url, model)
        }
    }
}

/// The endpoint and the model's name.
pub(super) fn endpoint(
    flags: &Flags,
    file: File,
    env: &Env,
    config: &Config,
) -> Result<Endpoint, SettingsError> {
    let File { provider, model: file_model, mut models, .. } = file;
    let typed_url = flags.base_url.clone().or_else(|| env.text("UWF_BASE_URL").map(str::to_owned));
    let wanted = flags.model.clone().or_else(|| env.text("UWF_MODEL").map(str::to_owned));
    let of_role = flags.role_model.clone().filter(|_| wanted.is_none());
    // The alias of a role's model says which provider it is of, unless it is said where to go.
    let is_alias = |model: &String| typed_url.is_none() && config.models.contains_key(model);
    let usual = of_role.as_ref().filter(|model| is_alias(model)).map(|_| match &provider {
        Some(provider) => Some(provider.base_url.clone()),
        None => from_config(config, file_model.clone()).0.map(|provider| provider.base_url),
    });
    let wanted = wanted.or(of_role).or(file_model);
    let (configured, model) = match provider.filter(|_| usual.is_none()) {
        Some(provider) => (Some(provider), wanted),
        None => from_config(config, wanted),
    };
    let configured_url = configured.as_ref().map(|provider| provider.base_url.clone());
    let is_configured = |url: &String| configured_url.as_deref().map(without_query).as_ref() == Some(url);
    let begun = flags.begun_at.clone().filter(|url| !is_configured(url));
    let base_url = typed_url.or(begun).or_else(|| configured_url.clone()).ok_or_else(|| no_model(config))?;
    if base_url.ends_with(begun::QUERY) {
        let why = "of the interrupted run had a query, which is not kept: pass --base-url again";
        return Err(SettingsError::BaseUrl(why.to_owned()));
    }
    let host = host(&base_url)?;
    let is_host = |url: &str| self::host(url).is_ok_and(|other| other == host);
    let same_host = configured_url.is_some_and(|url| is_host(&url));
    let is_same_provider = |model: &ModelConfig| {
        config.providers.get(&model.provider).is_some_and(|provider| is_host(&provider.base_url))
    };
    let elsewhere = || config.providers.values().find(|provider| is_host(&provider.base_url)).map(provided);
    let configured = if same_host { configured } else { elsewhere() };
    let same_host = configured.is_some();
    let configured = configured.unwrap_or_default();
    let configured_here = same_host.then_some(&configured);
    // What is set for the run is meant for its usual endpoint, not for that of a role's own model.
    let is_elsewhere = usual.is_some_and(|url| !url.is_some_and(|url| is_host(&url)));
    let key = match is_elsewhere {
        true => configured_key(env, &host, configured_here)?,
        false => key(env, &host, configured_here)?,
    };
    let model = model.ok_or_else(|| no_model(config))?;
    check_dialect(&configured.dialect, configured.file)?;
    let mut request_body = configured.request_body;
    let own = models.remove(&model).unwrap_or_default();
    let of_config = config.models.values().find(|known| known.name == model && is_same_provider(known));
    of_config.into_iter().for_each(|known| add_fields(&mut request_body, &known.request_body));
    add_fields(&mut request_body, &own.request_body);
    Ok(Endpoint {
        base_url,
        model,
        key_from: key.as_ref().map(|key| key.from.clone()),
        api_key: key.map(|key| key.secret),
        wire: configured.wire.set(),
        dialect: configured.dialect,
        request_body,
        context_window: own.context_window.or(of_config.and_then(|known| known.context_window)),
        headers: configured.headers,
        stream: configured.stream.unwrap_or(true),
        echo_reasoning: configured.echo_reasoning,
        idle: configured.idle_seconds.map_or(IDLE, Duration::from_secs),
        retry: configured.retry.policy(),
    })
}

/// Adds fields of a body, an object's to an object's. Nulls stay: each leaves a field of ours out.
pub(super) fn add_fields(there: &mut Map<String, Value>, more: &Map<String, Value>) {
    for (name, value) in more {
        match (there.get_mut(name), value) {
            (Some(Value::Object(there)), Value::Object(more)) => add_fields(there, more),
            _ => drop(there.insert(name.clone(), value.clone())),
        }
    }
}

/// A misspelt dialect would be none.
pub(super) fn check_dialect(dialect: &DialectSettings, file: &'static str) -> Result<(), SettingsError> {
    match dialect.like.as_deref().filter(|name| Dialect::named(name).is_none()) {
        Some(name) => {
            Err(SettingsError::NoSuchDialect { file, name: name.to_owned(), known: Dialect::names() })
        }
        None => Ok(()),
    }
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
        headers: provider.headers.clone(),
        wire: provider.wire.as_deref().map_or_else(FileWire::default, FileWire::named),
        dialect: provider.dialect.as_deref().map(DialectSettings::like).unwrap_or_default(),
        request_body: provider.request_body.clone(),
        file: CONFIG,
        ..FileProvider::default()
    }
}

/// A key, and where it was found.
pub(super) struct Key {
    pub(super) secret: SecretString,
    /// A variable, or a file and what it says there.
    pub(super) from: String,
}

impl Key {
    fn new(secret: &str, from: impl Into<String>) -> Key {
        Key { secret: SecretString::from(secret.trim().to_owned()), from: from.into() }
    }
}

/// The key for `host`: what was set for this run, else what is configured for this very host; `OPENAI_API_KEY` goes to
/// OpenAI alone. Local servers need none.
fn key(env: &Env, host: &str, configured: Option<&FileProvider>) -> Result<Option<Key>, SettingsError> {
    match env.text("UWF_API_KEY") {
        Some(key) => Ok(Some(Key::new(key, "$UWF_API_KEY"))),
        None => configured_key(env, host, configured),
    }
}

/// The key that is configured for this very host; `OPENAI_API_KEY` is OpenAI's.
pub(super) fn configured_key(
    env: &Env,
    host: &str,
    configured: Option<&FileProvider>,
) -> Result<Option<Key>, SettingsError> {
    if let Some((provider, key)) =
        configured.and_then(|provider| Some((provider, provider.api_key.as_ref()?)))
    {
        return Ok(Some(Key::new(key.expose_secret(), format!("{} (apiKey)", provider.file))));
    }
    if let Some(name) = configured.and_then(|provider| provider.api_key_env.as_deref()) {
        let key = env.text(name).ok_or_else(|| SettingsError::NoKey(name.to_owned()))?;
        return Ok(Some(Key::new(key, format!("${name}"))));
    }
    let openai = host.starts_with("https://api.openai.com:");
    let key = env.text("OPENAI_API_KEY").filter(|_| openai);
    Ok(key.map(|key| Key::new(key, "$OPENAI_API_KEY")))
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
