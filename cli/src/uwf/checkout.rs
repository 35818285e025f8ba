//! The workspace as it was before or after a step, written into a directory of its own: `uwf thread checkout`, and the
//! files of `uwf step fork --worktree`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use uwf_snapshot::checkout as write_tree;
use uwf_store::{Hash, Store};

use super::step_of_thread::StepOfThread;
use crate::shell::{CliError, Session};
use uwf_engine::record::{RecordedSnapshot, RunSnapshots};
use uwf_engine::thread;
use uwf_engine::view::CheckedOut;

/// Which of the two snapshots of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CheckoutMoment {
    Before,
    After,
}

/// What was written.
pub(super) struct WrittenWorkspace {
    pub(super) snapshot: RecordedSnapshot,
    /// Absolute and without links.
    pub(super) dir: PathBuf,
}

/// `uwf thread checkout`.
pub(super) fn checkout(
    session: &mut Session<'_>,
    text: &str,
    dir: &Path,
    moment: CheckoutMoment,
) -> Result<u8, CliError> {
    let named = session.step_argument(text)?;
    let store = session.store()?;
    let step = named.in_thread(&store)?;
    let WrittenWorkspace { snapshot, dir } = write(session, &store, &step, (dir, moment))?;
    let view = CheckedOut {
        thread: step.thread,
        step: step.hash,
        tree: snapshot.tree,
        dir: dir.to_string_lossy().into_owned(),
        files: snapshot.files,
        left_out: snapshot.left_out,
    };
    session.ui.result(&view, || {
        let when = if moment == CheckoutMoment::Before { "before" } else { "after" };
        let paths = if view.files == 1 { "path" } else { "paths" };
        format!("wrote the workspace as {when} {}: {} {paths} in {}\n", step.name(), view.files, view.dir)
    })
}

/// Writes the workspace as it was at that moment of a step into a directory that is new or empty.
pub(super) fn write(
    session: &mut Session<'_>,
    store: &Store,
    step: &StepOfThread,
    (dir, moment): (&Path, CheckoutMoment),
) -> Result<WrittenWorkspace, CliError> {
    let detail = thread::detail_of(store, &step.node)?;
    let RunSnapshots { before, after, failed } = detail.snapshots.clone().unwrap_or_default();
    let snapshot = if moment == CheckoutMoment::Before { before } else { after };
    let snapshot = snapshot.ok_or_else(|| step.without_snapshots("cannot be checked out", &detail))?;
    let dir = make(session, store, (&snapshot.tree, dir))?;
    if let Some(partial) = failed {
        session.ui.warn(&partial);
    }
    if snapshot.left_out > 0 {
        session.ui.note(&format!(
            "not in it: what snapshots leave out ({} there), such as what git ignores, and `.git`",
            snapshot.left_out
        ));
    }
    Ok(WrittenWorkspace { snapshot, dir })
}

/// Writes a tree into a directory that is new or empty; its path, absolute and without links.
pub(super) fn make(
    session: &Session<'_>,
    store: &Store,
    (tree, dir): (&Hash, &Path),
) -> Result<PathBuf, CliError> {
    let dir = session.cwd.join(dir);
    let made = match fs::create_dir(&dir) {
        Ok(()) => true,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => false,
        Err(error) => {
            let what = format!("cannot make the directory {}", dir.display());
            return Err(
                CliError::said(what, error).with_hint("name one in a directory that you may write to")
            );
        }
    };
    if let Err(error) = write_tree(store, tree, &dir) {
        if made {
            // Nobody else knows of it. What cannot be removed is in a directory that the error names.
            fs::remove_dir_all(&dir).ok();
        }
        return Err(error.into());
    }
    session.directory(Some(&dir))
}
