//! What was read from the configuration, and what was written to it.

use serde::Serialize;
use serde_json::Value;

/// A setting: `config get`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ConfigValue {
    /// What it is; a secret is masked unless it was asked for.
    pub value: Value,
}

/// A setting was written: `config set`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ConfigSet {
    /// Where, as a path of names.
    pub key: String,
    /// What it is now; a secret is masked.
    pub value: Value,
}

/// A setting was removed: `config unset`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ConfigUnset {
    /// Where it was, as a path of names.
    pub key: String,
    /// Always true; a setting that is not there is an error.
    pub unset: bool,
}

/// Where the configuration is: `config path`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ConfigPath {
    /// The file.
    pub path: String,
    /// Whether it is there.
    pub exists: bool,
}

/// What became of the file in an editor: `config edit`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ConfigEdited {
    /// The file.
    pub path: String,
    /// Whether it is another one now.
    pub changed: bool,
}

/// What `setup` wrote. What it was not asked for is absent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SetupView {
    /// The configuration file.
    pub config: String,
    /// The model that agents use.
    #[serde(flatten)]
    pub model: Option<ModelSetup>,
    /// Who plays when nothing else is said.
    #[serde(flatten)]
    pub agent: Option<AgentSetup>,
}

/// The model that `setup` configured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelSetup {
    /// What the configuration calls its provider.
    pub provider: String,
    /// Where it is asked; a key in it is masked.
    pub base_url: String,
    /// What the provider calls the model.
    pub model: String,
    /// What the configuration calls it.
    pub default_model: String,
    /// Where the key is, in words.
    pub api_key: String,
}

/// The default agent that `setup` configured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentSetup {
    /// The configuration file.
    pub config_path: String,
    /// What the configuration calls the agent.
    pub default_agent: String,
    /// What stands in its way.
    pub adapter_warnings: Vec<String>,
}
