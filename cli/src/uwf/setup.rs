//! `uwf setup`: from a provider, a model and the place of a key to a configuration that agents can use, and who plays.
//!
//! It writes `config.yaml` and nothing else: where another setting would win over it, it says so. Keys are never
//! arguments (others see those), never echoed and never printed.

mod agent;
mod endpoint;
mod model;
mod presets;

use std::path::Path;

use serde_json::{Value, json};

use self::agent::DefaultAgent;
use self::endpoint::{bare, base_url, catalogued};
use self::presets::{PRESETS, Preset};
use super::args::Setup;
use super::config::tell_of_comments;
use crate::shell::{CliError, OK, Session, USAGE, input::Input, render};
use uwf_engine::config::{self, ConfigChange};
use uwf_engine::view::{AgentSetup, ModelSetup, SetupView};

pub(super) fn run(session: &mut Session<'_>, args: &Setup) -> Result<u8, CliError> {
    let home = session.homes()?.uwf;
    // A file that is not valid is told before anything is asked.
    let old = config::value(&home)?;
    let agent = args.agent.as_deref().map(|name| DefaultAgent::named(name, &old, &home)).transpose()?;
    // Whoever names an agent and nothing else has a model, or an agent that has one.
    let connection = match args.names_only_an_agent() {
        true => None,
        false => Some(Connection::gather(session, args, &old)?),
    };
    let obstacle = agent.as_ref().map(|agent| agent.obstacle(session)).transpose()?.flatten();
    let changes: Vec<ConfigChange> =
        connection.iter().flat_map(|connection| connection.changes(&old)).collect();
    let changes = [changes, agent.iter().flat_map(DefaultAgent::changes).collect()].concat();
    let comments_lost = config::apply(&home, &changes)?;
    if let Some(connection) = connection.as_ref().filter(|connection| connection.loses_key(&old)) {
        let name = &connection.provider;
        session.ui.warn(&format!("the key stored for {name} is no longer in config.yaml"));
    }
    let file = config::path(&home);
    tell_of_comments(session, &home, comments_lost);
    let config = render::path(&file);
    let view = SetupView {
        model: connection.as_ref().map(|connection| connection.view(connection.alias(&old))),
        agent: agent.map(|agent| AgentSetup {
            config_path: config.clone(),
            default_agent: agent.alias,
            adapter_warnings: obstacle.iter().cloned().collect(),
        }),
        config,
    };
    session.ui.result(&view, || text(&view))?;
    if let Some(obstacle) = obstacle {
        session.ui.warn(&obstacle);
    }
    if let Some(connection) = &connection {
        model::advise(session, catalogued(&connection.base_url), &connection.model);
        warn_of_rivals(session, &home, &connection.alias(&old));
        session.ui.note("check it with `uwf-builtin doctor --online`");
    }
    Ok(OK)
}

fn text(SetupView { config, model, agent }: &SetupView) -> String {
    let model = model.as_ref().map(|ModelSetup { provider, base_url, model, api_key, .. }| {
        format!("{model} of {provider}, {base_url}\nkey: {api_key}\n")
    });
    let agent = agent.as_ref().map(|agent| format!("default agent: {}\n", agent.default_agent));
    format!("{}{}written to {config}\n", model.unwrap_or_default(), agent.unwrap_or_default())
}

/// What is to be written.
struct Connection {
    provider: String,
    base_url: String,
    model: String,
    key: Key,
}

/// Where the key is.
enum Key {
    /// Where it was: nothing else was said, and it goes where it went.
    Kept,
    None,
    Variable(String),
    Here(String),
}

impl Key {
    fn describe(&self) -> String {
        match self {
            Key::Kept => "as it was".to_owned(),
            Key::None => "none".to_owned(),
            Key::Variable(name) => format!("${name}"),
            Key::Here(_) => "in the file, readable for you only".to_owned(),
        }
    }
}

impl Connection {
    /// From what was typed, and on a terminal from what is answered.
    fn gather(session: &mut Session<'_>, args: &Setup, old: &Value) -> Result<Connection, CliError> {
        require(session, args)?;
        let provider = match &args.provider {
            Some(name) => name.clone(),
            None => {
                let known: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
                session.ask(&format!("Provider ({}, or another name)", known.join(", ")), "openai")?
            }
        };
        if provider.trim().is_empty() {
            return Err(
                CliError::user("the provider's name is empty").with_hint("name one with --provider NAME")
            );
        }
        let preset = presets::find(&provider);
        let before = &old["providers"][&provider];
        let there = before["baseUrl"].as_str();
        let base_url = base_url(session, args, &provider, there)?;
        let model = match &args.model {
            Some(model) => model.clone(),
            None => model::ask(session, catalogued(&base_url), preset)?,
        };
        if model.trim().is_empty() {
            return Err(CliError::user("the model's name is empty").with_hint("name one with --model MODEL"));
        }
        let has_key = ["apiKey", "apiKeyEnv"].iter().any(|name| before[name].is_string());
        let goes_there = there.is_some_and(|there| bare(there) == base_url);
        let key = match has_key && goes_there && args.says_no_key() {
            true => Key::Kept,
            false => key(session, args, preset)?,
        };
        Ok(Connection { provider, base_url, model, key })
    }

    /// Whether a key in the file goes without another one taking its place there.
    fn loses_key(&self, old: &Value) -> bool {
        let stays = matches!(self.key, Key::Kept | Key::Here(_));
        !stays && old["providers"][&self.provider]["apiKey"].is_string()
    }

    /// The model's name in the file: its own, unless that means another model there.
    fn alias(&self, old: &Value) -> String {
        let there = &old["models"][&self.model];
        let same = there["provider"] == *self.provider && there["name"] == *self.model;
        if there.is_object() && !same {
            format!("{}-{}", self.provider, self.model)
        } else {
            self.model.clone()
        }
    }

    /// What is written.
    fn view(&self, default_model: String) -> ModelSetup {
        // A key may stand in its query.
        let base_url = config::masked(&json!(self.base_url), "baseUrl");
        ModelSetup {
            provider: self.provider.clone(),
            base_url: base_url.as_str().unwrap_or_default().to_owned(),
            model: self.model.clone(),
            default_model,
            api_key: self.key.describe(),
        }
    }

    fn changes(&self, old: &Value) -> Vec<ConfigChange> {
        let alias = self.alias(old);
        let at = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let provider = |name: &str| at(&["providers", &self.provider, name]);
        let mut changes = vec![
            (provider("baseUrl"), Some(json!(self.base_url))),
            (at(&["models", &alias, "provider"]), Some(json!(self.provider))),
            (at(&["models", &alias, "name"]), Some(json!(self.model))),
            (at(&["defaultModel"]), Some(json!(alias))),
        ];
        let (variable, key) = match &self.key {
            Key::Kept => return changes,
            Key::None => (None, None),
            Key::Variable(name) => (Some(json!(name)), None),
            Key::Here(key) => (None, Some(json!(key))),
        };
        changes.extend([(provider("apiKeyEnv"), variable), (provider("apiKey"), key)]);
        changes
    }
}

impl Setup {
    fn names_only_an_agent(&self) -> bool {
        let connects = self.provider.is_some() || self.model.is_some() || self.base_url.is_some();
        self.agent.is_some() && !connects && self.says_no_key()
    }

    fn says_no_key(&self) -> bool {
        self.api_key_env.is_none() && self.api_key_file.is_none()
    }
}

/// Without a person to ask, everything must be typed.
fn require(session: &Session<'_>, args: &Setup) -> Result<(), CliError> {
    let missing: Vec<&str> = [(&args.provider, "--provider"), (&args.model, "--model")]
        .into_iter()
        .filter_map(|(value, flag)| value.is_none().then_some(flag))
        .collect();
    if missing.is_empty() || session.has_person() {
        return Ok(());
    }
    let error = format!("{} must be given: there is no terminal to ask on", missing.join(" and "));
    let hint = "uwf setup --provider openai --model gpt-6.1-terra; `uwf setup --help` lists the providers";
    Err(CliError::Said { error: error.into(), hint: Some(hint.to_owned()), exit: USAGE })
}

fn key(session: &mut Session<'_>, args: &Setup, preset: Option<&Preset>) -> Result<Key, CliError> {
    if let Some(file) = &args.api_key_file {
        return from_file(session, file);
    }
    if let Some(name) = &args.api_key_env {
        return variable(session, name);
    }
    let known = preset.map(|preset| preset.key);
    // What was typed completely asks nothing more.
    let asks = session.has_person() && (args.provider.is_none() || args.model.is_none());
    match known {
        Some(None) => Ok(Key::None),
        Some(Some(name)) if !asks || session.env.text(name).is_some() => variable(session, name),
        None if !asks => Ok(Key::None),
        known => {
            let name = known.flatten();
            let without = name.map_or("none".to_owned(), |name| format!("use ${name}"));
            let answer = session.ask_hidden(&format!("API key (not shown; Return: {without})"))?;
            match (answer.is_empty(), name) {
                (false, _) => one_line(answer),
                (true, Some(name)) => variable(session, name),
                (true, None) => Ok(Key::None),
            }
        }
    }
}

/// The key in the variable; that it is not set now may be right.
fn variable(session: &mut Session<'_>, name: &str) -> Result<Key, CliError> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) || !name.chars().all(plain) {
        // It is not shown: somebody may have given the key itself.
        let error = "--api-key-env must name a variable: letters, digits and underscores";
        return Err(CliError::user(error).with_hint("--api-key-env OPENAI_API_KEY, or --api-key-file FILE"));
    }
    let dotenv = session.homes()?.uwf.join(".env");
    if session.env.clone().with_dotenv(&dotenv)?.text(name).is_none() {
        session.ui.warn(&format!("${name} is not set now; set it, or write it to {}", dotenv.display()));
    }
    Ok(Key::Variable(name.to_owned()))
}

fn from_file(session: &mut Session<'_>, file: &Path) -> Result<Key, CliError> {
    let input = Input::open(session.stdin, &session.cwd, file)?;
    let name = input.name.clone();
    one_line(input.text()?.trim().to_owned()).map_err(|error| {
        CliError::user(format!("{name} holds no key: {}", error.message()))
            .with_hint("it must hold the key and nothing else")
    })
}

fn one_line(key: String) -> Result<Key, CliError> {
    match key.chars().any(|c| c.is_whitespace() || c.is_control()) || key.is_empty() {
        true => Err(CliError::user("a key is one word")),
        false => Ok(Key::Here(key)),
    }
}

/// Tells what wins over the file that was just written.
fn warn_of_rivals(session: &mut Session<'_>, home: &Path, alias: &str) {
    let mut say = |what: String| session.ui.warn(&format!("{what}, which wins over config.yaml"));
    let builtin = home.join("agents/builtin.yaml");
    let file = config::checked(&builtin, &json!({})).unwrap_or_default();
    for name in ["provider", "model"] {
        if file.get(name).is_some() {
            say(format!("{} says `{name}`", builtin.display()));
        }
    }
    for name in ["UWF_MODEL", "UWF_BASE_URL"] {
        if session.env.text(name).is_some() {
            session.ui.warn(&format!("${name} is set, which wins over config.yaml"));
        }
    }
    let overrides = config::load(home).map(|config| config.model_overrides).unwrap_or_default();
    if let Some(other) = overrides.get("agent").filter(|other| *other != alias) {
        session.ui.warn(&format!("modelOverrides.agent is {other}, which wins over defaultModel"));
    }
}
