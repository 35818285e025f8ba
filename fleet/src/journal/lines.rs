//! Which nodes the lines of a journal name: those must be at the remote before the lines are.
//!
//! Apart because it is all that is known here of what an agent writes: snapshots of the workspace, full outputs of commands,
//! and results that were left out of the requests.

use std::path::Path;

use serde_json::Value;
use uwf_store::{Hash, Store, open_regular};

use crate::FleetError;

/// The nodes that these lines name and the store has. Full outputs, which are files in `spool` until the step is recorded,
/// become nodes of the store.
///
/// # Errors
/// The store fails.
pub(super) fn named(bytes: &[u8], spool: &Path, store: &Store) -> Result<Vec<Hash>, FleetError> {
    let mut found = Vec::new();
    for line in bytes.split(|byte| *byte == b'\n') {
        if is_of(line, "snapshot") {
            found.extend(field(line, "/snapshot/tree").and_then(|tree| tree.as_str()?.parse::<Hash>().ok()));
        } else if is_of(line, "left-out") {
            found.extend(words(line));
        } else if is_of(line, "finished") {
            let output = field(line, "/facts/spool");
            let output = output.as_ref().and_then(Value::as_str).and_then(|path| Path::new(path).file_name());
            found.extend(output.map(|file| kept(&spool.join(file), store)).transpose()?.flatten());
        }
    }
    found.sort_unstable();
    found.dedup();
    found.retain(|hash| store.has(hash));
    Ok(found)
}

/// The last snapshot of the workspace that these lines tell of, and when it was.
pub(super) fn latest(bytes: &[u8]) -> Option<(u64, Hash)> {
    let line = bytes.split(|byte| *byte == b'\n').rev().find(|line| is_of(line, "snapshot"))?;
    let tree = field(line, "/snapshot/tree")?.as_str()?.parse().ok()?;
    Some((field(line, "/at")?.as_u64()?, tree))
}

/// Whether a line is of this kind; others may be long, and are not read.
fn is_of(line: &[u8], kind: &str) -> bool {
    let rest = line.strip_prefix(b"{\"entry\":\"").and_then(|rest| rest.strip_prefix(kind.as_bytes()));
    rest.is_some_and(|rest| rest.starts_with(b"\""))
}

fn field(line: &[u8], pointer: &str) -> Option<Value> {
    serde_json::from_slice::<Value>(line).ok()?.pointer_mut(pointer).map(Value::take)
}

/// All words that are hashes.
fn words(line: &[u8]) -> impl Iterator<Item = Hash> {
    let words = line.split(|byte| !Hash::is_character(*byte)).filter(|word| word.len() == Hash::LENGTH);
    words.filter_map(|word| std::str::from_utf8(word).ok()?.parse().ok())
}

/// A full output as a node; none where its file is gone, since it is recorded then.
fn kept(file: &Path, store: &Store) -> Result<Option<Hash>, FleetError> {
    let Ok(mut output) = open_regular(file) else { return Ok(None) };
    let mut batch = store.batch();
    let output = batch.put_blob(&mut output)?;
    batch.commit()?;
    Ok(Some(output.hash))
}
