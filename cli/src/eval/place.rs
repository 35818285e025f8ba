//! Where evaluations take place, and with what: homes, directories, the environment, the program that runs threads.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use uwf_agent::runtime::settings::{Flags, ProviderSettings, Settings, SharedSettings};
use uwf_agent::{Level, Provider};
use uwf_engine::Homes;
use uwf_engine::home::{Env, HomeError};
use uwf_engine::spawn::StopSignal;
use uwf_engine::thread::ThreadOptions;
use uwf_eval::judge::Judging;
use uwf_eval::run::{Scratch, root_of};
use uwf_snapshot::Options;
use uwf_store::Store;

use super::configured;
use super::mock::read_script;
use crate::shell::{CliError, SandboxLevel, Session};

/// The variable that says where cases work.
const DIRECTORY: &str = "UWF_EVAL_DIR";
/// The program that runs threads.
const UWF: &str = "uwf";

/// Where evaluations take place, and with what.
pub(super) struct Place {
    pub(super) homes: Homes,
    /// Where the cases of this store work.
    pub(super) root: PathBuf,
    pub(super) env: Env,
    pub(super) program: String,
    scratch: Scratch,
}

impl Place {
    /// The place, and the store: it must be there before it is told where its cases work.
    pub(super) fn of(session: &Session<'_>) -> Result<(Place, Store), CliError> {
        let (homes, store) = (session.homes()?, session.store()?);
        let root = root_of(&root(&session.env, &session.cwd)?, &homes.ocas);
        uwf_engine::home::make_private(&root).map_err(|error| {
            CliError::said(format!("cannot make the directory {}", root.display()), error)
        })?;
        // As the system calls it: workspaces are found again by this.
        let root = root.canonicalize().unwrap_or(root);
        let scratch = Scratch::open(&root)?;
        let mut env = session.env.clone().with_dotenv(&homes.uwf.join(".env"))?;
        // Threads run from other directories than this.
        env.set("UWF_HOME", homes.uwf.clone());
        env.set("OCAS_HOME", homes.ocas.clone());
        let program = program(session.program.as_deref());
        Ok((Place { homes, root, env, program, scratch }, store))
    }

    /// Where what is needed only while this program runs is.
    pub(super) fn scratch(&self) -> PathBuf {
        self.scratch.dir().to_owned()
    }

    /// What is configured and not typed.
    pub(super) fn settings(
        &self,
        options: &ThreadOptions,
        is_scripted: bool,
    ) -> Result<BTreeMap<String, String>, CliError> {
        configured::settings((&self.env, &self.homes.uwf), options, is_scripted)
    }

    /// What is kept of workspaces, and what never is.
    pub(super) fn snapshots(&self) -> Result<Options, CliError> {
        configured::snapshots((&self.env, &self.homes.uwf))
    }

    /// How much of a sandbox judges run in: what was asked for, else as it is configured for commands.
    pub(super) fn sandbox(&self, asked: Option<&str>) -> Result<String, CliError> {
        if let Some(asked) = asked {
            return Ok(asked.to_owned());
        }
        let level = SharedSettings::load(None, &self.env, &self.homes.uwf)?.level(true);
        let word = match level {
            Level::Strict => SandboxLevel::Strict,
            Level::BestEffort => SandboxLevel::BestEffort,
            Level::Off => SandboxLevel::Off,
        };
        Ok(word.as_str().to_owned())
    }

    /// What judges are run with; `provider` completes for models.
    pub(super) fn judging<'a>(
        &'a self,
        stop: &'a StopSignal,
        sandbox: &'a str,
        provider: &'a (dyn Fn(&str) -> Result<Provider, String> + Sync),
    ) -> Judging<'a> {
        let root = self.scratch.dir();
        Judging { program: &self.program, env: &self.env, sandbox, root, provider, stop }
    }

    /// Who completes for a judge that is a model: a script, or an endpoint as it is configured.
    pub(super) fn provider(
        &self,
        mock: Option<&str>,
    ) -> Result<impl Fn(&str) -> Result<Provider, String> + Sync + use<>, CliError> {
        let script = mock.map(|file| read_script(Path::new(file)).map(|(script, _)| script)).transpose()?;
        let (env, home) = (self.env.clone(), self.homes.uwf.clone());
        Ok(move |model: &str| {
            if let Some(script) = &script {
                return Ok(script.clone().into());
            }
            let flags = Flags { model: Some(model.to_owned()), ..Flags::default() };
            let settings = Settings::load(flags, &env, &home).map_err(|error| error.to_string())?;
            let prices = settings.prices.filter(|_| settings.own_prices);
            match settings.provider {
                ProviderSettings::Http(endpoint) => Ok(Provider::from(*endpoint).prices(prices)),
                _ => Err(format!("no endpoint is configured for {model}")),
            }
        })
    }
}

/// Where the cases of all stores work.
fn root(env: &Env, cwd: &Path) -> Result<PathBuf, CliError> {
    let below = |path: &Path| path.join("uwf/eval");
    let named = env.get(DIRECTORY).map(PathBuf::from);
    let data = || env.get("XDG_DATA_HOME").map(|dir| below(Path::new(dir)));
    let home = || env.get("HOME").map(|home| below(&Path::new(home).join(".local/share")));
    let missing = || HomeError::NoHome { what: "the directory of evaluations", variable: DIRECTORY };
    Ok(cwd.join(named.or_else(data).or_else(home).ok_or_else(missing)?))
}

/// `uwf` beside this program, else the one in `PATH`.
fn program(this: Option<&Path>) -> String {
    let beside = this.and_then(Path::parent).map(|dir| dir.join(UWF)).filter(|file| file.is_file());
    beside.and_then(|file| file.into_os_string().into_string().ok()).unwrap_or_else(|| UWF.to_owned())
}
