//! What the last snapshot found, so that the next one reads only what has changed since.
//!
//! It holds one snapshot as a whole: the tree that was stored, and of each file how the file system described it. As long
//! as the store has that tree, it has everything below it, so nothing else is asked of the store; where it has not, the
//! cache is empty. It lies in a file of its own and can be removed at any time. One that is damaged, or of another
//! version, is empty.

mod format;
mod gone;

pub use self::gone::remove_gone_caches;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use uwf_store::{Hash, Store, StoreError};

use crate::error::{SnapshotError, io_error};
use crate::stamp::FileStamp;
use crate::tree::SnapshotEntry;

/// See the module.
#[derive(Debug, Default)]
pub struct CaptureCache {
    path: Option<PathBuf>,
    /// Whose it is, so that it can go with it.
    workspace: PathBuf,
    root: Option<Directory>,
    is_saved: bool,
}

/// A directory as it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Directory {
    pub(crate) tree: Hash,
    /// Sorted by name.
    pub(crate) entries: Vec<Known>,
}

/// What was found under a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Known {
    pub(crate) name: Box<[u8]>,
    pub(crate) entry: SnapshotEntry,
    /// Of a file: how to know that it is still the same. None where that cannot be known.
    pub(crate) stamp: Option<FileStamp>,
    /// Of a directory: what is in it.
    pub(crate) below: Option<Directory>,
}

impl CaptureCache {
    /// The cache in this file, and where [`CaptureCache::save`] puts it; empty when there is none that can be read. One workspace
    /// has one file.
    pub fn open(path: &Path) -> CaptureCache {
        let found = fs::read(path).ok().and_then(|bytes| format::decode(&bytes));
        let (workspace, root) = found.unzip();
        let workspace = workspace.unwrap_or_default();
        CaptureCache { path: Some(path.to_owned()), workspace, is_saved: root.is_some(), root }
    }

    /// One that is kept in memory alone.
    pub fn in_memory() -> CaptureCache {
        CaptureCache::default()
    }

    /// Writes it into its file, as a whole or not at all. Where nothing has changed nothing is written. It is not synced:
    /// one that a power cut tears is empty.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn save(&mut self) -> Result<(), SnapshotError> {
        let (Some(path), Some(root), false) = (&self.path, &self.root, self.is_saved) else { return Ok(()) };
        let directory = path.parent().unwrap_or(Path::new(""));
        fs::create_dir_all(directory).map_err(io_error("create the directory", directory))?;
        let mut file = tempfile::NamedTempFile::new_in(directory).map_err(io_error("write", path))?;
        file.write_all(&format::encode(&self.workspace, root)).map_err(io_error("write", path))?;
        file.persist(path).map_err(|error| io_error("write", path)(error.error))?;
        self.is_saved = true;
        Ok(())
    }

    /// What was found last, if the store still has it; its tree is then as young as one that is put now, so that nobody
    /// collects it before it is referred to.
    pub(crate) fn kept_in(&self, store: &Store) -> Option<&Directory> {
        self.root.as_ref().filter(|root| freshen(store, &root.tree).is_ok())
    }

    pub(crate) fn is_of(&self, workspace: &Path) -> bool {
        self.workspace == workspace
    }

    pub(crate) fn replace(&mut self, workspace: &Path, root: Directory) {
        self.is_saved = false;
        self.workspace = workspace.to_owned();
        self.root = Some(root);
    }
}

fn freshen(store: &Store, tree: &Hash) -> Result<(), StoreError> {
    let node = store.get(tree)?;
    let mut batch = store.batch();
    batch.put_node(&node)?;
    batch.commit()
}

impl Directory {
    /// Whether it would be the same tree with these entries.
    pub(crate) fn is_tree_of(&self, entries: &[Known]) -> bool {
        self.entries.len() == entries.len()
            && self
                .entries
                .iter()
                .zip(entries)
                .all(|(one, other)| one.name == other.name && one.entry == other.entry)
    }
}

#[cfg(test)]
#[path = "cache_tests.rs"]
mod tests;
