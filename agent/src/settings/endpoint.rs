//! Where the model is and which key is meant for it: a key goes to no host but the one it was configured for.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use serde_json::{Map, Value};
use uwf_engine::Env;
use uwf_engine::config::{Config, ModelConfig, ProviderConfig};

use super::file::{BUILTIN, CONFIG, File, FileModel, FileProvider, FileWire};
use super::provenance::{Provenance, SettingSource, Sourced, first, variable};
use super::{Flags, SettingsError, recorded, without_query};
use crate::provider::dialect::{Dialect, DialectSettings};
use crate::provider::wire::Wire;
use crate::provider::{EchoReasoning, HttpConfig, IDLE, RetryPolicy};

/// An endpoint, and a model of it.
#[derive(Clone)]
pub struct Endpoint {
    /// Where, up to and without `/chat/completions`.
    pub base_url: String,
    /// The model as the endpoint calls it.
    pub model: String,
    /// The key meant for this host.
    pub api_key: Option<SecretString>,
    /// Where the key was found, for people.
    pub key_from: Option<String>,
    /// The wire, where it is set.
    pub(crate) wire: Option<Wire>,
    /// What is set of the dialect.
    pub(crate) dialect: DialectSettings,
    /// Fields that every request has beside ours.
    pub request_body: Map<String, Value>,
    /// The model's window, where it is set for this model, and who says so.
    pub(crate) context_window: Option<(u64, SettingSource)>,
    /// Headers to send along.
    pub headers: BTreeMap<String, String>,
    /// Whether to ask for a stream.
    pub stream: bool,
    /// Which of the model's reasoning it gets back.
    pub(crate) echo_reasoning: EchoReasoning,
    /// The longest silence of a stream.
    pub idle: Duration,
    /// How failures are tried again.
    pub(crate) retry: RetryPolicy,
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

    /// What settings call the way to talk to it.
    pub fn dialect_name(&self) -> &'static str {
        self.dialect().name
    }

    /// The same as the provider takes it.
    pub fn config(&self) -> HttpConfig {
        let Endpoint { base_url, model, api_key, key_from, wire, dialect, request_body, .. } = self.clone();
        let (headers, retry) = (self.headers.clone(), self.retry.clone());
        let Endpoint { stream, echo_reasoning, idle, .. } = *self;
        HttpConfig {
            api_key,
            key_from,
            headers,
            wire,
            dialect,
            window: self.context_window.as_ref().map(|(size, _)| *size),
            request_body,
            stream,
            echo_reasoning,
            idle,
            retry,
            ..HttpConfig::new(base_url, model)
        }
    }
}

/// The endpoint with the model's name, and who says so.
pub(super) fn endpoint(
    flags: &Flags,
    file: File,
    env: &Env,
    config: &Config,
) -> Result<(Endpoint, Vec<Provenance>), SettingsError> {
    let File { provider, model: file_model, models, .. } = file;
    let typed_url = first([(flags.base_url.clone(), SettingSource::Run), variable(env, "UWF_BASE_URL")]);
    let wanted = first([(flags.model.clone(), SettingSource::Run), variable(env, "UWF_MODEL")]);
    let of_role = flags.role_model.clone().filter(|_| wanted.0.is_none());
    // The alias of a role's model says which provider it is of, unless it is said where to go.
    let is_alias = |model: &String| typed_url.0.is_none() && config.models.contains_key(model);
    let usual = of_role.as_ref().filter(|model| is_alias(model)).map(|_| match &provider {
        Some(provider) => Some(provider.base_url.clone()),
        None => from_config(config, file_model.clone()).0.map(|provider| provider.base_url),
    });
    let builtin = SettingSource::File(BUILTIN);
    let (wanted, source) = first([wanted, (of_role, builtin.clone()), (file_model, builtin)]);
    let model_from = if wanted.is_some() { source } else { SettingSource::File(CONFIG) };
    let (configured, model) = match provider.filter(|_| usual.is_none()) {
        Some(provider) => (Some(provider), wanted),
        None => from_config(config, wanted),
    };
    let configured_url = configured.as_ref().map(|provider| provider.base_url.clone());
    let is_configured = |url: &String| configured_url.as_deref().map(without_query).as_ref() == Some(url);
    let recorded_url = flags.recorded_url.clone().filter(|url| !is_configured(url));
    let file = configured.as_ref().map_or(CONFIG, |provider| provider.file);
    let (base_url, url_from) = base_url([
        typed_url,
        (recorded_url, SettingSource::Run),
        (configured_url.clone(), SettingSource::File(file)),
    ])?
    .ok_or_else(|| no_model(config))?;
    let host = host(&base_url)?;
    let is_host = |url: &str| self::host(url).is_ok_and(|other| other == host);
    let same_host = configured_url.is_some_and(|url| is_host(&url));
    let is_same_provider = |model: &ModelConfig| {
        config.providers.get(&model.provider).is_some_and(|provider| is_host(&provider.base_url))
    };
    let elsewhere = || config.providers.values().find(|provider| is_host(&provider.base_url)).map(provided);
    let configured = if same_host { configured } else { elsewhere() };
    // What is set for the run is meant for its usual endpoint, not for that of a role's own model.
    let is_elsewhere = usual.is_some_and(|url| !url.is_some_and(|url| is_host(&url)));
    let key = match is_elsewhere {
        true => configured_key(env, &host, configured.as_ref())?,
        false => key(env, &host, configured.as_ref())?,
    };
    let model = model.ok_or_else(|| no_model(config))?;
    let of_config = config.models.values().find(|known| known.name == model && is_same_provider(known));
    let mut provenance = vec![
        Provenance::new("model", &model, model_from),
        Provenance::new(URL, without_query(&base_url), url_from),
    ];
    let place = (base_url, model);
    let endpoint =
        described(place, (configured.unwrap_or_default(), key), (models, of_config), &mut provenance)?;
    Ok((endpoint, provenance))
}

const URL: &str = "provider.baseUrl";

/// Where to go, and who says so.
fn base_url(sources: [Sourced<String>; 3]) -> Result<Option<(String, SettingSource)>, SettingsError> {
    let (url, from) = first(sources);
    if url.as_ref().is_some_and(|url| url.ends_with(recorded::QUERY)) {
        let why = "of the interrupted run had a query, which is not kept: pass --base-url again";
        return Err(SettingsError::BaseUrl(why.to_owned()));
    }
    Ok(url.map(|url| (url, from)))
}

/// The endpoint as it is described, by its provider and by what is said of the model in either file.
fn described(
    (base_url, model): (String, String),
    (provider, key): (FileProvider, Option<FoundKey>),
    (mut models, of_config): (BTreeMap<String, FileModel>, Option<&ModelConfig>),
    provenance: &mut Vec<Provenance>,
) -> Result<Endpoint, SettingsError> {
    check_dialect(&provider.dialect, provider.file)?;
    let mut request_body = provider.request_body;
    let own = models.remove(&model).unwrap_or_default();
    of_config.into_iter().for_each(|known| add_fields(&mut request_body, &known.request_body));
    add_fields(&mut request_body, &own.request_body);
    let file = SettingSource::File(provider.file);
    let (idle, idle_from) = first([(provider.idle_seconds, file.clone())]);
    let (_, tries_from) = first([(provider.retry.tries, file.clone())]);
    let (_, seconds_from) = first([(provider.retry.seconds, file.clone())]);
    let (context_window, window_from) = first([
        (own.context_window, SettingSource::File(BUILTIN)),
        (of_config.and_then(|known| known.context_window), SettingSource::File(CONFIG)),
    ]);
    let (set, key_from) = match &key {
        Some(key) => ("set", key.from.clone()),
        None => (
            "not set",
            SettingSource::Nobody(
                "no key is configured for this host: apiKeyEnv of its provider, or $UWF_API_KEY",
            ),
        ),
    };
    let endpoint = Endpoint {
        base_url,
        model,
        key_from: key.as_ref().map(FoundKey::place),
        api_key: key.map(|key| key.secret),
        wire: provider.wire.set(),
        dialect: provider.dialect,
        request_body,
        context_window: context_window.map(|size| (size, window_from)),
        headers: provider.headers,
        stream: provider.stream.unwrap_or(true),
        echo_reasoning: provider.echo_reasoning,
        idle: idle.map_or(IDLE, Duration::from_secs),
        retry: provider.retry.policy(),
    };
    let dialect = endpoint.dialect();
    let (_, wire_from) =
        first([(endpoint.wire, file), (Some(dialect.wire), SettingSource::Dialect(dialect.name))]);
    provenance.extend([
        Provenance::new("provider.apiKey", set, key_from),
        Provenance::new("provider.wire", dialect.wire, wire_from),
        Provenance::new("provider.idleSeconds", endpoint.idle.as_secs(), idle_from),
        Provenance::new("provider.retry.tries", endpoint.retry.tries, tries_from),
        Provenance::new("provider.retry.seconds", endpoint.retry.budget.as_secs(), seconds_from),
    ]);
    Ok(endpoint)
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
pub(super) struct FoundKey {
    pub(super) secret: SecretString,
    pub(super) from: SettingSource,
}

impl FoundKey {
    fn new(secret: &str, from: SettingSource) -> FoundKey {
        FoundKey { secret: SecretString::from(secret.trim().to_owned()), from }
    }

    /// Where it was found, in an error of the endpoint: a variable, or a file and what it says there.
    pub(super) fn place(&self) -> String {
        match &self.from {
            SettingSource::File(name) => format!("{name} (apiKey)"),
            other => other.to_string(),
        }
    }
}

/// The key for `host`: what was set for this run, else what is configured for this very host; `OPENAI_API_KEY` goes to
/// OpenAI alone. Local servers need none.
fn key(env: &Env, host: &str, configured: Option<&FileProvider>) -> Result<Option<FoundKey>, SettingsError> {
    match variable(env, "UWF_API_KEY") {
        (Some(key), from) => Ok(Some(FoundKey::new(&key, from))),
        (None, _) => configured_key(env, host, configured),
    }
}

/// The key that is configured for this very host; `OPENAI_API_KEY` is OpenAI's.
pub(super) fn configured_key(
    env: &Env,
    host: &str,
    configured: Option<&FileProvider>,
) -> Result<Option<FoundKey>, SettingsError> {
    if let Some((provider, key)) =
        configured.and_then(|provider| Some((provider, provider.api_key.as_ref()?)))
    {
        return Ok(Some(FoundKey::new(key.expose_secret(), SettingSource::File(provider.file))));
    }
    if let Some(name) = configured.and_then(|provider| provider.api_key_env.as_deref()) {
        let key = env.text(name).ok_or_else(|| SettingsError::NoKey(name.to_owned()))?;
        return Ok(Some(FoundKey::new(key, SettingSource::Variable(name.to_owned()))));
    }
    let openai = host.starts_with("https://api.openai.com:");
    let (key, from) = variable(env, "OPENAI_API_KEY");
    Ok(key.filter(|_| openai).map(|key| FoundKey::new(&key, from)))
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
