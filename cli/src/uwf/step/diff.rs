//! `uwf step diff`: what a step's editing tools changed in the workspace, as its record tells.

mod patch;

use serde::Deserialize;
use serde_json::{Value, json};
use uwf_store::{Hash, Store};

use crate::shell::{Failure, OK, Session};
use crate::uwf::{hash, narrate};
use uwf_engine::thread;

/// One changed file of a record.
#[derive(Deserialize)]
struct Change {
    path: String,
    /// A text node; none where there was no such file.
    before: Option<Hash>,
    /// A text node; none where there is no such file any more.
    after: Option<Hash>,
}

pub(super) fn diff(session: &mut Session<'_>, text: &str) -> Result<u8, Failure> {
    let (hash, store) = (hash(text)?, session.store()?);
    let step = thread::step_node(&store, &hash)?;
    let detail = store.get(&step.detail)?.payload;
    let changes: Vec<Change> = serde_json::from_value(detail["changes"].clone()).map_err(|_| {
        Failure::user(format!("step {hash} has no record of what it changed: {} kept none", step.agent))
    })?;
    let mut patch = String::new();
    let mut files = Vec::new();
    for change in &changes {
        let diff = file_diff(&store, change)?;
        files
            .push(json!({"path": change.path, "before": change.before, "after": change.after, "diff": diff}));
        patch += &diff;
    }
    let value: Value = json!({"step": hash, "changes": files});
    session.ui.document(|| value, &patch)?;
    if files.is_empty() {
        session.ui.note("the step changed no file");
    }
    if ran_commands(&store, &detail)? {
        session.ui.warn("changes made by commands are not part of it");
    }
    Ok(OK)
}

fn file_diff(store: &Store, change: &Change) -> Result<String, Failure> {
    let content = |node: Option<Hash>| -> Result<Option<String>, Failure> {
        let text = |node| Ok(store.get(&node)?.payload.as_str().unwrap_or_default().to_owned());
        node.map(text).transpose()
    };
    Ok(patch::of(&change.path, content(change.before)?.as_deref(), content(change.after)?.as_deref()))
}

/// Whether the step ran commands: what these changed, no record tells.
fn ran_commands(store: &Store, detail: &Value) -> Result<bool, Failure> {
    let runs = |turn: &Value| {
        let mut calls = turn["toolCalls"].as_array().into_iter().flatten();
        !turn["exitCode"].is_null() || calls.any(|call| call["name"] == "run_command")
    };
    Ok(narrate::messages(store, detail)?.iter().any(runs))
}
