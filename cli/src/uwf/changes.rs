//! Files that were changed, as every command shows them: for people, for git, in numbers, by their names, as a value.
//!
//! Apart from where the changes come from, a step's record or two snapshots, and from who made them (`author`).

pub(super) mod author;
mod recorded;
mod tool_patch;
mod unknown;

use std::slice::from_ref;

use serde::Serialize;
use uwf_snapshot::{ChangeKind, FileStat, SnapshotEntry, TreeChange, name_only, patch, stat, write_stat};
use uwf_store::{Hash, Store};

pub(super) use self::recorded::{recorded, text};
pub(super) use self::unknown::why_unknown;
use super::args::DiffShape;
use crate::shell::{CliError, Session};
use uwf_engine::record;
use uwf_engine::view::{ChangeFacts, ChangedBy, FileDiff};

/// The bar of `--stat` has at most so many characters.
const BAR: usize = 40;

/// One file, in all the ways in which it may be shown.
pub(super) struct ShownChange {
    pub(super) view: FileDiff,
    stat: FileStat,
    /// What git takes.
    patch: Vec<u8>,
    /// What people read.
    text: Vec<u8>,
    /// As git writes it, with the end of its line.
    name: Vec<u8>,
}

impl ShownChange {
    /// A change between two snapshots; none where git would tell nothing of it.
    pub(super) fn between(
        store: &Store,
        change: &TreeChange,
        by: ChangedBy,
    ) -> Result<Option<ShownChange>, CliError> {
        let one = from_ref(change);
        let Some(stat) = stat(store, one)?.pop() else { return Ok(None) };
        let (mut diff, mut name) = (Vec::new(), Vec::new());
        patch(store, one, &mut diff)?;
        name_only(one, &mut name)?;
        let text = readable(&stat, &diff, &name);
        let (path, before, after) =
            (shown(&change.path), content_of(change.before.as_ref()), content_of(change.after.as_ref()));
        let facts = ChangeFacts {
            kind: kind(change.kind()),
            renamed_from: change.renamed_from.as_deref().map(shown),
            insertions: stat.insertions,
            deletions: stat.deletions,
            binary: stat.binary.is_some(),
            by,
        };
        let view = FileDiff {
            change: record::Change { path, before, after },
            diff: String::from_utf8_lossy(&diff).into_owned(),
            facts: Some(facts),
        };
        Ok(Some(ShownChange { view, stat, patch: diff, text, name }))
    }

    fn by(&self) -> &ChangedBy {
        self.view.facts.as_ref().map_or(&ChangedBy::Tool, |facts| &facts.by)
    }
}

fn shown(path: &std::path::Path) -> String {
    path.to_string_lossy().into_owned()
}

fn content_of(entry: Option<&SnapshotEntry>) -> Option<Hash> {
    match entry {
        Some(SnapshotEntry::File { content, .. }) => Some(*content),
        _ => None,
    }
}

fn kind(kind: ChangeKind) -> &'static str {
    match kind {
        ChangeKind::Added => "added",
        ChangeKind::Removed => "removed",
        ChangeKind::Modified => "modified",
        ChangeKind::Retyped => "retyped",
        ChangeKind::Renamed => "renamed",
    }
}

/// The patch; of a binary content its name and its sizes alone.
fn readable(stat: &FileStat, patch: &[u8], name: &[u8]) -> Vec<u8> {
    match stat.binary {
        Some((before, after)) => {
            let name = String::from_utf8_lossy(name);
            format!("Binary file {} differs: {before} -> {after} bytes\n", name.trim_end()).into_bytes()
        }
        None => patch.to_vec(),
    }
}

/// Shows the changes in this shape; `view` is all of it for programs.
pub(super) fn print(
    session: &mut Session<'_>,
    view: &impl Serialize,
    files: &mut [ShownChange],
    shape: DiffShape,
) -> Result<u8, CliError> {
    let is_patch = !shape.stat && !shape.name_only;
    let text = match shape {
        DiffShape { stat: true, .. } => by_author(files, "", numbers)?,
        DiffShape { name_only: true, .. } => files.iter().flat_map(|file| file.name.clone()).collect(),
        DiffShape { patch: true, .. } => files.iter().flat_map(|file| file.patch.clone()).collect(),
        _ => by_author(files, "# ", |files| Ok(files.iter().flat_map(|file| file.text.clone()).collect()))?,
    };
    session.ui.bytes(view, &text, if is_patch { color } else { |_| None })
}

/// One part for each of those who changed something, headed by who that is where it is not the editing tools alone.
fn by_author(
    files: &mut [ShownChange],
    mark: &str,
    part: fn(&[ShownChange]) -> Result<Vec<u8>, CliError>,
) -> Result<Vec<u8>, CliError> {
    files.sort_by(|one, other| one.by().cmp(other.by()));
    if files.iter().all(|file| *file.by() == ChangedBy::Tool) {
        return if files.is_empty() { Ok(Vec::new()) } else { part(files) };
    }
    let mut text = Vec::new();
    for files in files.chunk_by(|one, other| one.by() == other.by()) {
        text.extend_from_slice(format!("{mark}{}\n", author::heading(files[0].by())).as_bytes());
        text.extend(part(files)?);
    }
    Ok(text)
}

fn numbers(files: &[ShownChange]) -> Result<Vec<u8>, CliError> {
    stat_text(&files.iter().map(|file| file.stat.clone()).collect::<Vec<_>>())
}

/// How many lines came and went.
pub(super) fn stat_text(stats: &[FileStat]) -> Result<Vec<u8>, CliError> {
    let mut text = Vec::new();
    if !stats.is_empty() {
        write_stat(stats, BAR, &mut text)?;
    }
    Ok(text)
}

/// The colour of a line of a patch.
fn color(line: &str) -> Option<&'static str> {
    const COLORS: [(&str, &str); 8] = [
        ("diff ", "1"),
        ("# ", "1"),
        ("Binary ", "1"),
        ("--- ", "1"),
        ("+++ ", "1"),
        ("@@", "36"),
        ("+", "32"),
        ("-", "31"),
    ];
    COLORS.iter().find(|(beginning, _)| line.starts_with(beginning)).map(|(_, color)| *color)
}
