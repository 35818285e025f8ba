//! From what was typed, the environment and the files to what a run works with: flags over environment over
//! `agents/builtin.yaml` over `config.yaml`.
//!
//! Apart from `cli` so that the precedence can be read (and tested) in one place. It reads the two files and nothing
//! else; keys are held as secrets and appear in no description of the settings.

mod endpoint;
mod error;
mod extract;
mod file;
mod program;
mod provenance;
mod recorded;

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use secrecy::ExposeSecret;
use serde_json::{Number, Value, json};
use uwf_engine::catalogue::{self, Prices};
use uwf_engine::spawn::protocol::SANDBOX;
use uwf_engine::{Env, Workflow, config, record};
use uwf_store::sounds_secret;
use uwf_tools::sandbox::Level;

pub use self::endpoint::Endpoint;
use self::endpoint::endpoint;
pub use self::error::SettingsError;
use self::file::{BUILTIN, File, FileBudget};
pub(crate) use self::program::ProgramSettings;
pub use self::provenance::Provenance;
use self::provenance::{SettingSource, Sourced, first, variable, window};
use crate::additions::{Additions, OwnProvider};
use crate::budget::Limits;
use crate::confinement::{FileSandbox, SandboxSettings};
use crate::permissions::{PermissionsByRole, RolePermissions};
use crate::provider::http::place;
use crate::provider::message::Sampling;
use crate::secrets::{Secrets, secret_texts};
use crate::usd::Usd;

/// What was typed for a run; everything optional.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Flags {
    /// `--model`.
    pub model: Option<String>,
    /// `--base-url`.
    pub base_url: Option<String>,
    /// Where an interrupted run was begun, without the query; see `recorded`.
    pub recorded_url: Option<String>,
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
    pub budget_recorded: bool,
    /// `--tools`.
    pub tools: Option<Vec<String>>,
    /// `--sandbox`.
    pub sandbox: Option<Level>,
    /// `--allow-network`.
    pub allow_network: bool,
    /// `--temperature`, `--reasoning-effort`.
    pub sampling: Sampling,
    /// The model of the role that is played: counts where nothing else names one but the files.
    pub role_model: Option<String>,
}

/// What a run works with.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Who completes.
    pub provider: ProviderSettings,
    /// The model's name as the endpoint knows it.
    pub model: String,
    /// Who is asked for the fields of an answer that is none.
    pub extract: Option<Endpoint>,
    /// How to sample.
    pub sampling: Sampling,
    /// What may be spent.
    pub(crate) limits: Limits,
    /// What the model costs, where that is configured or in the catalogue.
    pub prices: Option<Prices>,
    /// Whether the prices are configured: those of the catalogue have a date.
    pub own_prices: bool,
    /// The model's window.
    pub window: WindowSize,
    /// The tools to offer; `None` is all.
    pub tools: Option<Vec<String>>,
    /// What is taken away from single roles.
    pub(crate) roles: PermissionsByRole,
    /// What is taken away from the role that is played; see [`Settings::for_role`].
    pub(crate) permissions: RolePermissions,
    /// What commands may reach.
    pub sandbox: SandboxSettings,
    /// Who says what, as far as people are told of it.
    pub provenance: Vec<Provenance>,
    /// What a program adds that no file says.
    pub(crate) added: Additions,
    /// What the settings were made from: a role may have a model of its own.
    loaded_from: LoadedFrom,
}

/// What settings are made from, beside the files.
#[derive(Clone)]
struct LoadedFrom {
    flags: Flags,
    env: Env,
    home: PathBuf,
}

impl fmt::Debug for LoadedFrom {
    /// Without the environment, which holds keys.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Asked").field("home", &self.home).finish_non_exhaustive()
    }
}

/// Who completes.
#[derive(Clone, Debug)]
pub enum ProviderSettings {
    /// A scripted model.
    Mock(PathBuf),
    /// A model at an endpoint.
    Http(Box<Endpoint>),
    /// What a program brings with it.
    Own(OwnProvider),
}

/// A model's window, and who says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowSize {
    /// In tokens.
    pub size: u64,
    /// Who says so.
    pub from: WindowSource,
}

/// Who says how large a window is: what is set wins over the server, the server over the catalogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowSource {
    /// A setting.
    Set,
    /// The catalogue of models.
    Catalogue,
    /// Nobody.
    Assumed,
}

/// What a script costs.
const FREE: Prices =
    Prices { input: 0.0, output: 0.0, cached_input: None, cache_write: None, tiers: Vec::new() };

/// The window of a model of which nothing is said, in tokens.
const ASSUMED_WINDOW: u64 = 128_000;

impl Settings {
    /// Puts the settings together. `home` is `$UWF_HOME`.
    ///
    /// # Errors
    /// See [`SettingsError`].
    pub fn load(flags: Flags, env: &Env, home: &Path) -> Result<Settings, SettingsError> {
        let loaded_from = LoadedFrom { flags: flags.clone(), env: env.clone(), home: home.to_owned() };
        let path = home.join(BUILTIN);
        let mut file = File::load(&path)?;
        let extracts = file.extract;
        let roles = PermissionsByRole::read(std::mem::take(&mut file.roles))?;
        let (limits, mut bounds) = limits(&flags, &file.budget);
        let set_window = (file.context_window, SettingSource::File(BUILTIN));
        let mut set_prices = std::mem::take(&mut file.prices);
        let sandbox = sandbox(&flags, &file.sandbox, env, &mut bounds)?.map_err(|message| {
            SettingsError::Invalid { path: path.display().to_string(), line: None, message }
        })?;
        let (provider, model, extract, mut provenance) = match flags.mock {
            Some(script) => {
                let model = flags.model.unwrap_or_else(|| "mock".to_owned());
                (ProviderSettings::Mock(script), model, None, Vec::new())
            }
            None => {
                let config = config::load(home)?;
                let (endpoint, provenance) = endpoint(&flags, file, env, &config)?;
                let extract = extract::endpoint((&config, extracts), env, &endpoint)?;
                let model = endpoint.model.clone();
                (ProviderSettings::Http(Box::new(endpoint)), model, extract, provenance)
            }
        };
        let known = provider.known();
        let (set_window, window_from) = first([provider.window(), set_window]);
        let size = WindowSize::of(set_window, known.as_ref());
        let own = (set_prices.remove(&model), SettingSource::File(BUILTIN));
        let (prices, prices_from) = provider.prices((own, known), (&limits, &model))?;
        if provider.endpoint().is_some() {
            provenance.extend([window(size, window_from), prices_row(prices.as_ref(), prices_from.clone())]);
        }
        provenance.append(&mut bounds);
        Ok(Settings {
            provider,
            model,
            extract,
            sampling: flags.sampling,
            limits,
            prices,
            own_prices: prices_from == SettingSource::File(BUILTIN),
            window: size,
            tools: flags.tools,
            roles,
            permissions: RolePermissions::default(),
            sandbox,
            provenance,
            added: Additions::default(),
            loaded_from,
        })
    }

    /// The settings with what is said of `role`: its model, and what is taken away from it.
    ///
    /// # Errors
    /// `PermissionsError::Role`, and those of [`Settings::load`] where the role has a model of its own.
    pub fn for_role(&self, workflow: &Workflow, role: &str) -> Result<Settings, SettingsError> {
        let permissions = self.roles.of(&workflow.name, role, workflow.roles.keys())?;
        let mut settings = match &permissions.model {
            Some(model) => {
                let LoadedFrom { flags, env, home } = &self.loaded_from;
                let flags = Flags { role_model: Some(model.clone()), ..flags.clone() };
                Settings::load(flags, env, home)?
            }
            None => self.clone(),
        };
        settings.tools = permissions.tools(settings.tools);
        let sampling = &mut settings.sampling;
        sampling.temperature = sampling.temperature.or(permissions.temperature);
        sampling.reasoning_effort =
            sampling.reasoning_effort.take().or_else(|| permissions.reasoning_effort.clone());
        settings.sandbox.network &= permissions.network != Some(false);
        settings.sandbox.within = permissions.writable.as_deref().map(uwf_tools::writable_trees);
        Ok(Settings { permissions, ..settings })
    }

    /// The settings as the journal and the record keep them: everything but keys and headers.
    pub(crate) fn describe(&self) -> Value {
        let provider = match &self.provider {
            ProviderSettings::Mock(script) => {
                record::RecordedProvider::Script { mock: script.display().to_string() }
            }
            ProviderSettings::Http(endpoint) => {
                record::RecordedProvider::Endpoint(self.endpoint_on_record(endpoint))
            }
            ProviderSettings::Own(OwnProvider::Script(script)) => {
                record::RecordedProvider::Script { mock: script.name().to_owned() }
            }
            ProviderSettings::Own(own) => record::RecordedProvider::Other(json!({"code": own.name()})),
        };
        let seconds = self.limits.time.and_then(|time| match time.subsec_nanos() {
            0 => Some(Number::from(time.as_secs())),
            _ => Number::from_f64(time.as_secs_f64()),
        });
        let Limits { turns, tokens, usd, .. } = self.limits;
        let usd = usd.map(Usd::in_dollars);
        json!(record::RecordedSettings {
            provider,
            model: Some(self.model.clone()),
            extract: self.extract.as_ref().map(|endpoint| endpoint.model.clone()),
            sampling: json!(self.sampling),
            context_window: Some(self.window.size),
            prices: json!(self.prices),
            budget: Some(record::RecordedBudget { turns: Some(turns), tokens, seconds, usd }),
            tools: self.tools.clone(),
            role: json!(self.permissions),
            sandbox: self.sandbox.describe(),
            ..record::RecordedSettings::default()
        })
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
        secrets
    }
}

impl ProviderSettings {
    /// The endpoint, unless the model is a script.
    pub fn endpoint(&self) -> Option<&Endpoint> {
        match self {
            ProviderSettings::Http(endpoint) => Some(endpoint),
            ProviderSettings::Mock(_) | ProviderSettings::Own(_) => None,
        }
    }

    /// The window that is set for the model, and who says so.
    fn window(&self) -> Sourced<u64> {
        let set = self.endpoint().and_then(|endpoint| endpoint.context_window.clone());
        set.map_or((None, SettingSource::Default), |(size, from)| (Some(size), from))
    }

    /// What the model costs, as it is set, else as the catalogue has it.
    ///
    /// # Errors
    /// [`SettingsError::NoPrice`] where a limit in money needs one and there is none.
    fn prices(
        &self,
        (own, known): (Sourced<Prices>, Option<catalogue::CatalogueModel>),
        (limits, model): (&Limits, &str),
    ) -> Result<Sourced<Prices>, SettingsError> {
        let listed = (known.and_then(|model| model.prices), SettingSource::Catalogue);
        let (prices, from) = first([own, listed]);
        match (limits.usd, prices, self.endpoint()) {
            // It tells what a completion costs, or nobody knows.
            (_, prices, None) if matches!(self, ProviderSettings::Own(OwnProvider::Model(_))) => {
                Ok((prices, from))
            }
            // A script costs nothing.
            (Some(_), None, None) => Ok((Some(FREE), from)),
            (Some(limit), None, Some(endpoint)) if !endpoint.dialect().tells_cost => {
                Err(SettingsError::NoPrice { limit, model: model.to_owned() })
            }
            (_, prices, _) => Ok((prices, from)),
        }
    }

    /// What the catalogue says of the model at this very endpoint.
    fn known(&self) -> Option<catalogue::CatalogueModel> {
        let endpoint = self.endpoint()?;
        let (host, _) = place(&endpoint.base_url)?;
        catalogue::find(catalogue::provider_of(&host)?, &endpoint.model)
    }
}

impl WindowSize {
    /// The window that is set, else that of the catalogue, else a guess.
    fn of(set: Option<u64>, known: Option<&catalogue::CatalogueModel>) -> WindowSize {
        match (set, known) {
            (Some(size), _) => WindowSize { size, from: WindowSource::Set },
            (None, Some(model)) => {
                let size = model.input.unwrap_or(model.window);
                WindowSize { size, from: WindowSource::Catalogue }
            }
            (None, None) => WindowSize { size: ASSUMED_WINDOW, from: WindowSource::Assumed },
        }
    }
}

/// What may be spent, and who says so. A run that goes on has its budget from the journal, whatever the file says.
fn limits(flags: &Flags, file: &FileBudget) -> (Limits, Vec<Provenance>) {
    let default = Limits::default();
    let none = FileBudget::default();
    let file = if flags.budget_recorded { &none } else { file };
    let builtin = || SettingSource::File(BUILTIN);
    let (turns, turns_from) = first([(flags.max_turns, SettingSource::Run), (file.turns, builtin())]);
    let (tokens, tokens_from) = first([(flags.max_tokens, SettingSource::Run), (file.tokens, builtin())]);
    let (time, time_from) =
        first([(flags.timeout, SettingSource::Run), (file.seconds.map(Duration::from_secs), builtin())]);
    let (usd, usd_from) = first([(flags.max_cost, SettingSource::Run), (file.usd, builtin())]);
    let limits = Limits {
        turns: turns.unwrap_or(default.turns),
        tokens,
        time: time.or(default.time.filter(|_| !flags.budget_recorded)),
        usd: usd.map(Usd::dollars),
    };
    let provenance = vec![
        Provenance::new("budget.turns", limits.turns, turns_from),
        Provenance::limit("budget.tokens", limits.tokens, tokens_from),
        Provenance::limit("budget.seconds", limits.time.map(|time| time.as_secs()), time_from),
        Provenance::limit("budget.usd", limits.usd, usd_from),
    ];
    (limits, provenance)
}

/// How commands are confined, and who says so. The inner error is one of the file.
fn sandbox(
    flags: &Flags,
    file: &FileSandbox,
    env: &Env,
    provenance: &mut Vec<Provenance>,
) -> Result<Result<SandboxSettings, String>, SettingsError> {
    let (typed, builtin) = ((flags.sandbox, SettingSource::Run), SettingSource::File(BUILTIN));
    let told = if flags.sandbox.is_none() { requested_level(env)? } else { (None, SettingSource::Default) };
    let (level, level_from) = first([typed, told, (file.level, builtin.clone())]);
    let allowed = (flags.allow_network.then_some(true), SettingSource::Run);
    let (network, network_from) = first([allowed, (file.network, builtin)]);
    let (level, network) = (level.unwrap_or_default(), network.unwrap_or(false));
    let word = json!(level);
    provenance.extend([
        Provenance::new("sandbox.level", word.as_str().unwrap_or_default(), level_from),
        Provenance::new("sandbox.network", network, network_from),
    ]);
    Ok(SandboxSettings::new(level, network, file, env.get("HOME").map(Path::new)))
}

/// How much of the sandbox whoever started this run asks for.
fn requested_level(env: &Env) -> Result<Sourced<Level>, SettingsError> {
    let (word, from) = variable(env, SANDBOX);
    let level =
        |word: String| serde_json::from_value(json!(word)).map_err(|_| SettingsError::NoSuchLevel { word });
    Ok((word.map(level).transpose()?, from))
}

/// What a million tokens cost.
fn prices_row(prices: Option<&Prices>, from: SettingSource) -> Provenance {
    let told = prices.map(|Prices { input, output, .. }| format!("${input} in, ${output} out"));
    Provenance::limit("prices", told, from)
}

/// A query may hold a key.
fn without_query(base_url: &str) -> String {
    match base_url.split_once('?') {
        Some((shown, _)) => format!("{shown}{}", recorded::QUERY),
        None => base_url.to_owned(),
    }
}

#[cfg(test)]
#[path = "settings_tests.rs"]
mod tests;
