//! The record: from the journal's entries to turn nodes, the detail node, the output and the step.
//!
//! Apart because this is the only place that knows what of a journal becomes which node; the shapes of those are
//! [`uwf_engine::record`]'s. It writes them in one batch (one sync) and notes or clears failed attempts; it never moves
//! the head.

mod changes;
mod log;
mod reply;
pub(crate) mod turns;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use thiserror::Error;
use uwf_engine::builtin;
use uwf_engine::record::{
    self, Detail, ErrorOutput, Interrupted, LEFT_OUT, Listed, Marks, RecordedSettings, RunSnapshots,
    SUMMED_UP, SummedUp, Turn,
};
use uwf_engine::{AdapterOutput, RoleContext, StepLinks, StepNode, ThreadError, Usage, thread};
use uwf_store::{Batch, Hash, Store, StoreError, open_regular};
use uwf_tools::ToolOutput;

pub(crate) use self::log::entries;
use crate::failure::Failure;
use crate::frontmatter::Extracted;
use crate::journal::{self, CapturePoint, Concern, Entry, FileChange, Stretch, ToolFacts, stretches};
use crate::provider::message::{Message, MessageKind, Speaker, ToolCall};
use crate::secrets::Secrets;
use crate::usd::Usd;

/// The name under which steps say who made them.
pub const AGENT: &str = "uwf-builtin";

/// A run that is over, ready to be recorded.
pub(crate) struct FinishedRun<'a> {
    /// Who has made it.
    pub agent: &'a str,
    /// The session, as its agent calls it: ours as the journal.
    pub session: &'a str,
    /// The model, where that is not the one that was set.
    pub model: Option<&'a str>,
    /// Whether it can be played again by its log.
    pub is_replayable: bool,
    /// The opening messages as text.
    pub assembled: String,
    /// What the turns cost, where prices are known.
    pub cost: Option<Usd>,
    /// The trace that the run is a part of.
    pub trace: Option<&'a str>,
    /// Everything that was said and done, in order.
    pub entries: &'a [Entry],
    /// The journal, which has the raw replies.
    pub journal: &'a Path,
    /// The directory it worked in.
    pub workspace: &'a str,
    /// How it ended.
    pub outcome: &'a Result<Extracted, Failure>,
    /// ms since the epoch.
    pub completed_at: u64,
}

impl FinishedRun<'_> {
    /// When the run started: the time of its first entry.
    fn started_at(&self) -> u64 {
        self.entries.first().map_or(self.completed_at, Entry::at)
    }

    /// How long it was worked on, in ms: without the pauses after interruptions, and up to its end.
    fn worked(&self) -> u64 {
        let until_the_end = self.entries.split_inclusive(|entry| matches!(entry, Entry::Ended { .. })).next();
        stretches(until_the_end.unwrap_or_default()).iter().map(Stretch::worked).sum()
    }
}

/// Why the record could not be written. The journal still holds the run.
#[derive(Debug, Error)]
pub enum RecordError {
    /// The store refused.
    #[error("the record of the run cannot be stored")]
    Store(#[from] StoreError),
    /// The list of failed attempts could not be changed.
    #[error("the failed attempts of the role cannot be noted")]
    Attempts(#[from] ThreadError),
    /// A full output that was kept beside the journal is gone.
    #[error("the full output of a tool, {path}, cannot be read")]
    Spool {
        /// The file.
        path: String,
        /// The disk's reason.
        source: std::io::Error,
    },
}

/// Writes the record of a run and says what the engine is to be told.
///
/// # Errors
/// Nothing is listed as an attempt and no step exists unless every node is durable.
pub(crate) fn write(
    store: &Store,
    context: &RoleContext,
    run: &FinishedRun<'_>,
) -> Result<AdapterOutput, RecordError> {
    let attempts = &context.previous_attempts;
    let mut batch = store.batch();
    let usage = usage(run);
    let detail = detail(store, &mut batch, run)?;
    let (output, output_schema, body) = output(run.outcome);
    let output_hash = batch.put(&output_schema, &output)?;
    let step = StepNode {
        start: context.start_hash,
        prev: context.prev(),
        role: context.role_name.clone(),
        output: output_hash,
        detail,
        agent: run.agent.to_owned(),
        edge_prompt: context.edge_prompt.clone(),
        started_at_ms: run.started_at(),
        completed_at_ms: run.completed_at,
        cwd: run.workspace.to_owned(),
        assembled_prompt: Some(text(&mut batch, &run.assembled)?),
        usage: Some(usage.clone()),
        previous_attempts: (run.outcome.is_ok() && !attempts.is_empty()).then_some(attempts.clone()),
        links: StepLinks::default(),
    };
    let step_hash = batch.put(&step.type_(), &json!(step))?;
    batch.commit()?;
    let error_message = run.outcome.as_ref().err().map(|failure| failure.error.clone());
    if error_message.is_some() {
        thread::record_failure(store, &context.thread, &context.role_name, &step_hash)?;
    }
    Ok(AdapterOutput {
        step_hash,
        detail_hash: detail,
        role: context.role_name.clone(),
        frontmatter: output,
        body,
        started_at_ms: run.started_at(),
        completed_at_ms: run.completed_at,
        usage: Some(usage),
        is_error: error_message.is_some(),
        error_message,
    })
}

/// Forgets the failed attempts that a success links. After the reply is in the journal: until then they must be found
/// again.
///
/// # Errors
/// The store's.
pub(crate) fn settle(store: &Store, context: &RoleContext, reply: &AdapterOutput) -> Result<(), RecordError> {
    if reply.is_error || context.previous_attempts.is_empty() {
        return Ok(());
    }
    let linked = thread::step_node(store, &reply.step_hash)?.previous_attempts.unwrap_or_default();
    if !context.previous_attempts.iter().all(|attempt| linked.contains(attempt)) {
        // A reply that is given again: there were attempts after it, and nothing else names those.
        return Ok(());
    }
    Ok(thread::clear_failures(store, &context.thread, &context.role_name)?)
}

/// What the journal keeps of a tool's work.
///
/// A file that holds a secret is kept with that blotted out.
pub(crate) fn facts(output: &ToolOutput, secrets: &Secrets) -> ToolFacts {
    let change = |change: &uwf_tools::FileEdit| FileChange {
        path: change.path.clone(),
        before: change.before.as_deref().map(|bytes| content(bytes, secrets)),
        after: content(&change.after, secrets),
    };
    ToolFacts {
        title: secrets.clean(&output.title).into_owned(),
        is_error: output.is_error,
        exit_code: output.facts.exit_code,
        signal: output.facts.signal,
        timed_out: output.facts.timed_out,
        cancelled: output.facts.cancelled,
        output_bytes: output.facts.output_bytes,
        spool: output.facts.spool.clone(),
        undone: output.facts.undone.iter().map(|what| secrets.clean(what).into_owned()).collect(),
        told: Vec::new(),
        about: output.facts.about.clone().map(|about| secrets.clean_value(about)),
        changes: output.facts.changes.iter().map(change).collect(),
        read_state: output.facts.read_state.clone(),
    }
}

/// A file's content as text: what is not UTF-8 as a data URL (RFC 2397), so that no byte is lost.
fn content(bytes: &[u8], secrets: &Secrets) -> String {
    let lossy = String::from_utf8_lossy(bytes);
    if let Cow::Owned(clean) = secrets.clean(&lossy) {
        return clean;
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => format!("data:application/octet-stream;base64,{}", STANDARD.encode(bytes)),
    }
}

fn text(batch: &mut Batch<'_>, text: &str) -> Result<Hash, StoreError> {
    batch.put(&builtin::TEXT, &Value::from(text))
}

/// A text of any length, in pieces where it is long: what a snapshot would make of a file that holds it.
fn content_node(batch: &mut Batch<'_>, text: &str) -> Result<Hash, StoreError> {
    Ok(batch.put_blob(&mut text.as_bytes())?.hash)
}

fn output(outcome: &Result<Extracted, Failure>) -> (Value, Hash, String) {
    match outcome {
        Ok(answer) => (answer.output.clone(), answer.schema, answer.body.clone()),
        Err(failure) => {
            let output = ErrorOutput::new(failure.error.as_str(), failure.phase.as_str());
            (json!(output), builtin::ERROR_OUTPUT, String::new())
        }
    }
}

fn usage(run: &FinishedRun<'_>) -> Usage {
    let duration = run.worked() as f64 / 1000.0;
    let mut usage = Usage { turns: 0, input_tokens: 0, output_tokens: 0, duration };
    for entry in run.entries {
        if let Entry::Answered { usage: spent, .. } = entry {
            usage.turns += 1;
            usage.input_tokens += spent.map_or(0, |spent| spent.input_tokens);
            usage.output_tokens += spent.map_or(0, |spent| spent.output_tokens);
        }
    }
    usage
}

/// The detail node with its turns.
fn detail(store: &Store, batch: &mut Batch<'_>, run: &FinishedRun<'_>) -> Result<Hash, RecordError> {
    let mut messages = Vec::new();
    let (mut turns, mut logged) = (Vec::new(), Vec::new());
    let recorded = run.entries.iter().any(|entry| matches!(entry, Entry::Replied { .. }));
    let (left_out, captured) = (left_out(run.entries), captured(run.entries));
    for entry in run.entries {
        let Some(mut turn) = turn(batch, entry, (store, recorded))? else {
            logged.push((entry, None));
            continue;
        };
        if let Some(call) = turn.call_id.as_deref() {
            turn.snapshot = captured.get(call).copied();
            if let Some(mark) = left_out.get(call) {
                let content = turn.content.replace((*mark).to_owned()).unwrap_or_default();
                turn.content_ref = Some(content_node(batch, &content)?);
            }
        }
        let hash = turn.put(batch)?;
        messages.push(Listed::Turn(hash));
        logged.push((entry, Some(hash)));
        if matches!(entry, Entry::Answered { .. } | Entry::Finished { .. }) {
            turns.push(Listed::Turn(hash));
        }
    }
    let stretches = stretches(run.entries);
    let last = stretches.last();
    let begun = last.map_or_else(|| json!({}), |last| last.settings.clone());
    // The thread's next steps begin with what was learnt.
    let learnt = journal::learnt(run.entries).map(|learnt| json!(learnt));
    // What held before the last interruption, each time.
    let before = &stretches[..stretches.len().saturating_sub(1)];
    let settings =
        RecordedSettings::completed(begun, learnt, &before.iter().map(interrupted).collect::<Vec<_>>());
    let set = RecordedSettings::of(settings.clone()).model;
    let model = run.model.map(str::to_owned).or(set).unwrap_or_default();
    let log = run.is_replayable.then(|| log::put(batch, &logged, journal::raw_replies(run.journal)));
    let count = |is: fn(&Entry) -> bool| Some(run.entries.iter().filter(|entry| is(entry)).count() as u64);
    let detail = Detail {
        session_id: Some(run.session.to_owned()),
        model: Some(model),
        duration: Some(run.worked()),
        turn_count: count(|entry| matches!(entry, Entry::Answered { .. })),
        failed_calls: count(is_failed_call),
        turns: Some(turns),
        messages: Some(messages),
        sandbox: json!(last.map(|last| last.sandbox)),
        settings,
        cost: run.cost.map(Usd::in_dollars),
        trace: run.trace.map(str::to_owned),
        changes: Some(changes::put(batch, (store, run.workspace), run.entries)?),
        snapshots: snapshots(run.entries),
        log: log.transpose()?,
    };
    Ok(detail.put(batch)?)
}

fn interrupted(stretch: &Stretch<'_>) -> Interrupted {
    Interrupted { started_at_ms: stretch.from, last_at_ms: stretch.until, sandbox: json!(stretch.sandbox) }
}

/// The workspace after each call that changed it unseen.
fn captured(entries: &[Entry]) -> BTreeMap<&str, Hash> {
    let trees = entries.iter().filter_map(|entry| match entry {
        Entry::Snapshot { snapshot, call_id: Some(call), .. } => Some((call.as_str(), snapshot.tree)),
        _ => None,
    });
    trees.collect()
}

/// Call id → what stands in the place of its result at last: its content is in the store by itself, for `tool_output`.
fn left_out(entries: &[Entry]) -> BTreeMap<&str, &str> {
    let marks = entries.iter().filter_map(|entry| match entry {
        Entry::Elided { marks, .. } => Some(marks),
        _ => None,
    });
    marks.flatten().map(|mark| (mark.call_id.as_str(), mark.text.as_str())).collect()
}

/// The workspace before the run and after it; none where it was not to be captured.
fn snapshots(entries: &[Entry]) -> Option<RunSnapshots> {
    let at = |wanted: CapturePoint| {
        entries.iter().rev().find_map(|entry| match entry {
            Entry::Snapshot { snapshot, point, .. } if *point == wanted => Some(*snapshot),
            _ => None,
        })
    };
    let failed = entries.iter().find_map(|entry| match entry {
        Entry::Warned { about: Concern::NoSnapshot | Concern::PartialSnapshot, message, .. } => {
            Some(message.clone())
        }
        _ => None,
    });
    let snapshots = RunSnapshots { before: at(CapturePoint::Start), after: at(CapturePoint::End), failed };
    (snapshots != RunSnapshots::default()).then_some(snapshots)
}

fn is_failed_call(entry: &Entry) -> bool {
    matches!(entry, Entry::Finished { facts, .. } if facts.failed())
}

/// A message as a turn node, of a run that was `recorded` before or not; nothing for the entries that are no messages.
fn turn(
    batch: &mut Batch<'_>,
    entry: &Entry,
    (store, recorded): (&Store, bool),
) -> Result<Option<Turn>, RecordError> {
    let turn = match entry {
        Entry::Said { message, at, .. } => turn_node(message, *at),
        Entry::Answered { message, at, duration_ms, usage, .. } => {
            Turn { duration_ms: Some(*duration_ms), usage: *usage, ..turn_node(message, *at) }
        }
        Entry::Finished { message, at, duration_ms, facts } => {
            let mut outputs = BTreeMap::new();
            if let (Some(spool), Some(call)) = (&facts.spool, &message.tool_call_id)
                && let Some(output) = full_output(batch, spool, (store, recorded))?
            {
                outputs.insert(call.clone(), output);
            }
            Turn {
                duration_ms: Some(*duration_ms),
                exit_code: facts.exit_code.map(i64::from),
                failed: Some(facts.failed()),
                outputs,
                ..turn_node(message, *at)
            }
        }
        Entry::Elided { marks, at } => {
            let marks = marks.iter().map(|mark| (mark.call_id.clone(), mark.text.clone()));
            shorter(LEFT_OUT, &json!(marks.collect::<Marks>()), *at)
        }
        Entry::Summarised { message, kept, at } => {
            let summed_up = SummedUp { summary: message.content.clone(), kept: *kept };
            shorter(SUMMED_UP, &json!(summed_up), *at)
        }
        Entry::Run { .. }
        | Entry::Continued { .. }
        | Entry::Asked { .. }
        | Entry::Sent { .. }
        | Entry::AttemptFailed { .. }
        | Entry::Signalled { .. }
        | Entry::RequestChanged { .. }
        | Entry::Warned { .. }
        | Entry::Abandoned { .. }
        | Entry::Window { .. }
        | Entry::Learnt { .. }
        | Entry::Started { .. }
        | Entry::Snapshot { .. }
        | Entry::Ended { .. }
        | Entry::Replied { .. } => return Ok(None),
    };
    Ok(Some(turn))
}

/// How the requests became shorter at this point; the content is JSON.
fn shorter(kind: &str, how: &Value, at: u64) -> Turn {
    let message = Message::text(Speaker::User, MessageKind::Summary, uwf_store::json::line(how));
    Turn { kind: Some(kind.to_owned()), ..turn_node(&message, at) }
}

fn turn_node(message: &Message, at: u64) -> Turn {
    let call = |call: &ToolCall| record::RecordedCall {
        id: Some(call.id.clone()),
        name: Some(call.name.clone()),
        args: Some(call.arguments.clone()),
    };
    let calls: Vec<_> = message.tool_calls.iter().map(call).collect();
    Turn {
        role: Some(message.role.as_str().to_owned()),
        content: Some(message.content.clone()),
        tool_calls: Some(calls).filter(|calls| !calls.is_empty()),
        reasoning: message.reasoning.clone(),
        native: json!(message.native),
        kind: Some(message.kind.as_str().to_owned()),
        call_id: message.tool_call_id.clone(),
        at: Some(at),
        ..Turn::default()
    }
}

/// The spooled output, byte for byte, in pieces: it may be longer than what fits into memory. It goes once the run is
/// recorded: when that record was lost, there is none. Where another machine began the run, the store has it by then.
fn full_output(
    batch: &mut Batch<'_>,
    spool: &Path,
    (store, recorded): (&Store, bool),
) -> Result<Option<Hash>, RecordError> {
    let unread = |source| RecordError::Spool { path: spool.display().to_string(), source };
    let mut file = match open_regular(spool) {
        // The home of another machine may be closed to this one, or not be there.
        Err(_) if let Some(kept) = kept_output(store, spool) => return Ok(Some(kept)),
        Err(error) if recorded && error.kind() == ErrorKind::NotFound => return Ok(None),
        file => file.map_err(unread)?,
    };
    match batch.put_blob(&mut file) {
        Ok(output) => Ok(Some(output.hash)),
        Err(StoreError::Unread { source }) => Err(unread(source)),
        Err(error) => Err(error.into()),
    }
}

/// The node that a spooled output has become, by the name of its file.
fn kept_output(store: &Store, spool: &Path) -> Option<Hash> {
    let name = spool.file_stem()?.to_str()?.rsplit('-').next()?;
    name.parse().ok().filter(|hash| store.has(hash))
}

#[cfg(test)]
#[path = "record_tests.rs"]
mod tests;
