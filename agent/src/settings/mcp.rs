//! Servers of the Model Context Protocol: `mcpServers:` of `agents/builtin.yaml`, and which of them a role has.
//!
//! Apart because the file only describes them. A server is somebody's as soon as a role, or a run by `--mcp`, names it;
//! what is named by nobody is not even looked up in the environment.

use std::collections::BTreeMap;
use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::{Value, json};
use uwf_engine::Env;
use uwf_engine::config::{masked, secret_arguments};
use uwf_store::{sounds_secret, suggest};

use super::{SettingsError, without_query};
use crate::secrets::Secrets;

/// How long a server may take to start, unless it says otherwise.
const START: Duration = Duration::from_secs(30);
/// How long one of its tools may take.
const CALL: Duration = Duration::from_secs(120);
/// The longest name: `server__tool` has 64 characters at most, and the tool is to have some.
const LONGEST_NAME: usize = 24;

/// `mcpServers:`, by their names.
pub(super) type FileServers = BTreeMap<String, FileServer>;

/// One server in the file.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct FileServer {
    command: Option<String>,
    args: Vec<String>,
    env: BTreeMap<String, SecretString>,
    env_vars: Vec<String>,
    url: Option<String>,
    headers: BTreeMap<String, SecretString>,
    bearer_token_env: Option<String>,
    tools: Option<Vec<String>>,
    start_seconds: Option<u64>,
    call_seconds: Option<u64>,
}

/// A server that a run talks to.
#[derive(Clone, Debug)]
pub struct McpServer {
    /// What its tools begin with.
    pub name: String,
    /// How it is reached.
    pub reach: McpReach,
    /// The only tools of it that are offered; `None` is all.
    pub tools: Option<Vec<String>>,
    /// The only ones that a run offers, by the names it has for them: `server__tool`, or `server__*`; `None` is no limit.
    pub offered: Option<Vec<String>>,
    /// How long it may take to start.
    pub start: Duration,
    /// How long a call may take.
    pub call: Duration,
    /// Which of its variables have what they hold from the environment: keys, mostly, whatever they are called.
    pub(crate) passed: Vec<String>,
}

/// How a server is reached.
#[derive(Clone, Debug)]
pub enum McpReach {
    /// A program, by its input and output.
    Stdio {
        /// The program.
        command: String,
        /// Its arguments.
        args: Vec<String>,
        /// What it sees beside the environment of commands.
        env: BTreeMap<String, SecretString>,
    },
    /// An address.
    Http {
        /// Where.
        url: String,
        /// What each request has beside what the protocol says.
        headers: BTreeMap<String, SecretString>,
    },
}

/// The shape of `mcpServers:`.
pub(super) fn shape() -> Value {
    let (text, some) = (json!({"type": "string", "minLength": 1}), json!({"type": "integer", "minimum": 1}));
    let texts = json!({"type": "array", "items": {"type": "string"}});
    let values = json!({"type": "object", "additionalProperties": {"type": "string"}});
    let server = json!({
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "command": text, "args": texts, "env": values, "envVars": texts,
            "url": text, "headers": values, "bearerTokenEnv": text,
            "tools": texts, "startSeconds": some, "callSeconds": some,
        },
    });
    json!({"type": "object", "additionalProperties": server})
}

/// The servers, if they are well described.
///
/// # Errors
/// What is wrong, in words.
pub(super) fn checked(servers: FileServers) -> Result<FileServers, String> {
    for (name, server) in &servers {
        let wrong = server.wrong().or_else(|| (!is_name(name)).then_some(NAME));
        if let Some(wrong) = wrong {
            return Err(format!("mcpServers.{name}: {wrong}"));
        }
    }
    Ok(servers)
}

const NAME: &str = "a name has 1 to 24 letters, digits and `-`, and begins with a letter";

fn is_name(name: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-';
    name.len() <= LONGEST_NAME
        && name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(is_part)
}

impl FileServer {
    /// What is wrong with it.
    fn wrong(&self) -> Option<&'static str> {
        let of_program = !self.args.is_empty() || !self.env.is_empty() || !self.env_vars.is_empty();
        let of_address = !self.headers.is_empty() || self.bearer_token_env.is_some();
        match (&self.command, &self.url) {
            (Some(_), Some(_)) => Some("it is a `command` or a `url`, not both"),
            (None, None) => Some("it needs a `command`, or a `url`"),
            (Some(command), None) if command.contains('/') && !command.starts_with('/') => {
                Some("its `command` is neither a name, which is looked up in PATH, nor an absolute path")
            }
            (Some(_), None) if of_address => Some("`headers` and `bearerTokenEnv` belong to a `url`"),
            (None, Some(_)) if of_program => Some("`args`, `env` and `envVars` belong to a `command`"),
            (None, Some(url)) => wrong_url(url),
            (Some(_), None) => None,
        }
    }

    /// The server with what it needs of the environment.
    fn reached(&self, name: &str, env: &Env) -> Result<McpServer, SettingsError> {
        let variable = |variable: &String| {
            let none = || SettingsError::NoServerVariable { server: name.to_owned(), name: variable.clone() };
            env.text(variable).map(SecretString::from).ok_or_else(none)
        };
        let reach = match (&self.command, &self.url) {
            (Some(command), _) => {
                let mut env = self.env.clone();
                for name in &self.env_vars {
                    env.insert(name.clone(), variable(name)?);
                }
                McpReach::Stdio { command: command.clone(), args: self.args.clone(), env }
            }
            (None, url) => {
                let mut headers = self.headers.clone();
                if let Some(name) = &self.bearer_token_env {
                    let token = format!("Bearer {}", variable(name)?.expose_secret().trim());
                    headers.insert("Authorization".to_owned(), token.into());
                }
                McpReach::Http { url: url.clone().unwrap_or_default(), headers }
            }
        };
        let seconds = |set: Option<u64>, default| set.map_or(default, Duration::from_secs);
        Ok(McpServer {
            name: name.to_owned(),
            reach,
            tools: self.tools.clone(),
            offered: None,
            start: seconds(self.start_seconds, START),
            call: seconds(self.call_seconds, CALL),
            passed: self.env_vars.clone(),
        })
    }
}

/// What is wrong with an address.
fn wrong_url(url: &str) -> Option<&'static str> {
    let Ok(url) = reqwest::Url::parse(url) else { return Some("its `url` is not a URL") };
    let has_password = !url.username().is_empty() || url.password().is_some();
    match url.scheme() {
        "http" | "https" if has_password => {
            Some("a `url` holds no password: use `headers` or `bearerTokenEnv`")
        }
        "http" | "https" => None,
        _ => Some("its `url` must begin with https:// or http://"),
    }
}

/// The servers of these names, each once, in their order.
///
/// # Errors
/// There is none of that name, or a variable that it needs is not set, or it is at an address and the role has no network.
pub(super) fn wanted<'n>(
    names: impl Iterator<Item = &'n String>,
    servers: &FileServers,
    (env, has_network): (&Env, bool),
) -> Result<Vec<McpServer>, SettingsError> {
    let mut wanted: Vec<McpServer> = Vec::new();
    for name in names {
        if wanted.iter().any(|server| server.name == *name) {
            continue;
        }
        let Some(server) = servers.get(name) else {
            let known = suggest::sorted(name, servers.keys());
            return Err(SettingsError::NoSuchServer { name: name.clone(), known });
        };
        if server.url.is_some() && !has_network {
            return Err(SettingsError::ServerNeedsNetwork { name: name.clone() });
        }
        wanted.push(server.reached(name, env)?);
    }
    Ok(wanted)
}

/// The server whose tool this name stands for; none of a tool that is no server's.
pub(super) fn server_of(tool: &str) -> Option<&str> {
    tool.split_once("__").map(|(server, _)| server)
}

/// What is left of the servers where these `tools` were typed: those of which one is named, with these alone. Whatever was
/// `typed` as a server is to have one.
///
/// # Errors
/// A tool is of a server that nobody describes; or nothing is left of a server that was typed.
pub(super) fn narrowed(
    wanted: Vec<McpServer>,
    (tools, typed): (&[String], &[String]),
    servers: &FileServers,
) -> Result<Vec<McpServer>, SettingsError> {
    let unknown = tools.iter().filter_map(|tool| server_of(tool)).find(|name| !servers.contains_key(*name));
    if let Some(name) = unknown {
        let known = suggest::sorted(name, servers.keys());
        return Err(SettingsError::NoSuchServer { name: name.to_owned(), known });
    }
    let mut left = Vec::new();
    for server in wanted {
        let is_its = |tool: &&String| server_of(tool) == Some(&server.name);
        let offered: Vec<String> = tools.iter().filter(is_its).cloned().collect();
        match offered.is_empty() {
            true if typed.contains(&server.name) => {
                return Err(SettingsError::NoToolOfServer { server: server.name });
            }
            true => {}
            false => left.push(McpServer { offered: Some(offered), ..server }),
        }
    }
    Ok(left)
}

impl McpServer {
    /// Whether a tool that is called so is offered.
    pub(crate) fn offers(&self, name: &str) -> bool {
        let is_it = |offered: &String| match offered.strip_suffix('*') {
            Some(beginning) => name.starts_with(beginning),
            None => name == offered,
        };
        self.offered.as_ref().is_none_or(|offered| offered.iter().any(is_it))
    }

    /// The server as the journal and the record keep it: without what may be a secret.
    pub(super) fn describe(&self) -> Value {
        let mut told = match &self.reach {
            McpReach::Stdio { command, args, env } => {
                json!({"command": command, "args": masked(&json!(args), "args"), "env": env.keys().collect::<Vec<_>>()})
            }
            McpReach::Http { url, headers } => {
                json!({"url": without_query(url), "headers": headers.keys().collect::<Vec<_>>()})
            }
        };
        told["name"] = json!(self.name);
        if let Some(tools) = &self.tools {
            told["tools"] = json!(tools);
        }
        if let Some(offered) = &self.offered {
            told["offered"] = json!(offered);
        }
        told
    }

    /// What of it nobody may be shown: what is passed on to it, unless it is a path or a number, and the values of names that sound
    /// so, in its arguments, too.
    pub(super) fn secrets(&self, secrets: &mut Secrets) {
        if let McpReach::Stdio { args, .. } = &self.reach {
            let bare = |secret: &&str| secrets.add(secret.strip_prefix("Bearer ").unwrap_or(secret));
            secret_arguments(args).iter().for_each(bare);
        }
        let (McpReach::Stdio { env: values, .. } | McpReach::Http { headers: values, .. }) = &self.reach;
        let is_authorization = |name: &String| name.eq_ignore_ascii_case("authorization");
        for (name, value) in values {
            let value = value.expose_secret();
            let is_plain = value.starts_with('/') || value.parse::<f64>().is_ok();
            if sounds_secret(name) || is_authorization(name) || (self.passed.contains(name) && !is_plain) {
                secrets.add(value.strip_prefix("Bearer ").unwrap_or(value));
            }
        }
    }
}

#[cfg(test)]
#[path = "mcp_tests.rs"]
mod tests;
