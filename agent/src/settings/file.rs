//! `agents/builtin.yaml`: its shape, and what is in it.

use std::collections::BTreeMap;
use std::path::{Component, Path};
use std::time::Duration;

use secrecy::SecretString;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value, json};
use uwf_engine::catalogue::Prices;
use uwf_engine::config;
use uwf_store::json::sorted;

use super::SettingsError;
use super::fetch::{self, FileFetch};
use super::mcp::{self, FileServers};
use super::snapshots::{self, FileSnapshots};
use crate::confinement::FileSandbox;
use crate::permissions::RolePermissions;
use crate::project::ProjectSettings;
use crate::provider::dialect::{Dialect, DialectSettings};
use crate::provider::wire::Wire;
use crate::provider::{EchoReasoning, RetryPolicy};

/// `agents/builtin.yaml`.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct File {
    pub(super) provider: Option<FileProvider>,
    pub(super) model: Option<String>,
    pub(super) context_window: Option<u64>,
    pub(super) models: BTreeMap<String, FileModel>,
    pub(super) extract: Option<bool>,
    pub(super) prices: BTreeMap<String, Prices>,
    pub(super) budget: FileBudget,
    pub(super) roles: BTreeMap<String, RolePermissions>,
    pub(super) sandbox: FileSandbox,
    pub(super) fetch: FileFetch,
    pub(super) instructions: Option<Vec<String>>,
    pub(super) skills: Option<Vec<String>>,
    pub(super) snapshots: FileSnapshots,
    pub(super) mcp_servers: FileServers,
}

/// The files that describe a provider.
pub(super) const BUILTIN: &str = "agents/builtin.yaml";
pub(super) const CONFIG: &str = "config.yaml";

fn builtin() -> &'static str {
    BUILTIN
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct FileProvider {
    pub(super) base_url: String,
    pub(super) api_key: Option<SecretString>,
    pub(super) api_key_env: Option<String>,
    pub(super) headers: BTreeMap<String, String>,
    pub(super) wire: FileWire,
    #[serde(deserialize_with = "dialect")]
    pub(super) dialect: DialectSettings,
    pub(super) request_body: Map<String, Value>,
    pub(super) stream: Option<bool>,
    pub(super) echo_reasoning: EchoReasoning,
    pub(super) idle_seconds: Option<u64>,
    pub(super) retry: FileRetry,
    /// The file that says so, for people.
    #[serde(skip, default = "builtin")]
    pub(super) file: &'static str,
}

/// The wire of a provider.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum FileWire {
    /// By the host, or what a refusal names.
    #[default]
    Auto,
    Chat,
    Responses,
    Messages,
}

impl FileWire {
    /// The wire of that name; `auto` for any other word, which the shape of the file refuses.
    pub(super) fn named(name: &str) -> FileWire {
        match name.parse() {
            Ok(Wire::Chat) => FileWire::Chat,
            Ok(Wire::Responses) => FileWire::Responses,
            Ok(Wire::Messages) => FileWire::Messages,
            Err(()) => FileWire::Auto,
        }
    }

    /// The wire that must be spoken.
    pub(super) fn set(self) -> Option<Wire> {
        match self {
            FileWire::Auto => None,
            FileWire::Chat => Some(Wire::Chat),
            FileWire::Responses => Some(Wire::Responses),
            FileWire::Messages => Some(Wire::Messages),
        }
    }
}

/// A dialect: its name, or what is changed about one.
fn dialect<'de, D: Deserializer<'de>>(from: D) -> Result<DialectSettings, D::Error> {
    match Value::deserialize(from)? {
        Value::String(name) => Ok(DialectSettings::like(&name)),
        changes => serde_json::from_value(changes).map_err(D::Error::custom),
    }
}

/// What is said of one model, beside the provider's.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct FileModel {
    pub(super) context_window: Option<u64>,
    pub(super) request_body: Map<String, Value>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct FileRetry {
    pub(super) tries: Option<u32>,
    pub(super) seconds: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct FileBudget {
    pub(super) turns: Option<u64>,
    pub(super) tokens: Option<u64>,
    pub(super) seconds: Option<u64>,
    pub(super) usd: Option<f64>,
}

impl File {
    /// The file, or nothing where there is none.
    pub(super) fn load(path: &Path) -> Result<File, SettingsError> {
        let value = config::checked(path, &shape())?;
        serde_json::from_value(value).map_err(|_| SettingsError::Invalid {
            path: path.display().to_string(),
            line: None,
            message: "not of the expected shape".to_owned(),
        })
    }
}

/// Files and directories that say how a project wants to be worked in, where nobody says otherwise.
const INSTRUCTIONS: &[&str] = &["AGENTS.md", "CLAUDE.md"];
const SKILLS: &[&str] = &[".agents/skills", ".claude/skills"];

/// Where a project's own words are looked for: names of files, and directories.
///
/// # Errors
/// What is wrong with one of them, in words.
pub(super) fn project(
    (instructions, skills): (Option<Vec<String>>, Option<Vec<String>>),
) -> Result<ProjectSettings, String> {
    let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    let (instructions, skills) =
        (instructions.unwrap_or_else(|| owned(INSTRUCTIONS)), skills.unwrap_or_else(|| owned(SKILLS)));
    if let Some(name) = instructions.iter().find(|name| name.contains(['/', '\0']) || *name == "..") {
        return Err(format!("instructions: expected names of files such as AGENTS.md, got {name:?}"));
    }
    let leads_out = |path: &&String| {
        let mut parts = Path::new(path.as_str()).components();
        parts.any(|part| !matches!(part, Component::Normal(_) | Component::CurDir))
    };
    if let Some(path) = skills.iter().find(leads_out) {
        return Err(format!("skills: expected directories below the workspace, got {path:?}"));
    }
    Ok(ProjectSettings { instructions, skills })
}

/// The shape of `agents/builtin.yaml`. Nobody else keeps anything in it: a key that is not known is a slip, and what it
/// was to set would silently not hold.
fn shape() -> Value {
    let (text, count, some) = (text(), count(), some());
    let flag = json!({"type": "boolean"});
    let object = json!({"type": "object"});
    let dialects = Dialect::names();
    let changes = closed(json!({
        "like": {"enum": dialects}, "echo": {"enum": ["never", "with-tool-calls", "always"]},
        "cache": {"enum": ["none", "key", "marks"]}, "sessionHeader": text,
    }));
    let provider = json!({
        "baseUrl": text, "apiKey": text, "apiKeyEnv": text, "stream": flag,
        "wire": {"enum": ["auto", "chat", "responses", "messages"]},
        "dialect": {"if": {"type": "object"}, "then": changes, "else": {"enum": dialects}},
        "requestBody": object,
        "headers": map(json!({"type": "string"})),
        "echoReasoning": {"enum": ["auto", "never", "with-tool-calls", "always"]},
        "idleSeconds": some, "retry": closed(json!({"tries": some, "seconds": count})),
    });
    let texts = list(text.clone());
    let sandbox = json!({
        "level": {
            "enum": ["strict", "best-effort"],
            "description": "off is an option of a single run, --sandbox off",
        },
        "network": flag, "writable": texts, "readable": texts, "gitPrograms": flag, "env": texts,
        "limits": closed(json!({"processes": some, "fileBytes": some, "memoryBytes": some, "diskBytes": some})),
    });
    let window = json!({"type": "integer", "minimum": 1000});
    sorted(closed(json!({
        "provider": with(closed(provider), &["baseUrl"]),
        "model": text,
        "contextWindow": window,
        "extract": flag,
        "models": map(closed(json!({"contextWindow": window, "requestBody": object}))),
        "prices": map(prices()),
        "budget": closed(json!({"turns": count, "tokens": count, "seconds": count, "usd": amount()})),
        "sandbox": closed(sandbox),
        "fetch": fetch::shape(),
        "instructions": texts,
        "skills": texts,
        "snapshots": snapshots::shape(),
        "mcpServers": mcp::shape(),
        "roles": map(role()),
    })))
}

/// What is said of one role.
fn role() -> Value {
    let flag = json!({"type": "boolean"});
    let tools: Vec<&str> =
        uwf_tools::specs().iter().map(|spec| spec.name).chain([crate::fetch::NAME]).collect();
    closed(json!({
        "model": text(), "reasoningEffort": text(),
        "temperature": {"type": "number", "minimum": 0, "maximum": 2},
        "tools": list(json!({"enum": tools})), "readOnly": flag, "writable": list(text()), "network": flag,
        "mcpServers": list(text()), "fetch": list(text()),
    }))
}

/// What a million tokens cost.
fn prices() -> Value {
    let amount = amount();
    let record = |more: Value| {
        let mut properties =
            json!({"input": amount, "output": amount, "cachedInput": amount, "cacheWrite": amount});
        more.as_object().into_iter().flatten().for_each(|(name, of)| properties[name] = of.clone());
        closed(properties)
    };
    let tier = with(record(json!({"above": count()})), &["above", "input", "output"]);
    with(record(json!({"tiers": list(tier)})), &["input", "output"])
}

fn text() -> Value {
    json!({"type": "string", "minLength": 1})
}

fn count() -> Value {
    json!({"type": "integer", "minimum": 0})
}

fn some() -> Value {
    json!({"type": "integer", "minimum": 1})
}

fn amount() -> Value {
    json!({"type": "number", "minimum": 0})
}

/// Anything by name.
fn map(of: Value) -> Value {
    json!({"type": "object", "additionalProperties": of})
}

fn list(of: Value) -> Value {
    json!({"type": "array", "items": of})
}

/// These keys and no other.
fn closed(properties: Value) -> Value {
    json!({"type": "object", "properties": properties, "additionalProperties": false})
}

/// The same where some must be there.
fn with(mut record: Value, required: &[&str]) -> Value {
    record["required"] = json!(required);
    record
}

impl FileRetry {
    pub(super) fn policy(self) -> RetryPolicy {
        let default = RetryPolicy::default();
        RetryPolicy {
            tries: self.tries.unwrap_or(default.tries),
            budget: self.seconds.map_or(default.budget, Duration::from_secs),
            ..default
        }
    }
}
