//! One role run, station by station. Read this first: everything else in the crate is one of its stations.
//!
//! `cli` and `settings` have said what is wanted (station 1); the reply is printed by `cli` (station 8).

use std::ffi::OsString;
use std::io;
use std::path::Path;
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

use crate::budget::{Budget, Spent};
use crate::conversation::Conversation;
use crate::correct;
use crate::frontmatter::{self, ExtractError, Extracted};
use crate::journal::{self, Entry, Journal};
use crate::outputs::Recorded;
use crate::provider::message::ToolDeclaration;
use crate::provider::{Mock, MockPlace, OpenAi, OpenAiConfig, Provider, ProviderError, Script};
use crate::react::{Event, React, Stopped};
use crate::record::{self, Failure, Finished, Phase, RecordError};
use crate::settings::{ProviderSettings, Settings, SettingsError};
use crate::signals::Signals;

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
    /// The environment that commands start from.
    pub env: Vec<(OsString, OsString)>,
    /// ms since the epoch.
    pub clock: Clock,
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
    /// The journal cannot be created.
    #[error("cannot create a journal in {dir}")]
    Journal {
        /// The directory.
        dir: String,
        /// The disk's reason.
        source: io::Error,
    },
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

/// Plays the role and records it.
///
/// # Errors
/// See [`RunError`]. A run that merely fails (no valid answer, a budget, the provider) is not an error but a reply
/// with `is_error`.
pub(crate) async fn role_run(
    request: &AgentRequest,
    site: &Site<'_>,
    watch: &mut dyn FnMut(Event<'_>),
) -> Result<AdapterOutput, RunError> {
    let context = thread::role_context(site.store, request)?; // 2: what this role may see
    if context.edge_prompt_source == EdgePromptSource::Task {
        watch(Event::NoEdgePrompt);
    }
    let (visit, step) = (context.visit(), context.steps.len());
    let mut provider = provider(site.settings, MockPlace { role: &context.role_name, visit, step })?;
    let mut react = open(&context, site, provider.as_mut(), watch)?; // 3: the opening
    let outcome = play(&mut react, &context, site.sandbox).await; // 4 to 6: loop, answer, correction
    let outcome = outcome.map_err(|source| RunError::stopped(&context, &react.journal, source))?;
    let reply = record(&context, site, &react, &outcome) // 7: the record
        .map_err(|source| RunError::unrecorded(&context, &react.journal, source))?;
    react.reply(&reply).map_err(|source| RunError::stopped(&context, &react.journal, source))?;
    record::settle(site.store, &context, &reply)
        .map_err(|source| RunError::unrecorded(&context, &react.journal, source))?;
    // The full outputs of commands are in the store by now.
    std::fs::remove_dir_all(react.journal.path().with_extension("")).ok();
    Ok(reply)
}

/// From the opening to the answer, or to the reason why there is none. What still runs then is ended.
async fn play(
    react: &mut React<'_>,
    context: &RoleContext,
    sandbox: &Sandbox,
) -> Result<Result<Extracted, Failure>, Stopped> {
    let outcome = match unconfined(react, sandbox) {
        Some(failure) => Err(failure),
        None => failed(answer(react, context).await)?,
    };
    react.close()?;
    Ok(outcome)
}

impl RunError {
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
    provider(&settings, MockPlace { role, visit: 0, step: 0 })?;
    Ok(())
}

/// Whoever completes at this place.
fn provider(settings: &Settings, place: MockPlace<'_>) -> Result<Box<dyn Provider>, ProviderError> {
    match &settings.provider {
        ProviderSettings::Mock(script) => Ok(Box::new(Mock::new(Script::load(script)?, place)?)),
        ProviderSettings::OpenAi(endpoint) => {
            let config = OpenAiConfig { role: place.role.to_owned(), ..endpoint.config() };
            Ok(Box::new(OpenAi::new(config)?))
        }
    }
}

/// Opens the workspace, the journal and the conversation; the opening is in the journal before the loop starts.
fn open<'a>(
    context: &'a RoleContext,
    site: &'a Site<'_>,
    provider: &'a mut dyn Provider,
    watch: &'a mut dyn FnMut(Event<'_>),
) -> Result<React<'a>, RunError> {
    let signals = Signals::install().map_err(RunError::Signals)?;
    let session = ThreadId::new((site.clock)()).to_string();
    let sessions = site.home.join("sessions");
    let toolbox = Toolbox::open(ToolboxConfig {
        root: site.workspace.to_owned(),
        allow: site.settings.tools.clone(),
        writable: site.settings.narrowing.writable.clone(),
        spool_dir: sessions.join(&session),
        outputs: Arc::new(Recorded { root: site.store.root().to_owned(), clock: site.clock }),
        hidden_env: site.settings.secrets().values(),
        env: site.env.clone(),
        allow_git_programs: site.settings.sandbox.git_programs,
        limits: uwf_tools::Limits::default(),
        sandbox: Arc::clone(site.sandbox),
    })?;
    let tools: Vec<ToolDeclaration> = toolbox.specs().iter().map(declare).collect();
    let conversation = converse(context, site, &toolbox)?;
    let failed = |source| RunError::Journal { dir: sessions.display().to_string(), source };
    let mut journal = Journal::create(&sessions, &session).map_err(failed)?;
    begin(&mut journal, context, site, &tools).map_err(failed)?;
    for message in conversation.messages() {
        let entry = Entry::Said { message: message.clone(), at: (site.clock)() };
        journal.append(entry).map_err(failed)?;
    }
    Ok(React {
        provider,
        toolbox: Arc::new(toolbox),
        tools,
        conversation,
        journal,
        budget: Budget::new(site.settings.limits),
        model: &site.settings.model,
        sampling: &site.settings.sampling,
        schema: &context.schema,
        secrets: site.settings.secrets(),
        watch,
        signals,
        clock: site.clock,
        started: Instant::now(),
        spent: Spent::default(),
    })
}

/// The rules, the earlier visits and the task, as this role is told them.
fn converse(context: &RoleContext, site: &Site<'_>, toolbox: &Toolbox) -> Result<Conversation, PromptError> {
    let names: Vec<&str> = toolbox.specs().iter().map(|spec| spec.name).collect();
    let root = site.workspace.display().to_string();
    Conversation::open(context, &WorkspaceView { root: &root, tools: &names })
}

fn declare(spec: &ToolSpec) -> ToolDeclaration {
    ToolDeclaration {
        name: spec.name.to_owned(),
        description: spec.description.to_owned(),
        parameters: spec.parameters.clone(),
    }
}

/// The journal's first line: which run this is.
fn begin(
    journal: &mut Journal,
    context: &RoleContext,
    site: &Site<'_>,
    tools: &[ToolDeclaration],
) -> io::Result<()> {
    journal.append(Entry::Run {
        version: journal::VERSION,
        session: journal.session().to_owned(),
        thread: context.thread.to_string(),
        role: context.role_name.clone(),
        head: context.head,
        prompt: context.edge_prompt.clone(),
        at: (site.clock)(),
        settings: site.settings.describe(),
        tools: tools.to_vec(),
    })
}

/// A role that may run commands does not start where they cannot be confined as asked.
fn unconfined(react: &React<'_>, sandbox: &Sandbox) -> Option<Failure> {
    let refusal = sandbox.refusal().filter(|_| react.tools.iter().any(|tool| tool.name == "run_command"))?;
    Some(Failure { phase: Phase::Sandbox, error: format!("{refusal}. {}", refusal.hint()) })
}

/// Loops until a text is an answer; a text that is none is sent back with its errors.
async fn answer(react: &mut React<'_>, context: &RoleContext) -> Result<Extracted, Stopped> {
    let mut corrections = 0;
    loop {
        let text = react.until_text().await?;
        let error = match frontmatter::extract(&text, &context.schema, context.role.frontmatter) {
            Ok(answer) => return Ok(answer),
            Err(error) => error,
        };
        if corrections == correct::MAX || matches!(error, ExtractError::Schema(_)) {
            return Err(Stopped::Refused { corrections, error, text });
        }
        corrections += 1;
        react.say(correct::turn(&error, &context.schema, corrections)?)?;
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
    outcome: &Result<Extracted, Failure>,
) -> Result<AdapterOutput, RecordError> {
    let workspace = site.workspace.display().to_string();
    record::write(
        site.store,
        context,
        &Finished {
            session: react.journal.session(),
            model: react.model,
            settings: &site.settings.describe(),
            assembled: react.conversation.assembled(),
            entries: react.journal.entries(),
            workspace: &workspace,
            sandbox: site.sandbox.enforced(),
            outcome,
            completed_at: (site.clock)(),
        },
    )
}
