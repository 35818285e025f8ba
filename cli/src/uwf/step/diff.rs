//! `uwf step diff`: what a step's editing tools changed in the workspace, as its record tells.

mod patch;

use uwf_store::{Hash, Store};

use crate::shell::{CliError, Session};
use crate::uwf::hash;
use uwf_engine::record::{Change, Detail, Turn};
use uwf_engine::thread;
use uwf_engine::view::{FileDiff, StepDiff};

pub(super) fn diff(session: &mut Session<'_>, text: &str) -> Result<u8, CliError> {
    let (hash, store) = (hash(text)?, session.store()?);
    let step = thread::step_node(&store, &hash)?;
    let detail = Detail::read(&store, &step.detail)?;
    let changes = detail.changes.as_deref().ok_or_else(|| {
        CliError::user(format!("step {hash} has no record of what it changed: {} kept none", step.agent))
    })?;
    let changes = changes.iter().map(|change| {
        let diff = file_diff(&store, change)?;
        Ok(FileDiff { change: change.clone(), diff })
    });
    let view = StepDiff { step: hash, changes: changes.collect::<Result<_, CliError>>()? };
    let exit = session.ui.document(&view, &view.patch())?;
    if view.changes.is_empty() {
        session.ui.note("the step changed no file");
    }
    if ran_commands(&store, &detail)? {
        session.ui.warn("changes made by commands are not part of it");
    }
    Ok(exit)
}

fn file_diff(store: &Store, change: &Change) -> Result<String, CliError> {
    let content = |node: Option<Hash>| -> Result<Option<String>, CliError> {
        let text = |node| Ok(store.get(&node)?.payload.as_str().unwrap_or_default().to_owned());
        node.map(text).transpose()
    };
    Ok(patch::of(&change.path, content(change.before)?.as_deref(), content(change.after)?.as_deref()))
}

/// Whether the step ran commands: what these changed, no record tells.
fn ran_commands(store: &Store, detail: &Detail) -> Result<bool, CliError> {
    let runs = |turn: &Turn| {
        let mut calls = turn.calls().iter();
        turn.exit_code.is_some() || calls.any(|call| call.name.as_deref() == Some("run_command"))
    };
    Ok(detail.conversation(store)?.iter().any(runs))
}
