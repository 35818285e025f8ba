//! `uwf-builtin doctor`: whether a run would find what it needs, each finding with its reason. Changes nothing.

mod apparmor;
mod environment;
mod kernel;
mod online;
mod remedy;
mod runs;
mod sandbox_checks;

use std::path::Path;

use crate::shell::checks::{HomeCheck, SettingCheck, line};
use crate::shell::{CliError, OK, Session, Text, USER, render};
use serde::Serialize;
use uwf_engine::Homes;
use uwf_tools::EnvironmentSurvey;

use self::online::OnlineCheck;
use self::runs::RunsCheck;
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
    let report = BuiltinReport {
        sandbox: sandbox_checks::look(sandbox, &homes, &workspace, &env)?,
        environment: environment::survey(&env, known.as_ref()),
        config: config(&found, known.as_ref(), &homes),
        store: store(&homes.ocas, session),
        runs: runs::look(&homes, session),
        homes: [HomeCheck::of("UWF_HOME", &homes.uwf, None), HomeCheck::of("OCAS_HOME", &homes.ocas, None)],
        online: args.online.then(|| online::report(&found)).transpose()?,
    };
    session.ui.result(&report, || Text::marked(&report.text()))?;
    Ok(if report.is_well() { OK } else { USER })
}

/// What was found.
#[derive(Serialize)]
struct BuiltinReport {
    sandbox: SandboxChecks,
    environment: EnvironmentSurvey,
    config: BuiltinConfigCheck,
    store: BuiltinStoreCheck,
    runs: RunsCheck,
    homes: [HomeCheck; 2],
    /// Absent where it was not asked for, null where the model is a script.
    #[serde(skip_serializing_if = "Option::is_none")]
    online: Option<Option<OnlineCheck>>,
}

/// What is configured, and where.
#[derive(Serialize)]
struct BuiltinConfigCheck {
    files: [FileCheck; 3],
    /// Those that hold in any case.
    values: Vec<SettingCheck>,
    /// Whether there is a model.
    connected: bool,
    error: Option<String>,
    hint: Option<&'static str>,
}

/// A file that may say something.
#[derive(Serialize)]
struct FileCheck {
    path: String,
    found: bool,
}

/// Whether the store opens.
#[derive(Serialize)]
struct BuiltinStoreCheck {
    path: String,
    exists: bool,
    error: Option<String>,
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
    let printed = ProgramProfile { program: &render::path(&program), profile: &profile };
    session.ui.document(&printed, &profile)
}

fn config(
    found: &Result<Settings, SettingsError>,
    known: Option<&Settings>,
    homes: &Homes,
) -> BuiltinConfigCheck {
    let files = ["agents/builtin.yaml", "config.yaml", ".env"].map(|name| {
        let path = homes.uwf.join(name);
        FileCheck { path: render::path(&path), found: path.is_file() }
    });
    let provenance = known.into_iter().flat_map(|settings| &settings.provenance);
    let row = |setting: &Provenance| {
        let from = setting.from.shown(&homes.uwf);
        SettingCheck { name: setting.name, value: setting.value.clone(), from }
    };
    let error = found.as_ref().err();
    let hint = error.and_then(SettingsError::hint);
    // Who has no model yet can run scripts: that is no fault.
    let connected = !matches!(error, Some(SettingsError::NoModel));
    let error = error.filter(|_| connected).map(ToString::to_string);
    BuiltinConfigCheck { files, values: provenance.map(row).collect(), connected, error, hint }
}

fn store(root: &Path, session: &Session<'_>) -> BuiltinStoreCheck {
    // To open a directory that is no store yet would make it one.
    let exists = root.join("nodes").is_dir();
    let error = exists.then(|| uwf_engine::open_store(root, session.clock).err()).flatten();
    BuiltinStoreCheck { path: render::path(root), exists, error: error.map(|error| error.to_string()) }
}

impl BuiltinReport {
    fn is_well(&self) -> bool {
        let online = self.online.iter().flatten().all(OnlineCheck::is_well);
        self.sandbox.strict
            && online
            && self.store.error.is_none()
            && self.config.error.is_none()
            && self.homes.iter().all(|home| home.writable)
    }

    /// For people.
    fn text(&self) -> String {
        let mut lines = self.sandbox.lines();
        let BuiltinStoreCheck { path, exists, error } = &self.store;
        let state = match (error, exists) {
            (Some(error), _) => error.as_str(),
            (None, true) => "opens",
            (None, false) => "not there yet; it is made when it is needed",
        };
        lines.push(line(error.is_none(), format!("store: {path}: {state}")));
        lines.extend(self.homes.iter().map(HomeCheck::line));
        lines.extend(self.runs.lines());
        lines.push(format!("  {}", environment::line(&self.environment)));
        lines.extend(self.online.iter().flatten().flat_map(OnlineCheck::lines));
        let BuiltinConfigCheck { files, values, connected, error, hint } = &self.config;
        let hint = hint.unwrap_or_default();
        match (error, connected) {
            (Some(error), _) if hint.is_empty() => lines.push(format!("✗ config: {error}")),
            (Some(error), _) => lines.push(format!("✗ config: {error}; {hint}")),
            (None, false) => lines.push(format!("  no model is configured: {hint}")),
            (None, true) => {}
        }
        let state = |file: &FileCheck| if file.found { "found" } else { "not there" };
        lines.extend(files.iter().map(|file| format!("  {}: {}", file.path, state(file))));
        lines.extend(values.iter().map(SettingCheck::line));
        lines.join("\n") + "\n"
    }
}
