//! From what was typed, the environment and the files to what a run works with: flags over environment over
//! `agents/builtin.yaml` over `config.yaml`.
//!
//! Apart from `cli` so that the precedence can be read (and tested) in one place. It reads the two files and nothing
//! else; keys are held as secrets and appear in no description of the settings.

mod begun;
mod extract;
mod origins;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::{Value, json};
use thiserror::Error;
use uwf_engine::config::{self, Config, ConfigError, ProviderConfig};
use uwf_engine::{Env, Workflow};

use uwf_tools::sandbox::Level;

use crate::budget::Limits;
use crate::confinement::{FileSandbox, SandboxSettings};
use crate::narrowing::{Narrowing, NarrowingError, Narrowings};
use crate::prices::{Prices, Usd};
use crate::provider::message::Sampling;
use crate::provider::{EchoReasoning, IDLE, OpenAiConfig, RetryPolicy};
use crate::secrets::{Secrets, sounds_secret};

/// What was typed for a run; everything optional.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Flags {
    /// `--model`.
    pub model: Option<String>,
    /// `--base-url`.
    pub base_url: Option<String>,
    /// Where an interrupted run was begun, without the query; see `begun`.
    pub begun_at: Option<String>,
    /// `--mock`.
    pub mock: Option<PathBuf>,
    /// `--max-turns`.
    pub max_turns: Option<u64>,
    /// `--max-tokens`.
    pub max_tokens: Option<u64>,
    /// `--timeout`.
    pub timeout: Option<Duration>,
    /// `--max-cost`.
    pub max_cost: Option<f64>,
    /// Whether an interrupted run has its budget already: a limit that is not here is none, whatever the file says.
    pub budget_begun: bool,
    /// `--tools`.
    pub tools: Option<Vec<String>>,
    /// `--sandbox`.
    pub sandbox: Option<Level>,
    /// `--allow-network`.
    pub allow_network: bool,
    /// `--temperature`, `--reasoning-effort`.
    pub sampling: Sampling,
}

/// What a run works with.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// Who completes.
    pub provider: ProviderSettings,
    /// The model's name as the endpoint knows it.
    pub model: String,
    /// Who is asked for the fields of an answer that is none.
    pub extract: Option<(Endpoint, String)>,
    /// How to sample.
    pub sampling: Sampling,
    /// What may be spent.
    pub limits: Limits,
    /// What the model costs, where that is configured.
    pub prices: Option<Prices>,
    /// The model's window, in tokens.
    pub context_window: u64,
    /// The tools to offer; `None` is all.
    pub tools: Option<Vec<String>>,
    /// What is taken away from single roles.
    pub roles: Narrowings,
    /// What is taken away from the role that is played; see [`Settings::for_role`].
    pub narrowing: Narrowing,
    /// What commands may reach.
    pub sandbox: SandboxSettings,
}

/// Who completes.
#[derive(Clone, Debug)]
pub(crate) enum ProviderSettings {
    /// A scripted model.
    Mock(PathBuf),
    /// An OpenAI-compatible endpoint.
    OpenAi(Endpoint),
}

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
    pub(crate) fn config(&self) -> OpenAiConfig {
        let Endpoint { base_url, api_key, headers, stream, echo_reasoning, idle, retry } = self.clone();
        OpenAiConfig { api_key, headers, stream, echo_reasoning, idle, retry, ..OpenAiConfig::new(base_url) }
    }
}

/// What is wrong with the settings. No variant carries a key.
#[derive(Debug, Error)]
pub enum SettingsError {
    /// A file is not what it should be.
    #[error("{path}{}: {message}", .line.map(|line| format!(":{line}")).unwrap_or_default())]
    Invalid {
        /// The file.
        path: String,
        /// The line, where it is known.
        line: Option<usize>,
        /// What is wrong.
        message: String,
    },
    /// `config.yaml`.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// `roles:` of `agents/builtin.yaml`.
    #[error("agents/builtin.yaml: {0}")]
    Roles(#[from] NarrowingError),
    /// Nothing says which model.
    #[error("no model is configured: nothing says which endpoint and model to use")]
    NoModel,
    /// `modelOverrides.extract` of `config.yaml` names no model of it.
    #[error("config.yaml: modelOverrides.extract: there is no model {0}, or it has no provider")]
    NoExtractModel(String),
    /// A limit in money for a model whose price nobody knows.
    #[error("a limit of {limit} is set, and there is no price for the model {model}")]
    NoPrice {
        /// The limit.
        limit: Usd,
        /// The model, as the endpoint knows it.
        model: String,
    },
    /// A base URL that cannot be used; it is not shown where it may hold a password.
    #[error("the base URL {0}")]
    BaseUrl(String),
    /// A variable that was named as the key's place is not set.
    #[error("the API key variable {0} is not set")]
    NoKey(String),
}

impl SettingsError {
    /// What to do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            SettingsError::NoModel => Some(
                "connect one with `uwf setup`, pass --base-url and --model, \
                 or use --mock FILE to run without a model",
            ),
            SettingsError::NoPrice { .. } => Some(
                "write it into $UWF_HOME/agents/builtin.yaml, in USD per million tokens: \
                 prices: { MODEL: { input: 0.25, output: 2, cachedInput: 0.025 } }",
            ),
            SettingsError::BaseUrl(_) => Some("a base URL looks like https://api.openai.com/v1"),
            SettingsError::NoKey(_) => Some("set the variable, or change apiKeyEnv"),
            _ => None,
        }
    }
}

/// `agents/builtin.yaml`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct File {
    provider: Option<FileProvider>,
    model: Option<String>,
    context_window: Option<u64>,
    prices: BTreeMap<String, Prices>,
    budget: FileBudget,
    roles: BTreeMap<String, Value>,
    sandbox: FileSandbox,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct FileProvider {
    base_url: String,
    api_key: Option<SecretString>,
    api_key_env: Option<String>,
    headers: BTreeMap<String, String>,
    stream: Option<bool>,
    echo_reasoning: EchoReasoning,
    idle_seconds: Option<u64>,
    retry: FileRetry,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
struct FileRetry {
    tries: Option<u32>,
    seconds: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct FileBudget {
    turns: Option<u64>,
    tokens: Option<u64>,
    seconds: Option<u64>,
    usd: Option<f64>,
}

/// The window of a model of which nothing is said, in tokens.
const CONTEXT_WINDOW: u64 = 128_000;

impl Settings {
    /// Puts the settings together. `home` is `$UWF_HOME`.
    ///
    /// # Errors
    /// See [`SettingsError`].
    pub(crate) fn load(flags: Flags, env: &Env, home: &Path) -> Result<Settings, SettingsError> {
        let path = home.join("agents/builtin.yaml");
        let mut file = File::load(&path)?;
        let roles = Narrowings::read(std::mem::take(&mut file.roles))?;
        let limits = limits(&flags, &file.budget);
        let context_window = file.context_window.unwrap_or(CONTEXT_WINDOW);
        let prices = std::mem::take(&mut file.prices);
        let user = env.get("HOME").map(Path::new);
        let sandbox = SandboxSettings::new(flags.sandbox, flags.allow_network, &file.sandbox, user).map_err(
            |message| SettingsError::Invalid { path: path.display().to_string(), line: None, message },
        )?;
        let (provider, model, extract) = match flags.mock {
            Some(script) => {
                (ProviderSettings::Mock(script), flags.model.unwrap_or_else(|| "mock".to_owned()), None)
            }
            None => {
                let config = config::load(home)?;
                let (endpoint, model) = endpoint(&flags, file, env, &config)?;
                let extract = extract::endpoint(&config, env, &endpoint)?;
                (ProviderSettings::OpenAi(endpoint), model, extract)
            }
        };
        let prices = prices.get(&model).copied();
        if let (Some(limit), None) = (limits.usd, prices) {
            return Err(SettingsError::NoPrice { limit, model });
        }
        Ok(Settings {
            provider,
            model,
            extract,
            sampling: flags.sampling,
            limits,
            prices,
            context_window,
            tools: flags.tools,
            roles,
            narrowing: Narrowing::default(),
            sandbox,
        })
    }

    /// The settings with what is taken away from `role`.
    ///
    /// # Errors
    /// [`NarrowingError::Role`].
    pub(crate) fn for_role(&self, workflow: &Workflow, role: &str) -> Result<Settings, NarrowingError> {
        let narrowing = self.roles.of(&workflow.name, role, workflow.roles.keys())?;
        let mut settings = Settings { tools: narrowing.tools(self.tools.clone()), ..self.clone() };
        settings.sandbox.network &= narrowing.network != Some(false);
        settings.sandbox.within = narrowing.writable.as_deref().map(uwf_tools::writable_trees);
        Ok(Settings { narrowing, ..settings })
    }

    /// The settings as the journal and the record keep them: everything but keys and headers.
    pub(crate) fn describe(&self) -> Value {
        let provider = match &self.provider {
            ProviderSettings::Mock(script) => json!({"mock": script.display().to_string()}),
            ProviderSettings::OpenAi(endpoint) => {
                let shown = without_query(&endpoint.base_url);
                let (tries, seconds) = (endpoint.retry.tries, endpoint.retry.budget.as_secs());
                json!({
                    "baseUrl": shown,
                    "stream": endpoint.stream,
                    "idleSeconds": endpoint.idle.as_secs(),
                    "retry": {"tries": tries, "seconds": seconds},
                })
            }
        };
        let seconds = self.limits.time.map(|time| match time.subsec_nanos() {
            0 => json!(time.as_secs()),
            _ => json!(time.as_secs_f64()),
        });
        let Limits { turns, tokens, usd, .. } = self.limits;
        json!({
            "provider": provider,
            "model": self.model,
            "extract": self.extract.as_ref().map(|(_, model)| model),
            "sampling": self.sampling,
            "contextWindow": self.context_window,
            "prices": self.prices,
            "budget": {"turns": turns, "tokens": tokens, "seconds": seconds, "usd": usd},
            "tools": self.tools,
            "role": self.narrowing,
            "sandbox": self.sandbox.describe(),
        })
    }

    /// What must never be shown, recorded or handed to a command.
    pub(crate) fn secrets(&self) -> Secrets {
        let mut secrets = Secrets::default();
        let main = match &self.provider {
            ProviderSettings::OpenAi(endpoint) => Some(endpoint),
            ProviderSettings::Mock(_) => None,
        };
        let extract = self.extract.as_ref().map(|(endpoint, _)| endpoint);
        for Endpoint { base_url, api_key, headers, .. } in main.into_iter().chain(extract) {
            api_key.iter().for_each(|key| secrets.add(key.expose_secret()));
            headers.iter().filter(|(name, _)| sounds_secret(name)).for_each(|(_, value)| secrets.add(value));
            let url = reqwest::Url::parse(base_url).ok();
            let query = url.iter().flat_map(reqwest::Url::query_pairs);
            query.filter(|(name, _)| sounds_secret(name)).for_each(|(_, value)| secrets.add(&value));
        }
        secrets
    }
}

fn limits(flags: &Flags, file: &FileBudget) -> Limits {
    let default = Limits::default();
    let file = if flags.budget_begun { &FileBudget::default() } else { file };
    Limits {
        turns: flags.max_turns.or(file.turns).unwrap_or(default.turns),
        tokens: flags.max_tokens.or(file.tokens),
        time: flags
            .timeout
            .or(file.seconds.map(Duration::from_secs))
            .or(default.time.filter(|_| !flags.budget_begun)),
        usd: flags.max_cost.or(file.usd).map(Usd::dollars),
    }
}

impl FileRetry {
    fn policy(self) -> RetryPolicy {
        let default = RetryPolicy::default();
        RetryPolicy {
            tries: self.tries.unwrap_or(default.tries),
            budget: self.seconds.map_or(default.budget, Duration::from_secs),
            ..default
        }
    }
}

/// A query may hold a key.
fn without_query(base_url: &str) -> String {
    match base_url.split_once('?') {
        Some((shown, _)) => format!("{shown}{}", begun::QUERY),
        None => base_url.to_owned(),
    }
}

/// The endpoint and the model's name.
fn endpoint(
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
    let base_url = base_url.or(begun).or_else(|| configured_url.clone()).ok_or(SettingsError::NoModel)?;
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
    Ok((endpoint, model.ok_or(SettingsError::NoModel)?))
}

/// `config.yaml`'s models: the wanted one if it is an alias there, else the one for agents, else the default. A name
/// that is no alias goes to the default's provider as it is.
fn from_config(config: &Config, wanted: Option<String>) -> (Option<FileProvider>, Option<String>) {
    let default = config.model_overrides.get("agent").or(config.default_model.as_ref());
    let alias = wanted.as_ref().filter(|name| config.models.contains_key(*name)).or(default);
    let Some(model) = alias.and_then(|alias| config.models.get(alias)) else {
        return (None, wanted);
    };
    let provider = config.providers.get(&model.provider).map(provided);
    let raw = wanted.filter(|name| !config.models.contains_key(name));
    (provider, Some(raw.unwrap_or_else(|| model.name.clone())))
}

/// A provider of `config.yaml`.
fn provided(provider: &ProviderConfig) -> FileProvider {
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
fn configured_key(
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
fn host(base_url: &str) -> Result<String, SettingsError> {
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

impl File {
    /// The file, or nothing where there is none.
    fn load(path: &Path) -> Result<File, SettingsError> {
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

#[cfg(test)]
#[path = "settings_tests.rs"]
mod tests;
