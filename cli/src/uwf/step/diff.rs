//! `uwf step diff`: what a step changed in the workspace, by its snapshots; of a step without them, what its editing tools
//! changed, as its record tells.

use std::path::Path;

use uwf_snapshot::{diff as compare, find};
use uwf_store::{Hash, Store};

use crate::shell::{CliError, Session};
use crate::uwf::args::DiffShape;
use crate::uwf::changes::author::{Authors, paths};
use crate::uwf::changes::{self, ShownChange, recorded, why_unknown};
use uwf_engine::record::{Detail, Turn};
use uwf_engine::thread;
use uwf_engine::view::{ComparedSnapshots, StepDiff};

pub(super) fn diff(session: &mut Session<'_>, text: &str, shape: DiffShape) -> Result<u8, CliError> {
    let (named, store) = (session.step_argument(text)?, session.store()?);
    let StepChanges { view, mut files, partial } = StepChanges::of(&store, named.find(&store)?)?;
    let exit = changes::print(session, &view, &mut files, shape)?;
    if files.is_empty() {
        session.ui.note("the step changed no file");
    }
    if let Some(why) = view.unknown {
        session.ui.warn(&format!("changes made by commands are not part of it: {why}"));
    } else if let Some(partial) = partial {
        session.ui.warn(&partial);
    }
    Ok(exit)
}

/// What a step changed, for a page.
pub(in crate::uwf) fn changes_of(store: &Store, hash: &Hash) -> Result<StepDiff, CliError> {
    Ok(StepChanges::of(store, *hash)?.view)
}

/// What a step changed.
struct StepChanges {
    view: StepDiff,
    files: Vec<ShownChange>,
    /// What of the workspace was not captured.
    partial: Option<String>,
}

impl StepChanges {
    fn of(store: &Store, hash: Hash) -> Result<StepChanges, CliError> {
        let step = thread::step_node(store, &hash)?;
        let detail = thread::detail_of(store, &step)?;
        let snapshots = ComparedSnapshots::of(&detail);
        let (files, unknown) = match &snapshots {
            Some(snapshots) => (captured(store, &detail, snapshots)?, None),
            None => {
                let none = || {
                    let error =
                        format!("step {hash} has no record of what it changed: {} kept none", step.agent);
                    CliError::user(error)
                };
                let changes = detail.changes.as_deref().ok_or_else(none)?;
                let files =
                    changes.iter().map(|change| recorded(store, change)).collect::<Result<Vec<_>, _>>()?;
                (files, ran_commands(store, &detail)?.then(|| why_unknown(&detail)))
            }
        };
        let views = files.iter().map(|file| file.view.clone()).collect();
        let view = StepDiff { step: hash, changes: views, snapshots, unknown };
        let partial = detail.snapshots.and_then(|snapshots| snapshots.failed);
        Ok(StepChanges { view, files, partial })
    }
}

/// All that is different, and what editing tools did to files that are in no snapshot.
fn captured(
    store: &Store,
    detail: &Detail,
    ComparedSnapshots { before, after }: &ComparedSnapshots,
) -> Result<Vec<ShownChange>, CliError> {
    let (different, authors) = (compare(store, before, after)?, Authors::of(store, detail, before)?);
    let mut files = Vec::new();
    for change in &different {
        files.extend(ShownChange::between(store, change, authors.by(change)?)?);
    }
    let known = paths(&different);
    let left_out =
        detail.snapshots.iter().flat_map(|snapshots| &snapshots.after).any(|after| after.left_out > 0);
    for change in detail.changes.iter().flatten().filter(|_| left_out) {
        let path = Path::new(&change.path);
        if !known.contains(path)
            && find(store, before, path)?.is_none()
            && find(store, after, path)?.is_none()
        {
            files.push(recorded(store, change)?);
        }
    }
    Ok(files)
}

/// Whether the step ran commands: what these changed, no record tells.
fn ran_commands(store: &Store, detail: &Detail) -> Result<bool, CliError> {
    let runs = |turn: &Turn| {
        let mut calls = turn.calls().iter();
        turn.exit_code.is_some() || calls.any(|call| call.name.as_deref() == Some("run_command"))
    };
    Ok(detail.conversation(store)?.iter().any(runs))
}
