//! A thread that is not named by its whole id.

use uwf_store::{Hash, Store};

use super::directory;
use super::part::IdPart;
use crate::shell::{CliError, Session, render};
use uwf_engine::ThreadId;
use uwf_engine::thread::{self, ThreadEntry};
use uwf_engine::workflow;

/// How many of the threads that are meant alike are shown.
const SHOWN: usize = 8;

/// The thread that is named so; `text` is no id.
pub(super) fn find(session: &Session<'_>, text: &str) -> Result<ThreadId, CliError> {
    if let Some((thread, _)) = text.split_once(':') {
        let error = CliError::user(format!("`{text}` names a step, and a thread is wanted"));
        return Err(error.with_hint(format!("`{thread}` is its thread")));
    }
    if let Some(back) = directory::back(text) {
        return directory::latest(session, text, back?);
    }
    let Some(part) = IdPart::of(text) else { return Err(no_name(text)) };
    let Some(store) = session.store_if_there()? else { return Err(none(text)) };
    let mut found = Vec::new();
    for entry in thread::entries(&store) {
        let entry = entry?;
        if part.is_of(entry.thread.as_str()) {
            found.push(entry);
        }
    }
    match found.as_slice() {
        [only] => Ok(only.thread),
        [] => Err(step(&store, text)?.unwrap_or_else(|| none(text))),
        several => Err(ambiguous(&store, text, several)),
    }
}

fn no_name(text: &str) -> CliError {
    CliError::user(format!("`{}` names no thread", render::name(text))).with_hint(
        "expected a thread's id, the first or last characters of one (3 or more), or @ for the latest thread of this \
         directory; `uwf thread list --all` shows all",
    )
}

fn none(text: &str) -> CliError {
    CliError::user(format!("no thread has an id that begins or ends with `{text}`"))
        .with_hint("`uwf thread list --all` shows all threads")
}

/// The error for what is a step; none if it is none.
fn step(store: &Store, text: &str) -> Result<Option<CliError>, CliError> {
    let Ok(hash) = text.parse::<Hash>() else { return Ok(None) };
    let Ok(node) = thread::step_node(store, &hash) else { return Ok(None) };
    let error = CliError::user(format!("{hash} is a step of role {}, and a thread is wanted", node.role));
    Ok(Some(match thread::owner(store, &hash)? {
        Some(thread) => error.with_hint(format!("it is of thread {thread}")),
        None => error.with_hint("it is of no thread any more; `uwf step fork` begins one from it"),
    }))
}

fn ambiguous(store: &Store, text: &str, several: &[ThreadEntry]) -> CliError {
    let lines: Vec<String> = several.iter().take(SHOWN).map(|entry| line(store, entry)).collect();
    let more = several.len().saturating_sub(SHOWN);
    let more = if more > 0 { format!("\n  … and {more} more") } else { String::new() };
    let what = format!("`{text}` begins or ends the ids of {} threads:", several.len());
    CliError::user(format!("{what}\n  {}{more}", lines.join("\n  ")))
        .with_hint("type more of the one that is meant")
}

/// A thread as one among several: its id, how it stands, and what it is for.
pub(super) fn line(store: &Store, entry: &ThreadEntry) -> String {
    let status = entry.status().map_or("?", |status| status.as_str());
    let about = entry.read(store).and_then(|head| head.start(store)).map(|start| {
        let name = workflow::get(store, &start.workflow).map(|workflow| workflow.name).unwrap_or_default();
        format!("  {name}: {}", render::first_line(&start.prompt, 60))
    });
    format!("{}  {status}{}", entry.thread, about.unwrap_or_default())
}
