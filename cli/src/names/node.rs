//! A node that is not named by its whole hash, and a step among nodes.

use uwf_store::{Hash, Store};

use super::part::IdPart;
use crate::shell::{CliError, Session, render};
use uwf_engine::ThreadId;
use uwf_engine::thread;

/// How many of the nodes that are meant alike are shown.
const SHOWN: usize = 8;

/// The node that is named so; `text` is no hash.
pub(super) fn find(session: &Session<'_>, text: &str) -> Result<Hash, CliError> {
    if text.starts_with('@') || text.parse::<ThreadId>().is_ok() {
        session.thread_id(text)?;
        return Err(CliError::user(format!("{text} is a thread, and the hash of a node is wanted"))
            .with_hint(format!("`{text}:last` is its last step; `uwf thread show {text}` names more")));
    }
    let found = matching(session, text)?;
    match found.as_slice() {
        [only] => Ok(*only),
        [] => Err(CliError::user(format!("no node has a hash that begins or ends with `{text}`"))),
        several => Err(ambiguous(&session.store()?, text, "nodes", several)),
    }
}

/// The step that is named by a part of its hash.
pub(super) fn find_step(session: &Session<'_>, text: &str) -> Result<Hash, CliError> {
    if text.starts_with('@') || text.parse::<ThreadId>().is_ok() {
        session.thread_id(text)?;
        return Err(CliError::user(format!("{text} is a thread, and a step is wanted"))
            .with_hint(format!("`{text}:last` is its last step; `uwf step list {text}` shows them all")));
    }
    let mut found = matching(session, text)?;
    if !found.is_empty() {
        let store = session.store()?;
        found.retain(|hash| thread::step_node(&store, hash).is_ok());
    }
    match found.as_slice() {
        [only] => Ok(*only),
        [] => Err(none(session, text)),
        several => Err(ambiguous(&session.store()?, text, "steps", several)),
    }
}

fn none(session: &Session<'_>, text: &str) -> CliError {
    match session.thread_id(text) {
        Ok(thread) => CliError::user(format!("`{text}` is thread {thread}, and a step is wanted"))
            .with_hint(format!("`{text}:last` is its last step; `uwf step list {text}` shows them all")),
        Err(_) => CliError::user(format!("no step has a hash that begins or ends with `{text}`")).with_hint(
            "`uwf step list THREAD` shows the steps of a thread; @:last is the last one of this directory",
        ),
    }
}

/// Every node whose hash begins or ends so, in order.
fn matching(session: &Session<'_>, text: &str) -> Result<Vec<Hash>, CliError> {
    let wrong = || {
        CliError::user(format!("`{}` is no hash", render::name(text))).with_hint(
            "expected 13 characters of 0-9 and A-Z without I, L, O, U; its first or last ones (3 or more); or a step, \
             T:3, T:last or T:ROLE, where T is a thread",
        )
    };
    let part = IdPart::of(text).filter(|_| text.len() < Hash::LENGTH).ok_or_else(wrong)?;
    let Some(store) = session.store_if_there()? else { return Ok(Vec::new()) };
    let mut found = store.hashes(&|hash| part.is_of(hash.as_str()))?;
    found.sort();
    Ok(found)
}

fn ambiguous(store: &Store, text: &str, what: &str, several: &[Hash]) -> CliError {
    let line = |hash: &Hash| match thread::step_node(store, hash) {
        Ok(step) => format!("{hash}  step of role {}, {} UTC", step.role, render::time(step.completed_at_ms)),
        Err(_) => {
            let type_ = store.get(hash).and_then(|node| store.get(&node.type_)).ok();
            let title = type_.as_ref().and_then(|type_| type_.payload["title"].as_str());
            format!("{hash}  {}", title.unwrap_or_default())
        }
    };
    let lines: Vec<String> = several.iter().take(SHOWN).map(line).collect();
    let more = several.len().saturating_sub(SHOWN);
    let more = if more > 0 { format!("\n  … and {more} more") } else { String::new() };
    let count = several.len();
    CliError::user(format!(
        "`{text}` begins or ends the hashes of {count} {what}:\n  {}{more}",
        lines.join("\n  ")
    ))
    .with_hint("type more of the one that is meant")
}
