//! A change that an editing tool made, as the record of its step has it: the contents as texts.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use uwf_snapshot::FileStat;
use uwf_store::{BLOB, Hash, Store};

use super::ShownChange;
use super::tool_patch::{self, NO_TEXT};
use crate::shell::CliError;
use uwf_engine::record::Change;
use uwf_engine::view::FileDiff;

/// What an editing tool did to one file.
pub(in crate::uwf) fn recorded(store: &Store, change: &Change) -> Result<ShownChange, CliError> {
    let text = |node: Option<Hash>| node.map(|node| text(store, &node)).transpose();
    let (before, after) = (text(change.before)?, text(change.after)?);
    let diff = tool_patch::of(&change.path, before.as_deref(), after.as_deref());
    let sides = [before, after].map(|side| side.unwrap_or_default());
    let is_binary = sides.iter().any(|side| side.starts_with(NO_TEXT));
    let [before, after] = sides.map(|side| bytes(side).len() as u64);
    let count = |mark: char| match is_binary {
        true => 0,
        false => hunks(&diff).filter(|line| line.starts_with(mark)).count() as u64,
    };
    let stat = FileStat {
        path: change.path.clone().into(),
        renamed_from: None,
        insertions: count('+'),
        deletions: count('-'),
        binary: is_binary.then_some((before, after)),
    };
    let patch = diff.clone().into_bytes();
    let name = format!("{}\n", tool_patch::quoted(&change.path)).into_bytes();
    let view = FileDiff { change: change.clone(), diff, facts: None };
    Ok(ShownChange { view, stat, text: patch.clone(), patch, name })
}

/// The lines below the header.
fn hunks(diff: &str) -> impl Iterator<Item = &str> {
    diff.lines().skip_while(|line| !line.starts_with("@@"))
}

/// The bytes that a text of a record stands for.
pub(super) fn content(store: &Store, node: &Hash) -> Result<Vec<u8>, CliError> {
    Ok(bytes(text(store, node)?))
}

/// The text of a content, whole; of any other node that holds a string, that.
pub(in crate::uwf) fn text(store: &Store, hash: &Hash) -> Result<String, CliError> {
    let node = store.get(hash)?;
    if node.type_ != BLOB {
        return Ok(node.payload.as_str().unwrap_or_default().to_owned());
    }
    let (mut content, mut text) = (store.blob(hash)?, Vec::new());
    loop {
        match content.read_next()? {
            [] => return Ok(String::from_utf8_lossy(&text).into_owned()),
            piece => text.extend_from_slice(piece),
        }
    }
}

fn bytes(text: String) -> Vec<u8> {
    let decoded = text.strip_prefix(NO_TEXT).and_then(|data| STANDARD.decode(data).ok());
    decoded.unwrap_or_else(|| text.into_bytes())
}
