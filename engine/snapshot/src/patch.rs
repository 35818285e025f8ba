//! Changes as git shows them: a patch that `git apply` takes, a list of names, or how many lines came and went.
//!
//! Git knows files and symlinks, and of permissions whether the owner may run a file: directories, and what else of
//! permissions has changed, are not in a patch. Two contents are in memory at a time. Never asks git anything: the names of
//! contents by which it knows that a binary patch fits are made here.

mod binary;
mod names;
mod stat;
mod text;

use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use sha1_smol::Sha1;
use uwf_store::Store;

use crate::change::{ChangeKind, TreeChange};
use crate::error::SnapshotError;
use crate::tree::SnapshotEntry;
use names::{quoted, with_prefix};
pub use stat::{FileStat, stat, write_stat};
use text::LineDiff;

/// A text of more bytes is shown as binary: nobody reads it, and to compare it by lines would take long.
const MAX_TEXT: usize = 8 << 20;

/// No content.
const NOTHING: &str = "0000000000000000000000000000000000000000";

/// Writes what `git apply` makes the changes from.
///
/// # Errors
/// A content is missing in the store, or the patch cannot be written.
pub fn patch(store: &Store, changes: &[TreeChange], out: &mut dyn Write) -> Result<(), SnapshotError> {
    for change in changes {
        for shown in shown(change) {
            let before = PatchSide::of(store, shown.before.as_ref())?;
            let after = PatchSide::of(store, shown.after.as_ref())?;
            let written = write_file(&shown, (before.as_ref(), after.as_ref()), out);
            written.map_err(SnapshotError::Output)?;
        }
    }
    Ok(())
}

/// Writes the path of each file and symlink that a patch of these changes has, one a line, quoted as git does.
///
/// # Errors
/// It cannot be written.
pub fn name_only(changes: &[TreeChange], out: &mut dyn Write) -> Result<(), SnapshotError> {
    let mut write = || -> io::Result<()> {
        for change in changes.iter().filter(|change| !shown(change).is_empty()) {
            out.write_all(&quoted(change.path.as_os_str().as_bytes()))?;
            out.write_all(b"\n")?;
        }
        Ok(())
    };
    write().map_err(SnapshotError::Output)
}

/// A change as git tells it: nothing of a directory, and of what became something else that it went and that it came.
fn shown(change: &TreeChange) -> Vec<TreeChange> {
    let file = |entry: &Option<SnapshotEntry>| entry.clone().filter(|entry| !entry.is_directory());
    let (before, after) = (file(&change.before), file(&change.after));
    let one = |before, after| TreeChange { before, after, ..change.clone() };
    match (before, after) {
        (None, None) => Vec::new(),
        (Some(before), Some(after)) if change.kind() == ChangeKind::Retyped => {
            vec![one(Some(before), None), one(None, Some(after))]
        }
        // What else of its permissions has changed git does not know.
        (Some(before), Some(after)) if change.renamed_from.is_none() && is_same(&before, &after) => {
            Vec::new()
        }
        (before, after) => vec![one(before, after)],
    }
}

fn is_same(before: &SnapshotEntry, after: &SnapshotEntry) -> bool {
    match (before, after) {
        (SnapshotEntry::File { content, .. }, SnapshotEntry::File { content: other, .. }) => {
            content == other && mode(before) == mode(after)
        }
        _ => before == after,
    }
}

/// One of the two contents of a file.
struct PatchSide {
    mode: &'static str,
    content: Vec<u8>,
}

impl PatchSide {
    fn of(store: &Store, entry: Option<&SnapshotEntry>) -> Result<Option<PatchSide>, SnapshotError> {
        let Some(entry) = entry else { return Ok(None) };
        let content = match entry {
            SnapshotEntry::File { content, .. } => {
                let (mut blob, mut bytes) = (store.blob(content)?, Vec::new());
                loop {
                    let piece = blob.read_next()?;
                    if piece.is_empty() {
                        break bytes;
                    }
                    bytes.extend_from_slice(piece);
                }
            }
            SnapshotEntry::Symlink { target } => target.as_bytes().to_vec(),
            SnapshotEntry::Directory { .. } => return Ok(None),
        };
        Ok(Some(PatchSide { mode: mode(entry), content }))
    }

    fn is_text(&self) -> bool {
        self.content.len() <= MAX_TEXT && !self.content.contains(&0)
    }

    /// The name that git gives to the content.
    fn object(&self) -> String {
        let mut sum = Sha1::from(format!("blob {}\0", self.content.len()));
        sum.update(&self.content);
        sum.digest().to_string()
    }
}

fn mode(entry: &SnapshotEntry) -> &'static str {
    match entry {
        SnapshotEntry::File { mode, .. } if mode & 0o100 != 0 => "100755",
        SnapshotEntry::File { .. } => "100644",
        SnapshotEntry::Symlink { .. } => "120000",
        SnapshotEntry::Directory { .. } => "040000",
    }
}

fn write_file(
    change: &TreeChange,
    sides: (Option<&PatchSide>, Option<&PatchSide>),
    out: &mut dyn Write,
) -> io::Result<()> {
    let old_path = change.renamed_from.as_deref().unwrap_or(&change.path);
    let (old, new) = (with_prefix("a/", old_path), with_prefix("b/", &change.path));
    out.write_all(&[b"diff --git ", &*quoted(&old), b" ", &quoted(&new), b"\n"].concat())?;
    write_modes(sides, out)?;
    if let Some(from) = &change.renamed_from {
        write_rename(from, &change.path, out)?;
    }
    let content = |side: Option<&PatchSide>| side.map(|side| side.content.clone()).unwrap_or_default();
    let (before, after) = (content(sides.0), content(sides.1));
    if before == after && sides.0.is_some() == sides.1.is_some() {
        return Ok(());
    }
    write_index(sides, out)?;
    let is_text = [sides.0, sides.1].into_iter().flatten().all(PatchSide::is_text);
    if !is_text {
        return binary::write(&before, &after, out);
    }
    let lines = LineDiff::of(&before, &after);
    if lines.is_empty() {
        return Ok(());
    }
    let name = |side: Option<&PatchSide>, name: &[u8]| {
        side.map_or(b"/dev/null".to_vec(), |_| names::in_header(name))
    };
    out.write_all(&[b"--- ", &*name(sides.0, &old), b"\n+++ ", &name(sides.1, &new), b"\n"].concat())?;
    lines.write(out)
}

fn write_modes(sides: (Option<&PatchSide>, Option<&PatchSide>), out: &mut dyn Write) -> io::Result<()> {
    match sides {
        (Some(before), Some(after)) if before.mode != after.mode => {
            write!(out, "old mode {}\nnew mode {}\n", before.mode, after.mode)
        }
        (Some(_), Some(_)) | (None, None) => Ok(()),
        (Some(before), None) => writeln!(out, "deleted file mode {}", before.mode),
        (None, Some(after)) => writeln!(out, "new file mode {}", after.mode),
    }
}

fn write_rename(from: &Path, to: &Path, out: &mut dyn Write) -> io::Result<()> {
    let [from, to] = [from, to].map(|path| quoted(path.as_os_str().as_bytes()));
    out.write_all(&[b"similarity index 100%\nrename from ", &*from, b"\nrename to ", &to, b"\n"].concat())
}

fn write_index(sides: (Option<&PatchSide>, Option<&PatchSide>), out: &mut dyn Write) -> io::Result<()> {
    let [old, new] =
        [sides.0, sides.1].map(|side| side.map_or_else(|| NOTHING.to_owned(), PatchSide::object));
    match sides {
        (Some(before), Some(after)) if before.mode == after.mode => {
            writeln!(out, "index {old}..{new} {}", before.mode)
        }
        _ => writeln!(out, "index {old}..{new}"),
    }
}

#[cfg(test)]
#[path = "patch_tests.rs"]
mod tests;
