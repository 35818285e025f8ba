//! One role run, station by station. Read this first: everything else in the crate is one of its stations.
//!
//! `cli` and `settings` have said what is wanted (station 1); the reply is printed by `cli` (station 8).

mod error;
mod open;

use std::error::Error;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::json;
use uwf_engine::journals::sink::JournalSink;
use uwf_engine::{AdapterOutput, AgentRequest, EdgePromptSource, RoleContext, ThreadError, Workflow, thread};
use uwf_store::{Clock, Store};
use uwf_tools::sandbox::Sandbox;

pub use self::error::RunError;
pub use self::open::declared_tools;
pub(crate) use self::open::{
    LoopParts, ProviderContext, alone, blobs, converse, first_lines, http_config, learnt, provider, react,
    state, toolbox, window_asks,
};
use self::open::{extractor, open, unconfined};
use crate::additions::Additions;
use crate::correct;
use crate::extract::{self, Extractor};
use crate::failure::{FailedAt, Failure};
use crate::frontmatter::{self, ExtractError, Extracted};
use crate::journal::{CapturePoint, Journal, WantedRun};
pub use crate::mcp::McpError;
use crate::provider::ScriptPosition;
use crate::react::{Notice, Progress, React, Stopped};
use crate::record::{self, FinishedRun};
use crate::resume::ResumedRun;
use crate::settings::Settings;
use crate::signals::Signals;
use crate::trace::Trace;
use crate::workers::Workers;

/// Where a run takes place.
pub struct RunContext<'a> {
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
    /// Who does what blocks.
    pub workers: &'a Workers,
    /// The environment that commands start from.
    pub env: Vec<(OsString, OsString)>,
    /// The trace that the run is a part of.
    pub trace: Option<&'a Trace>,
    /// ms since the epoch.
    pub clock: Clock,
    /// Takes the signals over when the loop begins: before that one ends the program at once.
    pub signals: &'a dyn Fn() -> io::Result<Signals>,
    /// The visit to claim before its journal is created, since it was looked for and nobody had begun it; none where nobody
    /// else can play it, or may play it as well.
    pub claim: Option<&'a WantedRun<'a>>,
    /// Called once the run is in its journal: what that makes worthless can go.
    pub begun: &'a dyn Fn(),
    /// Who keeps the journal for other machines, if anybody does.
    pub sink: Option<&'a Arc<JournalSink>>,
}

/// Plays the role and records it, or goes on with what an `earlier` process began.
///
/// # Errors
/// See [`RunError`]. A run that merely fails (no valid answer, a budget, the provider) is not an error but a reply
/// with `is_error`.
pub async fn role_run(
    request: &AgentRequest,
    run: &RunContext<'_>,
    earlier: Option<ResumedRun>,
    on_notice: &mut dyn FnMut(Notice<'_>),
) -> Result<AdapterOutput, RunError> {
    let context = thread::role_context(run.store, request)?; // 2: what this role may see
    if context.edge_prompt_source == EdgePromptSource::Task {
        on_notice(Notice::Progress(Progress::NoEdgePrompt));
    }
    let (visit, step) = (context.visit(), context.steps.len());
    let resumed = earlier.as_ref().map(|earlier| earlier.state.spent.turns);
    let position =
        ScriptPosition { role: &context.role_name, visit, step, prompt: Some(&context.edge_prompt) };
    let entries = earlier.as_ref().map(|earlier| earlier.journal.entries());
    let learnt = learnt(&context, run.store, entries.unwrap_or_default());
    let played = ProviderContext {
        position,
        answered: resumed.unwrap_or_default(),
        thread: Some(context.thread),
        learnt,
        trace: run.trace,
    };
    let mut provider = provider(run.settings, played)?;
    let mut extractor = extractor(run, &context.role_name)?;
    // 3: the opening, or the journal of an interrupted run
    let mut react = open(&context, (run, earlier), provider.as_mut(), on_notice)?;
    opened(&mut react, &context, (run.trace, resumed));
    // 4 to 6: loop, answer, correction
    let outcome = play(&mut react, (&context, run), extractor.as_mut()).await;
    let reply = outcome
        .map_err(|source| RunError::stopped(&context, &react.journal, source))
        .and_then(|outcome| keep(&context, run, &mut react, &outcome)); // 7: the record
    reply.inspect_err(|error| stopped(&mut react, error))
}

/// Tells that this process has the run.
fn opened(react: &mut React<'_>, context: &RoleContext, (trace, resumed): (Option<&Trace>, Option<u64>)) {
    let (session, thread) = (react.journal.session(), context.thread.to_string());
    let (role, model, trace) = (context.role_name.as_str(), react.model, trace.map(Trace::id));
    (react.on_notice)(Notice::Opened { session, thread: &thread, role, model, trace, resumed });
}

/// Tells that it was cut off: no step stands for it.
fn stopped(react: &mut React<'_>, error: &RunError) {
    let phase = error.is_interruption().then_some("cancelled");
    let why = error.source().map_or_else(|| error.to_string(), ToString::to_string);
    (react.on_notice)(Notice::Stopped { state: &react.state, phase, error: &why });
}

/// Where the journals are.
pub fn journals_dir(home: &Path) -> PathBuf {
    home.join("sessions")
}

/// How a run ended, and when (ms since the epoch).
pub(crate) type Decided = (Result<Extracted, Failure>, u64);

/// From the opening to the answer, or to the reason why there is none. What still runs then is ended. What was decided
/// before an interruption stays decided.
pub(crate) async fn play(
    react: &mut React<'_>,
    (context, run): (&RoleContext, &RunContext<'_>),
    extractor: Option<&mut Extractor>,
) -> Result<Decided, Stopped> {
    let ended = react.state.ended.clone();
    if let Some((Some(failure), at)) = ended {
        return Ok((Err(failure), at));
    }
    // What is decided needs no sandbox any more.
    let refused = match react.journal.recording() {
        Some(recording) => recording.refused(),
        None => unconfined(&react.tools, run.sandbox),
    };
    let refused = refused.filter(|_| ended.is_none());
    let outcome = match refused {
        Some(failure) => Err(failure),
        None => match failed(captured_answer(react, (context, run), (extractor, ended.is_some())).await) {
            Ok(outcome) => outcome,
            Err(stopped) => {
                // What it comes to is told; why the run stopped goes before what else may be amiss now.
                react.close().await.ok();
                return Err(stopped);
            }
        },
    };
    let outcome = safe_for_git(outcome, &react.close().await?);
    if ended.is_none() {
        react.capture(CapturePoint::End).await?;
    }
    let at = match ended {
        Some((None, at)) if outcome.is_ok() => at,
        _ => react.end(outcome.as_ref().err())?,
    };
    Ok((outcome, at))
}

/// A run that leaves something `standing` for git to run has failed, whatever else came of it.
fn safe_for_git(outcome: Result<Extracted, Failure>, standing: &[String]) -> Result<Extracted, Failure> {
    if standing.is_empty() {
        return outcome;
    }
    let before = outcome.err().map(|failure| format!(" The run had failed before: {}", failure.error));
    let error = format!(
        "git may run what commands have left in this workspace: {}. Look at it before you use git there; where commands \
         may do so, `sandbox: {{ gitPrograms: true }}` in agents/builtin.yaml says it.{}",
        standing.join("; "),
        before.unwrap_or_default()
    );
    Err(Failure { phase: FailedAt::Git, error })
}

/// The reply of a run that is over, once more; none when it is not over, or its record is gone from the store.
///
/// # Errors
/// The thread or the store cannot be read.
pub fn reply_again(
    store: &Store,
    request: &AgentRequest,
    earlier: &ResumedRun,
) -> Result<Option<AdapterOutput>, RunError> {
    let Some(reply) = earlier.reply(store).map_err(ThreadError::from)? else { return Ok(None) };
    let context = thread::role_context(store, request)?;
    record::settle(store, &context, &reply)
        .map_err(|source| RunError::unrecorded(&context, &earlier.journal, source))?;
    Ok(Some(reply))
}

/// Whether the first visit of `role` could begin: for those who would leave a thread behind otherwise.
///
/// # Errors
/// Those of [`role_run`] that come before anything is journalled.
pub fn check(settings: &Settings, workflow: &Workflow, role: &str) -> Result<(), RunError> {
    let settings = settings.for_role(workflow, role)?;
    uwf_tools::check_names(settings.tools.as_deref().unwrap_or_default())?;
    let position = ScriptPosition { role, visit: 0, step: 0, prompt: None };
    provider(
        &settings,
        ProviderContext { position, answered: 0, thread: None, learnt: Vec::new(), trace: None },
    )?;
    Ok(())
}

/// The answer, after the workspace was captured as it is before anything is done about it; not of a run of which the end
/// is decided.
async fn captured_answer(
    react: &mut React<'_>,
    (context, run): (&RoleContext, &RunContext<'_>),
    (extractor, is_decided): (Option<&mut Extractor>, bool),
) -> Result<Extracted, Stopped> {
    if !is_decided {
        react.capture(CapturePoint::of(react.journal.entries())).await?;
    }
    answer(react, (context, &run.settings.added), extractor).await
}

/// Loops until a text is an answer; a text that is none is sent back with its errors.
async fn answer(
    react: &mut React<'_>,
    (context, added): (&RoleContext, &Additions),
    mut extractor: Option<&mut Extractor>,
) -> Result<Extracted, Stopped> {
    loop {
        let text = react.until_text().await?;
        let corrections = react.state.corrections;
        let schema = (&context.schema, context.role.frontmatter);
        let error = match frontmatter::extract_checked(&text, schema, added.check.as_ref()) {
            Ok(answer) => return Ok(answer),
            Err(error) => error,
        };
        let unusable = matches!(error, ExtractError::Schema(_));
        if corrections == correct::MAX || unusable {
            let extractor = extractor.take().filter(|_| !unusable);
            let checked = |answer: &Extracted| frontmatter::check(answer, added.check.as_ref()).is_ok();
            if let Some(answer) = last_resort(react, context, (extractor, &text)).await?.filter(checked) {
                return Ok(answer);
            }
            return Err(Stopped::Refused { corrections, error, text });
        }
        react.append_message(correct::turn(&error, &context.schema, corrections + 1)?)?;
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
    if let Some(answer) = extract::from_journal(react.journal.entries(), text, schema) {
        return Ok(answer);
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
        Stopped::Budget(_) => FailedAt::Budget,
        Stopped::Provider(_) => FailedAt::Provider,
        Stopped::Refused { .. } | Stopped::NoAnswer(_) => FailedAt::Answer,
        _ => return Err(stopped),
    };
    Ok(Err(Failure { phase, error: stopped.to_string() }))
}

/// Records the run, and in its journal that it is recorded; then forgets what that makes worthless.
fn keep(
    context: &RoleContext,
    run: &RunContext<'_>,
    react: &mut React<'_>,
    (outcome, completed_at): &Decided,
) -> Result<AdapterOutput, RunError> {
    let unrecorded = |journal: &Journal, source| RunError::unrecorded(context, journal, source);
    let stopped = |journal: &Journal, source| RunError::stopped(context, journal, source);
    let workspace = run.workspace.display().to_string();
    let finished = FinishedRun {
        agent: record::AGENT,
        model: None,
        is_replayable: true,
        session: react.journal.session(),
        assembled: react.state.conversation.assembled(),
        cost: react.state.sums().2,
        trace: run.trace.map(Trace::id),
        entries: react.journal.entries(),
        journal: react.journal.path(),
        workspace: &workspace,
        outcome,
        completed_at: *completed_at,
    };
    let reply = record::write(run.store, context, &finished);
    let reply = reply.map_err(|source| unrecorded(&react.journal, source))?;
    react.reply(json!(reply)).map_err(|source| stopped(&react.journal, source))?;
    record::settle(run.store, context, &reply).map_err(|source| unrecorded(&react.journal, source))?;
    // The full outputs of commands are in the store by now.
    std::fs::remove_dir_all(react.journal.spool_dir()).ok();
    react.conclude().map_err(|source| stopped(&react.journal, source))?;
    Ok(reply)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_for_git_fails_a_run_and_hides_no_other_failure() {
        let failure = || Err(Failure { phase: FailedAt::Budget, error: "over".to_owned() });
        assert_eq!(safe_for_git(failure(), &[]).unwrap_err().phase, FailedAt::Budget);
        let failed = safe_for_git(failure(), &["a".to_owned(), "b".to_owned()]).unwrap_err();
        assert_eq!(failed.phase, FailedAt::Git);
        assert!(
            failed.error.contains("this workspace: a; b. Look") && failed.error.ends_with("before: over")
        );
    }
}
