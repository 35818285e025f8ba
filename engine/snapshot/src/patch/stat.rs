//! How much of each file came and went.

use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use uwf_store::Store;

use super::names::quoted;
use super::text::LineDiff;
use super::{PatchSide, shown};
use crate::change::TreeChange;
use crate::error::SnapshotError;

/// How much of one file or symlink changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileStat {
    /// Relative to the workspace.
    pub path: PathBuf,
    /// Where it was, if it was moved.
    pub renamed_from: Option<PathBuf>,
    /// Lines that came.
    pub insertions: u64,
    /// Lines that went.
    pub deletions: u64,
    /// Of what is no text: its bytes before and after, in place of the lines.
    pub binary: Option<(u64, u64)>,
}

/// How much of each file changed, in the order of the changes.
///
/// # Errors
/// A content is missing in the store.
pub fn stat(store: &Store, changes: &[TreeChange]) -> Result<Vec<FileStat>, SnapshotError> {
    let mut stats: Vec<FileStat> = Vec::new();
    for change in changes {
        let parts: Vec<FileStat> =
            shown(change).iter().map(|shown| of(store, shown)).collect::<Result<_, _>>()?;
        stats.extend(parts.into_iter().reduce(|one, other| FileStat {
            insertions: one.insertions + other.insertions,
            deletions: one.deletions + other.deletions,
            binary: one.binary.or(other.binary),
            ..one
        }));
    }
    Ok(stats)
}

fn of(store: &Store, change: &TreeChange) -> Result<FileStat, SnapshotError> {
    let (before, after) =
        (PatchSide::of(store, change.before.as_ref())?, PatchSide::of(store, change.after.as_ref())?);
    let is_text = [&before, &after].into_iter().flatten().all(PatchSide::is_text);
    let [before, after] = [before, after].map(|side| side.map(|side| side.content).unwrap_or_default());
    let (insertions, deletions) = if is_text { LineDiff::of(&before, &after).count() } else { (0, 0) };
    let binary = (!is_text).then_some((before.len() as u64, after.len() as u64));
    let (path, renamed_from) = (change.path.clone(), change.renamed_from.clone());
    Ok(FileStat { path, renamed_from, insertions, deletions, binary })
}

/// Writes one line for each file and one for all, with a bar of at most so many characters for the file that changed
/// most.
///
/// # Errors
/// It cannot be written.
pub fn write_stat(stats: &[FileStat], bar: usize, out: &mut dyn Write) -> Result<(), SnapshotError> {
    let names: Vec<String> = stats.iter().map(name).collect();
    let width = names.iter().map(|name| name.chars().count()).max().unwrap_or_default();
    let most = stats.iter().map(|stat| stat.insertions + stat.deletions).max().unwrap_or_default();
    let digits = most.to_string().len();
    let mut text = String::new();
    for (stat, name) in stats.iter().zip(&names) {
        let amount = match stat.binary {
            Some((before, after)) => format!("{:>digits$} {before} -> {after} bytes", "Bin"),
            None => {
                let all = stat.insertions + stat.deletions;
                let [plus, minus] = [stat.insertions, stat.deletions].map(|lines| scaled(lines, most, bar));
                format!("{all:>digits$} {}{}", "+".repeat(plus), "-".repeat(minus))
            }
        };
        text.push_str(&format!(" {name:<width$} | {}\n", amount.trim_end()));
    }
    text.push_str(&total(stats));
    out.write_all(text.as_bytes()).map_err(SnapshotError::Output)
}

/// As many marks as lines, or their share where that would be too many; one at least where there is a line.
fn scaled(lines: u64, most: u64, bar: usize) -> usize {
    let share = if most <= bar as u64 { lines } else { lines * bar as u64 / most };
    share.max(lines.min(1)) as usize
}

fn name(stat: &FileStat) -> String {
    let shown = |path: &PathBuf| String::from_utf8_lossy(&quoted(path.as_os_str().as_bytes())).into_owned();
    match &stat.renamed_from {
        Some(from) => format!("{} => {}", shown(from), shown(&stat.path)),
        None => shown(&stat.path),
    }
}

fn total(stats: &[FileStat]) -> String {
    let (insertions, deletions) =
        stats.iter().fold((0, 0), |(plus, minus), stat| (plus + stat.insertions, minus + stat.deletions));
    let plural =
        |count: u64, one: &str, many: &str| format!("{count} {}", if count == 1 { one } else { many });
    let mut parts = vec![plural(stats.len() as u64, "file changed", "files changed")];
    if insertions > 0 {
        parts.push(plural(insertions, "insertion(+)", "insertions(+)"));
    }
    if deletions > 0 {
        parts.push(plural(deletions, "deletion(-)", "deletions(-)"));
    }
    format!(" {}\n", parts.join(", "))
}
