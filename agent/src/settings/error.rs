//! What can be wrong with the settings of a run, for people.

use std::path::Path;

use thiserror::Error;
use uwf_engine::config::ConfigError;

use crate::permissions::PermissionsError;
use crate::usd::Usd;

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
    Roles(#[from] PermissionsError),
    /// Nothing says which model.
    #[error("no model is configured: nothing says which endpoint and model to use")]
    NoModel,
    /// A seed, and nothing that is drawn from it.
    #[error("a seed of a mock script is given, and no mock script")]
    NoScript,
    /// A setting of `config.yaml` names no model of it, or one without a provider.
    #[error("config.yaml: {key}: there is no model {alias}, or it has no provider")]
    NoSuchModel {
        /// The setting.
        key: &'static str,
        /// The name.
        alias: String,
    },
    /// A limit in money for a model whose price nobody knows.
    #[error("a limit of {limit} is set, and there is no price for the model {model}")]
    NoPrice {
        /// The limit.
        limit: Usd,
        /// The model, as the endpoint knows it.
        model: String,
    },
    /// A dialect that is none.
    #[error("{file}: there is no dialect {name}; there are {}", .known.join(", "))]
    NoSuchDialect {
        /// The file that names it.
        file: &'static str,
        /// The name.
        name: String,
        /// The names there are.
        known: Vec<&'static str>,
    },
    /// An MCP server that is none.
    #[error("there is no MCP server {name}; agents/builtin.yaml has {}", words(.known))]
    NoSuchServer {
        /// The name.
        name: String,
        /// The names there are, the likeliest first.
        known: Vec<String>,
    },
    /// A server was asked for, and tools of which none is its.
    #[error("--tools leaves nothing of the MCP server {server}")]
    NoToolOfServer {
        /// The server.
        server: String,
    },
    /// A variable that an MCP server needs is not set.
    #[error("the variable {name}, which the MCP server {server} needs, is not set")]
    NoServerVariable {
        /// The server.
        server: String,
        /// The variable.
        name: String,
    },
    /// An MCP server at an address, for a role without a network.
    #[error("the role has no network, and the MCP server {name} is at an address")]
    ServerNeedsNetwork {
        /// The server.
        name: String,
    },
    /// The environment asks for a sandbox that there is not.
    #[error("UWF_BUILTIN_SANDBOX: there is no sandbox {word:?}; there are strict, best-effort and off")]
    NoSuchLevel {
        /// What it says.
        word: String,
    },
    /// A host to fetch from that is none.
    #[error("{place}: {why}")]
    FetchHost {
        /// Where it is named.
        place: &'static str,
        /// What is wrong with it.
        why: String,
    },
    /// The tool for the web, and nothing that it may ask.
    #[error("fetch_url is to be offered, and no host may be fetched from")]
    NoFetchHost,
    /// A base URL that cannot be used; it is not shown where it may hold a password.
    #[error("the base URL {0}")]
    BaseUrl(String),
    /// A variable that was named as the key's place is not set.
    #[error("the API key variable {0} is not set")]
    NoKey(String),
}

impl SettingsError {
    /// A file that says something which cannot be meant.
    pub(super) fn in_file(path: &Path, message: String) -> SettingsError {
        SettingsError::Invalid { path: path.display().to_string(), line: None, message }
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            SettingsError::NoModel => Some(
                "connect one with `uwf setup`, pass --base-url and --model, \
                 or use --mock FILE to run without a model",
            ),
            SettingsError::NoScript => Some("name the script with --mock FILE, or leave --mock-seed out"),
            SettingsError::NoSuchModel { .. } => Some(
                "define it: `uwf config set models.ALIAS '{ provider: NAME, name: MODEL }'`, or change the setting",
            ),
            SettingsError::NoPrice { .. } => Some(
                "`uwf models` lists those that are known; for another one write it into $UWF_HOME/agents/builtin.yaml, \
                 in USD per million tokens: prices: { MODEL: { input: 0.25, output: 2, cachedInput: 0.025 } }",
            ),
            SettingsError::BaseUrl(_) => Some("a base URL looks like https://api.openai.com/v1"),
            SettingsError::NoKey(_) => Some("set the variable, or change apiKeyEnv"),
            SettingsError::NoSuchServer { .. } => Some(
                "describe it there: `mcpServers: { NAME: { command: PROGRAM, args: [...] } }`, or `{ NAME: { url: ... } }`",
            ),
            SettingsError::NoToolOfServer { .. } => Some(
                "name its tools, too, as in --tools read_file,files__read_text_file; `files__*` is all of them",
            ),
            SettingsError::NoServerVariable { .. } => Some(
                "set it, or write it into $UWF_HOME/.env; `envVars` and `bearerTokenEnv` name such variables",
            ),
            SettingsError::ServerNeedsNetwork { .. } => {
                Some("take `network: false` from the role, or the server")
            }
            SettingsError::FetchHost { .. } => Some(
                "a host is a name such as docs.rs or *.example.com, with a port where it is another: localhost:8080",
            ),
            SettingsError::NoFetchHost => Some(
                "name one with --fetch-host docs.rs, or `fetch: { hosts: [docs.rs] }` in agents/builtin.yaml; a role's own hosts \
                 only narrow these",
            ),
            SettingsError::NoSuchLevel { .. } => Some("set it to one of these, or unset it"),
            _ => None,
        }
    }
}

/// The names, or that there are none.
fn words(names: &[String]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}
