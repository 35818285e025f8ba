//! The directory of a store: node files and the per-type index.
//!
//! **What survives a power cut.** A node is on the disk before a `put` returns:
//! - one node: its file is written under a name of its own and synced (`fdatasync`), renamed, then the directory is
//!   synced;
//! - several: all files are written, then one `syncfs` for all of them, all renames in the order given, one sync of the
//!   directory. Whoever gives a node after all that it refers to is left with a store that verifies, whenever a crash
//!   comes.
//!
//! So a file with a node's name never holds half a node, unless the disk itself lies or another program wrote it; a
//! read that finds such a file says "corrupt", and storing the node again heals it. The index is appended to
//! afterwards and not synced: nothing here depends on it and it can be rebuilt from the nodes.
//!
//! Never interprets a payload.

use std::collections::{BTreeMap, HashSet};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::error::StoreError;
use super::hash::Hash;
use super::node::{self, Encoded, Found, Node};

/// A temp file this old belongs to nobody any more.
const ABANDONED_AFTER: Duration = Duration::from_secs(3600);

/// The two directories that hold the nodes of a store.
#[derive(Clone)]
pub(super) struct Disk {
    nodes: PathBuf,
    index: PathBuf,
}

/// One entry of the node directory.
pub(super) enum Entry {
    /// A file with the name of a node.
    Node(Hash),
    /// A file that no program of today will ever read: an abandoned temp file, or somebody's notes.
    Stray(PathBuf),
}

impl Disk {
    /// The directories, created if they are missing.
    pub(super) fn open(root: &Path) -> Result<Disk, StoreError> {
        let disk = Disk { nodes: root.join("nodes"), index: root.join("_index") };
        for directory in [&disk.nodes, &disk.index] {
            fs::create_dir_all(directory).map_err(io_error("create the directory", directory))?;
        }
        Ok(disk)
    }

    /// Held while a store is filled for the first time, so that of many processes one does the work. Where the file
    /// system has no locks they all do it, which is as correct.
    pub(super) fn lock(&self) -> Result<File, StoreError> {
        let directory = File::open(&self.nodes).map_err(io_error("open the directory", &self.nodes))?;
        let _unsupported = directory.lock();
        Ok(directory)
    }

    /// Whether there is a file with this name and something in it: one `stat`.
    pub(super) fn is_filled(&self, hash: &Hash) -> bool {
        fs::metadata(self.path(hash)).is_ok_and(|metadata| metadata.len() > 0)
    }

    /// Whether there is a file with this name, be it empty.
    pub(super) fn exists(&self, hash: &Hash) -> bool {
        self.path(hash).exists()
    }

    /// The node, checked against its hash; none if there is no file.
    pub(super) fn read(&self, hash: &Hash) -> Result<Option<Node>, StoreError> {
        match self.read_bytes(hash)? {
            None => Ok(None),
            Some(bytes) => node::from_bytes(hash, &bytes)
                .map(Some)
                .map_err(|why| StoreError::Corrupt { hash: *hash, why }),
        }
    }

    fn read_bytes(&self, hash: &Hash) -> Result<Option<Vec<u8>>, StoreError> {
        let path = self.path(hash);
        match fs::read(&path) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(io_error("read", &path)(error)),
        }
    }

    /// Makes sure these nodes are there and durable. Good ones that exist already are left alone; a failure leaves
    /// whole nodes or none, and no temp files.
    pub(super) fn write(&self, nodes: &[Encoded], timestamp: u64) -> Result<(), StoreError> {
        // In the caller's order, so that a crash between two renames never leaves a node without what it refers to.
        let mut seen = HashSet::new();
        let mut new = Vec::new();
        for node in nodes {
            if seen.insert(node.hash) && !self.holds(node)? {
                new.push(node);
            }
        }
        if new.is_empty() {
            return Ok(());
        }
        let directory = File::open(&self.nodes).map_err(io_error("open the directory", &self.nodes))?;
        let mut written = Vec::with_capacity(new.len());
        for node in &new {
            written.push((node.hash, self.write_temp(&node.to_bytes(timestamp), new.len() == 1)?));
        }
        if written.len() > 1 {
            rustix::fs::syncfs(&directory).map_err(|error| io_error("sync", &self.nodes)(error.into()))?;
        }
        for (hash, temp) in written {
            let path = self.path(&hash);
            temp.persist(&path).map_err(|error| io_error("write", &path)(error.error))?;
        }
        directory.sync_all().map_err(io_error("sync the directory", &self.nodes))?;
        self.append_to_index(new.into_iter())
    }

    fn holds(&self, node: &Encoded) -> Result<bool, StoreError> {
        match self.read_bytes(&node.hash)?.map(|bytes| node.compare(&bytes)) {
            Some(Found::Same) => Ok(true),
            Some(Found::Corrupt) | None => Ok(false),
            Some(Found::Another) => Err(StoreError::Collision { hash: node.hash }),
        }
    }

    /// A file in the same directory, closed, that removes itself unless it is persisted.
    fn write_temp(&self, bytes: &[u8], sync: bool) -> Result<tempfile::TempPath, StoreError> {
        let failed = || io_error("write a node to", &self.nodes);
        let mut temp = tempfile::Builder::new()
            .prefix(".put-")
            .suffix(".tmp")
            .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666))
            .tempfile_in(&self.nodes)
            .map_err(failed())?;
        temp.write_all(bytes).map_err(failed())?;
        if sync {
            temp.as_file().sync_data().map_err(failed())?;
        }
        Ok(temp.into_temp_path())
    }

    /// One write per index file, so that lines of two programs never mix.
    fn append_to_index<'n>(&self, nodes: impl Iterator<Item = &'n Encoded>) -> Result<(), StoreError> {
        let mut lines: BTreeMap<&str, String> = BTreeMap::new();
        for node in nodes {
            let line = format!("{}\n", node.hash);
            if node.hash == node.type_ {
                lines.entry("_meta").or_default().push_str(&line);
            }
            lines.entry(node.type_.as_str()).or_default().push_str(&line);
        }
        for (name, lines) in lines {
            let path = self.index.join(name);
            let append =
                || File::options().append(true).create(true).open(&path)?.write_all(lines.as_bytes());
            append().map_err(io_error("append to", &path))?;
        }
        Ok(())
    }

    /// Every entry of the node directory, one at a time, in no order. Temp files of writers that may still be at work
    /// are passed over.
    pub(super) fn entries(
        &self,
        now: u64,
    ) -> Result<impl Iterator<Item = Result<Entry, StoreError>>, StoreError> {
        let failed = || io_error("read the directory", &self.nodes);
        let abandoned = UNIX_EPOCH + Duration::from_millis(now).saturating_sub(ABANDONED_AFTER);
        let entries = fs::read_dir(&self.nodes).map_err(failed())?;
        Ok(entries.filter_map(move |entry| match entry {
            Ok(entry) => classify(&entry, abandoned).map(Ok),
            Err(error) => Some(Err(failed()(error))),
        }))
    }

    /// The nodes of a type in the order they were put, as the index has them.
    pub(super) fn indexed(&self, type_: &Hash) -> Result<Vec<Hash>, StoreError> {
        let path = self.index.join(type_.as_str());
        let lines = match fs::read_to_string(&path) {
            Ok(lines) => lines,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(io_error("read", &path)(error)),
        };
        let mut seen = HashSet::new();
        Ok(lines
            .lines()
            .filter_map(|line| line.trim().parse().ok())
            .filter(|hash| seen.insert(*hash))
            .collect())
    }

    fn path(&self, hash: &Hash) -> PathBuf {
        let mut name = String::with_capacity(17);
        name.push_str(hash.as_str());
        name.push_str(".bin");
        self.nodes.join(name)
    }
}

fn classify(entry: &fs::DirEntry, abandoned: SystemTime) -> Option<Entry> {
    let name = entry.file_name();
    if let Some(hash) = name.to_str().and_then(|name| name.strip_suffix(".bin")?.parse().ok()) {
        return Some(Entry::Node(hash));
    }
    let modified = entry.metadata().and_then(|metadata| metadata.modified());
    modified.is_ok_and(|time| time < abandoned).then(|| Entry::Stray(entry.path()))
}

fn io_error(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> StoreError {
    move |source| StoreError::Io { doing, path: path.to_owned(), source }
}

#[cfg(test)]
#[path = "fs_tests.rs"]
mod tests;
