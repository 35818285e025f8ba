//! `uwf-builtin doctor`: whether a run would find what it needs, each finding with its reason. Changes nothing.

mod apparmor;
mod environment;
mod kernel;
mod online;
mod remedy;
mod sandbox_checks;

use std::path::Path;

use crate::shell::{CliError, OK, Session, USER};
use serde::Serialize;
use serde_json::{Value, json};
use uwf_engine::Homes;

use self::sandbox_checks::SandboxChecks;
use super::args::DoctorArgs;
use uwf_agent::settings::{Flags, Provenance, Settings, SettingsError};

/// Looks, and tells what it found.
pub(super) fn doctor(args: &DoctorArgs, session: &mut Session<'_>) -> Result<u8, CliError> {
    if args.apparmor_profile {
        return print_profile(session);
    }
    let homes = session.homes()?;
    let env = session.env.clone().with_dotenv(&homes.uwf.join(".env"))?;
    let workspace = session.directory(args.cwd.as_deref())?;
    let found = Settings::load(Flags::default(), &env, &homes.uwf);
    // What holds whichever model it is: there may be none yet.
    let scripted =
        || Settings::load(Flags { mock: Some("-".into()), ..Flags::default() }, &env, &homes.uwf).ok();
    let known = found.as_ref().ok().cloned().or_else(scripted);
    let sandbox = known.as_ref().map(|settings| settings.sandbox.clone()).unwrap_or_default();
    let seen = environment::report(&env, known.as_ref());
    let sandbox_checks = sandbox_checks::look(sandbox, &homes, &workspace, &env)?;
    let mut report = json!({
        "sandbox": sandbox_checks.to_json(),
        "environment": seen,
        "config": config(&found, known.as_ref(), &homes),
        "store": store(&homes.ocas, session),
        "homes": [home("UWF_HOME", &homes.uwf), home("OCAS_HOME", &homes.ocas)],
    });
    if args.online {
        report["online"] = online::report(&found)?;
    }
    session.ui.result(&report, || text(&sandbox_checks, &report))?;
    let well = report["sandbox"]["strict"] == true
        && report["online"]["error"].is_null()
        && report["store"]["error"].is_null()
        && report["config"]["error"].is_null()
        && report["homes"].as_array().into_iter().flatten().all(|home| home["writable"] == true);
    Ok(if well { OK } else { USER })
}

/// The AppArmor profile of a program, as it is printed.
#[derive(Serialize)]
struct ProgramProfile<'a> {
    program: &'a str,
    profile: &'a str,
}

/// The AppArmor profile of the program that this is.
fn print_profile(session: &mut Session<'_>) -> Result<u8, CliError> {
    let failed = |error: String| CliError::Said {
        error: error.into(),
        hint: Some("install the program where its path is plain text, and run that".to_owned()),
        exit: USER,
    };
    let program = std::env::current_exe().and_then(|path| path.canonicalize());
    let program =
        program.map_err(|error| failed(format!("cannot tell the path of this program: {error}")))?;
    let profile = apparmor::profile(&program)
        .ok_or_else(|| failed(format!("no AppArmor profile can name this program, {}", program.display())))?;
    let printed = ProgramProfile { program: &program.display().to_string(), profile: &profile };
    session.ui.document(&printed, &profile)
}

/// What was found, or why not; the values are those that hold in any case.
fn config(found: &Result<Settings, SettingsError>, known: Option<&Settings>, homes: &Homes) -> Value {
    let files = ["agents/builtin.yaml", "config.yaml", ".env"].map(|name| {
        let path = homes.uwf.join(name);
        json!({"path": path, "found": path.is_file()})
    });
    let provenance = known.into_iter().flat_map(|settings| &settings.provenance);
    let row = |setting: &Provenance| {
        let from = setting.from.shown(&homes.uwf);
        json!({"name": setting.name, "value": setting.value, "from": from})
    };
    let values: Vec<Value> = provenance.map(row).collect();
    let error = found.as_ref().err();
    let hint = error.and_then(SettingsError::hint);
    // Who has no model yet can run scripts: that is no fault.
    let connected = !matches!(error, Some(SettingsError::NoModel));
    let error = error.filter(|_| connected).map(ToString::to_string);
    json!({"files": files, "values": values, "connected": connected, "error": error, "hint": hint})
}

fn store(root: &Path, session: &Session<'_>) -> Value {
    // To open a directory that is no store yet would make it one.
    let exists = root.join("nodes").is_dir();
    let error = exists.then(|| uwf_engine::open_store(root, session.clock).err()).flatten();
    json!({"path": root, "exists": exists, "error": error.map(|error| error.to_string())})
}

/// A directory that does not exist yet is made where it is to be.
fn home(name: &str, path: &Path) -> Value {
    let there = path.ancestors().find(|ancestor| ancestor.exists()).unwrap_or(path);
    let writable = there.is_dir() && rustix::fs::access(there, rustix::fs::Access::WRITE_OK).is_ok();
    json!({"name": name, "path": path, "exists": path.exists(), "directory": there.is_dir(), "writable": writable})
}

fn text(sandbox_checks: &SandboxChecks, report: &Value) -> String {
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut lines = sandbox_checks.lines();
    let mut say = |good: bool, text: String| lines.push(format!("{} {text}", if good { "✓" } else { "✗" }));
    let store = &report["store"];
    let state = match (store["error"].as_str(), store["exists"] == true) {
        (Some(error), _) => error.to_owned(),
        (None, true) => "opens".to_owned(),
        (None, false) => "not there yet; it is made when it is needed".to_owned(),
    };
    say(store["error"].is_null(), format!("store: {}: {state}", word(&store["path"])));
    for home in report["homes"].as_array().into_iter().flatten() {
        let state = match (home["directory"] == true, home["writable"] == true) {
            (false, _) => "no directory",
            (true, false) => "not writable",
            (true, true) => "writable",
        };
        say(home["writable"] == true, format!("{}: {}: {state}", word(&home["name"]), word(&home["path"])));
    }
    lines.push(format!("  {}", environment::line(&report["environment"])));
    lines.extend(online::lines(&report["online"]).into_iter().map(|(mark, line)| format!("{mark} {line}")));
    let config = &report["config"];
    if let Some(error) = config["error"].as_str() {
        let hint = config["hint"].as_str().map(|hint| format!("; {hint}")).unwrap_or_default();
        lines.push(format!("✗ config: {error}{hint}"));
    } else if config["connected"] == false {
        lines.push(format!("  no model is configured: {}", word(&config["hint"])));
    }
    for file in config["files"].as_array().into_iter().flatten() {
        let state = if file["found"] == true { "found" } else { "not there" };
        lines.push(format!("  {}: {state}", word(&file["path"])));
    }
    for value in config["values"].as_array().into_iter().flatten() {
        lines.push(format!(
            "  {} = {} ({})",
            word(&value["name"]),
            word(&value["value"]),
            word(&value["from"])
        ));
    }
    lines.join("\n") + "\n"
}
