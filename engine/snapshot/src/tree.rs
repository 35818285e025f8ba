//! A directory as a node: what is under each name, with the hash of each content and of each directory below.
//!
//! The only home of the shape. Whoever reads one may rely on its names: none leaves its directory, none is git's own data.
//! Owners, times, extended attributes and the bits above the permissions are not kept.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use serde_json::{Map, Value, json};
use uwf_store::{Batch, Hash, Store, StoreError};

use crate::error::SnapshotError;
use crate::name::{escaped, unescaped};

/// The type of a directory: a schema of this crate's, stored with the first one.
pub const TREE: Hash = Hash::from_static("2JVA20Y10T049");

/// The bits of a mode that are kept.
pub(crate) const PERMISSIONS: u32 = 0o777;

/// How many directories may be within each other: who walks them has one open for each.
pub(crate) const MAX_LEVELS: usize = 256;

/// What is under a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SnapshotEntry {
    /// A regular file.
    File {
        /// What is in it: a [`uwf_store::Blob`].
        content: Hash,
        /// How many bytes.
        size: u64,
        /// Its permissions.
        mode: u32,
    },
    /// A symbolic link.
    Symlink {
        /// What it says.
        target: OsString,
    },
    /// A directory.
    Directory {
        /// What is in it: a node of type [`TREE`].
        tree: Hash,
        /// Its permissions.
        mode: u32,
    },
}

impl SnapshotEntry {
    /// Whether it is a directory.
    pub fn is_directory(&self) -> bool {
        matches!(self, SnapshotEntry::Directory { .. })
    }
}

/// What is in a directory, by name.
pub(crate) type Tree = BTreeMap<OsString, SnapshotEntry>;

/// Adds a directory to what is to be stored.
pub(crate) fn put<'e>(
    batch: &mut Batch<'_>,
    entries: impl Iterator<Item = (&'e OsStr, &'e SnapshotEntry)>,
) -> Result<Hash, StoreError> {
    let entries = entries.map(|(name, entry)| (escaped(name.as_bytes()), written(entry)));
    let entries: Map<String, Value> = entries.collect();
    batch.put_type(&TREE, schema)?;
    batch.put(&TREE, &json!({"entries": entries}))
}

/// The directory of this name.
pub(crate) fn read(store: &Store, tree: &Hash) -> Result<Tree, SnapshotError> {
    let damaged = |why: &str| SnapshotError::Damaged { tree: *tree, why: why.to_owned() };
    let mut node = store.get(tree)?;
    if node.type_ != TREE {
        return Err(damaged("it has another type"));
    }
    let Value::Object(entries) = node.payload["entries"].take() else {
        return Err(damaged("it has no entries"));
    };
    let mut found = Tree::new();
    for (name, value) in entries {
        let bad = || damaged(&format!("the entry {name:?} is none"));
        let entry = entry(&value).ok_or_else(bad)?;
        let name = unescaped(&name).filter(|name| is_name(name, entry.is_directory())).ok_or_else(bad)?;
        found.insert(name, entry);
    }
    Ok(found)
}

/// What is at a path of a snapshot; none where nothing is.
///
/// # Errors
/// A directory on the way is missing in the store, or is none.
pub fn find(store: &Store, tree: &Hash, path: &Path) -> Result<Option<SnapshotEntry>, SnapshotError> {
    let mut found = SnapshotEntry::Directory { tree: *tree, mode: PERMISSIONS };
    for name in path.iter() {
        let SnapshotEntry::Directory { tree, .. } = found else { return Ok(None) };
        match read(store, &tree)?.remove(name) {
            Some(entry) => found = entry,
            None => return Ok(None),
        }
    }
    Ok(Some(found))
}

/// Whether something in a directory can have this name.
fn is_name(name: &OsStr, is_directory: bool) -> bool {
    let name = name.as_bytes();
    let is_git = is_directory && name == b".git";
    !matches!(name, b"" | b"." | b"..") && !name.iter().any(|byte| matches!(byte, b'/' | 0)) && !is_git
}

fn written(entry: &SnapshotEntry) -> Value {
    match entry {
        SnapshotEntry::File { content, size, mode } => {
            json!({"file": content, "size": size, "mode": octal(*mode)})
        }
        SnapshotEntry::Symlink { target } => json!({"symlink": escaped(target.as_bytes())}),
        SnapshotEntry::Directory { tree, mode } => json!({"tree": tree, "mode": octal(*mode)}),
    }
}

fn octal(mode: u32) -> String {
    format!("{mode:03o}")
}

fn entry(value: &Value) -> Option<SnapshotEntry> {
    let hash = |key: &str| value[key].as_str().and_then(|text| text.parse::<Hash>().ok());
    let mode = || {
        let mode = u32::from_str_radix(value["mode"].as_str()?, 8).ok()?;
        (mode <= PERMISSIONS).then_some(mode)
    };
    if let Some(content) = hash("file") {
        Some(SnapshotEntry::File { content, size: value["size"].as_u64()?, mode: mode()? })
    } else if let Some(tree) = hash("tree") {
        Some(SnapshotEntry::Directory { tree, mode: mode()? })
    } else {
        let target = unescaped(value["symlink"].as_str()?)?;
        let can_be = !target.is_empty() && !target.as_bytes().contains(&0);
        can_be.then_some(SnapshotEntry::Symlink { target })
    }
}

fn schema() -> Value {
    let reference = json!({"type": "string", "format": "ocas_ref"});
    let entry = json!({
        "type": "object",
        "properties": {
            "file": reference,
            "size": {"type": "integer", "minimum": 0},
            "tree": reference,
            "symlink": {"type": "string"},
            "mode": {"type": "string", "pattern": "^[0-7]{3}$"},
        },
        "additionalProperties": false,
    });
    json!({
        "title": "uwf-tree",
        "description": "a directory: what is under each name. In names and targets of symlinks a backslash is written \
                        twice, and a byte that is no part of UTF-8 as \\x and two hexadecimal digits",
        "type": "object",
        "required": ["entries"],
        "properties": {"entries": {"type": "object", "additionalProperties": entry}},
        "additionalProperties": false,
    })
}

#[cfg(test)]
#[path = "tree_tests.rs"]
mod tests;
