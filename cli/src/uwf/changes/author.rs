//! Who made a change between the snapshots of a step: its editing tools where what they did explains it wholly, else the
//! last command after which the file was another one than before.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::Value;
use uwf_snapshot::{SnapshotEntry, TreeChange, diff};
use uwf_store::{Hash, Store};

use super::recorded::content;
use crate::shell::{CliError, render};
use uwf_engine::record::{self, Detail, Turn, adapted};
use uwf_engine::view::ChangedBy;

/// A command is told with at most so many characters.
const COMMAND: usize = 80;

/// What is on record of a step that changed something.
pub(in crate::uwf) struct Authors<'s> {
    store: &'s Store,
    /// What editing tools did, by path.
    tools: BTreeMap<PathBuf, record::Change>,
    commands: Vec<CommandSpan>,
    /// Who played by an adapter: what it does is not told call by call.
    agent: Option<String>,
}

/// What was another file after a command than at the snapshot before.
struct CommandSpan {
    paths: BTreeSet<PathBuf>,
    by: ChangedBy,
}

impl<'s> Authors<'s> {
    /// Those of a step that began with the workspace as in the tree `before`.
    pub(in crate::uwf) fn of(
        store: &'s Store,
        detail: &Detail,
        before: &Hash,
    ) -> Result<Authors<'s>, CliError> {
        let turns = detail.conversation(store)?;
        let (mut last, mut commands) = (*before, Vec::new());
        for (at, turn) in turns.iter().enumerate() {
            let Some(tree) = turn.snapshot else { continue };
            let by = ChangedBy::Command { turn: at + 1, command: command(&turns[..at], turn) };
            commands.push(CommandSpan { paths: paths(&diff(store, &last, &tree)?), by });
            last = tree;
        }
        let tools =
            detail.changes.iter().flatten().map(|change| (change.path.clone().into(), change.clone()));
        let agent = adapted(&detail.settings).map(str::to_owned);
        Ok(Authors { store, tools: tools.collect(), commands, agent })
    }

    /// Who made this change.
    pub(in crate::uwf) fn by(&self, change: &TreeChange) -> Result<ChangedBy, CliError> {
        if self.is_tools(change)? {
            return Ok(ChangedBy::Tool);
        }
        let of_change = |path: &Path| path == change.path || Some(path) == change.renamed_from.as_deref();
        let is_in = |span: &&CommandSpan| span.paths.iter().any(|path| of_change(path));
        let last = self.commands.iter().rev().find(is_in);
        Ok(last.map_or_else(|| ChangedBy::Other { agent: self.agent.clone() }, |span| span.by.clone()))
    }

    fn is_tools(&self, change: &TreeChange) -> Result<bool, CliError> {
        let Some(tool) = self.tools.get(&change.path) else { return Ok(false) };
        Ok(change.renamed_from.is_none()
            && has_same_mode(change)
            && self.is_content(tool.before.as_ref(), change.before.as_ref())?
            && self.is_content(tool.after.as_ref(), change.after.as_ref())?)
    }

    /// Whether a file is what a tool found, or left.
    fn is_content(&self, node: Option<&Hash>, entry: Option<&SnapshotEntry>) -> Result<bool, CliError> {
        let (content_node, size) = match (node, entry) {
            (None, None) => return Ok(true),
            (Some(node), Some(SnapshotEntry::File { content, .. })) if node == content => return Ok(true),
            (Some(_), Some(SnapshotEntry::File { content, size, .. })) => (content, *size),
            _ => return Ok(false),
        };
        let known = node.map(|node| content(self.store, node)).transpose()?.unwrap_or_default();
        if known.len() as u64 != size {
            return Ok(false);
        }
        let (mut blob, mut rest) = (self.store.blob(content_node)?, known.as_slice());
        loop {
            let piece = blob.read_next()?;
            match rest.strip_prefix(piece) {
                _ if piece.is_empty() => return Ok(rest.is_empty()),
                Some(more) => rest = more,
                None => return Ok(false),
            }
        }
    }
}

/// A tool that writes a file leaves its mode alone.
fn has_same_mode(change: &TreeChange) -> bool {
    match (&change.before, &change.after) {
        (Some(SnapshotEntry::File { mode: before, .. }), Some(SnapshotEntry::File { mode: after, .. })) => {
            before == after
        }
        _ => true,
    }
}

/// Every path that a change is about.
pub(in crate::uwf) fn paths(changes: &[TreeChange]) -> BTreeSet<PathBuf> {
    changes
        .iter()
        .flat_map(|change| [Some(&change.path), change.renamed_from.as_ref()])
        .flatten()
        .cloned()
        .collect()
}

/// The first line of the command that a result is of.
fn command(before: &[Turn], result: &Turn) -> Option<String> {
    let wanted = result.call_id.as_deref()?;
    let call = before.iter().rev().flat_map(Turn::calls).find(|call| call.id.as_deref() == Some(wanted))?;
    let arguments: Value = serde_json::from_str(call.args.as_deref()?).ok()?;
    Some(render::first_line(arguments["command"].as_str()?, COMMAND))
}

/// Who changed what follows.
pub(super) fn heading(by: &ChangedBy) -> String {
    match by {
        ChangedBy::Tool => "changed by editing tools".to_owned(),
        ChangedBy::Command { turn, command: Some(command) } => {
            format!("changed by the command of turn {turn}: {command}")
        }
        ChangedBy::Command { turn, command: None } => format!("changed by the call of turn {turn}"),
        ChangedBy::Step { number, step, role } => format!("changed in step {number}, {step}: {role}"),
        ChangedBy::Other { agent: Some(agent) } => format!("changed during the step (agent {agent})"),
        ChangedBy::Other { agent: None } => "changed by nobody that is on record".to_owned(),
    }
}
