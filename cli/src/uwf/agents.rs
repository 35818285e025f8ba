//! `uwf agents`: who can play roles, whether the program is there, which version, and how its definition was tried.

use std::path::Path;

use super::args::Agents;
use super::exec::builtin;
use crate::shell::{CliError, Column, OK, Session, USER, render};
use uwf_agent::external::{Definition, Probe, version};
use uwf_engine::config::defined::{self, COMMAND};
use uwf_engine::config::{self, BUILTIN, Config};
use uwf_engine::home::Env;
use uwf_engine::spawn::lookup::{self, Programs};
use uwf_engine::spawn::protocol::AgentCommand;
use uwf_engine::view::AgentRow;

const HEADINGS: [Column; 5] = [
    Column::new("AGENT"),
    Column::new("FOUND").rank(1),
    Column::new("VERSION").rank(2),
    Column::new("TRIED").rank(3),
    Column::new("WHAT").rank(4),
];

pub(super) fn run(session: &mut Session<'_>, args: &Agents) -> Result<u8, CliError> {
    let homes = session.homes()?;
    if let Some(name) = args.name.as_deref().filter(|_| args.definition) {
        let text = Definition::text(&homes.uwf, name)?;
        session.ui.print(&text)?;
        return Ok(OK);
    }
    (session.catch_signals)(&session.stop);
    let config = config::load(&homes.uwf)?;
    let env = session.env.clone().with_dotenv(&homes.uwf.join(".env"))?;
    let list = List { session, env: &env, home: &homes.uwf, asks: !args.no_version };
    let rows = list.rows(&config, args.name.as_deref())?;
    let is_missing = args.name.is_some() && rows.iter().any(|row| !row.found);
    session.ui.result(&rows, || {
        let cells: Vec<_> = rows.iter().map(cells).collect();
        render::table(HEADINGS, &cells).then(hints(&rows, args.name.is_some()))
    })?;
    Ok(if is_missing { USER } else { OK })
}

fn cells(row: &AgentRow) -> [String; 5] {
    let found = match (&row.path, &row.error) {
        (_, Some(_)) => "✗ not valid".to_owned(),
        (Some(path), None) => format!("✓ {path}"),
        (None, None) if row.found => "✓".to_owned(),
        (None, None) => "–".to_owned(),
    };
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    [row.name.clone(), found, text(&row.version), text(&row.tried), row.description.clone()]
}

/// How the one that is asked for is had; of others only what is wrong.
fn hints(rows: &[AgentRow], is_named: bool) -> String {
    let wrong = rows.iter().filter_map(|row| Some(format!("{}: {}\n", row.name, row.error.as_ref()?)));
    let missing = rows.iter().filter(|row| is_named && !row.found && row.error.is_none());
    let missing = missing.filter_map(|row| Some(format!("{}: {}\n", row.name, row.hint.as_ref()?)));
    let all: String = wrong.chain(missing).collect();
    if all.is_empty() { all } else { format!("\n{all}") }
}

/// What is needed to look agents up.
struct List<'a, 's> {
    session: &'a Session<'s>,
    env: &'a Env,
    home: &'a Path,
    /// Whether programs are asked for their versions.
    asks: bool,
}

impl List<'_, '_> {
    /// The builtin agent, those of the configuration, those that are defined; or the one of that name.
    fn rows(&self, config: &Config, name: Option<&str>) -> Result<Vec<AgentRow>, CliError> {
        let mut rows = vec![self.builtin()];
        rows.extend(config.agents.iter().map(|(name, agent)| self.configured(name, agent)));
        let defined = defined::names(self.home).into_iter().filter(|name| !config.agents.contains_key(name));
        rows.extend(defined.map(|name| self.defined(&name)));
        let Some(name) = name else { return Ok(rows) };
        rows.retain(|row| row.name == name || (row.name == BUILTIN && name == config::BUILTIN_ALIAS));
        match rows.is_empty() {
            false => Ok(rows),
            true => Err(CliError::user(format!("no such agent: `{name}`"))
                .with_hint(format!("agents known: {}", config.known_agents(name).join(", ")))),
        }
    }

    fn file_of(&self, program: &str) -> Option<String> {
        // It is asked for its version: what lies in this directory is not run, as no step would run it.
        let found = Programs::look_up([program], self.env.get("PATH")).file_of(program, &[&self.session.cwd]);
        found.ok().filter(|file| lookup::can_run(Path::new(file)))
    }

    fn builtin(&self) -> AgentRow {
        let program = builtin(self.session.program.as_deref()).program;
        let path = self.file_of(&program);
        AgentRow {
            name: BUILTIN.to_owned(),
            description: "The agent of uwf: any model of an endpoint".to_owned(),
            source: "builtin".to_owned(),
            found: path.is_some(),
            version: path.as_ref().map(|_| env!("CARGO_PKG_VERSION").to_owned()),
            path,
            tried: None,
            sessions: true,
            forks: true,
            confined: true,
            hint: None,
            error: None,
        }
    }

    fn configured(&self, name: &str, agent: &AgentCommand) -> AgentRow {
        if let Some(defined) = agent.of_definition() {
            let source = config::path(self.home).display().to_string();
            return AgentRow { name: name.to_owned(), source, ..self.defined(defined) };
        }
        let workflow = agent.of_workflow();
        let path = if workflow.is_some() { None } else { self.file_of(&agent.program) };
        AgentRow {
            name: name.to_owned(),
            description: workflow.map_or_else(
                || {
                    [agent.program.as_str()]
                        .into_iter()
                        .chain(agent.args.iter().map(String::as_str))
                        .collect::<Vec<_>>()
                        .join(" ")
                },
                |workflow| format!("the workflow {workflow}"),
            ),
            source: config::path(self.home).display().to_string(),
            found: workflow.is_some() || path.is_some(),
            path,
            version: None,
            tried: None,
            sessions: false,
            forks: false,
            confined: false,
            hint: None,
            error: None,
        }
    }

    fn defined(&self, name: &str) -> AgentRow {
        let row = AgentRow {
            name: name.to_owned(),
            description: String::new(),
            source: "shipped".to_owned(),
            found: false,
            path: None,
            version: None,
            tried: None,
            sessions: false,
            forks: false,
            confined: false,
            hint: None,
            error: None,
        };
        let definition = match Definition::find(self.home, name) {
            Ok(definition) => definition,
            Err(error) => return AgentRow { error: Some(error.to_string()), ..row },
        };
        let path = self.file_of(&definition.program_of(self.home));
        AgentRow {
            found: path.is_some() || name == COMMAND,
            version: path.as_deref().filter(|_| self.asks).and_then(|file| self.version(&definition, file)),
            path,
            source: definition.file.as_ref().map_or(row.source, |file| file.display().to_string()),
            tried: Some(definition.tried.clone()).filter(|tried| !tried.is_empty()),
            sessions: definition.has_sessions(),
            forks: definition.args.fork.is_some(),
            confined: definition.sandbox.confined,
            hint: Some(definition.needs.hint.clone()).filter(|hint| !hint.is_empty()),
            description: definition.description,
            ..row
        }
    }

    fn version(&self, definition: &Definition, file: &str) -> Option<String> {
        let probe = Probe { file, cwd: &self.session.cwd, env: self.env, stop: &self.session.stop };
        version(definition, &probe)
    }
}
