//! `uwf doctor`: whether a step would find what it needs, each finding with where it comes from. Changes nothing.
//!
//! The engine knows nothing of sandboxes and models: for these the builtin agent is asked, as a program, and what it
//! says is passed on as it is.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use serde::Serialize;
use serde_json::{Value, json};

use super::args::Doctor;
use super::exec;
use crate::shell::checks::{HomeCheck, SettingCheck, line};
use crate::shell::{CliError, Format, OK, Session, Text, USER, render};
use uwf_agent::external::Definition;
use uwf_engine::config::{self, BUILTIN, Config, ConfigError};
use uwf_engine::home::{Env, Homes, OCAS_HOME, UWF_HOME};
use uwf_engine::spawn::lookup::Programs;
use uwf_engine::spawn::protocol::{AgentCommand, WORKFLOW_PREFIX};
use uwf_engine::spawn::{self, ProcessSpec, SpawnError, StopSignal};
use uwf_engine::thread::{self, ThreadError, ThreadId};
use uwf_engine::workflow;
use uwf_store::{Clock, Hash};

/// How long the builtin agent may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long the builtin agent's doctor may take when it asks the model.
const PATIENCE_ONLINE: Duration = Duration::from_secs(60);

pub(super) fn run(session: &mut Session<'_>, args: &Doctor) -> Result<u8, CliError> {
    let homes = session.homes()?;
    let with_dotenv = session.env.clone().with_dotenv(&homes.uwf.join(".env"));
    let dotenv_error = with_dotenv.as_ref().err().map(ToString::to_string);
    let env = with_dotenv.unwrap_or_else(|_| session.env.clone());
    let config = config::load(&homes.uwf);
    let patience = if args.online { PATIENCE_ONLINE } else { PATIENCE };
    let (cwd, stop, clock) = (session.cwd.as_path(), &session.stop, session.clock);
    let checks = AgentChecks { env: &env, homes: &homes, cwd, patience, stop, clock };
    let builtin = exec::builtin(session.program.as_deref()).program;
    let from = |names| Some(session.env.first(names).map_or("default".to_owned(), |name| format!("${name}")));
    let mut report = DoctorReport {
        homes: [
            HomeCheck::of(UWF_HOME[0], &homes.uwf, from(&UWF_HOME)),
            HomeCheck::of(OCAS_HOME[0], &homes.ocas, from(&OCAS_HOME)),
        ],
        store: store(session, &homes.ocas),
        dotenv: DotenvCheck { file: render::path(&homes.uwf.join(".env")), error: dotenv_error },
        config: configuration(&homes, &config),
        agents: checks.agents(&config.unwrap_or_default(), &builtin),
        builtin: Value::Null,
    };
    let (opinion, agrees) = checks.ask(&builtin, session.ui.format, args.online);
    let exit = if report.is_well() && agrees { OK } else { USER };
    if session.ui.format == Format::Text {
        session.ui.print_text(Text::marked(&(report.text() + &second(&opinion))))?;
    } else {
        report.builtin = serde_json::from_str(&opinion).unwrap_or_default();
        session.ui.result(&report, String::new)?;
    }
    Ok(exit)
}

/// What was found.
#[derive(Serialize)]
struct DoctorReport {
    homes: [HomeCheck; 2],
    store: StoreCheck,
    dotenv: DotenvCheck,
    config: ConfigCheck,
    agents: Vec<AgentCheck>,
    /// What the builtin agent's own doctor says; null where there is no agent.
    builtin: Value,
}

/// Whether the store opens, and whether every thread's head is there.
#[derive(Default, Serialize)]
struct StoreCheck {
    exists: bool,
    error: Option<String>,
    threads: usize,
    damaged: Vec<DamagedThread>,
}

/// A thread that cannot be read.
#[derive(Serialize)]
struct DamagedThread {
    thread: ThreadId,
    error: String,
}

/// Whether the file of variables can be read.
#[derive(Serialize)]
struct DotenvCheck {
    file: String,
    error: Option<String>,
}

/// What `config.yaml` says.
#[derive(Serialize)]
struct ConfigCheck {
    file: String,
    found: bool,
    /// Who plays and which model is used, by name.
    values: Vec<SettingCheck>,
    /// Names that it does not explain.
    unknown: Vec<String>,
    /// Keys that nothing reads.
    unread: Vec<String>,
    error: Option<String>,
    hint: Option<String>,
}

/// Whether there is a program for an agent.
#[derive(Serialize)]
struct AgentCheck {
    name: String,
    program: String,
    /// The file that would run.
    found: Option<String>,
    /// Why its definition cannot be used; absent where it can.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// To open a directory that is no store yet would make it one.
fn is_store(root: &Path) -> bool {
    root.join("nodes").is_dir()
}

fn store(session: &Session<'_>, root: &Path) -> StoreCheck {
    let mut check = StoreCheck::default();
    if !is_store(root) {
        return check;
    }
    let looked = uwf_engine::open_store(root, session.clock).map_err(ThreadError::from).and_then(|store| {
        for entry in thread::entries(&store) {
            let entry = entry?;
            check.threads += 1;
            if let Err(error) = entry.read(&store) {
                check.damaged.push(DamagedThread { thread: entry.thread, error: error.to_string() });
            }
        }
        Ok(())
    });
    StoreCheck { exists: true, error: looked.err().map(|error| error.to_string()), ..check }
}

fn configuration(homes: &Homes, config: &Result<Config, ConfigError>) -> ConfigCheck {
    let path = config::path(&homes.uwf);
    let file = render::path(&path);
    let value = |name, said: Option<&String>, default: &str| SettingCheck {
        name,
        value: said.map_or(default, String::as_str).to_owned(),
        from: said.map_or("default", |_| file.as_str()).to_owned(),
    };
    let values = config.as_ref().map(|config| {
        vec![
            value("defaultAgent", config.default_agent.as_ref(), BUILTIN),
            value("defaultModel", config.default_model.as_ref(), "none"),
        ]
    });
    let error = config.as_ref().err();
    ConfigCheck {
        values: values.unwrap_or_default(),
        found: path.is_file(),
        unknown: config.as_ref().map(Config::unknown_names).unwrap_or_default(),
        unread: config::unread(&homes.uwf).unwrap_or_default(),
        error: error.map(ToString::to_string),
        hint: error.and_then(ConfigError::hint),
        file,
    }
}

/// What the checks of agents need.
struct AgentChecks<'a> {
    env: &'a Env,
    homes: &'a Homes,
    cwd: &'a Path,
    /// How long it is waited for an answer.
    patience: Duration,
    stop: &'a StopSignal,
    clock: Clock,
}

impl AgentChecks<'_> {
    /// The programs of all agents, the builtin one first.
    fn agents(&self, config: &Config, builtin: &str) -> Vec<AgentCheck> {
        let own = [(BUILTIN, builtin)];
        let others = config.agents.iter().map(|(alias, agent)| (alias.as_str(), agent.program.as_str()));
        let checks = own.into_iter().chain(others).map(|(name, program)| AgentCheck {
            name: name.to_owned(),
            program: program.to_owned(),
            found: match program.strip_prefix(WORKFLOW_PREFIX) {
                Some(reference) => self.found_workflow(reference),
                None => {
                    let program = if program == BUILTIN { builtin } else { program };
                    self.programs(program).any_file_of(program)
                }
            },
            error: None,
        });
        checks.chain(self.defined(config)).collect()
    }

    /// Those that definitions describe, as far as the configuration has them play.
    fn defined(&self, config: &Config) -> Vec<AgentCheck> {
        let roles = config.agent_overrides.values().flat_map(BTreeMap::values);
        let named: BTreeSet<&String> = config.default_agent.iter().chain(roles).collect();
        let is_defined =
            |name: &&String| config.known_agent(name).is_some_and(|_| !config.agents.contains_key(*name));
        let check = |name: &String| match Definition::find(&self.homes.uwf, name) {
            Ok(definition) => {
                let program = definition.program_of(&self.homes.uwf);
                let found = self.programs(&program).any_file_of(&program);
                AgentCheck { name: name.clone(), program, found, error: None }
            }
            Err(error) => AgentCheck {
                name: name.clone(),
                program: String::new(),
                found: None,
                error: Some(error.to_string()),
            },
        };
        named.into_iter().filter(is_defined).map(check).collect()
    }

    /// What plays where an agent is a workflow; none where it is a file that is no workflow, or a hash that the store does
    /// not have. What a name stands for depends on where a thread works.
    fn found_workflow(&self, reference: &str) -> Option<String> {
        if reference.contains('/') {
            return workflow::load(Path::new(reference)).ok().map(|_| reference.to_owned());
        }
        if reference.parse::<Hash>().is_ok() && is_store(&self.homes.ocas) {
            let store = uwf_engine::open_store(&self.homes.ocas, self.clock).ok()?;
            let found = workflow::resolve(&store, reference, self.cwd).ok()?;
            return Some(format!("the workflow `{}` ({reference})", found.name));
        }
        Some(format!("the workflow `{reference}`, looked up where a thread works"))
    }

    fn programs(&self, program: &str) -> Programs {
        Programs::look_up([program], self.env.get("PATH"))
    }

    /// What the builtin agent has to say, and whether all is well with it. One that is not there says nothing.
    fn ask(&self, builtin: &str, format: Format, online: bool) -> (String, bool) {
        let is_text = format == Format::Text;
        let words = ["doctor", "--format", if is_text { "text" } else { "json" }];
        let mut env = self.env.clone();
        env.set(UWF_HOME[0], &self.homes.uwf);
        env.set(OCAS_HOME[0], &self.homes.ocas);
        let args = words.into_iter().chain(online.then_some("--online")).map(Into::into).collect();
        let run = |file: String| {
            let run = ProcessSpec {
                command: &AgentCommand::new(builtin, Vec::new()),
                file: &file,
                args,
                cwd: self.cwd,
                env: &env,
                deadline: Some(self.patience),
                inherit_stderr: false,
                stop: self.stop,
            };
            spawn::run(&run, &mut |_| ())
        };
        // Whoever looks after a thread may be where its commands have put programs.
        match self.programs(builtin).file_of(builtin, &[self.cwd]).and_then(run) {
            Ok(said) => (String::from_utf8_lossy(&said.stdout).into_owned(), said.status.success()),
            Err(SpawnError::Start { .. }) => (String::new(), true),
            Err(error) if is_text => (format!("✗ {error}\n"), false),
            Err(error) => (json!({"error": error.to_string()}).to_string(), false),
        }
    }
}

impl DoctorReport {
    fn is_well(&self) -> bool {
        self.homes.iter().all(|home| home.writable)
            && self.store.error.is_none()
            && self.store.damaged.is_empty()
            && self.dotenv.error.is_none()
            && self.config.error.is_none()
            && self.config.unknown.is_empty()
            && self.agents.iter().all(|agent| agent.found.is_some())
    }

    /// For people.
    fn text(&self) -> String {
        let mut lines: Vec<String> = self.homes.iter().map(HomeCheck::line).collect();
        lines.push(match (&self.store.error, self.store.exists) {
            (Some(error), _) => line(false, format!("store: {error}")),
            (None, true) => line(true, format!("store: opens, threads: {}", self.store.threads)),
            (None, false) => line(true, "store: not there yet; it is made when it is needed"),
        });
        let damaged = |damaged: &DamagedThread| format!("thread {}: {}", damaged.thread, damaged.error);
        lines.extend(self.store.damaged.iter().map(|thread| line(false, damaged(thread))));
        lines.extend(self.dotenv.error.iter().map(|error| line(false, format!(".env: {error}"))));
        let ConfigCheck { file, found, values, unknown, unread, error, .. } = &self.config;
        lines.push(match error {
            Some(error) => line(false, format!("config: {error}")),
            None => line(true, format!("config: {file}: {}", if *found { "found" } else { "not there" })),
        });
        lines.extend(unknown.iter().map(|unknown| line(false, format!("config: {unknown}"))));
        lines.extend(self.agents.iter().map(AgentCheck::line));
        lines.extend(unread.iter().map(|unread| format!("! config: {unread}")));
        lines.extend(values.iter().map(SettingCheck::line));
        lines.join("\n") + "\n"
    }
}

impl AgentCheck {
    fn line(&self) -> String {
        let none = || match self.program.strip_prefix(WORKFLOW_PREFIX) {
            Some(reference) => format!("no workflow can be read from {reference}"),
            None if self.program.is_empty() => {
                format!("it needs a program: --agent \"{} PROGRAM\"", self.name)
            }
            None => format!("no program {}", self.program),
        };
        let state = self.found.clone().or_else(|| self.error.clone()).unwrap_or_else(none);
        line(self.found.is_some(), format!("agent {}: {state}", self.name))
    }
}

/// The builtin agent's words, below ours.
fn second(opinion: &str) -> String {
    if opinion.is_empty() { String::new() } else { format!("\n{BUILTIN} doctor:\n{opinion}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use uwf_engine::fixture::{Place, clock};

    #[test]
    fn an_agent_that_does_not_answer_is_a_finding() {
        let (place, stop) = (Place::new(), StopSignal::default());
        std::fs::write(place.project().join("doctor"), "sleep 60\n").unwrap();
        let (env, homes, cwd) = (place.env(), place.homes(), place.project());
        let patience = Duration::from_millis(100);
        let checks = AgentChecks { env: &env, homes: &homes, cwd: &cwd, patience, stop: &stop, clock };
        let (text, agrees) = checks.ask("sh", Format::Text, false);
        assert!(!agrees && text.contains("took longer than 100ms"), "{text}");
        assert!(checks.ask("sh", Format::Json, false).0.starts_with("{\"error\""));
        assert_eq!(checks.ask("no-such-agent", Format::Json, false), (String::new(), true));
    }

    #[test]
    fn a_workflow_that_the_store_does_not_have_is_a_finding() {
        let (place, stop) = (Place::new(), StopSignal::default());
        let (env, homes, cwd) = (place.env(), place.homes(), place.project());
        let checks =
            AgentChecks { env: &env, homes: &homes, cwd: &cwd, patience: PATIENCE, stop: &stop, clock };
        let gone = "0123456789ABC";
        // Without a store nothing is looked up, and none is made.
        assert!(checks.found_workflow(gone).is_some() && !is_store(&homes.ocas));
        let file = workflow::load(&cwd.join(".workflows/flow.yaml")).unwrap();
        let hash = workflow::put(&place.store(), &file).unwrap().to_string();
        assert_eq!(checks.found_workflow(gone), None);
        assert_eq!(checks.found_workflow(&hash), Some(format!("the workflow `flow` ({hash})")));
        assert!(checks.found_workflow("some-name").unwrap().contains("looked up where a thread works"));
        let config = format!("agents: {{ gone: {{ workflow: {gone} }} }}\n");
        std::fs::create_dir_all(&homes.uwf).unwrap();
        std::fs::write(config::path(&homes.uwf), config).unwrap();
        let config = config::load(&homes.uwf).unwrap();
        let line = checks.agents(&config, BUILTIN)[1].line();
        assert_eq!(line, format!("✗ agent gone: no workflow can be read from {gone}"));
    }

    #[test]
    fn agents_that_are_to_play_by_a_definition_are_looked_for() {
        let (place, stop) = (Place::new(), StopSignal::default());
        let (env, homes, cwd) = (place.env(), place.homes(), place.project());
        let checks =
            AgentChecks { env: &env, homes: &homes, cwd: &cwd, patience: PATIENCE, stop: &stop, clock };
        let agents = homes.uwf.join("agents");
        std::fs::create_dir_all(&agents).unwrap();
        std::fs::write(agents.join("bad.yaml"), "nothing: here\n").unwrap();
        let text = Definition::text(&homes.uwf, "goose").unwrap();
        std::fs::write(agents.join("mine.yaml"), text.replace("program: goose", "program: no-such-goose"))
            .unwrap();
        let config = "defaultAgent: mine\nagentOverrides: { flow: { writer: bad, checker: mine } }\n";
        std::fs::write(config::path(&homes.uwf), config).unwrap();
        let found = checks.agents(&config::load(&homes.uwf).unwrap(), BUILTIN);
        let lines: Vec<String> = found[1..].iter().map(AgentCheck::line).collect();
        assert_eq!(lines.len(), 2, "{lines:?}");
        assert!(lines[0].starts_with("✗ agent bad: ") && lines[0].contains("bad.yaml"), "{lines:?}");
        assert_eq!(lines[1], "✗ agent mine: no program no-such-goose");
    }
}
