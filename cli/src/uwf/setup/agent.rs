//! Who plays when nothing else is said: the default agent, by what the configuration or a definition calls it, else by the name that
//! its program carries behind `uwf-`.

use std::path::Path;

use serde_json::{Value, json};

use crate::shell::{CliError, Session};
use crate::uwf::exec;
use uwf_agent::external::Definition;
use uwf_engine::config::defined::COMMAND;
use uwf_engine::config::{BUILTIN, BUILTIN_ALIAS, ConfigChange, defined};
use uwf_engine::spawn::lookup::Programs;
use uwf_store::suggest;

/// What programs that are agents are called before their names.
const PREFIX: &str = "uwf-";

/// An agent that is to be the default.
pub(super) struct DefaultAgent {
    /// What the configuration calls it.
    pub(super) alias: String,
    /// The program that is run; of an agent that a definition describes none.
    command: Option<String>,
    /// Whether the configuration, or a definition, knows it by now.
    known: bool,
}

impl DefaultAgent {
    /// What the configuration calls it already, what a definition does, or `mine` for the program `uwf-mine`.
    pub(super) fn named(name: &str, old: &Value, home: &Path) -> Result<DefaultAgent, CliError> {
        let odd = |c: char| c.is_whitespace() || c.is_control() || c == '/';
        let short = name.strip_prefix(PREFIX).unwrap_or(name);
        if short.is_empty() || short.starts_with('-') || name.contains(odd) {
            let error = format!("`{name}` is no agent's name: mine stands for the program uwf-mine");
            return Err(CliError::user(error)
                .with_hint("a program of another name: uwf config set agents.mine.command PROGRAM"));
        }
        if [BUILTIN, BUILTIN_ALIAS].contains(&name) && !old["agents"][name].is_object() {
            let (alias, command) = (name.to_owned(), Some(BUILTIN.to_owned()));
            return Ok(DefaultAgent { alias, command, known: true });
        }
        if !old["agents"][name].is_object() && defined::names(home).contains(name) {
            if name == COMMAND {
                return Err(CliError::user(
                    "the agent `command` names no program, so it cannot be the default",
                )
                .with_hint("describe yours: uwf agents command --definition > ~/.uwf/agents/mine.yaml"));
            }
            return Ok(DefaultAgent { alias: name.to_owned(), command: None, known: true });
        }
        let configured = old["agents"].as_object().into_iter().flat_map(|agents| agents.keys().cloned());
        let names: Vec<String> = defined::names(home).into_iter().chain(configured).collect();
        let known = [name, short].into_iter().find(|alias| old["agents"][alias].is_object());
        let alias = known.unwrap_or(short).to_owned();
        let command = match old["agents"][&alias]["command"].as_str() {
            Some(command) => command.to_owned(),
            None => format!("{PREFIX}{short}"),
        };
        let meant = suggest::one(name, &names).filter(|_| known.is_none() && !name.starts_with(PREFIX));
        if let Some(meant) = meant {
            return Err(CliError::user(format!("no such agent: `{name}`")).with_hint(format!(
                "did you mean {meant}? A program of your own: uwf config set agents.{name}.command PROGRAM"
            )));
        }
        Ok(DefaultAgent { alias, command: Some(command), known: known.is_some() })
    }

    /// What is configured already stays as it is.
    pub(super) fn changes(&self) -> Vec<ConfigChange> {
        let at = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let mut changes = vec![(at(&["defaultAgent"]), Some(json!(self.alias)))];
        if !self.known {
            changes.push((
                at(&["agents", &self.alias, "command"]),
                self.command.as_ref().map(|command| json!(command)),
            ));
            changes.push((at(&["agents", &self.alias, "args"]), Some(json!([]))));
        }
        changes
    }

    /// What stands in its way by now: that may come right before it plays.
    pub(super) fn obstacle(&self, session: &Session<'_>) -> Result<Option<String>, CliError> {
        let env = session.env.clone().with_dotenv(&session.homes()?.uwf.join(".env"))?;
        let home = session.homes()?.uwf;
        let (program, hint) = match &self.command {
            None => {
                let definition = Definition::find(&home, &self.alias)?;
                (definition.program_of(&home), definition.needs.hint)
            }
            Some(command) if command == BUILTIN => {
                (exec::builtin(session.program.as_deref()).program, String::new())
            }
            Some(command) => (command.clone(), String::new()),
        };
        let how = if hint.is_empty() { "install it, or put it into PATH".to_owned() } else { hint };
        let found = Programs::look_up([program.as_str()], env.get("PATH")).any_file_of(&program);
        let is_missing = found.is_none() && !program.is_empty();
        Ok(is_missing.then(|| format!("there is no program {program} now: {how}")))
    }
}
