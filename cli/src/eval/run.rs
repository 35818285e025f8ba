//! `uwf-eval run`: the cases of tasks are run and judged, and their score is told.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use uwf_agent::runtime::settings::{Flags, ProviderSettings, Settings, SharedSettings};
use uwf_agent::{Level, Provider, Script};
use uwf_engine::home::{Env, HomeError};
use uwf_engine::spawn::StopSignal;
use uwf_engine::thread::ThreadOptions;
use uwf_engine::{Homes, config};
use uwf_eval::judge::Judging;
use uwf_eval::run::{Ended, Plan, Runner, Scratch, run as run_all};
use uwf_eval::{EvalError, load};

use super::args::Run;
use super::configured;
use super::outcome::{self, Bounds};
use super::planning;
use super::progress::Progress;
use crate::shell::{CliError, SandboxLevel, Session};

/// The variable that says where cases work.
const DIRECTORY: &str = "UWF_EVAL_DIR";
/// The program that runs threads.
const UWF: &str = "uwf";

/// Where evaluations take place, and with what.
pub(super) struct Place {
    pub(super) homes: Homes,
    pub(super) root: PathBuf,
    env: Env,
    program: String,
    scratch: Scratch,
}

impl Place {
    pub(super) fn of(session: &Session<'_>) -> Result<Place, CliError> {
        let homes = session.homes()?;
        let root = root(&session.env, &session.cwd)?;
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
        Ok(Place { homes, root, env, program: program(session.program.as_deref()), scratch })
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
        let load =
            |file: &str| Script::load(Path::new(file)).map_err(|error| CliError::user(error.to_string()));
        let script = mock.map(load).transpose()?;
        let (env, home) = (self.env.clone(), self.homes.uwf.clone());
        Ok(move |model: &str| {
            if let Some(script) = &script {
                return Ok(script.clone().into());
            }
            let flags = Flags { model: Some(model.to_owned()), ..Flags::default() };
            let settings = Settings::load(flags, &env, &home).map_err(|error| error.to_string())?;
            match settings.provider {
                ProviderSettings::Http(endpoint) => Ok((*endpoint).into()),
                _ => Err(format!("no endpoint is configured for {model}")),
            }
        })
    }
}

pub(super) fn run(session: &mut Session<'_>, args: &Run) -> Result<u8, CliError> {
    let place = Place::of(session)?;
    config::load(&place.homes.uwf)?;
    let store = session.store()?;
    let plan = match &args.resume {
        Some(name) => {
            let evaluation = load::evaluation(&store, name)?;
            planning::begun(session, &store, &evaluation, &place)?
        }
        None => planning::typed(session, &store, args, &place)?,
    };
    (session.catch_signals)(&session.stop);
    session.ui.remarks = !session.ui.is_quiet();
    session.ui.note(&format!("evaluation {}", plan.name));
    let sandbox = place.sandbox(plan.config.sandbox.as_deref())?;
    let provider = place.provider(plan.config.judge_mock.as_deref())?;
    let mut progress = Progress::new(session.terminals.err && !session.ui.is_quiet());
    let stop = session.stop.clone();
    let judging = place.judging(&stop, &sandbox, &provider);
    let snapshots = configured::snapshots((&place.env, &place.homes.uwf))?;
    let runner = Runner {
        store: &store,
        homes: &place.homes,
        root: &place.root,
        env: &place.env,
        program: &place.program,
        options: &plan.config.options,
        parallel: args.parallel.map_or_else(processors, usize::from),
        snapshots: &snapshots,
        keep: args.keep,
        retries: args.retries,
        fresh: args.fresh,
        max_cost: args.max_cost,
        stop: &stop,
        judging: &judging,
    };
    let ended = run_all(&plan, &runner, &mut |event| progress.tell(&event, &mut session.ui));
    progress.clear(&mut session.ui);
    told(session, &plan, ended, &Bounds { min: args.min, max_unscored: args.max_unscored })
}

fn told(
    session: &mut Session<'_>,
    plan: &Plan,
    ended: Result<Ended, EvalError>,
    bounds: &Bounds,
) -> Result<u8, CliError> {
    let go_on = format!("uwf-eval run --resume {}", plan.name);
    let ended = ended.map_err(|error| {
        let begun = !matches!(error, EvalError::Busy { .. } | EvalError::Plan(_));
        let hint =
            error.hint().or_else(|| begun.then(|| format!("what is finished is kept; go on with: {go_on}")));
        hint.into_iter().fold(CliError::from(error), CliError::with_hint)
    })?;
    match ended {
        Ended::Done => {}
        Ended::Stopped(signal) => {
            let error = format!("stopped by signal {signal}").into();
            let exit = u8::try_from(128 + signal).unwrap_or(1);
            return Err(CliError::Said {
                error,
                hint: Some(format!("nothing is lost; go on with: {go_on}")),
                exit,
            });
        }
        Ended::OutOfMoney => {
            session.ui.warn("not all cases were run: those that were have cost what all may");
            session.ui.hint(&format!("go on with: {go_on} --max-cost USD"));
        }
    }
    outcome::tell(session, &plan.name, bounds)
}

/// Where cases work.
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

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
