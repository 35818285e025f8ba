//! A commit of what a step has changed, as `git fast-import` reads it.

use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use uwf_snapshot::{Snapshot, SnapshotEntry, diff};
use uwf_store::{Hash, Store};

use super::files::is_plain;
use crate::lease::Lease;
use crate::workspace::error::disk;
use crate::workspace::{Commit, MadeStep, WorkspaceError};

/// The lines of a message that tell whose commit it is.
pub(super) const THREAD: &str = "Uwf-Thread: ";
pub(super) const FENCE: &str = "Uwf-Fence: ";
const STEP: &str = "Uwf-Step: ";

/// Who has made it.
const AUTHOR: &str = "uwf <noreply@uwf.invalid>";

/// Whether a commit, as git keeps it, was written by a worker.
pub(super) fn is_by_worker(commit: &str) -> bool {
    let committer =
        commit.lines().take_while(|line| !line.is_empty()).find_map(|line| line.strip_prefix("committer "));
    committer.and_then(|line| line.strip_prefix(AUTHOR)).is_some_and(|rest| rest.starts_with(' '))
}

/// What becomes of a path.
pub(super) struct Change {
    path: PathBuf,
    /// None where nothing is there any more.
    to: Option<SnapshotEntry>,
}

/// Where a commit goes.
pub(super) struct Head<'a> {
    pub(super) name: &'a str,
    pub(super) from: &'a Commit,
    pub(super) message: String,
    pub(super) seconds: u64,
}

/// The message of a step's commit.
pub(super) fn message(lease: &Lease, step: &MadeStep<'_>) -> String {
    let role: String = step.role.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    format!(
        "{role}: a step of thread {thread}\n\n{THREAD}{thread}\nUwf-Role: {role}\n{STEP}{head}\n{FENCE}{fence}\n",
        thread = lease.thread,
        head = step.head,
        fence = lease.fence,
    )
}

/// What git is to know of what has changed. What a snapshot could not take is not taken for removed, and what is in the place of
/// another repository is not committed.
pub(super) fn changes(
    store: &Store,
    before: &Hash,
    after: &Snapshot,
    submodules: &[PathBuf],
) -> Result<Vec<Change>, WorkspaceError> {
    let mut all = Vec::new();
    for change in diff(store, before, &after.tree)? {
        let is_moved = change.renamed_from.is_some();
        all.extend(change.renamed_from.map(|path| Change { path, to: None }));
        let (was, is) = (kind(change.before.as_ref()), kind(change.after.as_ref()));
        let is_content_same = content(change.before.as_ref()) == content(change.after.as_ref());
        let is_same = !is_moved && was == is && is_content_same;
        let is_directory_alone = was.is_none() && is.is_none();
        if !is_same && !is_directory_alone {
            let to = change.after.filter(|entry| !entry.is_directory());
            all.push(Change { path: change.path, to });
        }
    }
    let is_unknown = |path: &Path| after.notices.iter().any(|notice| path.starts_with(&notice.path));
    let is_within = |path: &Path| submodules.iter().any(|other| path.starts_with(other));
    all.retain(|change| {
        is_plain(&change.path)
            && !is_within(&change.path)
            && !(change.to.is_none() && is_unknown(&change.path))
    });
    // What goes makes room for what comes.
    all.sort_by_key(|change| change.to.is_some());
    Ok(all)
}

/// How git calls what something is; none for directories, and for nothing.
fn kind(entry: Option<&SnapshotEntry>) -> Option<&'static str> {
    match entry? {
        SnapshotEntry::File { mode, .. } if mode & 0o100 != 0 => Some("100755"),
        SnapshotEntry::File { .. } => Some("100644"),
        SnapshotEntry::Symlink { .. } => Some("120000"),
        SnapshotEntry::Directory { .. } => None,
    }
}

fn content(entry: Option<&SnapshotEntry>) -> Option<Vec<u8>> {
    match entry? {
        SnapshotEntry::File { content, .. } => Some(content.as_str().as_bytes().to_vec()),
        SnapshotEntry::Symlink { target } => Some(target.as_bytes().to_vec()),
        SnapshotEntry::Directory { .. } => None,
    }
}

/// Writes the commit.
pub(super) fn write(
    store: &Store,
    head: &Head<'_>,
    changes: &[Change],
    out: &mut dyn Write,
) -> Result<(), WorkspaceError> {
    let cannot = |error| disk("write to git for", Path::new(head.name))(error);
    begin(head, out).map_err(cannot)?;
    for Change { path, to } in changes {
        let name = quoted(path.as_os_str().as_bytes());
        let Some(entry) = to else {
            writeln!(out, "D {name}").map_err(cannot)?;
            continue;
        };
        writeln!(out, "M {} inline {name}", kind(Some(entry)).unwrap_or("100644")).map_err(cannot)?;
        match entry {
            SnapshotEntry::File { content, size, .. } => {
                writeln!(out, "data {size}").map_err(cannot)?;
                let mut blob = store.blob(content).map_err(uwf_snapshot::SnapshotError::from)?.take(*size);
                let copied = io::copy(&mut blob, out).map_err(cannot)?;
                if copied < *size {
                    return Err(cannot(io::Error::other("its content is shorter than its size")));
                }
            }
            SnapshotEntry::Symlink { target } => {
                let target = target.as_bytes();
                writeln!(out, "data {}", target.len())
                    .and_then(|()| out.write_all(target))
                    .map_err(cannot)?;
            }
            SnapshotEntry::Directory { .. } => {}
        }
        writeln!(out).map_err(cannot)?;
    }
    writeln!(out, "done").map_err(cannot)
}

fn begin(head: &Head<'_>, out: &mut dyn Write) -> io::Result<()> {
    let Head { name, from, message, seconds } = head;
    writeln!(out, "feature done\ncommit {name}\nauthor {AUTHOR} {seconds} +0000")?;
    writeln!(out, "committer {AUTHOR} {seconds} +0000\ndata {}", message.len())?;
    writeln!(out, "{message}\nfrom {from}")
}

/// A path as git reads it in C's way.
fn quoted(path: &[u8]) -> String {
    let mut text = String::from("\"");
    for byte in path {
        match byte {
            b'"' => text.push_str("\\\""),
            b'\\' => text.push_str("\\\\"),
            b' '..=b'~' => text.push(char::from(*byte)),
            other => text.push_str(&format!("\\{other:03o}")),
        }
    }
    text.push('"');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_path_is_quoted() {
        assert_eq!(quoted(b"a b"), r#""a b""#);
        assert_eq!(quoted(b"a\n\"\\\xff"), r#""a\012\"\\\377""#);
    }
}
