//! From the settings to the sandbox of a run: what is asked for, where, and the moment at which the walls go up.
//!
//! Apart from `settings` because this touches the world: it makes the private temporary directory, tries the kernel and
//! closes in this very process.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};
use thiserror::Error;
use uwf_engine::home::make_private;
use uwf_engine::{Env, Homes};
use uwf_tools::RunDir;
use uwf_tools::sandbox::{self, Level, Policy, ProcessLimits, Sandbox, SandboxError};

/// Takes what there is where the strict sandbox does not exist.
pub const ALLOW_SHELL: &str = "UWF_BUILTIN_ALLOW_SHELL";

/// What is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SandboxSettings {
    /// How much must be there.
    pub level: Level,
    /// Commands may use the network.
    pub network: bool,
    /// Of the workspace, commands may write these alone; `None` is all of it. Set by the role, not by the file.
    pub within: Option<Vec<PathBuf>>,
    /// More that commands may write; absolute.
    pub writable: Vec<PathBuf>,
    /// More that commands may read; absolute.
    pub readable: Vec<PathBuf>,
    /// Commands may change which programs git runs: hooks, aliases, filters.
    pub git_programs: bool,
    /// More variables that commands see: names, or what names begin with, a `*` at the end.
    pub env: Vec<String>,
    /// What one command's processes may use up.
    pub limits: ProcessLimits,
}

/// `sandbox:` in `agents/builtin.yaml`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(crate) struct FileSandbox {
    pub level: Option<Level>,
    pub network: Option<bool>,
    writable: Vec<PathBuf>,
    readable: Vec<PathBuf>,
    git_programs: bool,
    env: Vec<String>,
    limits: ProcessLimits,
}

impl SandboxSettings {
    /// The file with the level and the network that hold; `home` is what `~` stands for.
    ///
    /// # Errors
    /// What is wrong with the file, in words.
    pub(crate) fn new(
        level: Level,
        network: bool,
        file: &FileSandbox,
        home: Option<&Path>,
    ) -> Result<SandboxSettings, String> {
        let paths = |name: &str, paths: &[PathBuf]| -> Result<Vec<PathBuf>, String> {
            paths.iter().map(|path| absolute(path, home).ok_or_else(|| not_absolute(name, path))).collect()
        };
        Ok(SandboxSettings {
            level,
            network,
            within: None,
            writable: paths("writable", &file.writable)?,
            readable: paths("readable", &file.readable)?,
            git_programs: file.git_programs,
            env: file.env.iter().map(|name| variable(name)).collect::<Result<_, _>>()?,
            limits: file.limits,
        })
    }

    /// The settings as the journal and the record keep them.
    pub fn describe(&self) -> Value {
        json!({
            "level": self.level, "network": self.network, "writable": self.writable, "readable": self.readable,
            "gitPrograms": self.git_programs, "env": self.env, "limits": self.limits,
        })
    }
}

/// The agent's own directories, also those that are links to elsewhere.
fn private(homes: &Homes) -> Vec<PathBuf> {
    let within = ["sessions", "cache"].map(|name| homes.uwf.join(name));
    let linked = within.into_iter().filter(|path| path.is_symlink());
    [homes.uwf.clone(), homes.ocas.clone()].into_iter().chain(linked).collect()
}

/// The path, where it begins with `/` or `~/`; `home` is what `~` stands for.
pub(crate) fn absolute(path: &Path, home: Option<&Path>) -> Option<PathBuf> {
    match path.strip_prefix("~") {
        Ok(below) => home.map(|home| home.join(below)),
        Err(_) => path.is_absolute().then(|| path.to_owned()),
    }
}

fn not_absolute(name: &str, path: &Path) -> String {
    format!("sandbox.{name}: expected paths that begin with / or ~/, got {}", path.display())
}

/// The name of a variable, or its beginning and a `*`.
fn variable(name: &str) -> Result<String, String> {
    let beginning = name.strip_suffix('*').unwrap_or(name);
    let is_part = |c: char| !(c.is_whitespace() || c.is_control() || matches!(c, '=' | '*'));
    if !beginning.is_empty() && beginning.chars().all(is_part) {
        return Ok(name.to_owned());
    }
    // What stands after a `=` may be a key.
    let shown = name.split_inclusive('=').next().unwrap_or_default();
    Err(format!(
        "sandbox.env: expected names of variables, such as NAME or PREFIX_*, got {shown:?}; their values are those of \
         the environment that uwf-builtin runs in"
    ))
}

/// Why a run cannot be confined.
#[derive(Debug, Error)]
pub enum ConfinementError {
    /// A directory that must be there cannot be made.
    #[error("cannot make {what} in {}", .dir.display())]
    Directory {
        /// What.
        what: &'static str,
        /// The variable that moves it.
        variable: &'static str,
        /// Where.
        dir: PathBuf,
        /// The disk's reason.
        source: io::Error,
    },
    /// The agent itself cannot be closed in.
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
}

impl ConfinementError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            ConfinementError::Directory { variable, .. } => {
                format!("set {variable} to a directory that can be written")
            }
            ConfinementError::Sandbox(error) => error.hint().to_owned(),
        }
    }
}

/// The sandbox of a run, and the temporary directory that goes with it.
#[derive(Debug)]
pub struct Confinement {
    /// What commands run in.
    pub sandbox: Arc<Sandbox>,
    /// Removed when it is dropped, after the sandbox has ended what is in it.
    _run_dir: RunDir,
}

impl Confinement {
    /// Makes the sandbox ready; this process stays open.
    ///
    /// # Errors
    /// See [`ConfinementError`]; that the sandbox cannot be enforced is none, see [`Sandbox::refusal`].
    pub fn prepare(
        settings: &SandboxSettings,
        homes: &Homes,
        workspace: &Path,
        env: &Env,
    ) -> Result<Confinement, ConfinementError> {
        let path = env.get("PATH").unwrap_or_default();
        let policy = Policy {
            level: settings.level,
            network: settings.network,
            home: env.get("HOME").map(PathBuf::from),
            private: private(homes),
            within: settings.within.clone(),
            writable: settings.writable.clone(),
            readable: settings.readable.clone(),
            git_programs: settings.git_programs,
            limits: settings.limits,
            programs: std::env::split_paths(path).filter(|dir| dir.is_absolute()).collect(),
            ..Policy::new(workspace, "")
        };
        let base = PathBuf::from(env.get("TMPDIR").unwrap_or("/tmp".as_ref()));
        let strict = Confinement::enclose(policy.clone(), &base)?;
        let allowed = env.text(ALLOW_SHELL) == Some("1");
        // To ask is to wait for the trial.
        let is_refused = || {
            matches!(
                strict.sandbox.refusal(),
                Some(SandboxError::Missing { .. } | SandboxError::Setup { .. })
            )
        };
        match allowed && is_refused() {
            true => Confinement::enclose(Policy { level: Level::BestEffort, ..policy }, &base),
            false => Ok(strict),
        }
    }

    /// Makes a private directory in `base`, and the sandbox over it.
    fn enclose(policy: Policy, base: &Path) -> Result<Confinement, ConfinementError> {
        let mut run_dir = RunDir::make(base).map_err(|source| ConfinementError::Directory {
            what: "a private directory",
            variable: "TMPDIR",
            dir: base.to_owned(),
            source,
        })?;
        if !run_dir.has_attributes()
            && let Some(on_disk) = RunDir::make(Path::new("/var/tmp")).ok().filter(RunDir::has_attributes)
        {
            run_dir = on_disk;
        }
        let sandbox = Sandbox::prepare(Policy { run_dir: run_dir.path().to_owned(), ..policy });
        Ok(Confinement { sandbox: Arc::new(sandbox), _run_dir: run_dir })
    }

    /// Makes the sandbox ready and closes in this process. Only while it has no thread of its own.
    ///
    /// # Errors
    /// See [`ConfinementError`].
    pub fn raise(
        settings: &SandboxSettings,
        homes: &Homes,
        workspace: &Path,
        env: &Env,
    ) -> Result<Confinement, ConfinementError> {
        // What does not exist cannot be opened to the process afterwards.
        make_private(&homes.uwf).map_err(|source| ConfinementError::Directory {
            what: "the agent's directory",
            variable: "UWF_HOME",
            dir: homes.uwf.clone(),
            source,
        })?;
        let confinement = Confinement::prepare(settings, homes, workspace, env)?;
        sandbox::confine_self(&confinement.sandbox)?;
        Ok(confinement)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> FileSandbox {
        serde_json::from_value(uwf_workflow::yaml::parse_value(text).unwrap()).unwrap()
    }

    #[test]
    fn a_tilde_is_the_home() {
        let file = file("{ writable: [~/.cargo, /opt/x] }");
        let settings = SandboxSettings::new(Level::Off, true, &file, Some(Path::new("/home/u"))).unwrap();
        assert_eq!((settings.level, settings.network), (Level::Off, true));
        assert_eq!(settings.writable, [Path::new("/home/u/.cargo"), Path::new("/opt/x")]);
    }

    #[test]
    fn limits_and_programs_of_git_are_set_in_the_file() {
        let file = file("{ gitPrograms: true, limits: { processes: 100 } }");
        let settings = SandboxSettings::new(Level::Strict, false, &file, None).unwrap();
        assert_eq!(settings.limits, ProcessLimits { processes: 100, ..ProcessLimits::default() });
        assert!(settings.git_programs && !SandboxSettings::default().git_programs);
        assert_eq!(settings.describe()["limits"]["processes"], 100);
    }

    #[test]
    fn variables_are_named_or_their_beginnings_and_only_that() {
        let file_of = |text: &str| SandboxSettings::new(Level::Strict, false, &file(text), None);
        let settings = file_of("env: [NAME, 'PREFIX_*', 'npm_config_//host/:_authToken']").unwrap();
        assert_eq!(settings.env, ["NAME", "PREFIX_*", "npm_config_//host/:_authToken"]);
        assert_eq!(settings.describe()["env"][1], "PREFIX_*");
        for wrong in ["*", "A*B", "A B", " ", "**", "", "A\\n"] {
            let error = file_of(&format!("env: [\"{wrong}\"]")).unwrap_err();
            assert!(error.starts_with("sandbox.env: expected names of variables"), "{wrong}: {error}");
        }
        let error = file_of("env: ['TOKEN=hush=hush']").unwrap_err();
        assert!(error.contains("got \"TOKEN=\"") && !error.contains("hush"), "{error}");
    }

    #[test]
    fn a_file_cannot_name_relative_paths() {
        let refused = |text: &str| SandboxSettings::new(Level::Strict, false, &file(text), None).unwrap_err();
        assert!(refused("writable: [target]").contains("sandbox.writable: expected paths"));
        assert!(refused("readable: [~/.ssh]").contains("~/.ssh"));
    }
}
