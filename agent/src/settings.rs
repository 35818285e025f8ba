//! From what was typed, the environment and the files to what a run works with: flags over environment over
//! `agents/builtin.yaml` over `config.yaml`.
//!
//! Apart from `cli` so that the precedence can be read (and tested) in one place. It reads the two files and nothing
//! else; keys are held as secrets and appear in no description of the settings.

mod begun;
mod endpoint;
mod error;
mod extract;
mod file;
mod origins;

use std::path::{Path, PathBuf};
use std::time::Duration;

use secrecy::ExposeSecret;
use serde_json::{Value, json};
use uwf_engine::{Env, Workflow, config};
use uwf_tools::sandbox::Level;

pub(crate) use self::endpoint::Endpoint;
use self::endpoint::endpoint;
pub(crate) use self::error::SettingsError;
use self::file::{File, FileBudget};
use crate::budget::Limits;
use crate::confinement::SandboxSettings;
use crate::narrowing::{Narrowing, NarrowingError, Narrowings};
use crate::prices::{Prices, Usd};
use crate::provider::message::Sampling;
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
    Http(Endpoint),
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
                (ProviderSettings::Http(endpoint), model, extract)
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
            ProviderSettings::Http(endpoint) => {
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
            ProviderSettings::Http(endpoint) => Some(endpoint),
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

/// A query may hold a key.
fn without_query(base_url: &str) -> String {
    match base_url.split_once('?') {
        Some((shown, _)) => format!("{shown}{}", begun::QUERY),
        None => base_url.to_owned(),
    }
}

#[cfg(test)]
#[path = "settings_tests.rs"]
mod tests;
