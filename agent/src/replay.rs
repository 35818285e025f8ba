//! A recorded run, played again: the same loop against the recorded replies, offline, so that whatever this program does
//! otherwise than the one that made the record shows as the first request that is not the same.
//!
//! Each process that had a part in the run is played for itself: it begins with the entries that it found, as a run that goes
//! on does. Nothing of the thread changes.

mod asked;
mod branch;
mod difference;
mod record;

use std::path::Path;

use serde_json::Value;
use thiserror::Error;
use uwf_engine::journals::JournalName;
use uwf_engine::{RoleContext, ThreadError, ThreadId};
use uwf_store::{Hash, StoreError};

pub use self::asked::{AskedQuestion, questions};
pub use self::branch::RecordedPart;
pub use self::difference::ReplayDifference;
pub use self::record::RecordedRun;
use crate::ask::AnswerError;
use crate::extract::Extractor;
use crate::journal::{Entry, Journal, NotTaken, SharedRecording, Surroundings, stretches};
use crate::provider::recorded::ReplayedProvider;
use crate::provider::{ChatProvider, HttpConfig, HttpProvider, ProviderError, ScriptPosition};
use crate::react::{Notice, React, Stopped};
use crate::resume::ResumedRun;
use crate::role_run::{self, LoopParts, ProviderContext, RunContext, RunError};
use crate::settings::{Endpoint, ProviderSettings, Settings, SettingsError};

/// What came of playing a step again.
#[derive(Clone, Debug, PartialEq)]
pub struct Replayed {
    /// How many requests were the same, byte for byte.
    pub requests: usize,
    /// How many turns the model had in them.
    pub turns: usize,
    /// The first thing that was not the same; nothing was played after it.
    pub difference: Option<ReplayDifference>,
}

/// Why a step cannot be played again.
#[derive(Debug, Error)]
pub enum ReplayError {
    /// The record.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The thread.
    #[error(transparent)]
    Thread(#[from] ThreadError),
    /// There is no record of the run, or it cannot be read.
    #[error("step {step} cannot be played again: {why}")]
    NoRecord {
        /// The step.
        step: Hash,
        /// Why.
        why: String,
    },
    /// The run had not so many turns.
    #[error("step {step} has {turns} turns of the model, and none with the number {turn}")]
    NoTurn {
        /// The step.
        step: Hash,
        /// The turn that was wanted, from 1.
        turn: usize,
        /// How many there are.
        turns: usize,
    },
    /// What was set for the run is no setting of this version.
    #[error("the settings on record cannot be used")]
    Settings(#[from] SettingsError),
    /// The run could not begin.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The questions that were put to the step.
    #[error(transparent)]
    Asked(#[from] AnswerError),
}

/// Plays a run again. The store, the workers and the clock of `run` count, and its directory and sandbox if the tools are run
/// once more; its settings do not.
///
/// # Errors
/// See [`ReplayError`]. A difference is none.
pub async fn replay(
    recorded: &RecordedRun,
    run: &RunContext<'_>,
    runs_tools: bool,
    on_notice: &mut dyn FnMut(Notice<'_>),
) -> Result<Replayed, ReplayError> {
    let recording = SharedRecording::new(recorded.entries.clone(), runs_tools);
    let mut before = Vec::new();
    for stretch in stretches(&recorded.entries) {
        let mut settings = Settings::on_record(stretch.settings, run.home)?;
        settings.project = recorded.project_settings();
        let run = RunContext { settings: &settings, env: run.env.clone(), claim: None, ..*run };
        let ended = play(recorded, &recording, (&run, before), on_notice).await;
        if let Some(difference) = recording.difference() {
            return Ok(replayed(&recording, Some(difference.into())));
        }
        if let Err(error) = ended
            && !is_over(&error)
        {
            return Err(error);
        }
        match recording.begin_next_stretch() {
            Some(entries) => before = entries,
            None => break,
        }
    }
    Ok(replayed(&recording, recording.left().map(Into::into)))
}

fn replayed(recording: &SharedRecording, difference: Option<ReplayDifference>) -> Replayed {
    let (requests, turns) = recording.played();
    Replayed { requests, turns, difference }
}

/// Whether the recorded process came no further.
fn is_over(error: &ReplayError) -> bool {
    let mut source: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = source {
        let io = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
        if io.and_then(|inner| inner.downcast_ref::<NotTaken>()) == Some(&NotTaken::Over) {
            return true;
        }
        source = error.source();
    }
    false
}

/// One process's part of the run, which found these entries.
async fn play(
    recorded: &RecordedRun,
    recording: &SharedRecording,
    (run, before): (&RunContext<'_>, Vec<Entry>),
    on_notice: &mut dyn FnMut(Notice<'_>),
) -> Result<(), ReplayError> {
    let context = recorded.context(run.store)?;
    let (mut provider, mut extractor) = models(&context, (recorded, recording), run, &before)?;
    let parts = parts(&context, recorded, (run, recording), before)?;
    let signals = (run.signals)().map_err(RunError::Signals)?;
    let mut react: React<'_> =
        role_run::react(parts, (run, signals, &context.schema), provider.as_mut(), on_notice);
    react.window_asks = role_run::window_asks(run.settings);
    let stopped = |source: Stopped, react: &React<'_>| RunError::stopped(&context, &react.journal, source);
    let decided = role_run::play(&mut react, (&context, run), extractor.as_mut()).await;
    let (outcome, _) = decided.map_err(|source| stopped(source, &react))?;
    if let Ok(answer) = outcome {
        recorded.answered(run.store, recording, &answer.output)?;
    }
    Ok(())
}

/// Those who give the recorded replies.
fn models(
    context: &RoleContext,
    (recorded, recording): (&RecordedRun, &SharedRecording),
    run: &RunContext<'_>,
    before: &[Entry],
) -> Result<(Box<dyn ChatProvider>, Option<Extractor>), RunError> {
    let (visit, step) = (context.visit(), context.steps.len());
    let position =
        ScriptPosition { role: &context.role_name, visit, step, prompt: Some(&context.edge_prompt) };
    let known = role_run::learnt(context, run.store, before);
    let played =
        ProviderContext { position, answered: 0, thread: Some(context.thread), learnt: known, trace: None };
    let provider = provider(run.settings, played, (recording, &recorded.script()))?;
    let extractor = |endpoint: &Endpoint| {
        let provider = Box::new(replaying(endpoint.config(), recording)?);
        Ok::<_, ProviderError>(Extractor { provider, model: endpoint.model.clone() })
    };
    Ok((provider, run.settings.extract.as_ref().map(extractor).transpose()?))
}

/// Who gives the recorded replies in the place of the model that is set.
fn provider(
    settings: &Settings,
    played: ProviderContext<'_>,
    (recording, script): (&SharedRecording, &str),
) -> Result<Box<dyn ChatProvider>, ProviderError> {
    Ok(match &settings.provider {
        ProviderSettings::Http(endpoint) => {
            Box::new(replaying(role_run::http_config(endpoint, played), recording)?)
        }
        ProviderSettings::Mock(_) | ProviderSettings::Own(_) => {
            Box::new(ReplayedProvider::new(Box::new(recording.clone()), script))
        }
    })
}

fn replaying(config: HttpConfig, recording: &SharedRecording) -> Result<HttpProvider, ProviderError> {
    Ok(HttpProvider::new(config)?.replaying(Box::new(recording.clone())))
}

/// The run before its first turn, or before the next one of a run that goes on.
fn parts(
    context: &RoleContext,
    recorded: &RecordedRun,
    (run, recording): (&RunContext<'_>, &SharedRecording),
    before: Vec<Entry>,
) -> Result<LoopParts, RunError> {
    let session = recorded.session().unwrap_or_else(|| ThreadId::new((run.clock)()));
    let name = JournalName { thread: context.thread, head: context.head, session };
    let blobs = role_run::blobs(run);
    let spool = name.spool_dir(run.home);
    let failed = |source| RunError::Journal { dir: "the record".to_owned(), source };
    let names = recorded.tools().iter().map(|tool| tool.name.clone());
    let known: Vec<String> =
        names.filter(|name| uwf_tools::specs().iter().any(|tool| tool.name == *name)).collect();
    let toolbox = role_run::alone(role_run::toolbox(run, Some(known), (spool, &blobs))?, run);
    let journal = Journal::replayed(name, recording.clone(), before);
    if journal.entries().is_empty() {
        let tools = recorded.declared_now();
        let project = recorded.project();
        let conversation = role_run::converse(context, recorded.told_workspace(), (&tools, &project))?;
        let mut journal = journal;
        // Which behaviour was drawn is part of the settings, which are those on record.
        role_run::first_lines(&mut journal, context, run, (&tools, &conversation, project), None)
            .map_err(failed)?;
        let state = role_run::state(run, &tools, journal.entries())?;
        return Ok(LoopParts { toolbox, tools, blobs, journal, state });
    }
    let tools = recorded.tools().to_vec();
    let mut state = role_run::state(run, &tools, journal.entries())?;
    let found = role_run::state(run, &tools, journal.entries())?;
    let set = (Value::Null, run.sandbox.enforced(), Surroundings::default());
    let journal = ResumedRun { journal, state: found }.resume(&mut state, set, run.clock).map_err(failed)?;
    state.read_states.iter().for_each(|read| toolbox.remember(read));
    Ok(LoopParts { toolbox, tools, blobs, journal, state })
}

/// Where tools are run once more: the workspace as it was before the step.
///
/// # Errors
/// There is no snapshot of it, or it cannot be made there.
pub fn restore(recorded: &RecordedRun, store: &uwf_store::Store, dir: &Path) -> Result<(), ReplayError> {
    let none = |why: String| ReplayError::NoRecord { step: recorded.step, why };
    let before = recorded.before().ok_or_else(|| none("there is no snapshot of its workspace".to_owned()))?;
    uwf_snapshot::checkout(store, &before, dir).map_err(|error| none(error.to_string()))?;
    Ok(())
}

#[cfg(test)]
#[path = "replay_tests.rs"]
mod tests;
