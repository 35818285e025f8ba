//! Station 3: a run is opened, be it one that nobody has begun or one that was interrupted. Who completes, the tools over
//! the workspace, the journal and its first lines.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use serde_json::Value;
use uwf_engine::journals::JournalName;
use uwf_engine::record::Detail;
use uwf_engine::{RoleContext, ThreadId, thread};
use uwf_prompts::{PromptError, WorkspaceView};
use uwf_snapshot::{Options, Withheld};
use uwf_store::{Hash, Store};
use uwf_tools::sandbox::Sandbox;
use uwf_tools::{Toolbox, ToolboxConfig, ToolboxError};

use super::{RunContext, RunError, journals_dir};
use crate::additions::{OwnModelProvider, OwnProvider};
use crate::blobs::BlobStore;
use crate::budget::Budget;
use crate::context_window::ContextWindow;
use crate::conversation::Conversation;
use crate::dispatch::Dispatch;
use crate::extract::Extractor;
use crate::failure::{FailedAt, Failure};
use crate::fetch::{self, FetchUrl};
use crate::journal::{self, Entry, FindError, Journal, OutOfOrder, Surroundings};
use crate::mcp::{ServerTools, ServersSetup};
use crate::project::ProjectWords;
use crate::provider::message::ToolDeclaration;
use crate::provider::script::ScriptedServers;
use crate::provider::{ChatProvider, HttpConfig, HttpProvider, Learnt, Mock, ProviderError, ScriptPosition};
use crate::react::{Notice, React};
use crate::resume::{ResumedRun, claim};
use crate::run_state::RunState;
use crate::settings::{Endpoint, ProviderSettings, Settings, WindowSource};
use crate::signals::Signals;
use crate::snapshots::WorkspaceCapture;
use crate::trace::Trace;

/// Endpoints take no longer key for their prompt cache, in characters.
const CACHE_KEY: usize = 64;

/// How many of the thread's last steps are looked at for what they have learnt.
const LOOKED_AT: usize = 8;

/// Opens the workspace, the journal and the conversation; the opening is in the journal before the loop starts.
pub(super) fn open<'a>(
    context: &'a RoleContext,
    (run, earlier): (&'a RunContext<'_>, Option<ResumedRun>),
    provider: &'a mut dyn ChatProvider,
    on_notice: &'a mut dyn FnMut(Notice<'_>),
) -> Result<React<'a>, RunError> {
    let behaviour = provider.behaviour();
    let parts = match earlier {
        Some(earlier) => resume(earlier, run, behaviour)?,
        None => begin(context, run, behaviour)?,
    };
    let parts = LoopParts { journal: parts.journal.kept_by(run.sink), ..parts };
    // After the servers have started: until here a signal ends the program at once.
    let signals = (run.signals)().map_err(RunError::Signals)?;
    (run.begun)();
    let window_asks = window_asks(run.settings);
    let workspace = workspace(run, &parts.toolbox);
    let react = react(parts, (run, signals, &context.schema), provider, on_notice);
    Ok(React { window_asks, workspace, ..react })
}

/// How often the server may be asked for its window.
pub(crate) fn window_asks(settings: &Settings) -> u8 {
    if settings.window.from == WindowSource::Assumed { 2 } else { 0 }
}

/// What is captured of the workspace, which is nothing of ours; none where snapshots are off, or no tool changes anything.
fn workspace(run: &RunContext<'_>, tools: &Dispatch) -> Option<Arc<WorkspaceCapture>> {
    let settings = &run.settings.snapshots;
    if !settings.enabled || !tools.may_change() {
        return None;
    }
    let withheld = Withheld::new(run.settings.secrets().values());
    let options = Options { withheld, ..settings.options.clone() };
    let policy = run.sandbox.policy();
    let own = policy.private.iter().chain([&policy.run_dir]).map(PathBuf::as_path).chain([run.home]);
    let workspace = WorkspaceCapture::new((run.home, run.workspace), options, run.store.clone());
    Some(Arc::new(workspace.without(own)))
}

/// The loop, made of its parts.
pub(crate) fn react<'a>(
    parts: LoopParts,
    (run, signals, schema): (&'a RunContext<'_>, Signals, &'a Value),
    provider: &'a mut dyn ChatProvider,
    on_notice: &'a mut dyn FnMut(Notice<'_>),
) -> React<'a> {
    let LoopParts { toolbox, tools, blobs, journal, state } = parts;
    let now = Instant::now();
    React {
        provider,
        toolbox: Arc::new(toolbox),
        tools,
        started: now.checked_sub(state.spent.time).unwrap_or(now),
        state,
        journal,
        blobs,
        model: &run.settings.model,
        sampling: &run.settings.sampling,
        schema,
        secrets: run.settings.secrets(),
        on_notice,
        workers: run.workers,
        signals,
        clock: run.clock,
        window_asks: 0,
        workspace: None,
        project: run.settings.project.clone(),
    }
}

/// A run before its first turn, or before its next one.
pub(crate) struct LoopParts {
    pub toolbox: Dispatch,
    pub tools: Vec<ToolDeclaration>,
    pub blobs: Arc<BlobStore>,
    pub journal: Journal,
    pub state: RunState,
}

/// A run that nobody has begun.
fn begin(
    context: &RoleContext,
    run: &RunContext<'_>,
    behaviour: Option<&str>,
) -> Result<LoopParts, RunError> {
    let sessions = journals_dir(run.home);
    let name =
        JournalName { thread: context.thread, head: context.head, session: ThreadId::new((run.clock)()) };
    let blobs = blobs(run);
    let toolbox = toolbox(run, run.settings.tools.clone(), (name.spool_dir(&sessions), &blobs))?;
    let toolbox = with_fetch(with_servers(toolbox, run, None)?, run.settings);
    let tools = toolbox.declarations();
    let root = if run.settings.added.placeless { String::new() } else { run.workspace.display().to_string() };
    let project = project(context, run, &toolbox);
    let conversation = converse(context, &root, (&tools, &project))?;
    let failed = |source| RunError::Journal { dir: sessions.display().to_string(), source };
    // Until the first lines tell whose journal it is.
    let claimed = run.claim.map(|wanted| claim(&sessions, wanted)).transpose();
    let _claim = claimed.map_err(|error| match error {
        FindError::Io { source, .. } => failed(source),
        taken => RunError::Taken(taken),
    })?;
    let mut journal = Journal::create(&sessions, name).map_err(failed)?;
    let opening = (tools.as_slice(), &conversation, project);
    first_lines(&mut journal, context, run, opening, behaviour).map_err(failed)?;
    let state = state(run, &tools, journal.entries())?;
    Ok(LoopParts { toolbox, tools, blobs, journal, state })
}

/// What the project says of itself; nothing to whoever sums a thread up, who has all that it needs.
fn project(context: &RoleContext, run: &RunContext<'_>, tools: &Dispatch) -> ProjectWords {
    let is_about_it = !run.settings.added.placeless && context.role_name != thread::COMPACT;
    match is_about_it {
        true => ProjectWords::find(tools.toolbox(), &run.settings.project),
        false => ProjectWords::default(),
    }
}

/// A run that was begun: its own tools, of which those can be called that are allowed now.
fn resume(earlier: ResumedRun, run: &RunContext<'_>, behaviour: Option<&str>) -> Result<LoopParts, RunError> {
    let tools = earlier.header().tools.to_vec();
    if let Some(refusal) = unconfined(&tools, run.sandbox).filter(|_| earlier.state.ended.is_none()) {
        return Err(RunError::Unconfined(refusal.error));
    }
    let mut names: Vec<String> = run.settings.tools.clone().unwrap_or_else(all_tools);
    names.retain(|name| tools.iter().any(|tool| tool.name == *name));
    let blobs = blobs(run);
    let toolbox = toolbox(run, Some(names), (earlier.journal.spool_dir(), &blobs))?;
    let is_over = earlier.state.ended.is_some();
    let mut toolbox = if is_over { alone(toolbox, run) } else { with_servers(toolbox, run, Some(&tools))? };
    if tools.iter().any(|tool| tool.name == fetch::NAME) {
        toolbox = with_fetch(toolbox, run.settings);
    }
    let dir = journals_dir(run.home).display().to_string();
    let set = (
        run.settings.describe_run(behaviour),
        run.sandbox.enforced(),
        Surroundings::of(&run.env, run.settings.added.placeless),
    );
    let failed = |source| RunError::Journal { dir, source };
    let mut state = state(run, &tools, earlier.journal.entries())?;
    earlier.cut_off().for_each(|call| toolbox.tidy_after(call));
    let journal = earlier.resume(&mut state, set, run.clock).map_err(failed)?;
    state.read_states.iter().for_each(|read| toolbox.remember(read));
    Ok(LoopParts { toolbox, tools, blobs, journal, state })
}

/// Every tool that a role may be offered, as its model is told of it.
pub fn declared_tools() -> Vec<ToolDeclaration> {
    let of_workspace = uwf_tools::specs().into_iter().map(|spec| ToolDeclaration {
        name: spec.name.to_owned(),
        description: spec.description.to_owned(),
        parameters: spec.parameters,
    });
    of_workspace.chain([fetch::declaration("those that people have allowed")]).collect()
}

fn all_tools() -> Vec<String> {
    uwf_tools::specs().into_iter().map(|spec| spec.name.to_owned()).collect()
}

/// The tools over the workspace.
pub(crate) fn toolbox(
    run: &RunContext<'_>,
    allow: Option<Vec<String>>,
    (spool_dir, blobs): (PathBuf, &Arc<BlobStore>),
) -> Result<Toolbox, ToolboxError> {
    Toolbox::open(ToolboxConfig {
        root: run.workspace.to_owned(),
        allow,
        writable: run.settings.permissions.writable.clone(),
        spool_dir,
        outputs: blobs.clone(),
        hidden_env: run.settings.secrets().values(),
        pass_env: run.settings.sandbox.env.clone(),
        env: run.env.clone(),
        allow_git_programs: run.settings.sandbox.git_programs,
        limits: uwf_tools::ToolLimits::default(),
        sandbox: Arc::clone(run.sandbox),
    })
}

/// The tools over the workspace, and those that a program adds.
pub(crate) fn alone(toolbox: Toolbox, run: &RunContext<'_>) -> Dispatch {
    Dispatch::new(Arc::new(toolbox), run.settings.added.tools.clone(), ServerTools::default())
}

/// The same with the tools of the role's servers, which are started; of a run that goes on, those that it was `told` of.
fn with_servers(
    toolbox: Toolbox,
    run: &RunContext<'_>,
    told: Option<&[ToolDeclaration]>,
) -> Result<Dispatch, RunError> {
    let toolbox = Arc::new(toolbox);
    let Settings { provider, mcp, permissions, added, .. } = run.settings;
    let scripted = match provider {
        ProviderSettings::Mock(script) if !mcp.is_empty() => script.load()?.servers().clone(),
        _ => ScriptedServers::new(),
    };
    let setup = ServersSetup {
        servers: mcp,
        scripted: &scripted,
        toolbox: &toolbox,
        told,
        read_only: permissions.read_only,
    };
    let servers = ServerTools::start(&setup).map_err(RunError::Servers)?;
    Ok(Dispatch::new(toolbox, added.tools.clone(), servers))
}

/// The tools with that for the web, where a host is allowed. In a scripted run the script has the pages.
fn with_fetch(tools: Dispatch, settings: &Settings) -> Dispatch {
    let Some(policy) = settings.fetch.clone() else { return tools };
    let fetch = match &settings.provider {
        ProviderSettings::Mock(script) => {
            let pages = script.load().map(|script| script.pages().clone());
            FetchUrl::scripted(policy, pages.unwrap_or_default())
        }
        ProviderSettings::Own(OwnProvider::Script(script)) => {
            FetchUrl::scripted(policy, script.pages().clone())
        }
        ProviderSettings::Own(OwnProvider::Model(_)) | ProviderSettings::Http(_) => FetchUrl::new(policy),
    };
    tools.with(fetch.shared())
}

pub(crate) fn blobs(run: &RunContext<'_>) -> Arc<BlobStore> {
    Arc::new(BlobStore { store: run.store.clone() })
}

/// The state of a run of which this happened.
///
/// # Errors
/// The entries make no run.
pub(crate) fn state(
    run: &RunContext<'_>,
    tools: &[ToolDeclaration],
    entries: &[Entry],
) -> Result<RunState, OutOfOrder> {
    let text = |tool: &ToolDeclaration| tool.description.len() + tool.parameters.to_string().len();
    let declared = tools.iter().map(text).sum();
    let Settings { limits, window, prices, .. } = run.settings;
    let size = match window.from {
        WindowSource::Set => ContextWindow::set(window.size, declared),
        WindowSource::Catalogue | WindowSource::Assumed => ContextWindow::new(window.size, declared),
    };
    let state = RunState::new(Budget::new(*limits), size, prices.clone());
    state.after(entries).map_err(|(_, error)| error)
}

/// The rules, the earlier visits and the task, as this role is told them.
pub(crate) fn converse(
    context: &RoleContext,
    root: &str,
    (tools, project): (&[ToolDeclaration], &ProjectWords),
) -> Result<Conversation, PromptError> {
    let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
    let workspace = WorkspaceView { root, tools: &names, own_tools: false };
    project.with_view(|project| Conversation::open(context, (&workspace, project)))
}

/// The journal's first lines: which run this is, and how it opens.
pub(crate) fn first_lines(
    journal: &mut Journal,
    context: &RoleContext,
    run: &RunContext<'_>,
    (tools, conversation, project): (&[ToolDeclaration], &Conversation, ProjectWords),
    behaviour: Option<&str>,
) -> io::Result<()> {
    journal.append(Entry::Run {
        version: journal::VERSION,
        session: journal.session().to_owned(),
        thread: context.thread.to_string(),
        role: context.role_name.clone(),
        head: context.head,
        prompt: context.edge_prompt.clone(),
        stand_alone: run.stand_alone,
        workspace: run.workspace.display().to_string(),
        at: (run.clock)(),
        settings: run.settings.describe_run(behaviour),
        sandbox: run.sandbox.enforced().clone(),
        tools: tools.to_vec(),
        opening: conversation.messages().len(),
        surroundings: Surroundings::of(&run.env, run.settings.added.placeless),
        project,
    })?;
    for message in conversation.messages() {
        journal.append(Entry::Said { message: message.clone(), near: None, at: (run.clock)() })?;
    }
    Ok(())
}

/// A role that may run commands does not start where they cannot be confined as asked.
pub(super) fn unconfined(tools: &[ToolDeclaration], sandbox: &Sandbox) -> Option<Failure> {
    let refusal = sandbox.refusal().filter(|_| tools.iter().any(|tool| tool.name == "run_command"))?;
    Some(Failure { phase: FailedAt::Sandbox, error: format!("{refusal}. {}", refusal.hint()) })
}

/// What a provider must know of the run that it is for.
pub(crate) struct ProviderContext<'a> {
    /// Where the run stands in its thread.
    pub position: ScriptPosition<'a>,
    /// How many completions an earlier process of the run had.
    pub answered: u64,
    /// The thread; a run that is not begun has none.
    pub thread: Option<ThreadId>,
    /// What was learnt of endpoints before, the latest first.
    pub learnt: Vec<Learnt>,
    /// The trace that the run is a part of.
    pub trace: Option<&'a Trace>,
}

/// Whoever completes for this run.
pub(crate) fn provider(
    settings: &Settings,
    run: ProviderContext<'_>,
) -> Result<Box<dyn ChatProvider>, ProviderError> {
    match &settings.provider {
        ProviderSettings::Mock(script) => {
            Ok(Box::new(Mock::new(script.load()?, run.position)?.after(run.answered)))
        }
        ProviderSettings::Own(OwnProvider::Script(script)) => {
            Ok(Box::new(Mock::new(script.clone(), run.position)?.after(run.answered)))
        }
        ProviderSettings::Own(OwnProvider::Model(model)) => {
            Ok(Box::new(OwnModelProvider::new(Arc::clone(model))))
        }
        ProviderSettings::Http(endpoint) => {
            let (role, trace) = (run.position.role, run.trace);
            client(http_config(endpoint, run), role, trace)
        }
    }
}

/// The endpoint as it is talked to in this run.
pub(crate) fn http_config(endpoint: &Endpoint, run: ProviderContext<'_>) -> HttpConfig {
    // All visits of a role share their beginning.
    let role = run.position.role;
    let key = run.thread.map(|thread| format!("{thread}-{role}")).unwrap_or_default();
    let cache_key = key.chars().take(CACHE_KEY).collect();
    HttpConfig { cache_key, learnt: run.learnt, step: Some(run.position.step), ..endpoint.config() }
}

/// A client of the endpoint; a trace is told to it, unless its own headers say otherwise.
fn client(
    config: HttpConfig,
    role: &str,
    trace: Option<&Trace>,
) -> Result<Box<dyn ChatProvider>, ProviderError> {
    let mut config = HttpConfig { role: role.to_owned(), ..config };
    for (name, value) in trace.into_iter().flat_map(Trace::headers) {
        if !config.headers.keys().any(|header| header.eq_ignore_ascii_case(&name)) {
            config.headers.insert(name, value);
        }
    }
    Ok(Box::new(HttpProvider::new(config)?))
}

/// What the run, or else the thread's last steps and failed attempts, have learnt of endpoints, the latest first. A step
/// of another agent, or one whose record is gone, tells nothing.
pub(crate) fn learnt(context: &RoleContext, store: &Store, entries: &[Entry]) -> Vec<Learnt> {
    let own = journal::learnt(entries).cloned();
    let steps = context.steps.iter().rev().map(|step| &step.hash);
    let of_step = |step: &Hash| {
        let detail = Detail::read(store, &thread::step_node(store, step).ok()?.detail).ok()?;
        serde_json::from_value(detail.settings().learnt).ok()
    };
    let before = context.previous_attempts.iter().rev().chain(steps).take(LOOKED_AT);
    own.into_iter().chain(before.filter_map(of_step)).collect()
}

/// Who is asked for the fields of an answer that is none.
pub(super) fn extractor(run: &RunContext<'_>, role: &str) -> Result<Option<Extractor>, ProviderError> {
    let Some(endpoint) = &run.settings.extract else { return Ok(None) };
    Ok(Some(Extractor {
        provider: client(endpoint.config(), role, run.trace)?,
        model: endpoint.model.clone(),
    }))
}
