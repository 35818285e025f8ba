//! `uwf doctor`: whether a step would find what it needs, each finding with where it comes from. Changes nothing.
//!
//! The engine knows nothing of sandboxes and models: for these the builtin agent is asked, as a program, and what it
//! says is passed on as it is.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use super::args::Doctor;
use super::exec;
use crate::shell::{CliError, Format, OK, Session, USER};
use uwf_engine::config::{self, BUILTIN, Config, ConfigError};
use uwf_engine::home::{Env, Homes, OCAS_HOME, UWF_HOME};
use uwf_engine::spawn::lookup::Programs;
use uwf_engine::spawn::protocol::AgentCommand;
use uwf_engine::spawn::{self, ProcessSpec, SpawnError, StopSignal};
use uwf_engine::thread::{self, ThreadError};

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
    let checks = AgentChecks { env: &env, homes: &homes, cwd: &session.cwd, patience, stop: &session.stop };
    let builtin = exec::builtin(session.program.as_deref()).program;
    let mut report = json!({
        "homes": [home(&session.env, &UWF_HOME, &homes.uwf), home(&session.env, &OCAS_HOME, &homes.ocas)],
        "store": store(session, &homes.ocas),
        "dotenv": {"file": homes.uwf.join(".env"), "error": dotenv_error},
        "config": configuration(&homes, &config),
        "agents": checks.agents(&config.unwrap_or_default(), &builtin),
    });
    let (opinion, agrees) = checks.ask(&builtin, session.ui.format, args.online);
    let well = is_well(&report) && agrees;
    if session.ui.format == Format::Text {
        session.ui.print(&(text(&report) + &second(&opinion)))?;
    } else {
        report["builtin"] = serde_json::from_str(&opinion).unwrap_or_default();
        session.ui.result(&report, String::new)?;
    }
    Ok(if well { OK } else { USER })
}

/// A directory, and which variable says so. One that does not exist yet is made where it is to be.
fn home(env: &Env, names: &[&'static str], path: &Path) -> Value {
    let there = path.ancestors().find(|ancestor| ancestor.exists()).unwrap_or(path);
    let writable = there.is_dir() && rustix::fs::access(there, rustix::fs::Access::WRITE_OK).is_ok();
    let from = env.first(names).map_or("default".to_owned(), |name| format!("${name}"));
    json!({"name": names[0], "path": path, "from": from, "exists": path.exists(), "directory": there.is_dir(), "writable": writable})
}

/// Whether the store opens, and whether every thread's head is there.
fn store(session: &Session<'_>, root: &Path) -> Value {
    // To open a directory that is no store yet would make it one.
    if !root.join("nodes").is_dir() {
        return json!({"exists": false, "error": null, "threads": 0, "damaged": []});
    }
    let mut threads = 0;
    let mut damaged = Vec::new();
    let looked = uwf_engine::open_store(root, session.clock).map_err(ThreadError::from).and_then(|store| {
        for entry in thread::entries(&store) {
            let entry = entry?;
            threads += 1;
            if let Err(error) = entry.read(&store) {
                damaged.push(json!({"thread": entry.thread, "error": error.to_string()}));
            }
        }
        Ok(())
    });
    let error = looked.err().map(|error| error.to_string());
    json!({"exists": true, "error": error, "threads": threads, "damaged": damaged})
}

/// What `config.yaml` says about who plays and which model is used, by name.
fn configuration(homes: &Homes, config: &Result<Config, ConfigError>) -> Value {
    let file = config::path(&homes.uwf);
    let said = config.as_ref().ok();
    let value = |name: &str, said: Option<&String>, default: &str| {
        let from = if said.is_some() { file.display().to_string() } else { "default".to_owned() };
        json!({"name": name, "value": said.map_or(default, String::as_str), "from": from})
    };
    let values = said.map(|config| {
        vec![
            value("defaultAgent", config.default_agent.as_ref(), BUILTIN),
            value("defaultModel", config.default_model.as_ref(), "none"),
        ]
    });
    let error = config.as_ref().err();
    json!({
        "file": file, "found": file.is_file(), "values": values.unwrap_or_default(),
        "unknown": said.map(Config::unknown_names).unwrap_or_default(),
        "unread": config::unread(&homes.uwf).unwrap_or_default(),
        "error": error.map(ToString::to_string), "hint": error.and_then(ConfigError::hint),
    })
}

/// What the checks of agents need.
struct AgentChecks<'a> {
    env: &'a Env,
    homes: &'a Homes,
    cwd: &'a Path,
    /// How long it is waited for an answer.
    patience: Duration,
    stop: &'a StopSignal,
}

impl AgentChecks<'_> {
    /// The programs of all agents, the builtin one first.
    fn agents(&self, config: &Config, builtin: &str) -> Value {
        let own = [(BUILTIN, builtin)];
        let others = config.agents.iter().map(|(alias, agent)| (alias.as_str(), agent.program.as_str()));
        own.into_iter()
            .chain(others)
            .map(|(alias, program)| {
                let found = self.programs(program).any_file_of(program);
                json!({"name": alias, "program": program, "found": found})
            })
            .collect()
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
                command: &AgentCommand { program: builtin.to_owned(), args: Vec::new() },
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

fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn is_well(report: &Value) -> bool {
    let store = &report["store"];
    items(&report["homes"]).all(|home| home["writable"] == true)
        && store["error"].is_null()
        && items(&store["damaged"]).next().is_none()
        && report["dotenv"]["error"].is_null()
        && report["config"]["error"].is_null()
        && items(&report["config"]["unknown"]).next().is_none()
        && items(&report["agents"]).all(|agent| !agent["found"].is_null())
}

fn text(report: &Value) -> String {
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut lines = Vec::new();
    let mut say = |good: bool, text: String| lines.push(format!("{} {text}", if good { "✓" } else { "✗" }));
    for home in items(&report["homes"]) {
        let state = match (home["directory"] == true, home["writable"] == true) {
            (false, _) => "no directory",
            (true, false) => "not writable",
            (true, true) => "writable",
        };
        let (name, path, from) = (word(&home["name"]), word(&home["path"]), word(&home["from"]));
        say(home["writable"] == true, format!("{name}: {path}: {state} ({from})"));
    }
    let store = &report["store"];
    match (store["error"].as_str(), store["exists"] == true) {
        (Some(error), _) => say(false, format!("store: {error}")),
        (None, true) => say(true, format!("store: opens, threads: {}", store["threads"])),
        (None, false) => say(true, "store: not there yet; it is made when it is needed".to_owned()),
    }
    for thread in items(&store["damaged"]) {
        say(false, format!("thread {}: {}", word(&thread["thread"]), word(&thread["error"])));
    }
    if let Some(error) = report["dotenv"]["error"].as_str() {
        say(false, format!(".env: {error}"));
    }
    let config = &report["config"];
    let state = if config["found"] == true { "found" } else { "not there" };
    match config["error"].as_str() {
        Some(error) => say(false, format!("config: {error}")),
        None => say(true, format!("config: {}: {state}", word(&config["file"]))),
    }
    items(&config["unknown"]).for_each(|problem| say(false, format!("config: {}", word(problem))));
    let unread: Vec<String> = items(&config["unread"]).map(word).collect();
    for agent in items(&report["agents"]) {
        let found = agent["found"].as_str();
        let state = found.map_or_else(|| format!("no program {}", word(&agent["program"])), str::to_owned);
        say(found.is_some(), format!("agent {}: {state}", word(&agent["name"])));
    }
    lines.extend(unread.iter().map(|unread| format!("! config: {unread}")));
    for value in items(&config["values"]) {
        let (name, from) = (word(&value["name"]), word(&value["from"]));
        lines.push(format!("  {name} = {} ({from})", word(&value["value"])));
    }
    lines.join("\n") + "\n"
}

/// The builtin agent's words, below ours.
fn second(opinion: &str) -> String {
    if opinion.is_empty() { String::new() } else { format!("\n{BUILTIN} doctor:\n{opinion}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use uwf_engine::fixture::Place;

    #[test]
    fn an_agent_that_does_not_answer_is_a_finding() {
        let (place, stop) = (Place::new(), StopSignal::default());
        std::fs::write(place.project().join("doctor"), "sleep 60\n").unwrap();
        let (env, homes, cwd) = (place.env(), place.homes(), place.project());
        let patience = Duration::from_millis(100);
        let checks = AgentChecks { env: &env, homes: &homes, cwd: &cwd, patience, stop: &stop };
        let (text, agrees) = checks.ask("sh", Format::Text, false);
        assert!(!agrees && text.contains("took longer than 100ms"), "{text}");
        assert!(checks.ask("sh", Format::Json, false).0.starts_with("{\"error\""));
        assert_eq!(checks.ask("no-such-agent", Format::Json, false), (String::new(), true));
    }
}
