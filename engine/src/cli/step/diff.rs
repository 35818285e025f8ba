//! `uwf step diff`: what a step changed in the workspace, as its record tells.
//!
//! A patch that `git apply` takes, as far as the changed files are text.

use serde::Deserialize;
use serde_json::{Value, json};
use similar::TextDiff;

use crate::cli::failure::Failure;
use crate::cli::failure::OK;
use crate::cli::{Session, hash};
use crate::store::{Hash, Store};
use crate::thread;

/// How the record keeps what is no text.
const NO_TEXT: &str = "data:application/octet-stream;base64,";

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
    Ok(OK)
}

fn file_diff(store: &Store, change: &Change) -> Result<String, Failure> {
    let content = |node: Option<Hash>| -> Result<String, Failure> {
        let Some(node) = node else { return Ok(String::new()) };
        Ok(store.get(&node)?.payload.as_str().unwrap_or_default().to_owned())
    };
    let (before, after) = (content(change.before)?, content(change.after)?);
    let side = |letter: char, there: bool| match there {
        true => named(&format!("{letter}/{}", change.path)),
        false => "/dev/null".to_owned(),
    };
    let (old, new) = (side('a', change.before.is_some()), side('b', change.after.is_some()));
    if [&before, &after].iter().any(|content| content.starts_with(NO_TEXT)) {
        return Ok(format!("Binary files {old} and {new} differ\n"));
    }
    Ok(TextDiff::from_lines(&before, &after).unified_diff().header(&old, &new).to_string())
}

/// A name that would break the line is quoted as git does it.
fn named(path: &str) -> String {
    let plain = path.chars().all(|c| !c.is_control() && c != '"' && c != '\\');
    if plain { path.to_owned() } else { format!("\"{}\"", path.escape_debug()) }
}
