//! One role run, station by station. Read this first: everything else in the crate is one of its stations.
//!
//! `cli` and `settings` have said what is wanted (station 1); the reply is printed by `cli` (station 8).

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use thiserror::Error;
use uwf_engine::{
    AdapterOutput, AgentRequest, Clock, EdgePromptSource, RoleContext, Store, ThreadError, ThreadId,
    Workflow, thread,
};
use uwf_prompts::{PromptError, WorkspaceView};
use uwf_tools::sandbox::Sandbox;
use uwf_tools::{ToolSpec, Toolbox, ToolboxConfig, ToolboxError};

use crate::budget::Budget;
use crate::conversation::Conversation;
use crate::correct;
use crate::course::Course;
use crate::extract::{self, Extractor};
use crate::frontmatter::{self, ExtractError, Extracted};
use crate::journal::{self, Entry, Journal, Name};
use crate::outputs::Recorded;
use crate::provider::message::ToolDeclaration;
use crate::provider::{Mock, MockPlace, OpenAi, OpenAiConfig, Provider, ProviderError, Script};
use crate::react::{Event, React, Stopped};
use crate::record::{self, Failure, Finished, Phase, RecordError};
use crate::resume::{Earlier, Stood};
use crate::settings::{Endpoint, ProviderSettings, Settings, SettingsError};
use crate::signals::Signals;
use crate::trace::Trace;
use crate::window::Window;

/// Where a run takes place.
pub(crate) struct Site<'a> {
    /// The store that holds the thread.
    pub store: &'a Store,
    /// `$UWF_HOME`: journals go to `sessions/` in it.
    pub home: &'a Path,
    /// The directory the model works in.
    pub workspace: &'a Path,
    /// What the run works with.
    pub settings: &'a Settings,
    /// What commands run in.
    pub sandbox: &'a Arc<Sandbox>,
    /// Whether the caller is the engine, too.
    pub stand_alone: bool,
    /// The environment that commands start from.
    pub env: Vec<(OsString, OsString)>,
    /// The trace that the run is a part of.
    pub trace: Option<&'a Trace>,
    /// ms since the epoch.
    pub clock: Clock,
    /// Called once the run is in its journal: what that makes worthless can go.
    pub begun: &'a dyn Fn(),
}

/// Why there is no reply. Whatever happened up to then is in the journal.
#[derive(Debug, Error)]
pub enum RunError {
    /// The thread, the role, or what they refer to.
    #[error(transparent)]
    Thread(#[from] ThreadError),
    /// The settings do not fit the workflow.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// The provider cannot be set up.
    #[error(transparent)]
    Provider(#[from] ProviderError),
    /// The workspace cannot be opened.
    #[error(transparent)]
    Tools(#[from] ToolboxError),
    /// The journal cannot be created, or not be continued.
    #[error("cannot write a journal in {dir}")]
    Journal {
        /// The directory.
        dir: String,
        /// The disk's reason.
        source: io::Error,
    },
    /// An interrupted run cannot go on, since its commands cannot be confined as asked now.
    #[error("the interrupted run cannot go on: {0}")]
    Unconfined(String),
    /// The signal handlers cannot be installed.
    #[error("cannot listen for signals")]
    Signals(#[source] io::Error),
    /// The loop ended without anything that could be recorded.
    #[error("the run of {role} stopped; its journal is {journal}")]
    Stopped {
        /// The role.
        role: String,
        /// The file.
        journal: String,
        /// Why.
        source: Box<Stopped>,
    },
    /// A template did not render: a bug of ours.
    #[error("internal error")]
    Prompt(#[from] PromptError),
    /// The record cannot be written.
    #[error("the run of {role} is over but not recorded; its journal is {journal}")]
    Unrecorded {
        /// The role.
        role: String,
        /// The file.
        journal: String,
        /// Why.
        source: Box<RecordError>,
    },
}

/// Plays the role and records it, or goes on with what an `earlier` process began.
///
/// # Errors
/// See [`RunError`]. A run that merely fails (no valid answer, a budget, the provider) is not an error but a reply
/// with `is_error`.
pub(crate) async fn role_run(
    request: &AgentRequest,
    site: &Site<'_>,
    earlier: Option<Earlier>,
    watch: &mut dyn FnMut(Event<'_>),
) -> Result<AdapterOutput, RunError> {
    let context = thread::role_context(site.store, request)?; // 2: what this role may see
    if context.edge_prompt_source == EdgePromptSource::Task {
        watch(Event::NoEdgePrompt);
    }
    let (visit, step) = (context.visit(), context.steps.len());
    let answered = earlier.as_ref().map_or(0, |earlier| earlier.stood.turns);
    let place = MockPlace { role: &context.role_name, visit, step };
    let mut provider = provider(site.settings, (place, answered), site.trace)?;
    let mut extractor = extractor(site, &context.role_name)?;
    // 3: the opening, or the journal of an interrupted run
    let (mut react, ended) = open(&context, (site, earlier), provider.as_mut(), watch)?;
    started(&mut react, &context, site.trace);
    // 4 to 6: loop, answer, correction
    let outcome = play(&mut react, &context, (site.sandbox, extractor.as_mut(), ended)).await;
    let outcome = outcome.map_err(|source| {
        cut_off(&mut react, &source);
        RunError::stopped(&context, &react.journal, source)
    })?;
    let reply = record(&context, site, &react, &outcome) // 7: the record
        .map_err(|source| RunError::unrecorded(&context, &react.journal, source))?;
    react.reply(&reply).map_err(|source| RunError::stopped(&context, &react.journal, source))?;
    record::settle(site.store, &context, &reply)
        .map_err(|source| RunError::unrecorded(&context, &react.journal, source))?;
    finished(&mut react, &reply);
    // The full outputs of commands are in the store by now.
    std::fs::remove_dir_all(react.journal.spool_dir()).ok();
    Ok(reply)
}

/// Tells that the run begins.
fn started(react: &mut React<'_>, context: &RoleContext, trace: Option<&Trace>) {
    let (session, thread) = (react.journal.session(), context.thread.to_string());
    let (role, model, trace) = (context.role_name.as_str(), react.model, trace.map(Trace::id));
    (react.watch)(Event::RunStarted { session, thread: &thread, role, model, trace });
}

/// Tells how it ended.
fn finished(react: &mut React<'_>, reply: &AdapterOutput) {
    let word = |field: &str| reply.frontmatter[field].as_str();
    let (turns, tokens, cost) = react.course.sums();
    (react.watch)(Event::RunFinished {
        step: Some(reply.step_hash.as_str()),
        status: word("$status").unwrap_or_default(),
        phase: word("phase").filter(|_| reply.is_error),
        error: reply.error_message.as_deref(),
        turns,
        tokens,
        cost,
    });
}

/// Tells that it was cut off: no step is recorded.
fn cut_off(react: &mut React<'_>, stopped: &Stopped) {
    let phase = matches!(stopped, Stopped::Interrupted(_)).then_some("cancelled");
    let (error, (turns, tokens, cost)) = (stopped.to_string(), react.course.sums());
    let (status, error) = ("error", Some(error.as_str()));
    (react.watch)(Event::RunFinished { step: None, status, phase, error, turns, tokens, cost });
}

/// Where the journals are.
pub(crate) fn journals_dir(home: &Path) -> PathBuf {
    home.join("sessions")
}

/// How a run ended, and when (ms since the epoch).
type Decided = (Result<Extracted, Failure>, u64);

/// How a run ended and when, if an earlier process decided it.
type Ended = Option<(Option<Failure>, u64)>;

/// From the opening to the answer, or to the reason why there is none. What still runs then is ended. What was decided
/// before an interruption stays decided.
async fn play(
    react: &mut React<'_>,
    context: &RoleContext,
    (sandbox, extractor, ended): (&Sandbox, Option<&mut Extractor>, Ended),
) -> Result<Decided, Stopped> {
    if let Some((Some(failure), at)) = ended {
        return Ok((Err(failure), at));
    }
    // What is decided needs no sandbox any more.
    let refused = unconfined(&react.tools, sandbox).filter(|_| ended.is_none());
    let outcome = match refused {
        Some(failure) => Err(failure),
        None => failed(answer(react, context, extractor).await)?,
    };
    react.close()?;
    let at = match ended {
        Some((None, at)) if outcome.is_ok() => at,
        _ => react.end(outcome.as_ref().err())?,
    };
    Ok((outcome, at))
}

/// The reply of a run that is over, once more; none when it is not over, or its record is gone from the store.
///
/// # Errors
/// The thread or the store cannot be read.
pub(crate) fn reply_again(
    store: &Store,
    request: &AgentRequest,
    earlier: &Earlier,
) -> Result<Option<AdapterOutput>, RunError> {
    let Some(reply) = earlier.reply(store).map_err(ThreadError::from)? else { return Ok(None) };
    let context = thread::role_context(store, request)?;
    record::settle(store, &context, &reply)
        .map_err(|source| RunError::unrecorded(&context, &earlier.journal, source))?;
    Ok(Some(reply))
}

impl RunError {
    /// Whether the run can be continued as it is.
    pub(crate) fn keeps_the_run(&self) -> bool {
        match self {
            RunError::Stopped { source, .. } => {
                matches!(
                    source.as_ref(),
                    Stopped::Interrupted(_) | Stopped::Journal { .. } | Stopped::Keep(_)
                )
            }
            RunError::Unrecorded { .. } => true,
            _ => false,
        }
    }

    fn stopped(context: &RoleContext, journal: &Journal, source: Stopped) -> RunError {
        let journal = journal.path().display().to_string();
        RunError::Stopped { role: context.role_name.clone(), journal, source: Box::new(source) }
    }

    fn unrecorded(context: &RoleContext, journal: &Journal, source: RecordError) -> RunError {
        let journal = journal.path().display().to_string();
        RunError::Unrecorded { role: context.role_name.clone(), journal, source: Box::new(source) }
    }
}

/// Whether the first visit of `role` could begin: for those who would leave a thread behind otherwise.
///
/// # Errors
/// Those of [`role_run`] that come before anything is journalled.
pub(crate) fn check(settings: &Settings, workflow: &Workflow, role: &str) -> Result<(), RunError> {
    let settings = settings.for_role(workflow, role).map_err(SettingsError::from)?;
    uwf_tools::check_names(settings.tools.as_deref().unwrap_or_default())?;
    provider(&settings, (MockPlace { role, visit: 0, step: 0 }, 0), None)?;
    Ok(())
}

/// Whoever completes at this place, after so many completions.
pub(crate) fn provider(
    settings: &Settings,
    (place, answered): (MockPlace<'_>, u64),
    trace: Option<&Trace>,
) -> Result<Box<dyn Provider>, ProviderError> {
    match &settings.provider {
        ProviderSettings::Mock(script) => {
            Ok(Box::new(Mock::new(Script::load(script)?, place)?.after(answered)))
        }
        ProviderSettings::OpenAi(endpoint) => client(endpoint, place.role, trace),
    }
}

/// A client of the endpoint; a trace is told to it, unless its own headers say otherwise.
fn client(
    endpoint: &Endpoint,
    role: &str,
    trace: Option<&Trace>,
) -> Result<Box<dyn Provider>, ProviderError> {
    let mut config = OpenAiConfig { role: role.to_owned(), ..endpoint.config() };
    for (name, value) in trace.into_iter().flat_map(Trace::headers) {
        if !config.headers.keys().any(|header| header.eq_ignore_ascii_case(&name)) {
            config.headers.insert(name, value);
        }
    }
    Ok(Box::new(OpenAi::new(config)?))
}

/// Who is asked for the fields of an answer that is none.
fn extractor(site: &Site<'_>, role: &str) -> Result<Option<Extractor>, ProviderError> {
    let Some((endpoint, model)) = &site.settings.extract else { return Ok(None) };
    Ok(Some(Extractor { provider: client(endpoint, role, site.trace)?, model: model.clone() }))
}

/// A run before its first turn, or before its next one.
struct Opened {
    toolbox: Toolbox,
    tools: Vec<ToolDeclaration>,
    outputs: Arc<Recorded>,
    journal: Journal,
    stood: Stood,
}

/// A run that nobody has begun.
fn begin(context: &RoleContext, site: &Site<'_>) -> Result<Opened, RunError> {
    let sessions = journals_dir(site.home);
    let name = Name { thread: context.thread, head: context.head, session: ThreadId::new((site.clock)()) };
    let outputs = recorded(site);
    let toolbox = toolbox(site, site.settings.tools.clone(), (name.spool_dir(&sessions), &outputs))?;
    let tools: Vec<ToolDeclaration> = toolbox.specs().iter().map(declare).collect();
    let conversation = converse(context, site, &toolbox)?;
    let failed = |source| RunError::Journal { dir: sessions.display().to_string(), source };
    let mut journal = Journal::create(&sessions, name).map_err(failed)?;
    first_lines(&mut journal, context, site, (&tools, &conversation)).map_err(failed)?;
    Ok(Opened { toolbox, tools, outputs, journal, stood: Stood::default() })
}

/// A run that was begun: its own tools, of which those can be called that are allowed now.
fn go_on(earlier: Earlier, site: &Site<'_>) -> Result<Opened, RunError> {
    let tools = earlier.begun().tools.to_vec();
    if let Some(refusal) = unconfined(&tools, site.sandbox).filter(|_| earlier.stood.ended.is_none()) {
        return Err(RunError::Unconfined(refusal.error));
    }
    let mut names: Vec<String> = site.settings.tools.clone().unwrap_or_else(all_tools);
    names.retain(|name| tools.iter().any(|tool| tool.name == *name));
    let outputs = recorded(site);
    let toolbox = toolbox(site, Some(names), (earlier.journal.spool_dir(), &outputs))?;
    let dir = journals_dir(site.home).display().to_string();
    let set = (site.settings.describe(), site.sandbox.enforced());
    let failed = |source| RunError::Journal { dir, source };
    let (journal, stood) = earlier.go_on(&toolbox, set, site.clock).map_err(failed)?;
    Ok(Opened { toolbox, tools, outputs, journal, stood })
}

fn all_tools() -> Vec<String> {
    uwf_tools::specs().into_iter().map(|spec| spec.name.to_owned()).collect()
}

/// Opens the workspace, the journal and the conversation; the opening is in the journal before the loop starts.
fn open<'a>(
    context: &'a RoleContext,
    (site, earlier): (&'a Site<'_>, Option<Earlier>),
    provider: &'a mut dyn Provider,
    watch: &'a mut dyn FnMut(Event<'_>),
) -> Result<(React<'a>, Ended), RunError> {
    let signals = Signals::install().map_err(RunError::Signals)?;
    let Opened { toolbox, tools, outputs, journal, stood } = match earlier {
        Some(earlier) => {
            watch(Event::Continued { turns: earlier.stood.turns });
            go_on(earlier, site)?
        }
        None => begin(context, site)?,
    };
    (site.begun)();
    let course = course(site, &tools, journal.entries());
    let now = Instant::now();
    let react = React {
        provider,
        toolbox: Arc::new(toolbox),
        tools,
        started: now.checked_sub(course.spent.time).unwrap_or(now),
        course,
        journal,
        outputs,
        model: &site.settings.model,
        sampling: &site.settings.sampling,
        schema: &context.schema,
        secrets: site.settings.secrets(),
        watch,
        signals,
        clock: site.clock,
        stand: stood.stand,
    };
    Ok((react, stood.ended))
}

/// The tools over the workspace.
pub(crate) fn toolbox(
    site: &Site<'_>,
    allow: Option<Vec<String>>,
    (spool_dir, outputs): (PathBuf, &Arc<Recorded>),
) -> Result<Toolbox, ToolboxError> {
    Toolbox::open(ToolboxConfig {
        root: site.workspace.to_owned(),
        allow,
        writable: site.settings.narrowing.writable.clone(),
        spool_dir,
        outputs: outputs.clone(),
        hidden_env: site.settings.secrets().values(),
        env: site.env.clone(),
        allow_git_programs: site.settings.sandbox.git_programs,
        limits: uwf_tools::Limits::default(),
        sandbox: Arc::clone(site.sandbox),
    })
}

pub(crate) fn recorded(site: &Site<'_>) -> Arc<Recorded> {
    Arc::new(Recorded { root: site.store.root().to_owned(), clock: site.clock })
}

/// How far a run has come of which this happened.
pub(crate) fn course(site: &Site<'_>, tools: &[ToolDeclaration], entries: &[Entry]) -> Course {
    let text = |tool: &ToolDeclaration| tool.description.len() + tool.parameters.to_string().len();
    let declared = tools.iter().map(text).sum();
    let Settings { limits, context_window, prices, .. } = site.settings;
    let mut course = Course::new(Budget::new(*limits), Window::new(*context_window, declared), *prices);
    entries.iter().for_each(|entry| course.apply(entry));
    course
}

/// The rules, the earlier visits and the task, as this role is told them.
fn converse(context: &RoleContext, site: &Site<'_>, toolbox: &Toolbox) -> Result<Conversation, PromptError> {
    let names: Vec<&str> = toolbox.specs().iter().map(|spec| spec.name).collect();
    let root = site.workspace.display().to_string();
    Conversation::open(context, &WorkspaceView { root: &root, tools: &names })
}

pub(crate) fn declare(spec: &ToolSpec) -> ToolDeclaration {
    ToolDeclaration {
        name: spec.name.to_owned(),
        description: spec.description.to_owned(),
        parameters: spec.parameters.clone(),
    }
}

/// The journal's first lines: which run this is, and how it opens.
fn first_lines(
    journal: &mut Journal,
    context: &RoleContext,
    site: &Site<'_>,
    (tools, conversation): (&[ToolDeclaration], &Conversation),
) -> io::Result<()> {
    journal.append(Entry::Run {
        version: journal::VERSION,
        session: journal.session().to_owned(),
        thread: context.thread.to_string(),
        role: context.role_name.clone(),
        head: context.head,
        prompt: context.edge_prompt.clone(),
        stand_alone: site.stand_alone,
        workspace: site.workspace.display().to_string(),
        at: (site.clock)(),
        settings: site.settings.describe(),
        sandbox: site.sandbox.enforced().clone(),
        tools: tools.to_vec(),
        opening: conversation.messages().len(),
    })?;
    for message in conversation.messages() {
        journal.append(Entry::Said { message: message.clone(), at: (site.clock)() })?;
    }
    Ok(())
}

/// A role that may run commands does not start where they cannot be confined as asked.
fn unconfined(tools: &[ToolDeclaration], sandbox: &Sandbox) -> Option<Failure> {
    let refusal = sandbox.refusal().filter(|_| tools.iter().any(|tool| tool.name == "run_command"))?;
    Some(Failure { phase: Phase::Sandbox, error: format!("{refusal}. {}", refusal.hint()) })
}

/// Loops until a text is an answer; a text that is none is sent back with its errors.
async fn answer(
    react: &mut React<'_>,
    context: &RoleContext,
    mut extractor: Option<&mut Extractor>,
) -> Result<Extracted, Stopped> {
    loop {
        let text = react.until_text().await?;
        let corrections = react.course.corrections;
        let error = match frontmatter::extract(&text, &context.schema, context.role.frontmatter) {
            Ok(answer) => return Ok(answer),
            Err(error) => error,
        };
        let unusable = matches!(error, ExtractError::Schema(_));
        if corrections == correct::MAX || unusable {
            let extractor = extractor.take().filter(|_| !unusable);
            if let Some(answer) = last_resort(react, context, (extractor, &text)).await? {
                return Ok(answer);
            }
            return Err(Stopped::Refused { corrections, error, text });
        }
        react.say(correct::turn(&error, &context.schema, corrections + 1)?)?;
    }
}

/// What another model makes of the last text, where one is configured.
async fn last_resort(
    react: &mut React<'_>,
    context: &RoleContext,
    (extractor, text): (Option<&mut Extractor>, &str),
) -> Result<Option<Extracted>, Stopped> {
    let schema = (&context.schema, context.role.frontmatter);
    // An interrupted run may have been told already, by a model that is not configured any more.
    if let Some(told) = extract::told(react.journal.entries(), text, schema) {
        return Ok(told);
    }
    match extractor {
        Some(extractor) => extractor.extract(react, text, schema).await,
        None => Ok(None),
    }
}

/// Tells the runs that failed, which are recorded, from those that were cut off, which are not.
fn failed(answer: Result<Extracted, Stopped>) -> Result<Result<Extracted, Failure>, Stopped> {
    let stopped = match answer {
        Ok(answer) => return Ok(Ok(answer)),
        Err(stopped) => stopped,
    };
    let phase = match &stopped {
        Stopped::Budget(_) => Phase::Budget,
        Stopped::Provider(_) => Phase::Provider,
        Stopped::Refused { .. } | Stopped::NoAnswer(_) => Phase::Answer,
        _ => return Err(stopped),
    };
    Ok(Err(Failure { phase, error: stopped.to_string() }))
}

/// Records the run as nodes.
fn record(
    context: &RoleContext,
    site: &Site<'_>,
    react: &React<'_>,
    (outcome, completed_at): &Decided,
) -> Result<AdapterOutput, RecordError> {
    let workspace = site.workspace.display().to_string();
    record::write(
        site.store,
        context,
        &Finished {
            session: react.journal.session(),
            assembled: react.course.conversation.assembled(),
            cost: react.course.sums().2,
            trace: site.trace.map(Trace::id),
            entries: react.journal.entries(),
            workspace: &workspace,
            outcome,
            completed_at: *completed_at,
        },
    )
}
