//! What was done, or would be, as it is shown: for programs, and for people as `step diff` shows changes.

use uwf_snapshot::{name_only, only, stat};
use uwf_store::Store;

use super::operation::{UndoOperation, UndoOutcome, text};
use crate::shell::{CliError, Session};
use crate::uwf::args::UndoHow;
use crate::uwf::changes::stat_text;
use uwf_engine::record::UndoKind;
use uwf_engine::view::{LeftPath, UndoView};

pub(super) fn tell(
    session: &mut Session<'_>,
    store: &Store,
    (operation, done): (&UndoOperation, &UndoOutcome),
    how: &UndoHow,
) -> Result<u8, CliError> {
    let changes = only(&operation.changes, |path| done.todo.contains(path));
    let left = done.restored.conflicts.iter();
    let view = UndoView {
        kind: operation.kind,
        thread: operation.thread,
        step: operation.step,
        operation: done.entry,
        dry_run: how.dry_run,
        dir: operation.dir.to_string_lossy().into_owned(),
        paths: done.todo.iter().map(|path| text(path)).collect(),
        left: left.map(|left| LeftPath { path: text(&left.path), why: left.why.to_string() }).collect(),
        kept: done.restored.kept.iter().map(|path| text(path)).collect(),
    };
    let mut shown = Vec::new();
    if how.name_only {
        name_only(&changes, &mut shown)?;
    } else {
        shown = stat_text(&stat(store, &changes)?)?;
    }
    let exit = match how.name_only || how.stat {
        true => session.ui.bytes(&view, &shown, |_| None)?,
        false => {
            let shown = String::from_utf8_lossy(&shown).into_owned();
            session.ui.result(&view, || shown + &sentence(operation, &view))?
        }
    };
    for LeftPath { path, why } in &view.left {
        session
            .ui
            .warn(&format!("'{path}' {} as it is: {why}", if how.dry_run { "would stay" } else { "stays" }));
    }
    for path in &view.kept {
        session
            .ui
            .warn(&format!("the directory '{path}' stays: there is something in it that is in no snapshot"));
    }
    Ok(exit)
}

fn sentence(operation: &UndoOperation, view: &UndoView) -> String {
    let verb = match (operation.kind, view.dry_run) {
        (UndoKind::Undo, false) => "undid",
        (UndoKind::Undo, true) => "would undo",
        (UndoKind::Redo, false) => "did again",
        (UndoKind::Redo, true) => "would do again",
    };
    let (number, name) = (view.paths.len(), &operation.name);
    let noun = if number == 1 { "path" } else { "paths" };
    format!("{verb} {name}: {number} {noun} in {}\n", view.dir)
}
