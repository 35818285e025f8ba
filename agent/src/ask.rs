//! Questions about a finished step, answered from its record.
//!
//! The conversation that the record keeps is opened again, byte for byte, and goes on with the question; the tools are
//! those that only read. Nothing of the thread changes: no node is written, no head moves, no failed attempt is noted.

mod forks;
mod from_record;

use std::io;

use serde_json::{Value, json};
use thiserror::Error;
use uwf_engine::record::Detail;
use uwf_store::{Hash, Store, StoreError};

use self::forks::ForkStore;
pub use self::forks::fork;
pub(crate) use self::forks::{RecordedQuestion, first_entry, questions};
use self::from_record::messages;
use crate::journal::{Entry, Journal};
use crate::permissions::RolePermissions;
use crate::project::ProjectSettings;
use crate::provider::message::{Message, MessageKind, Speaker};
use crate::provider::{ChatProvider, ScriptPosition};
use crate::react::{Notice, Stopped};
use crate::role_run::{self, LoopParts, ProviderContext, RunContext, RunError};
use crate::settings::Settings;
use crate::trace::Trace;

/// What a script calls the one who answers: `roles: { ask: … }`, one entry a question.
const ROLE: &str = "ask";

/// What is asked.
#[derive(Clone, Debug)]
pub struct StepQuestion {
    /// The session it is put to, a fork; without one, or with the step's own, nothing is remembered.
    pub session: Option<String>,
    /// In words.
    pub text: String,
    /// The step's detail node.
    pub detail: Hash,
}

/// Why there is no answer, or no fork.
#[derive(Debug, Error)]
pub enum AnswerError {
    /// The record.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A record that another agent wrote.
    #[error("{detail} is no record of uwf-builtin: {why}")]
    Foreign {
        /// The detail node.
        detail: Hash,
        /// What is missing.
        why: String,
    },
    /// A session that is neither a fork of ours nor the step's own.
    #[error("no session {session} of this step is known")]
    UnknownSession {
        /// The session.
        session: String,
    },
    /// Another process is asking it.
    #[error("the session {session} is being asked something else")]
    Busy {
        /// The session.
        session: String,
    },
    /// The directory of the questions cannot be used.
    #[error("cannot use {path}")]
    Io {
        /// The file or directory.
        path: String,
        /// The disk's reason.
        source: io::Error,
    },
    /// The run could not begin.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The loop ended without an answer.
    #[error("the question was not answered")]
    Stopped(#[from] Stopped),
}

/// The settings of the one who answers: the tools that only read, of those the step had.
///
/// # Errors
/// The step's detail is not in the store, or cannot be read.
pub fn settings(settings: &Settings, store: &Store, detail: &Hash) -> Result<Settings, AnswerError> {
    let tools = Detail::read(store, detail)?.settings().tools;
    let permissions = RolePermissions { tools, read_only: true, ..RolePermissions::default() };
    let mut settings = settings.clone();
    settings.tools = permissions.tools(settings.tools);
    settings.permissions = permissions;
    settings.fetch = None;
    settings.project = ProjectSettings::default();
    Ok(settings)
}

/// Puts the question and gives the answer.
///
/// # Errors
/// See [`AnswerError`].
pub async fn ask(
    question: &StepQuestion,
    run: &RunContext<'_>,
    on_notice: &mut dyn FnMut(Notice<'_>),
) -> Result<String, AnswerError> {
    let record = Detail::read(run.store, &question.detail)?;
    let forks = ForkStore::find(question, record.session_id.as_deref(), run.home)?;
    let earlier = forks.earlier()?;
    let context = provider_context(&record, (earlier.len(), &question.text), run.trace);
    let before = before(run.store, (&question.detail, &record), earlier)?;
    let mut provider = role_run::provider(run.settings, context).map_err(RunError::from)?;
    let journal = forks.journal(question, run, provider.behaviour())?;
    answer(&question.text, (before, journal), run, provider.as_mut(), on_notice).await
}

/// What the provider must know of a question before which so many were answered.
pub(crate) fn provider_context<'r>(
    record: &Detail,
    (visit, question): (usize, &'r str),
    trace: Option<&'r Trace>,
) -> ProviderContext<'r> {
    let position = ScriptPosition { role: ROLE, visit, step: visit, prompt: Some(question) };
    // The step's run has paid for these.
    let learnt = serde_json::from_value(record.settings().learnt).into_iter().collect();
    ProviderContext { position, answered: 0, thread: None, learnt, trace }
}

/// All that was said before the question: in the step, and for the questions before.
pub(crate) fn before(
    store: &Store,
    (hash, record): (&Hash, &Detail),
    earlier: Vec<Vec<Message>>,
) -> Result<Vec<Message>, AnswerError> {
    let mut before = messages(store, hash, record)?;
    before.extend(earlier.into_iter().flatten());
    Ok(before)
}

/// Puts a question whose journal is open.
pub(crate) async fn answer(
    question: &str,
    (before, journal): (Vec<Message>, Journal),
    run: &RunContext<'_>,
    provider: &mut dyn ChatProvider,
    on_notice: &mut dyn FnMut(Notice<'_>),
) -> Result<String, AnswerError> {
    let blobs = role_run::blobs(run);
    let toolbox = role_run::toolbox(run, run.settings.tools.clone(), (journal.spool_dir(), &blobs));
    let toolbox = role_run::alone(toolbox.map_err(RunError::from)?, run);
    let tools = toolbox.declarations();
    let mut entries = journal.entries().to_vec();
    entries.extend(before.into_iter().map(|message| Entry::Said { message, near: None, at: (run.clock)() }));
    let state = role_run::state(run, &tools, &entries).map_err(RunError::from)?;
    let signals = (run.signals)().map_err(RunError::Signals)?;
    let parts = LoopParts { toolbox, tools, blobs, journal, state };
    let mut react = role_run::react(parts, (run, signals, &Value::Null), provider, on_notice);
    let text = uwf_prompts::question(question).map_err(Stopped::from)?;
    react.append_message(Message::text(Speaker::User, MessageKind::Opening, text))?;
    let answer = react.until_text().await;
    // Tools that only read leave nothing for git.
    react.close().await?;
    let answer = answer?.trim().to_owned();
    react.reply(json!({"answer": answer}))?;
    react.conclude()?;
    Ok(answer)
}
