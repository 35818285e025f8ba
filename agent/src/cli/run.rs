//! What a run needs, gathered once, and the stand-alone form: a thread of its own, one role, the end.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use uwf_engine::cli::{FAILED_STEP, Failure, OK, SUSPENDED, Session};
use uwf_engine::lock::ThreadLock;
use uwf_engine::moderator::SUSPEND;
use uwf_engine::{AdapterOutput, AgentRequest, Hash, Homes, Status, Store, ThreadId, emit, thread, workflow};

use super::args::{RunArgs, RunOptions};
use super::progress;
use crate::confinement::Confinement;
use crate::react::Event;
use crate::record::Phase;
use crate::role_run::{self, Site, role_run};
use crate::settings::{Settings, SettingsError};

/// Homes, settings and store of a run.
pub(super) struct Bench {
    homes: Homes,
    settings: Settings,
    store: Store,
}

impl Bench {
    /// Reads the settings and opens the store.
    pub(super) fn open(session: &Session<'_>, options: &RunOptions) -> Result<Bench, Failure> {
        let homes = session.homes()?;
        let env = session.env.clone().with_dotenv(&homes.uwf.join(".env"))?;
        let settings = Settings::load(options.flags(), &env, &homes.uwf)?;
        let store = Store::open(&homes.ocas, session.clock)?;
        Ok(Bench { homes, settings, store })
    }

    /// Plays the role in `workspace`, telling people on stderr how it goes.
    pub(super) fn play(
        &self,
        request: &AgentRequest,
        workspace: &Path,
        session: &mut Session<'_>,
    ) -> Result<AdapterOutput, Failure> {
        let settings = self.role_settings(request)?;
        // Before the first thread: what starts later is inside.
        let confinement = Confinement::raise(&settings.sandbox, &self.homes, workspace, &session.env)?;
        let runtime = runtime()?;
        let site = Site {
            store: &self.store,
            home: &self.homes.uwf,
            workspace,
            settings: &settings,
            sandbox: &confinement.sandbox,
            env: session.env.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
            clock: session.clock,
        };
        let mut tell = |event: Event<'_>| progress::tell(event, &mut session.ui);
        let reply = runtime.block_on(role_run(request, &site, &mut tell));
        // After a second signal a tool may still be running: nobody waits for it.
        runtime.shutdown_background();
        Ok(reply?)
    }

    /// The settings with what is taken away from the role.
    fn role_settings(&self, request: &AgentRequest) -> Result<Settings, Failure> {
        let start = thread::head(&self.store, &request.thread)?.start(&self.store)?;
        let workflow = workflow::get(&self.store, &start.workflow)?;
        Ok(self.settings.for_role(&workflow, &request.role).map_err(SettingsError::from)?)
    }
}

/// One thread: the model is the only thing worth waiting for.
pub(super) fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| Failure::said("cannot start the runtime", error))
}

/// `uwf-builtin run`.
pub(super) fn stand_alone(args: &RunArgs, session: &mut Session<'_>) -> Result<u8, Failure> {
    let workspace = session.directory(args.cwd.as_deref())?;
    let bench = Bench::open(session, &args.run)?;
    let (thread, workflow) = new_thread(&bench, args, (&workspace, session))?;
    session.ui.note(&format!("thread {thread}"));
    let lock = ThreadLock::acquire(&bench.homes.uwf, &thread, &workflow, bench.store.now())?;
    let from = thread::head(&bench.store, &thread)?.hash;
    let request = AgentRequest::new(thread, &args.role, Some(args.prompt.clone()), None);
    let reply = bench.play(&request, &workspace, session)?;
    let exit = settle(&bench.store, &thread, &from, &reply)?;
    drop(lock);
    print(&reply, session)?;
    Ok(exit)
}

/// Stores the workflow and starts the thread; nothing is written when the role cannot run.
fn new_thread(
    bench: &Bench,
    args: &RunArgs,
    (workspace, session): (&PathBuf, &Session<'_>),
) -> Result<(ThreadId, Hash), Failure> {
    let resolved = workflow::resolve(&bench.store, &args.workflow, &session.cwd)?;
    let content = resolved.workflow(&bench.store)?;
    thread::role_of(&content, &args.role)?;
    thread::check_task(&args.prompt)?;
    role_run::check(&bench.settings, &content, &args.role)?;
    let workflow = resolved.ensure_stored(&bench.store)?;
    let cwd = workspace.display().to_string();
    Ok((thread::start(&bench.store, &workflow, &args.prompt, &cwd)?, workflow))
}

/// Moves the head as the reply demands; a failed step leaves the thread idle where it was. Gives the exit status.
fn settle(store: &Store, thread: &ThreadId, from: &Hash, reply: &AdapterOutput) -> Result<u8, Failure> {
    let word = |field: &str| reply.frontmatter[field].as_str().unwrap_or_default().to_owned();
    if reply.is_error {
        let phase = serde_json::from_value(json!(word("phase"))).unwrap_or(Phase::Answer);
        return Ok(match phase {
            Phase::Answer => FAILED_STEP,
            Phase::Budget => 4,
            Phase::Provider => 5,
            Phase::Sandbox => 6,
        });
    }
    let (status, exit) = if word("$status") == SUSPEND {
        (Status::Suspended { role: reply.role.clone(), message: word("reason") }, SUSPENDED)
    } else {
        (Status::Ended { completed_at: store.now() }, OK)
    };
    thread::advance(store, thread, from, &reply.step_hash, &status)?;
    Ok(exit)
}

/// The reply for programs, the answer for people; what went wrong goes to stderr.
fn print(reply: &AdapterOutput, session: &mut Session<'_>) -> Result<(), Failure> {
    if let Some(error) = &reply.error_message {
        let step = reply.step_hash;
        let failed = Failure::user(format!("the step of the role {} failed: {error}", reply.role));
        session.ui.error(&failed.with_hint(format!("the attempt is on record: uwf step read {step}"))).ok();
    }
    session.ui.result(&json!(reply), || {
        if reply.is_error { String::new() } else { answer(&reply.frontmatter, &reply.body) }
    })
}

/// The answer as the role would have written it.
fn answer(frontmatter: &Value, body: &str) -> String {
    let head = format!("---\n{}---\n", emit::yaml(frontmatter));
    if body.is_empty() { head } else { format!("{head}\n{}\n", body.trim_end()) }
}
