//! The files that editing tools changed in a run.
//!
//! Each call tells what it changed. One that was cut off tells nothing, and nobody knows from it whether it had an effect: of
//! the file that it names the snapshots of the run tell the truth.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use serde_json::Value;
use uwf_engine::record::Change;
use uwf_prompts::INTERRUPTED;
use uwf_snapshot::SnapshotEntry;
use uwf_store::{Batch, Hash, Store, StoreError};

use super::content_node;
use crate::journal::{Entry, FileChange};
use crate::provider::message::ToolCall;

/// What changed, by path: the content before the first change of a file and after the last.
pub(super) fn put(
    batch: &mut Batch<'_>,
    (store, workspace): (&Store, &str),
    entries: &[Entry],
) -> Result<Vec<Change>, StoreError> {
    let mut changed: BTreeMap<&str, (Option<&str>, &str)> = BTreeMap::new();
    let finished = entries.iter().filter_map(|entry| match entry {
        Entry::Finished { facts, .. } => Some(&facts.changes),
        _ => None,
    });
    for FileChange { path, before, after } in finished.flatten() {
        changed.entry(path).or_insert((before.as_deref(), after)).1 = after;
    }
    let mut changes = BTreeMap::new();
    for (path, (before, after)) in changed {
        let before = before.map(|content| content_node(batch, content)).transpose()?;
        let after = Some(content_node(batch, after)?);
        changes.insert(path.to_owned(), Change { path: path.to_owned(), before, after });
    }
    let cut_off = cut_off(entries, Path::new(workspace));
    let told = cut_off.iter().filter_map(|path| captured(store, entries, path));
    changes.extend(told.map(|change| (change.path.clone(), change)));
    Ok(changes.into_values().collect())
}

/// The files that calls of editing tools name which an interruption cut off.
fn cut_off(entries: &[Entry], workspace: &Path) -> BTreeSet<PathBuf> {
    let ids: BTreeSet<&str> = entries.iter().filter_map(cut_off_call).collect();
    let calls = entries.iter().flat_map(|entry| match entry {
        Entry::Answered { message, .. } => message.tool_calls.as_slice(),
        _ => &[],
    });
    calls.filter(|call| ids.contains(call.id.as_str())).filter_map(|call| edited(call, workspace)).collect()
}

fn cut_off_call(entry: &Entry) -> Option<&str> {
    match entry {
        Entry::Finished { message, .. } if message.content == INTERRUPTED => message.tool_call_id.as_deref(),
        _ => None,
    }
}

/// The file that the call is to change, relative to the workspace.
fn edited(call: &ToolCall, workspace: &Path) -> Option<PathBuf> {
    let edits = |tool: &uwf_tools::ToolSpec| tool.name == call.name && !tool.read_only;
    uwf_tools::specs().iter().find(|tool| edits(tool))?;
    let arguments: Value = serde_json::from_str(&call.arguments).ok()?;
    let path = Path::new(arguments["path"].as_str()?);
    let path = path.strip_prefix(workspace).unwrap_or(path);
    let named = |part| match part {
        Component::CurDir => None,
        part => Some(part),
    };
    Some(path.components().filter_map(named).collect())
}

/// What became of a file from the beginning of the run to its end; nothing where it is the same, or nothing was captured.
fn captured(store: &Store, entries: &[Entry], path: &Path) -> Option<Change> {
    let snapshots = super::snapshots(entries)?;
    let before = content(store, &snapshots.before?.tree, path)?;
    let after = content(store, &snapshots.after?.tree, path)?;
    (before != after).then(|| Change { path: path.display().to_string(), before, after })
}

/// The content of a file in a snapshot, which may have no such file; nothing where that cannot be told.
fn content(store: &Store, tree: &Hash, path: &Path) -> Option<Option<Hash>> {
    match uwf_snapshot::find(store, tree, path).ok()? {
        Some(SnapshotEntry::File { content, .. }) => Some(Some(content)),
        Some(_) => None,
        None => Some(None),
    }
}
