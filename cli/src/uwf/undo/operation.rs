//! One undo or redo: entered into the log, then done, so that what is cut off is known and finished by the next.
//!
//! Nothing is overwritten or removed but what is exactly as a snapshot has it: so whatever was there is in the store, and
//! everything can be done again.

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use uwf_snapshot::{Conflict, RestorePreview, Restored, TreeChange, escaped, preview, restore};
use uwf_store::{Hash, Store};

use crate::shell::CliError;
use crate::uwf::args::UndoHow;
use uwf_engine::ThreadId;
use uwf_engine::record::{UndoKind, UndoRecord};
use uwf_engine::undo_log;
use uwf_engine::view::ComparedSnapshots;

/// What is to be done.
pub(super) struct UndoOperation {
    pub(super) kind: UndoKind,
    pub(super) thread: ThreadId,
    pub(super) step: Hash,
    /// The step in a sentence.
    pub(super) name: String,
    pub(super) dir: PathBuf,
    /// What the changes lead from, and to.
    pub(super) trees: ComparedSnapshots,
    pub(super) changes: Vec<TreeChange>,
    /// Paths that the log has as done: where they are not, that was cut off.
    pub(super) logged: BTreeSet<String>,
    /// Paths that this is about as well where they are as they shall be already.
    pub(super) also: BTreeSet<String>,
    /// Of a redo: the undo.
    pub(super) takes_back: Option<Hash>,
    /// The youngest entry of the log.
    pub(super) previous: Option<Hash>,
    /// When what is redone was undone.
    pub(super) at: u64,
}

/// What came of an operation.
pub(super) struct UndoOutcome {
    /// The entry in the log; none where nothing was to be changed.
    pub(super) entry: Option<Hash>,
    pub(super) restored: Restored,
    /// The paths that were changed, or would be.
    pub(super) todo: BTreeSet<PathBuf>,
}

/// A path as the log writes it.
pub(super) fn text(path: &Path) -> String {
    escaped(path.as_os_str().as_bytes())
}

/// The error where paths are not as they were, which names each of them.
pub(super) fn refused(what: &str, previewed: &RestorePreview, hint: &str) -> CliError {
    let RestorePreview { todo, already, conflicts } = previewed;
    let all = todo.len() + already.len() + conflicts.len();
    let (number, verb) = (conflicts.len(), if conflicts.len() == 1 { "is" } else { "are" });
    let causes = conflicts.iter().map(|Conflict { path, why }| format!("'{}': {why}", text(path)));
    let what = format!("{what}: {number} of its {all} paths {verb} not as expected, and nothing was changed");
    CliError::because(what, causes).with_hint(hint)
}

/// Does it, unless it is to be told alone what would be done; `previewed` is what was found just now.
pub(super) fn perform(
    store: &Store,
    (operation, previewed): (&UndoOperation, RestorePreview),
    how: &UndoHow,
) -> Result<UndoOutcome, CliError> {
    if previewed.todo.is_empty() && previewed.already.is_empty() {
        return Err(refused(&format!("nothing of {} can be changed", operation.name), &previewed, NO_PATH));
    }
    let mut done = UndoOutcome {
        entry: None,
        restored: Restored::default(),
        todo: previewed.todo.iter().cloned().collect(),
    };
    done.restored.conflicts = previewed.conflicts.clone();
    if !how.dry_run {
        let entry = LoggedEntry::write(store, operation, &previewed)?;
        done.restored = match restore(store, &operation.changes, &operation.dir, how.partial) {
            Ok(restored) => restored,
            Err(error) => {
                entry.withdraw_if_unused(store, operation, &previewed)?;
                return Err(CliError::from(error).with_hint("the same command goes on where this one ended"));
            }
        };
        done.entry = entry.settle(store, operation, &done.restored.conflicts)?;
        for conflict in &done.restored.conflicts {
            done.todo.remove(&conflict.path);
        }
        if !how.partial && !done.restored.conflicts.is_empty() && done.restored.restored == 0 {
            let previewed = RestorePreview { conflicts: done.restored.conflicts, ..previewed };
            return Err(refused(&format!("{} was changed meanwhile", operation.name), &previewed, NO_PATH));
        }
    }
    Ok(done)
}

const NO_PATH: &str = "`uwf step diff STEP` shows what the step changed";

/// The entry of the log that is for an operation; none where one that is there says it all.
struct LoggedEntry {
    written: Option<(Hash, UndoRecord)>,
    /// What the log has already.
    logged: Option<Hash>,
}

impl LoggedEntry {
    /// Before anything is changed: whatever is cut off then is known.
    fn write(
        store: &Store,
        operation: &UndoOperation,
        previewed: &RestorePreview,
    ) -> Result<LoggedEntry, CliError> {
        let also = previewed.already.iter().filter(|path| operation.also.contains(&text(path)));
        let paths = previewed.todo.iter().chain(also).map(|path| text(path));
        let mut paths: Vec<String> = paths.filter(|path| !operation.logged.contains(path)).collect();
        paths.sort();
        if paths.is_empty() {
            return Ok(LoggedEntry { written: None, logged: operation.previous });
        }
        let record = UndoRecord {
            thread: operation.thread.to_string(),
            step: operation.step,
            kind: operation.kind,
            dir: operation.dir.to_string_lossy().into_owned(),
            before: operation.trees.before,
            after: operation.trees.after,
            paths,
            left: previewed.conflicts.iter().map(|conflict| text(&conflict.path)).collect(),
            takes_back: operation.takes_back,
            previous: operation.previous,
            at: store.now(),
        };
        let hash = undo_log::append(store, &operation.thread, &record)?;
        Ok(LoggedEntry { written: Some((hash, record)), logged: None })
    }

    /// Where nothing was changed, nothing is in the log.
    fn withdraw_if_unused(
        &self,
        store: &Store,
        operation: &UndoOperation,
        previewed: &RestorePreview,
    ) -> Result<(), CliError> {
        let Some((hash, record)) = &self.written else { return Ok(()) };
        let now = preview(store, &operation.changes, &operation.dir)?;
        if now.todo == previewed.todo {
            undo_log::withdraw(store, &operation.thread, hash, record)?;
        }
        Ok(())
    }

    /// What somebody touched meanwhile was left alone.
    fn settle(
        self,
        store: &Store,
        operation: &UndoOperation,
        conflicts: &[Conflict],
    ) -> Result<Option<Hash>, CliError> {
        let Some((hash, record)) = self.written else { return Ok(self.logged) };
        let left: BTreeSet<String> = conflicts.iter().map(|conflict| text(&conflict.path)).collect();
        if record.paths.iter().all(|path| !left.contains(path)) {
            return Ok(Some(hash));
        }
        let paths: Vec<String> = record.paths.iter().filter(|path| !left.contains(*path)).cloned().collect();
        if paths.is_empty() {
            undo_log::withdraw(store, &operation.thread, &hash, &record)?;
            return Ok(None);
        }
        let record = UndoRecord { paths, left: left.into_iter().collect(), ..record };
        Ok(Some(undo_log::amend(store, &operation.thread, &hash, &record)?))
    }
}
