//! `$UWF_HOME/config.yaml`: which agents there are, who plays which role, which models an agent may use.
//!
//! Typed for those who use it, checked with positions for those who write it. Unknown keys are left alone: other
//! programs keep theirs in the same file. Nothing here looks at the environment or starts anything.

pub mod defined;
mod diagnostic;
mod edit;
mod file;
mod keys;
mod models;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Value, json};
use thiserror::Error;
use uwf_store::json::sorted;
use uwf_store::suggest;

pub use self::edit::{ConfigChange, Edited, apply, replace, set, unset, written};
pub use self::file::checked;
use self::file::read;
pub use self::keys::{check_key, lookup, masked, masked_at, secret_arguments};
pub use self::models::{ModelConfig, ProviderConfig};
use crate::home::disk_hint;
use crate::spawn::protocol::{AgentCommand, CallForm, WORKFLOW_PREFIX};
use crate::workflow::anchored;

/// The agent that needs no configuration.
pub const BUILTIN: &str = "uwf-builtin";

/// A shorter name of it.
pub const BUILTIN_ALIAS: &str = "builtin";

/// What the file says; everything in it is optional.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Config {
    /// Programs by alias.
    pub agents: BTreeMap<String, AgentCommand>,
    /// The alias that plays when nothing else is said.
    pub default_agent: Option<String>,
    /// Workflow → role → alias.
    pub agent_overrides: BTreeMap<String, BTreeMap<String, String>>,
    /// Where models are served, by name.
    pub providers: BTreeMap<String, ProviderConfig>,
    /// Models by alias.
    pub models: BTreeMap<String, ModelConfig>,
    /// How many threads may be above one that is called to play a role.
    pub max_depth: Option<u32>,
    /// The model alias used when nothing else is said.
    pub default_model: Option<String>,
    /// Purpose (`agent`, `extract`, …) → model alias.
    pub model_overrides: BTreeMap<String, String>,
    /// The agents that a definition describes; see [`defined`]. They are no part of the file.
    #[serde(skip)]
    pub defined: BTreeMap<String, AgentCommand>,
}

/// What can be wrong with the configuration.
#[derive(Debug, Error)]
pub enum ConfigError {
    /// The file cannot be read or written.
    #[error("cannot {verb} {}", file.display())]
    Io {
        /// `read` or `write`.
        verb: &'static str,
        /// The file.
        file: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// The file says something it may not say; every problem, one a line.
    #[error("{}", problems.join("\n  "))]
    Invalid {
        /// `file:line:column: what`.
        problems: Vec<String>,
    },
    /// A change that would make the file say something it may not say; every problem, one a line.
    #[error("{}", problems.join("\n  "))]
    Unfit {
        /// `key: what`.
        problems: Vec<String>,
    },
    /// Somebody else has changed the file meanwhile.
    #[error("{} was changed by somebody else meanwhile", file.display())]
    Changed {
        /// The file.
        file: PathBuf,
    },
    /// No value at that key.
    #[error("{} has no `{key}`", file.display())]
    NoSuchKey {
        /// The key asked for.
        key: String,
        /// The file.
        file: PathBuf,
        /// The keys there are beside it, the nearest first.
        known: Vec<String>,
    },
    /// A key that cannot be one.
    #[error("`{key}` is not a key: expected names joined by dots, such as agents.mine.command")]
    BadKey {
        /// What was given.
        key: String,
    },
    /// A key of more names than lead anywhere.
    #[error("`{start}…` is not a key: it has {names} names, and at most {} lead to a value", keys::MAX_NAMES)]
    LongKey {
        /// How it begins.
        start: String,
        /// How many names it has.
        names: usize,
    },
    /// A value that would be nested deeper than settings are read.
    #[error("`{key}` cannot be that: it would be nested deeper than {} levels", edit::MAX_DEPTH)]
    Deep {
        /// The key.
        key: String,
    },
    /// What is to be set would stand below a value that has no keys.
    #[error("`{key}` is a single value or a list: nothing can be set below it")]
    NoMapping {
        /// Its key.
        key: String,
    },
    /// An alias that is not defined.
    #[error("no such agent: `{alias}`{}", named_by.as_ref().map(|by| format!(" ({by} names it)")).unwrap_or_default())]
    UnknownAgent {
        /// The alias.
        alias: String,
        /// The setting that names it.
        named_by: Option<String>,
        /// The aliases there are, the nearest first.
        known: Vec<String>,
    },
    /// `--agent` is a workflow with more than its name.
    #[error(
        "`{text}` is not a workflow: expected `workflow:` and a hash, a file or a name, and nothing after it"
    )]
    BadWorkflow {
        /// What was given.
        text: String,
    },
    /// `--agent` is no command line.
    #[error("`{text}` is not a command: a quote is not closed, or it is empty")]
    BadCommand {
        /// What was given.
        text: String,
    },
}

impl ConfigError {
    /// What to do about it, when that can be said.
    pub fn hint(&self) -> Option<String> {
        match self {
            ConfigError::Changed { .. } => None,
            ConfigError::NoSuchKey { known, .. } if known.is_empty() => {
                Some("nothing is set there; `uwf config set KEY VALUE` does".to_owned())
            }
            ConfigError::NoSuchKey { known, .. } => Some(format!("keys there: {}", known.join(", "))),
            ConfigError::UnknownAgent { known, .. } => Some(format!(
                "agents known: {}; `uwf agents` lists all, `uwf config set agents.NAME.command PROGRAM` defines one",
                known.join(", ")
            )),
            ConfigError::BadWorkflow { .. } => Some(
                "who plays its roles is configured, as for any workflow: see agentOverrides in config.yaml"
                    .to_owned(),
            ),
            ConfigError::BadCommand { .. } => {
                Some("name a program, as in --agent \"my-agent --fast\"".to_owned())
            }
            ConfigError::Io { source, file, .. } => disk_hint(source, file)
                .or_else(|| Some("UWF_HOME names the directory; `uwf doctor` tells which".to_owned())),
            ConfigError::Unfit { .. } => {
                Some("nothing was written; set what belongs together at once".to_owned())
            }
            ConfigError::NoMapping { key } => {
                Some(format!("set it as a whole: `uwf config set {key} VALUE`"))
            }
            ConfigError::BadKey { .. }
            | ConfigError::LongKey { .. }
            | ConfigError::Deep { .. }
            | ConfigError::Invalid { .. } => None,
        }
    }
}

/// `$UWF_HOME/config.yaml`.
pub fn path(home: &Path) -> PathBuf {
    home.join("config.yaml")
}

/// Reads and checks the configuration; a missing file is an empty one.
///
/// # Errors
/// The file cannot be read or is not a valid configuration.
pub fn load(home: &Path) -> Result<Config, ConfigError> {
    let file = path(home);
    let mut value = checked(&file, &shape())?;
    let agents = value.get_mut("agents").and_then(Value::as_object_mut);
    agents.into_iter().flat_map(|agents| agents.values_mut()).for_each(as_command);
    let mut config: Config = serde_json::from_value(value).map_err(|error| {
        let problem = format!("{}: {error}", file.display());
        ConfigError::Invalid { problems: vec![problem] }
    })?;
    for agent in config.agents.values_mut() {
        anchor(agent, home);
    }
    config.define(defined::names(home));
    Ok(config)
}

/// An agent that is a workflow, as the command that stands for it.
fn as_command(agent: &mut Value) {
    if let Some(reference) = agent["workflow"].as_str() {
        *agent = json!(AgentCommand::workflow(reference));
    }
}

/// A program given as a relative path counts from `base`, since agents start in other directories.
fn anchor(agent: &mut AgentCommand, base: &Path) {
    if let Some(reference) = agent.of_workflow() {
        *agent = AgentCommand::workflow(&anchored(reference, base));
    } else if agent.program.contains('/') {
        agent.program = base.join(&agent.program).to_string_lossy().into_owned();
    }
}

/// The arguments behind the name of a definition; where the first of them is the program, a relative path counts from `cwd`.
fn anchored_program(name: &str, args: &[String], cwd: &Path) -> Vec<String> {
    let mut args = args.to_vec();
    if let Some(program) =
        args.first_mut().filter(|program| name == defined::COMMAND && program.contains('/'))
    {
        *program = cwd.join(&*program).to_string_lossy().into_owned();
    }
    args
}

/// The file's value as it is, checked; an empty object when there is no file.
///
/// # Errors
/// The file cannot be read or is not a valid configuration.
pub fn value(home: &Path) -> Result<Value, ConfigError> {
    read(&path(home), &shape())
}

/// The keys of the file that nothing here reads, each with what was probably meant.
///
/// # Errors
/// The file cannot be read or is not a valid configuration.
pub fn unread(home: &Path) -> Result<Vec<String>, ConfigError> {
    Ok(diagnostic::unread(&value(home)?, &shape()))
}

/// The shape of the keys that are ours.
fn shape() -> Value {
    let text = json!({"type": "string", "minLength": 1});
    let map = |of: Value| json!({"type": "object", "additionalProperties": of});
    let record = |required: &[&str], properties: Value| json!({"type": "object", "required": required, "properties": properties});
    let args = json!({"type": "array", "items": {"type": "string"}});
    let protocol = json!({"enum": CallForm::WORDS});
    let agent = json!({"command": text, "args": args, "protocol": protocol, "workflow": text});
    let mut agent = record(&[], agent);
    agent["if"] = json!({"required": ["workflow"]});
    let of_program = ["command", "args", "protocol"].map(|key| json!({"required": [key]}));
    agent["then"] = json!({"not": {"anyOf": of_program}});
    agent["else"] = json!({"required": ["command"]});
    agent["description"] =
        json!("an agent is a `command` with its `args` and `protocol`, or a `workflow` alone");
    let properties = json!({
        "agents": map(agent),
        "defaultAgent": text,
        "agentOverrides": map(map(text.clone())),
        "providers": map(models::provider_shape()),
        "models": map(models::model_shape()),
        "maxDepth": {"type": "integer", "minimum": 0, "maximum": 100},
        "defaultModel": text,
        "modelOverrides": map(text.clone()),
    });
    sorted(record(&[], properties))
}

impl Config {
    /// Makes these names known as those of agents that a definition describes.
    fn define(&mut self, names: BTreeSet<String>) {
        let command = |name: String| (name.clone(), AgentCommand::defined(&name, &[]));
        self.defined = names.into_iter().map(command).collect();
    }

    /// The agent of that name: of the file, else of a definition.
    pub fn known_agent(&self, name: &str) -> Option<&AgentCommand> {
        self.agents.get(name).or_else(|| self.defined.get(name))
    }

    /// The names of all agents but the builtin one: of the file, and of definitions.
    pub fn agent_names(&self) -> BTreeSet<&str> {
        self.agents.keys().chain(self.defined.keys()).map(String::as_str).collect()
    }

    /// The names of all agents, the ones that resemble `name` most first.
    pub fn known_agents(&self, name: &str) -> Vec<String> {
        suggest::sorted(name, self.agent_names().into_iter().chain([BUILTIN]))
    }

    /// Who plays `role` of `workflow`: the override, else the default, else nobody in particular (the builtin agent).
    ///
    /// # Errors
    /// [`ConfigError::UnknownAgent`] when the configuration names an alias that it does not define.
    pub fn agent_for(&self, workflow: &str, role: &str) -> Result<Option<&AgentCommand>, ConfigError> {
        let chosen = self.agent_overrides.get(workflow).and_then(|roles| roles.get(role));
        match (chosen, &self.default_agent) {
            (Some(alias), _) => self.agent(alias, &format!("agentOverrides.{workflow}.{role}")),
            (None, Some(alias)) => self.agent(alias, "defaultAgent"),
            (None, None) => Ok(None),
        }
    }

    fn agent(&self, alias: &str, named_by: &str) -> Result<Option<&AgentCommand>, ConfigError> {
        match self.known_agent(alias) {
            Some(command) => Ok(Some(command)),
            None if [BUILTIN, BUILTIN_ALIAS].contains(&alias) => Ok(None),
            None => {
                let known = self.known_agents(alias);
                let named_by = Some(named_by.to_owned());
                Err(ConfigError::UnknownAgent { alias: alias.to_owned(), named_by, known })
            }
        }
    }

    /// Every name in it that stands for nothing; what each is met with when it is used.
    pub fn unknown_names(&self) -> Vec<String> {
        let roles = self.agent_overrides.iter().flat_map(|(workflow, roles)| {
            roles.iter().map(move |(role, alias)| (format!("agentOverrides.{workflow}.{role}"), alias))
        });
        let agents = self.default_agent.iter().map(|alias| ("defaultAgent".to_owned(), alias)).chain(roles);
        let agents =
            agents.filter_map(|(key, alias)| self.agent(alias, &key).err().map(|error| error.to_string()));
        let purposes =
            self.model_overrides.iter().map(|(purpose, alias)| (format!("modelOverrides.{purpose}"), alias));
        let models =
            self.default_model.iter().map(|alias| ("defaultModel".to_owned(), alias)).chain(purposes);
        let models = models.filter(|(_, alias)| !self.models.contains_key(*alias));
        let models = models.map(|(key, alias)| format!("no such model: `{alias}` ({key} names it)"));
        let providers = self.models.iter().filter(|(_, model)| !self.providers.contains_key(&model.provider));
        let providers = providers.map(|(alias, model)| {
            format!("no such provider: `{}` (models.{alias}.provider names it)", model.provider)
        });
        agents.chain(models).chain(providers).collect()
    }

    /// What `--agent` means: an alias, else a command line with the shell's quoting, its program seen from `cwd`. Behind the
    /// name of a definition stand arguments for the program that it describes.
    ///
    /// # Errors
    /// [`ConfigError::BadCommand`] when the text is empty or a quote in it is not closed.
    pub fn named_agent(&self, text: &str, cwd: &Path) -> Result<AgentCommand, ConfigError> {
        if let Some(command) = self.known_agent(text) {
            return Ok(command.clone());
        }
        if text == BUILTIN_ALIAS {
            return Ok(AgentCommand::new(BUILTIN, Vec::new()));
        }
        let words = shlex::split(text).unwrap_or_default();
        let (program, args) =
            words.split_first().ok_or_else(|| ConfigError::BadCommand { text: text.to_owned() })?;
        if let Some(reference) = program.strip_prefix(WORKFLOW_PREFIX)
            && (!args.is_empty() || reference.is_empty())
        {
            return Err(ConfigError::BadWorkflow { text: text.to_owned() });
        }
        if self.defined.contains_key(program) && !self.agents.contains_key(program) {
            return Ok(AgentCommand::defined(program, &anchored_program(program, args, cwd)));
        }
        let mut agent = AgentCommand::new(program.as_str(), args.to_vec());
        anchor(&mut agent, cwd);
        Ok(agent)
    }
}

#[cfg(test)]
mod tests;
