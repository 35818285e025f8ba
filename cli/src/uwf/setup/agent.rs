//! Who plays when nothing else is said: the default agent, by the name that its program carries behind `uwf-`.

use serde_json::{Value, json};

use crate::shell::{CliError, Session};
use crate::uwf::exec;
use uwf_engine::config::{BUILTIN, ConfigChange};
use uwf_engine::spawn::lookup::Programs;

/// What programs that are agents are called before their names.
const PREFIX: &str = "uwf-";

/// An agent that is to be the default.
pub(super) struct DefaultAgent {
    /// What the configuration calls it.
    pub(super) alias: String,
    /// The program that is run.
    command: String,
    /// Whether the configuration knows it by now.
    known: bool,
}

impl DefaultAgent {
    /// `hermes`, `uwf-hermes`, or what the configuration calls it already.
    pub(super) fn named(name: &str, old: &Value) -> Result<DefaultAgent, CliError> {
        let odd = |c: char| c.is_whitespace() || c.is_control() || c == '/';
        let short = name.strip_prefix(PREFIX).unwrap_or(name);
        if short.is_empty() || short.starts_with('-') || name.contains(odd) {
            let error = format!("`{name}` is no agent's name: hermes stands for the program uwf-hermes");
            return Err(CliError::user(error)
                .with_hint("a program of another name: uwf config set agents.mine.command PROGRAM"));
        }
        let known = [name, short].into_iter().find(|alias| old["agents"][alias].is_object());
        let alias = known.unwrap_or(short).to_owned();
        let command = match old["agents"][&alias]["command"].as_str() {
            Some(command) => command.to_owned(),
            None => format!("{PREFIX}{short}"),
        };
        Ok(DefaultAgent { alias, command, known: known.is_some() })
    }

    /// What is configured already stays as it is.
    pub(super) fn changes(&self) -> Vec<ConfigChange> {
        let at = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let mut changes = vec![(at(&["defaultAgent"]), Some(json!(self.alias)))];
        if !self.known {
            changes.push((at(&["agents", &self.alias, "command"]), Some(json!(self.command))));
            changes.push((at(&["agents", &self.alias, "args"]), Some(json!([]))));
        }
        changes
    }

    /// What stands in its way by now: that may come right before it plays.
    pub(super) fn obstacle(&self, session: &Session<'_>) -> Result<Option<String>, CliError> {
        let env = session.env.clone().with_dotenv(&session.homes()?.uwf.join(".env"))?;
        let builtin = exec::builtin(session.program.as_deref()).program;
        let program = if self.command == BUILTIN { &builtin } else { &self.command };
        let found = Programs::look_up([program.as_str()], env.get("PATH")).any_file_of(program);
        let missing = || format!("there is no program {} now: install it, or put it into PATH", self.command);
        Ok(found.is_none().then(missing))
    }
}
