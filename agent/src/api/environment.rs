//! Where a run of the library takes place: a store, directories, threads, a sandbox; given, or made for the one run.
//!
//! Apart because it is the only part of the library that makes anything in the world. All of it is gone again when this is
//! dropped, but for what was given.

use std::cell::RefCell;
use std::future::Future;
use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;

use tempfile::TempDir;
use tokio::sync::oneshot;
use uwf_engine::builtin::PROFILE;
use uwf_engine::{AdapterOutput, AgentRequest, Env, Homes};
use uwf_store::Store;
use uwf_tools::sandbox::{Level, Policy, Sandbox};

use super::agent::Agent;
use super::error::AgentError;
use crate::confinement::Confinement;
use crate::journal::WantedRun;
use crate::react::Notice;
use crate::resume::ResumedRun;
use crate::role_run::{RunContext, RunError, role_run};
use crate::settings::Settings;
use crate::signals::{Signal, Signals};
use crate::workers::Workers;

/// Where directories are made that live as long as one run.
const TEMPORARY: &str = "/tmp";

/// Somebody does not wait for the run any more when the other end of this is gone.
pub(super) type CancelReceiver = oneshot::Receiver<()>;

/// What a run takes place in.
pub(super) struct RunEnvironment {
    pub(super) store: Store,
    pub(super) homes: Homes,
    pub(super) root: PathBuf,
    _scratch: Option<TempDir>,
}

impl RunEnvironment {
    /// What the agent was given, with what it was not given made anew.
    pub(super) fn open(agent: &Agent) -> Result<RunEnvironment, AgentError> {
        let failed = |what| move |source| AgentError::System { what, source };
        let is_whole = agent.record.is_some() && agent.workspace.is_some();
        let made = || tempfile::Builder::new().prefix("uwf-agent-").tempdir_in(TEMPORARY);
        let scratch = if is_whole { None } else { Some(made().map_err(failed("make a directory in /tmp"))?) };
        let within = |name: &str| scratch.as_ref().map(|dir| dir.path().join(name)).unwrap_or_default();
        let root = agent.workspace.as_ref().map_or_else(|| within("empty"), |given| given.root.clone());
        if agent.workspace.is_none() {
            std::fs::create_dir(&root).map_err(failed("make a directory in /tmp"))?;
        }
        let (store, homes) = match &agent.record {
            Some((store, homes)) => (store.clone(), homes.clone()),
            None => {
                let homes = Homes { uwf: within("uwf"), ocas: within("ocas") };
                (Store::in_memory(PROFILE, agent.clock)?, homes)
            }
        };
        // As the system calls it: a run is found again by this.
        let root = root.canonicalize().unwrap_or(root);
        Ok(RunEnvironment { store, homes, root, _scratch: scratch })
    }

    /// What is somebody else's, for a role of his workflow.
    pub(super) fn of(store: &Store, homes: &Homes, root: &Path) -> RunEnvironment {
        RunEnvironment { store: store.clone(), homes: homes.clone(), root: root.to_owned(), _scratch: None }
    }
}

/// A role to be played, or to go on with.
pub(super) struct VisitRequest<'a> {
    pub(super) request: &'a AgentRequest,
    pub(super) earlier: Option<ResumedRun>,
    /// See [`RunContext::claim`].
    pub(super) claim: Option<&'a WantedRun<'a>>,
    pub(super) settings: &'a Settings,
    pub(super) stand_alone: bool,
    pub(super) stop: Option<CancelReceiver>,
}

/// Plays a role; it blocks until that is over.
pub(super) fn play(
    agent: &Agent,
    environment: &RunEnvironment,
    visit: VisitRequest<'_>,
    on_notice: &mut dyn FnMut(Notice<'_>),
) -> Result<AdapterOutput, AgentError> {
    let failed = |what| move |source| AgentError::System { what, source };
    let workers = Workers::start().map_err(failed("start the thread that tools run on"))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(failed("start the runtime"))?;
    let (sandbox, _confinement) = confined(agent, environment, visit.settings)?;
    let env = agent.workspace.as_ref().map(|workspace| workspace.env.clone()).unwrap_or_default();
    let stop = RefCell::new(visit.stop);
    let run = RunContext {
        store: &environment.store,
        home: &environment.homes.uwf,
        workspace: &environment.root,
        settings: visit.settings,
        sandbox: &sandbox,
        stand_alone: visit.stand_alone,
        workers: &workers,
        env: env.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
        trace: None,
        clock: agent.clock,
        claim: visit.claim,
        signals: &|| Ok(signals(stop.borrow_mut().take())),
        begun: &|| (),
        sink: None,
    };
    let played = runtime.block_on(role_run(visit.request, &run, visit.earlier, on_notice));
    // A tool that does not hear that it is over is not waited for.
    runtime.shutdown_background();
    played.map_err(|error| match error {
        RunError::Taken(taken) => AgentError::Journal(taken.to_string()),
        error => error.into(),
    })
}

/// What commands run in; nothing is made ready for a role that can run none.
fn confined(
    agent: &Agent,
    environment: &RunEnvironment,
    settings: &Settings,
) -> Result<(Arc<Sandbox>, Option<Confinement>), AgentError> {
    let runs_commands = settings.tools.iter().flatten().any(|tool| tool == "run_command");
    let workspace = agent.workspace.as_ref().filter(|_| runs_commands);
    let Some(workspace) = workspace else {
        let private = vec![environment.homes.uwf.clone(), environment.homes.ocas.clone()];
        let policy =
            Policy { level: Level::Off, private, ..Policy::new(&environment.root, &environment.homes.uwf) };
        return Ok((Arc::new(Sandbox::prepare(policy)), None));
    };
    let env: &Env = &workspace.env;
    let confinement = Confinement::prepare(&settings.sandbox, &environment.homes, &environment.root, env)?;
    Ok((Arc::clone(&confinement.sandbox), Some(confinement)))
}

/// The one signal that a run of the library can get: nobody waits for it.
fn signals(mut stop: Option<CancelReceiver>) -> Signals {
    Signals::new(move |context| match stop.as_mut().map(|stop| Pin::new(stop).poll(context)) {
        Some(Poll::Ready(_)) => {
            stop = None;
            Poll::Ready(Signal::Terminate)
        }
        Some(Poll::Pending) | None => Poll::Pending,
    })
}

/// Has this done on a thread of its own.
pub(super) fn on_a_thread(work: impl FnOnce() + Send + 'static) -> io::Result<std::thread::JoinHandle<()>> {
    std::thread::Builder::new().name("uwf-agent".to_owned()).spawn(work)
}
