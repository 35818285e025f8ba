//! Where runs are played: the store, the journals and the environment that they share, the sandbox around one, and the threads
//! and signals that it needs.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use uwf_agent::Level;
use uwf_agent::confinement::Confinement;
use uwf_agent::journal::{Journals, WantedRun};
use uwf_agent::react::Notice;
use uwf_agent::resume::ResumedRun;
use uwf_agent::role_run::{self, RunContext, role_run};
use uwf_agent::settings::{Flags, Settings};
use uwf_agent::trace::{self, Trace};
use uwf_agent::workers::Workers;
use uwf_engine::journals::sink::JournalSink;
use uwf_engine::spawn::protocol::{ASKED_STEP, JOURNAL_SINK, STEP_OF, STOP_WITHIN};
use uwf_engine::{AdapterOutput, AgentRequest, Env, Homes, ThreadId, record, thread, workflow};
use uwf_store::Store;

use super::args::RunOptions;
use super::events::EventLog;
use super::observers::Observers;
#[cfg(feature = "otel")]
use super::traces::Traces;
use super::{resumed, signals};
use crate::shell::{CliError, Session};

/// Where a run finds its things.
pub(crate) struct Host {
    pub(crate) homes: Homes,
    env: Env,
    pub(crate) store: Store,
    pub(crate) journals: Journals,
    /// Who keeps the journal for other machines, if anybody does.
    pub(crate) sink: Option<Arc<JournalSink>>,
}

/// One run, ready to begin or to go on.
pub(super) struct PreparedRun<'a> {
    pub(super) request: &'a AgentRequest,
    pub(super) workspace: &'a Path,
    pub(super) settings: Settings,
    /// What an earlier process left of it.
    pub(super) resumed: Option<ResumedRun>,
    /// The visit that was looked for; none where nobody else can play it.
    pub(super) wanted: Option<&'a WantedRun<'a>>,
    /// Whether it is played in any case, and makes worthless what there is of it.
    pub(super) fresh: bool,
    /// Whether we are the engine, too.
    pub(super) stand_alone: bool,
    /// `--events`.
    pub(super) events: EventLog,
}

/// The homes, and the environment with what `$UWF_HOME/.env` adds to it.
pub(super) fn surroundings(session: &Session<'_>) -> Result<(Homes, Env), CliError> {
    let homes = session.homes()?;
    let env = session.env.clone().with_dotenv(&homes.uwf.join(".env"))?;
    Ok((homes, env))
}

/// The settings of a run, after those it was begun with.
pub(super) fn settings(
    options: &RunOptions,
    resumed: Option<&ResumedRun>,
    (homes, env): (&Homes, &Env),
    session: &Session<'_>,
) -> Result<Settings, CliError> {
    let mut flags = options.flags();
    // The journal is read from anywhere.
    flags.mock = flags.mock.map(|script| session.cwd.join(script));
    let flags = match resumed {
        Some(resumed) => flags.or_recorded(resumed.settings()),
        None => flags,
    };
    Ok(Settings::load(flags, env, &homes.uwf)?)
}

/// What one confined run is set up with: its settings and directory, whom it tells, and what it does as it begins.
pub(super) struct RunSetup<'a> {
    pub(super) settings: &'a Settings,
    pub(super) workspace: &'a Path,
    pub(super) stand_alone: bool,
    /// See [`RunContext::claim`].
    pub(super) claim: Option<&'a WantedRun<'a>>,
    /// See [`RunContext::begun`].
    pub(super) begun: &'a dyn Fn(),
    /// `--events`.
    pub(super) events: EventLog,
}

impl Host {
    /// Opens the store and lists the journals.
    pub(crate) fn open(session: &Session<'_>) -> Result<Host, CliError> {
        Host::at(surroundings(session)?, session)
    }

    pub(super) fn at((homes, env): (Homes, Env), session: &Session<'_>) -> Result<Host, CliError> {
        let store = uwf_engine::open_store(&homes.ocas, session.clock)?;
        let journals = Journals::list(&role_run::journals_dir(&homes.uwf))?;
        Ok(Host { homes, env, store, journals, sink: None })
    }

    /// This place, for a step that a worker wants, which keeps the journal. Before anything is confined.
    pub(crate) fn kept_by_worker(
        self,
        session: &Session<'_>,
        request: &AgentRequest,
    ) -> Result<Host, CliError> {
        let path = session.env.get(JOURNAL_SINK).filter(|_| is_step_of(session, request));
        let Some(path) = path.map(Path::new) else { return Ok(self) };
        let sink = JournalSink::connect(path).map_err(|error| {
            CliError::said("the worker that is to keep the journal of this run is gone", error)
        })?;
        Ok(Host { sink: Some(Arc::new(sink)), ..self })
    }

    /// The directory that a run which is looked for must be in: the one that the engine names. What a worker brings here may
    /// have been begun in any other one.
    pub(crate) fn wanted_in<'w>(&self, request: &AgentRequest, here: &'w Path) -> Option<&'w Path> {
        // Whoever gives the prompt has also chosen the directory: an engine. People go on from anywhere.
        (request.prompt.is_some() && self.sink.is_none()).then_some(here)
    }

    /// The directory in which a run goes on: the one it was begun in, or the one that a worker has made of that here.
    pub(crate) fn goes_on_in(&self, earlier: Option<&ResumedRun>, here: &Path) -> Result<PathBuf, CliError> {
        match earlier.filter(|_| self.sink.is_none()) {
            Some(earlier) => resumed::workspace(earlier),
            None => Ok(here.to_owned()),
        }
    }

    /// The settings of a run, after those it was begun with.
    pub(super) fn settings(
        &self,
        options: &RunOptions,
        resumed: Option<&ResumedRun>,
        session: &Session<'_>,
    ) -> Result<Settings, CliError> {
        settings(options, resumed, (&self.homes, &self.env), session)
    }

    /// Plays the role, telling people on stderr how it goes; whether the answer is on the screen.
    pub(super) fn play(
        &self,
        run: PreparedRun<'_>,
        session: &mut Session<'_>,
    ) -> Result<(AdapterOutput, bool), CliError> {
        let PreparedRun { request, workspace, settings, resumed, wanted, fresh, stand_alone, events } = run;
        let settings = self.role_settings(request, &settings)?;
        let begun_in =
            resumed.as_ref().map(|resumed| record::RecordedSettings::of(resumed.settings().clone()).sandbox);
        if begun_in.is_some_and(|begun_in| begun_in != settings.sandbox.describe()) {
            let text = "the run goes on in the sandbox that is asked for now, not in the one it was begun in";
            session.ui.warn(text);
        }
        let begun = || self.tidy(&request.thread, wanted.filter(|_| fresh));
        let claim = wanted.filter(|_| !fresh);
        let setup = RunSetup { settings: &settings, workspace, stand_alone, claim, begun: &begun, events };
        let (reply, read) = self.confined(setup, session, async |context, tell| {
            role_run(request, context, resumed, tell).await
        })?;
        reply.map(|reply| (reply, read)).map_err(|error| {
            let kept = error.keeps_the_run();
            // The engine that wanted the step says what became of it, and how its thread goes on.
            if let (Some(signal), true) = (error.interrupted_by(), is_step_of(session, request)) {
                return CliError::Untold { exit: signal.exit_code() };
            }
            let error = CliError::from(error);
            if !kept {
                return error;
            }
            let command = resumed::command(&self.store, request, workspace, stand_alone);
            error.with_hint(format!("nothing is lost; continue with: {command}"))
        })
    }

    /// Has something run in `workspace` that asks no model; commands are confined where it may run any.
    pub(crate) fn offline<T>(
        &self,
        workspace: &Path,
        runs_commands: bool,
        session: &mut Session<'_>,
        run: impl AsyncFnOnce(&RunContext<'_>) -> T,
    ) -> Result<T, CliError> {
        let sandbox = (!runs_commands).then_some(Level::Off);
        let flags = Flags { mock: Some("record".into()), sandbox, ..Flags::default() };
        let settings = Settings::load(flags, &self.env, &self.homes.uwf)?;
        let events = EventLog::open(None, &session.cwd, session.clock)?;
        let (settings, begun) = (&settings, &|| ());
        let setup = RunSetup { settings, workspace, stand_alone: false, claim: None, begun, events };
        Ok(self.confined(setup, session, async |context, _| run(context).await)?.0)
    }

    /// Has something run in the sandbox that its settings ask for, telling people on stderr how it goes; whether the
    /// model's last words are on the screen.
    pub(super) fn confined<T>(
        &self,
        RunSetup { settings, workspace, stand_alone, claim, begun, events }: RunSetup<'_>,
        session: &mut Session<'_>,
        run: impl AsyncFnOnce(&RunContext<'_>, &mut dyn FnMut(Notice<'_>)) -> T,
    ) -> Result<(T, bool), CliError> {
        let mut observers = Observers::new(events, session.terminals.err);
        // This process is inside then, too, and commands are not to read the script.
        settings.provider.read_ahead();
        // Before the first thread: what starts later is inside.
        let confinement = Confinement::raise(&settings.sandbox, &self.homes, workspace, &session.env)?;
        let (runtime, workers) = (runtime()?, workers()?);
        #[cfg(not(feature = "otel"))]
        let trace = Trace::of(&session.env, fastrand::u64(1..));
        #[cfg(feature = "otel")]
        let (trace, traces) = Traces::begin(&session.env, &settings.provider, session.clock);
        #[cfg(feature = "otel")]
        observers.add(traces);
        let context = RunContext {
            store: &self.store,
            home: &self.homes.uwf,
            workspace,
            settings,
            sandbox: &confinement.sandbox,
            stand_alone,
            workers: &workers,
            env: of_commands(&session.env, trace.as_ref()),
            trace: trace.as_ref(),
            clock: session.clock,
            signals: &signals::catch,
            claim,
            begun,
            sink: self.sink.as_ref(),
        };
        let mut tell = |event: Notice<'_>| observers.tell(&event, &mut session.ui);
        let done = runtime.block_on(run(&context, &mut tell));
        let read = observers.has_read() && !session.ui.is_quiet();
        #[cfg(feature = "otel")]
        observers.end(&runtime, &mut session.ui);
        runtime.block_on(leave(confinement, &workers));
        // After a second signal a tool may still be running: nobody waits for it.
        runtime.shutdown_background();
        Ok((done, read))
    }

    /// Removes the journals that a run makes worthless, and those that nobody needs. What cannot be removed does no harm:
    /// the youngest journal counts.
    pub(crate) fn tidy(&self, thread: &ThreadId, worthless: Option<&WantedRun<'_>>) {
        worthless.map_or(Ok(()), |wanted| self.journals.discard(wanted)).ok();
        let head = |thread: &ThreadId| thread::stands_at(&self.store, thread).ok().flatten();
        self.journals.sweep(thread, fastrand::usize(..), &head);
    }

    /// The settings with what is taken away from the role.
    fn role_settings(&self, request: &AgentRequest, settings: &Settings) -> Result<Settings, CliError> {
        let start = thread::head(&self.store, &request.thread)?.start(&self.store)?;
        let workflow = workflow::get(&self.store, &start.workflow)?;
        Ok(settings.for_role(&workflow, &request.role)?)
    }
}

/// Whether an engine wants this step.
pub(crate) fn is_step_of(session: &Session<'_>, request: &AgentRequest) -> bool {
    session.env.text(STEP_OF) == Some(request.thread.as_str())
}

/// The environment that commands start from: ours, and the place in the trace that they are called from.
fn of_commands(env: &Env, trace: Option<&Trace>) -> Vec<(OsString, OsString)> {
    let mut env = env.clone();
    trace.into_iter().for_each(|trace| env.set(trace::VARIABLE, trace.traceparent()));
    let own = [STEP_OF, ASKED_STEP, JOURNAL_SINK, STOP_WITHIN];
    let of_commands = env.iter().filter(|(name, _)| own.iter().all(|own| name != own));
    of_commands.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// One thread: the model is the only thing worth waiting for.
pub(super) fn runtime() -> Result<tokio::runtime::Runtime, CliError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| CliError::said("cannot start the runtime", error))
}

/// Ends the sandbox and removes its directories, where commands may have left a great many files. What a signal cuts
/// off is removed by a later run.
async fn leave(confinement: Confinement, workers: &Workers) {
    let left = workers.run(move || drop(confinement));
    let signalled = async {
        match signals::catch() {
            Ok(mut signals) => drop(signals.next().await),
            Err(_) => std::future::pending().await,
        }
    };
    tokio::select! {
        _ = left => {}
        () = signalled => {}
    }
}

/// The threads that tools run on, of which there is one at least.
fn workers() -> Result<Workers, CliError> {
    let workers = Workers::start();
    workers.map_err(|error| {
        CliError::said("cannot start the thread that tools run on", error).with_hint(
            "other processes of this user, or of this container, have taken all there may be: end some, or raise the limit \
             (`ulimit -u`, `--pids-limit`)",
        )
    })
}
