//! From what was typed, the environment and the files to what a run works with: flags over environment over
//! `agents/builtin.yaml` over `config.yaml`.
//!
//! Apart from `cli` so that the precedence can be read (and tested) in one place. It reads the two files and nothing
//! else; keys are held as secrets and appear in no description of the settings.

mod describe;
mod endpoint;
mod error;
mod extract;
mod fetch;
mod file;
mod mcp;
mod model;
mod on_record;
mod program;
mod provenance;
mod recorded;
mod shared;
mod snapshots;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use serde_json::json;
use uwf_engine::catalogue::Prices;
use uwf_engine::spawn::protocol::SANDBOX;
use uwf_engine::thread::COMPACT;
use uwf_engine::{Env, Workflow, config};
use uwf_tools::sandbox::Level;

use self::describe::without_query;
pub use self::endpoint::Endpoint;
use self::endpoint::endpoint;
pub use self::error::SettingsError;
use self::file::{BUILTIN, File, FileBudget};
use self::mcp::FileServers;
pub use self::mcp::{McpReach, McpServer};
use self::model::prices_row;
pub use self::model::{WindowSize, WindowSource};
pub use self::provenance::Provenance;
use self::provenance::{SettingSource, Sourced, first, variable, window};
pub use self::shared::SharedSettings;
pub use self::snapshots::SnapshotSettings;
use crate::additions::{Additions, OwnProvider};
use crate::budget::Limits;
use crate::confinement::{FileSandbox, SandboxSettings};
use crate::fetch::FetchPolicy;
use crate::permissions::{PermissionsByRole, RolePermissions};
use crate::project::ProjectSettings;
use crate::provider::message::Sampling;
use crate::provider::{ProviderError, Script};
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
    /// `--mock-seed`.
    pub mock_seed: Option<u64>,
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
    /// `--mcp`.
    pub mcp: Vec<String>,
    /// `--sandbox`.
    pub sandbox: Option<Level>,
    /// `--allow-network`.
    pub allow_network: bool,
    /// `--fetch-host`.
    pub fetch_hosts: Vec<String>,
    /// `--no-snapshots`.
    pub no_snapshots: bool,
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
    /// The tools of the workspace to offer; `None` is all.
    pub tools: Option<Vec<String>>,
    /// What `fetch_url` may fetch; it is not offered where this is none.
    pub(crate) fetch: Option<FetchPolicy>,
    /// What is taken away from single roles.
    pub(crate) roles: PermissionsByRole,
    /// What is taken away from the role that is played; see [`Settings::for_role`].
    pub(crate) permissions: RolePermissions,
    /// What commands may reach.
    pub sandbox: SandboxSettings,
    /// The MCP servers that the role has; see [`Settings::for_role`].
    pub mcp: Vec<McpServer>,
    /// All MCP servers that there are.
    mcp_servers: FileServers,
    /// What is captured of the workspace.
    pub snapshots: SnapshotSettings,
    /// Where the project's own words are looked for.
    pub(crate) project: ProjectSettings,
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
    Mock(ScriptFile),
    /// A model at an endpoint.
    Http(Box<Endpoint>),
    /// What a program brings with it.
    Own(OwnProvider),
}

/// A script that stands in for a model.
#[derive(Clone, Debug, PartialEq)]
pub struct ScriptFile {
    /// The file.
    pub path: PathBuf,
    /// What its behaviours are drawn from, where somebody says.
    pub seed: Option<u64>,
    /// What is in it, once it was read.
    content: OnceLock<Script>,
}

impl Flags {
    /// The script that stands in for a model, where one is named.
    fn script(&self) -> Result<Option<ScriptFile>, SettingsError> {
        match (&self.mock, self.mock_seed) {
            (Some(path), seed) => Ok(Some(ScriptFile::new(path.clone(), seed))),
            (None, Some(_)) => Err(SettingsError::NoScript),
            (None, None) => Ok(None),
        }
    }
}

impl ScriptFile {
    pub(crate) fn new(path: PathBuf, seed: Option<u64>) -> ScriptFile {
        ScriptFile { path, seed, content: OnceLock::new() }
    }

    /// What is in it; the file is read once.
    pub(crate) fn load(&self) -> Result<Script, ProviderError> {
        if let Some(script) = self.content.get() {
            return Ok(script.clone());
        }
        let script = Script::load(&self.path)?.with_seed(self.seed.unwrap_or_default());
        Ok(self.content.get_or_init(|| script).clone())
    }
}

impl Settings {
    /// Puts the settings together. `home` is `$UWF_HOME`.
    ///
    /// # Errors
    /// See [`SettingsError`].
    pub fn load(flags: Flags, env: &Env, home: &Path) -> Result<Settings, SettingsError> {
        let loaded_from = LoadedFrom { flags: flags.clone(), env: env.clone(), home: home.to_owned() };
        let path = home.join(BUILTIN);
        let mut file = File::load(&path)?;
        let (extracts, set_window) = (file.extract, (file.context_window, SettingSource::File(BUILTIN)));
        let roles = PermissionsByRole::read(std::mem::take(&mut file.roles))?;
        let (limits, mut bounds) = limits(&flags, &file.budget);
        let mut set_prices = std::mem::take(&mut file.prices);
        let invalid = |message| SettingsError::in_file(&path, message);
        let sandbox = sandbox(&flags, &file.sandbox, env, &mut bounds)?.map_err(invalid)?;
        let fetch = std::mem::take(&mut file.fetch).policy(&flags, env, &mut bounds)?;
        bounds.extend(project_rows(&file));
        let project = file::project((file.instructions.take(), file.skills.take())).map_err(invalid)?;
        let snapshots = std::mem::take(&mut file.snapshots);
        let snapshots = SnapshotSettings::of(flags.no_snapshots, snapshots, &mut bounds).map_err(invalid)?;
        let mcp_servers = mcp::checked(std::mem::take(&mut file.mcp_servers)).map_err(invalid)?;
        let (provider, model, extract, mut provenance) = match flags.script()? {
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
            tools: flags.tools.map(of_workspace),
            fetch,
            roles,
            permissions: RolePermissions::default(),
            sandbox,
            mcp: Vec::new(),
            mcp_servers,
            snapshots,
            project,
            provenance,
            added: Additions::default(),
            loaded_from,
        })
    }

    /// The settings with what is said of `role`: its model, its MCP servers, and what is taken away from it.
    ///
    /// # Errors
    /// `PermissionsError::Role`, those of [`Settings::load`] where the role has a model of its own, and of its servers.
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
        settings.fetch =
            fetch::of_role(settings.fetch.take(), &permissions, self.loaded_from.flags.tools.as_deref())?;
        let has_network = permissions.network != Some(false);
        settings.sandbox.network &= has_network;
        // Whoever sums a thread up has what the file says of it, and nothing that was typed for the others.
        let typed = self.loaded_from.flags.mcp.iter().filter(|_| role != COMPACT);
        let names = permissions.mcp_servers.iter().chain(typed);
        settings.mcp = mcp::wanted(names, &settings.mcp_servers, (&self.loaded_from.env, has_network))?;
        if let Some(tools) = &self.loaded_from.flags.tools {
            let typed = (tools.as_slice(), self.loaded_from.flags.mcp.as_slice());
            settings.mcp = mcp::narrowed(settings.mcp, typed, &settings.mcp_servers)?;
        }
        settings.sandbox.within = match permissions.read_only {
            true => Some(Vec::new()),
            false => permissions.writable.as_deref().map(uwf_tools::writable_trees),
        };
        Ok(Settings { permissions, ..settings })
    }
}

impl ProviderSettings {
    /// Reads the script that plays in the place of a model, before a sandbox closes where it lies. One that cannot be read
    /// is an error when it is to be played.
    pub fn read_ahead(&self) {
        if let ProviderSettings::Mock(script) = self {
            script.load().ok();
        }
    }

    /// The endpoint, unless the model is a script.
    pub fn endpoint(&self) -> Option<&Endpoint> {
        match self {
            ProviderSettings::Http(endpoint) => Some(endpoint),
            ProviderSettings::Mock(_) | ProviderSettings::Own(_) => None,
        }
    }
}

/// Where the project's own words are looked for, if somebody says so.
fn project_rows(file: &File) -> impl Iterator<Item = Provenance> {
    let rows = [("instructions", &file.instructions), ("skills", &file.skills)];
    rows.into_iter().filter_map(|(name, said)| {
        let said = said.as_ref()?;
        let value = if said.is_empty() { "none".to_owned() } else { said.join(", ") };
        Some(Provenance::new(name, value, SettingSource::File(BUILTIN)))
    })
}

/// The names of tools that work in the workspace; the one for the web goes by its policy, those of servers by these.
fn of_workspace(mut names: Vec<String>) -> Vec<String> {
    names.retain(|name| name != crate::fetch::NAME && mcp::server_of(name).is_none());
    names
}

/// What may be spent, and who says so. A run that goes on has its budget from the journal, whatever the file says.
fn limits(flags: &Flags, file: &FileBudget) -> (Limits, Vec<Provenance>) {
    let default = Limits::default();
    let none = FileBudget::default();
    let file = if flags.budget_recorded { &none } else { file };
    let (turns, turns_from) = typed_or_file(flags.max_turns, file.turns);
    let (tokens, tokens_from) = typed_or_file(flags.max_tokens, file.tokens);
    let (time, time_from) = typed_or_file(flags.timeout, file.seconds.map(Duration::from_secs));
    let (usd, usd_from) = typed_or_file(flags.max_cost, file.usd);
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

/// What was typed, else what the file says.
fn typed_or_file<T>(typed: Option<T>, file: Option<T>) -> Sourced<T> {
    first([(typed, SettingSource::Run), (file, SettingSource::File(BUILTIN))])
}

/// How commands are confined, and who says so. The inner error is one of the file.
fn sandbox(
    flags: &Flags,
    file: &FileSandbox,
    env: &Env,
    provenance: &mut Vec<Provenance>,
) -> Result<Result<SandboxSettings, String>, SettingsError> {
    let requested =
        if flags.sandbox.is_none() { requested_level(env)? } else { (None, SettingSource::Default) };
    let (level, level_from) = first([requested, typed_or_file(flags.sandbox, file.level)]);
    let (network, network_from) = typed_or_file(flags.allow_network.then_some(true), file.network);
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

#[cfg(test)]
#[path = "settings_tests.rs"]
mod tests;
