//! What a run needs, gathered once, and the stand-alone form: a thread of its own, one role, the end.
//! What an interruption left of it is found by `resumed`.

use std::ffi::OsString;
use std::path::Path;

use crate::shell::{CliError, FAILED_STEP, OK, SUSPENDED, Session};
use serde_json::Value;
use uwf_engine::lock::ThreadLock;
use uwf_engine::{AdapterOutput, AgentRequest, Env, Head, Homes, ThreadId, record, thread, workflow};
use uwf_store::{Hash, Store};
use uwf_workflow::yaml;

use super::args::{IsolationArgs, RunArgs, RunOptions};
use super::error::{PREPARED, UNCONFINED, usage};
use super::events::EventLog;
use super::isolated::{IsolatedCopy, PatchFile};
use super::observers::Observers;
#[cfg(feature = "otel")]
use super::traces::Traces;
use super::{resumed, signals};
use uwf_agent::Level;
use uwf_agent::confinement::Confinement;
use uwf_agent::failure::FailedAt;
use uwf_agent::journal::{Journals, PassedOver, Prompt, Unfit, Unreadable, WantedRun};
use uwf_agent::react::Notice;
use uwf_agent::resume::{self, ResumedRun};
use uwf_agent::role_run::{self, RunContext, role_run};
use uwf_agent::settings::{Flags, Settings};
use uwf_agent::stand_alone::{self, RunOutcome};
use uwf_agent::trace::{self, Trace};
use uwf_agent::workers::Workers;

/// Where a run finds its things.
pub(crate) struct Host {
    homes: Homes,
    env: Env,
    pub(crate) store: Store,
    pub(super) journals: Journals,
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
fn surroundings(session: &Session<'_>) -> Result<(Homes, Env), CliError> {
    let homes = session.homes()?;
    let env = session.env.clone().with_dotenv(&homes.uwf.join(".env"))?;
    Ok((homes, env))
}

/// The settings of a run, after those it was begun with.
fn settings(
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

    fn at((homes, env): (Homes, Env), session: &Session<'_>) -> Result<Host, CliError> {
        let store = uwf_engine::open_store(&homes.ocas, session.clock)?;
        let journals = Journals::list(&role_run::journals_dir(&homes.uwf))?;
        Ok(Host { homes, env, store, journals })
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
    fn tidy(&self, thread: &ThreadId, worthless: Option<&WantedRun<'_>>) {
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

/// The environment that commands start from: ours, and the place in the trace that they are called from.
fn of_commands(env: &Env, trace: Option<&Trace>) -> Vec<(OsString, OsString)> {
    let mut env = env.clone();
    trace.into_iter().for_each(|trace| env.set(trace::VARIABLE, trace.traceparent()));
    env.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
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

/// `uwf-builtin run`.
pub(super) fn stand_alone(args: &RunArgs, session: &mut Session<'_>) -> Result<u8, CliError> {
    match (&args.thread, &args.workflow, &args.role, &args.prompt) {
        (Some(thread), ..) => go_on(thread, args, session),
        (None, Some(workflow), Some(role), Some(prompt)) => {
            begin(&NewRun { workflow, role, prompt }, args, session)
        }
        _ => Err(usage("a run needs WORKFLOW, --role and --prompt, or --continue".to_owned())),
    }
}

/// What a new stand-alone run is about.
struct NewRun<'a> {
    workflow: &'a str,
    role: &'a str,
    prompt: &'a str,
}

fn begin(new: &NewRun<'_>, args: &RunArgs, session: &mut Session<'_>) -> Result<u8, CliError> {
    let isolation = &args.isolation;
    if isolation.needs_copy() && !isolation.isolated {
        return Err(not_isolated());
    }
    let workspace = session.directory(args.cwd.as_deref())?;
    let (homes, env) = surroundings(session)?;
    let settings = settings(&args.run, None, (&homes, &env), session)?;
    let events = EventLog::open(args.run.events.as_deref(), &session.cwd, session.clock)?;
    let patch = PatchFile::open(isolation, &session.cwd)?;
    let host = Host::at((homes, env), session)?;
    let mut copy = match isolation.isolated {
        true => Some(IsolatedCopy::make((&settings, &host.homes), &host.store, &workspace, session)?),
        false => None,
    };
    let workspace = copy.as_ref().map_or(workspace, IsolatedCopy::workspace);
    let (thread, workflow) = new_thread(&host, new, &settings, (&workspace, session))?;
    copy.iter_mut().for_each(IsolatedCopy::keep);
    session.ui.note(&format!("thread {thread}"));
    let lock = ThreadLock::acquire(&host.homes.uwf, &thread, &workflow, host.store.now())?;
    let from = thread::head(&host.store, &thread)?.hash;
    let request = AgentRequest::new(thread, new.role, Some(new.prompt.to_owned()), None);
    let (request, workspace) = (&request, workspace.as_path());
    let run = PreparedRun {
        request,
        workspace,
        settings,
        resumed: None,
        wanted: None,
        fresh: false,
        stand_alone: true,
        events,
    };
    let reply = host.play(run, session).inspect_err(|_| copy.iter().for_each(|copy| copy.tell(session)))?;
    finish(&host, (lock, &thread, &from), reply, copy.map(|copy| (copy, isolation, patch)), session)
}

/// `uwf-builtin run --continue`: all but what is typed is taken from the journal.
fn go_on(thread: &str, args: &RunArgs, session: &mut Session<'_>) -> Result<u8, CliError> {
    let thread: ThreadId = thread.parse()?;
    let host = Host::open(session)?;
    let workflow = thread::head(&host.store, &thread)?.start(&host.store)?.workflow;
    let lock = ThreadLock::acquire(&host.homes.uwf, &thread, &workflow, host.store.now())?;
    let head = thread::head(&host.store, &thread)?;
    let (any, stand_alone) = (Prompt::Any, true);
    let wanted = WantedRun { thread, head: head.hash, role: None, prompt: any, stand_alone, workspace: None };
    let mut passed_over = None;
    let resumed = resume::find(&host.journals, &wanted, &mut |passed| passed_over = Some(passed))?;
    let resumed = match resumed {
        Some(resumed) => resumed,
        None => return Err(nothing_to_continue(&thread, &head, passed_over)),
    };
    if let Some(passed_over) = passed_over {
        session.ui.warn(&passed_over.to_string());
    }
    let copy = IsolatedCopy::of(Path::new(resumed.header().workspace), &host.homes);
    if args.isolation.needs_copy() && copy.is_none() {
        return Err(not_isolated());
    }
    let patch = PatchFile::open(&args.isolation, &session.cwd)?;
    let request = resumed::request(thread, &resumed);
    let finished = if args.fresh { None } else { resumed::reply(&host.store, &request, &resumed, session)? };
    let reply = match finished {
        Some(reply) => (reply, false),
        None => {
            let workspace = match resumed::workspace(&resumed) {
                Err(_) if args.fresh => session.directory(None)?,
                found => found?,
            };
            let settings = host.settings(&args.run, Some(&resumed), session)?;
            let request = &request;
            // Its journal is free again before it is discarded.
            let resumed = Some(resumed).filter(|_| !args.fresh);
            let events = EventLog::open(args.run.events.as_deref(), &session.cwd, session.clock)?;
            let run = PreparedRun {
                request,
                workspace: &workspace,
                settings,
                resumed,
                wanted: Some(&wanted),
                fresh: args.fresh,
                stand_alone: true,
                events,
            };
            host.play(run, session).inspect_err(|_| copy.iter().for_each(|copy| copy.tell(session)))?
        }
    };
    let isolation = copy.map(|copy| (copy, &args.isolation, patch));
    finish(&host, (lock, &thread, &wanted.head), reply, isolation, session)
}

/// Why no run of the thread goes on: its journal is left alone, it is over, or there was none.
fn nothing_to_continue(thread: &ThreadId, head: &Head, passed_over: Option<PassedOver>) -> CliError {
    if let Some(passed_over) = passed_over {
        let version = match passed_over.why {
            Unfit::Unreadable(Unreadable::OtherVersion { .. }) => {
                "a journal of another version goes on with the uwf-builtin that wrote it; else "
            }
            _ => "",
        };
        return CliError::user(passed_over.to_string()).with_hint(format!(
            "{version}begin the task anew: `uwf-builtin run WORKFLOW --role ROLE --prompt TEXT`"
        ));
    }
    let (why, hint) = match head.step() {
        Some(step) => (
            format!(": its last step, of the role {}, is recorded, {}", step.role, head.hash),
            format!(
                "`uwf step read {}` shows it, `uwf thread show {thread}` where the thread stands",
                head.hash
            ),
        ),
        None => (String::new(), format!("`uwf thread show {thread}` tells where it stands")),
    };
    CliError::user(format!("the thread {thread} has no interrupted run of `uwf-builtin run`{why}"))
        .with_hint(hint)
}

/// Moves the head, gives the thread back and prints the reply.
fn finish(
    host: &Host,
    (lock, thread, from): (ThreadLock, &ThreadId, &Hash),
    (reply, read): (AdapterOutput, bool),
    isolation: Option<(IsolatedCopy, &IsolationArgs, Option<PatchFile>)>,
    session: &mut Session<'_>,
) -> Result<u8, CliError> {
    let end = stand_alone::advance(&host.store, thread, from, &reply)?;
    drop(lock);
    print(&reply, read, session)?;
    if let Some((copy, how, patch)) = isolation {
        copy.end((&host.store, &reply, end), (how, patch), session)?;
    }
    Ok(exit(end))
}

fn not_isolated() -> CliError {
    usage("--patch and --keep are for a run that is --isolated".to_owned())
}

/// Stores the workflow and starts the thread; nothing is written when the role cannot run.
fn new_thread(
    host: &Host,
    new: &NewRun<'_>,
    settings: &Settings,
    (workspace, session): (&Path, &mut Session<'_>),
) -> Result<(ThreadId, Hash), CliError> {
    let resolved = workflow::resolve(&host.store, new.workflow, &session.cwd)?;
    resolved.checked.iter().for_each(|checked| session.ui.warn_of(checked));
    let content = resolved.workflow(&host.store)?;
    thread::role_of(&content, new.role)?;
    thread::check_task(new.prompt)?;
    role_run::check(settings, &content, new.role)?;
    let workflow = resolved.ensure_stored(&host.store)?;
    let cwd = workspace.display().to_string();
    Ok((thread::start(&host.store, &workflow, new.prompt, &cwd)?, workflow))
}

/// The exit status that says what a run came to.
fn exit(end: RunOutcome) -> u8 {
    match end {
        RunOutcome::Ended => OK,
        RunOutcome::Suspended => SUSPENDED,
        RunOutcome::Failed(FailedAt::Budget) => 4,
        RunOutcome::Failed(FailedAt::Provider) => 5,
        RunOutcome::Failed(FailedAt::Sandbox) => UNCONFINED,
        RunOutcome::Failed(FailedAt::Git) => PREPARED,
        RunOutcome::Failed(_) => FAILED_STEP,
    }
}

/// The reply for programs, the answer for people; what went wrong goes to stderr.
/// An answer that was `read` on this very terminal is not shown twice.
fn print(reply: &AdapterOutput, read: bool, session: &mut Session<'_>) -> Result<(), CliError> {
    if let Some(error) = &reply.error_message {
        let step = reply.step_hash;
        let failed = CliError::user(format!("the step of the role {} failed: {error}", reply.role));
        session.ui.error(&failed.with_hint(format!("the attempt is on record: uwf step read {step}"))).ok();
    }
    let read = read && session.terminals.out;
    session.ui.result(reply, || {
        if reply.is_error || read { String::new() } else { answer(&reply.frontmatter, &reply.body) }
    })?;
    Ok(())
}

/// The answer as the role would have written it.
fn answer(frontmatter: &Value, body: &str) -> String {
    let head = format!("---\n{}---\n", yaml::write(frontmatter));
    if body.is_empty() { head } else { format!("{head}\n{}\n", body.trim_end()) }
}

#[cfg(test)]
#[path = "run_tests.rs"]
mod tests;
