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
//! **What a collector must not take.** A node that is put again is not written again; its file is given the present
//! time instead, so that it is as young as a new one. Collecting holds the lock of the directory, and so does whoever
//! makes an old node young or names one: either comes first, and the other sees it.
//!
//! Never interprets a payload.

mod index;
mod reindex;
mod removal;
mod staging;

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::buffer::spare_capacity;
use rustix::fs::{AtFlags, CWD, Mode, OFlags, Timespec, Timestamps, UTIME_NOW, UTIME_OMIT, openat};
use rustix::io::retry_on_intr;

use super::error::StoreError;
use super::gc::YOUNG;
use super::hash::Hash;
use super::node::{Comparison, Encoded};
use super::nodes::{Lease, Mended, NodeBatch, NodeEntries, NodeEntry, Nodes, Scan, Stat};
use index::Index;
use staging::Staging;

/// A file's time is only moved when it is off by more than this.
const RECENT: Duration = Duration::from_secs(60);

const TEMP_PREFIX: &str = ".put-";
const TEMP_SUFFIX: &str = ".tmp";

/// The two directories that hold the nodes of a store.
pub(super) struct Disk {
    nodes: PathBuf,
    /// The directory of the nodes, open: a file in it is found without walking down its path again.
    open: Arc<File>,
    index: Index,
}

impl Disk {
    /// The directories, created if they are missing.
    pub(super) fn open(root: &Path) -> Result<Disk, StoreError> {
        let (nodes, index) = (root.join("nodes"), Index::at(root.join("_index")));
        for directory in [&nodes, index.directory()] {
            fs::create_dir_all(directory).map_err(io_error("create the directory", directory))?;
        }
        let open = File::open(&nodes).map_err(io_error("open the directory", &nodes))?;
        Ok(Disk { nodes, open: Arc::new(open), index })
    }

    fn directory(&self) -> Result<File, StoreError> {
        File::open(&self.nodes).map_err(io_error("open the directory", &self.nodes))
    }

    fn holds(&self, node: &Encoded, now: u64) -> Result<bool, StoreError> {
        match self.compare(node)? {
            Some(Comparison::Same) => self.freshen(&node.hash, now),
            Some(Comparison::Corrupt) | None => Ok(false),
            Some(Comparison::Another) => Err(StoreError::Collision { hash: node.hash }),
        }
    }

    fn compare(&self, node: &Encoded) -> Result<Option<Comparison>, StoreError> {
        Ok(self.read(&node.hash)?.map(|bytes| node.compare(&bytes)))
    }

    /// Gives the file of a node the present time, so that it is not collected soon. False if it is gone; a file that
    /// is not ours to touch stays as old as it is.
    fn freshen(&self, hash: &Hash, now: u64) -> Result<bool, StoreError> {
        let path = self.path(hash);
        let recent = before(now, RECENT);
        if fs::metadata(&path).and_then(|file| file.modified()).is_ok_and(|modified| modified >= recent) {
            return Ok(true);
        }
        let _held = self.hold()?;
        Ok(!touch(&path).is_err_and(|error| error.kind() == io::ErrorKind::NotFound))
    }

    /// Whether there is a file with this name, be it empty.
    fn exists(&self, hash: &Hash) -> bool {
        self.path(hash).exists()
    }

    fn path(&self, hash: &Hash) -> PathBuf {
        self.nodes.join(file_name(hash))
    }
}

impl Nodes for Disk {
    fn read(&self, hash: &Hash) -> Result<Option<Vec<u8>>, StoreError> {
        let read = || -> io::Result<Vec<u8>> {
            let (name, flags) = (file_name(hash), OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC);
            let file = retry_on_intr(|| openat(&*self.open, &name, flags, Mode::empty()))?;
            // To ask for the size of each takes longer than to find the end of one that is larger than most.
            let mut bytes = Vec::with_capacity(1024);
            while retry_on_intr(|| rustix::io::read(&file, spare_capacity(&mut bytes)))? > 0 {
                bytes.reserve(1);
            }
            Ok(bytes)
        };
        match read() {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(io_error("read", &self.path(hash))(error)),
        }
    }

    /// The time is that of the file, set by the system's clock.
    fn stat(&self, hash: &Hash) -> Option<Stat> {
        let metadata = fs::metadata(self.path(hash)).ok()?;
        let put = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        Some(Stat { bytes: metadata.len(), put: put.map_or(0, |put| put.as_millis() as u64) })
    }

    fn has(&self, hash: &Hash) -> bool {
        self.exists(hash)
    }

    /// One at a time. Temp files of writers that may still be at work are passed over.
    fn entries(&self, now: u64) -> Result<NodeEntries<'_>, StoreError> {
        let failed = || io_error("read the directory", &self.nodes);
        let abandoned = before(now, YOUNG);
        let entries = fs::read_dir(&self.nodes).map_err(failed())?;
        Ok(Box::new(entries.filter_map(move |entry| match entry {
            Ok(entry) => classify(&entry, abandoned).map(Ok),
            Err(error) => Some(Err(failed()(error))),
        })))
    }

    fn batch(&self) -> Box<dyn NodeBatch + '_> {
        Box::new(Staging::on(self))
    }

    fn of_type(&self, type_: &Hash) -> Result<Vec<Hash>, StoreError> {
        self.index.read(type_.as_str())
    }

    fn remove(&self, order: &[Hash]) -> Result<u64, StoreError> {
        let bytes = self.remove_in_order(order)?;
        self.directory()?.sync_all().map_err(io_error("sync the directory", &self.nodes))?;
        Ok(bytes)
    }

    fn sweep(&self, stray: &Path, dry_run: bool) -> Result<Option<u64>, StoreError> {
        let name = stray.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if !name.starts_with(TEMP_PREFIX) || !name.ends_with(TEMP_SUFFIX) {
            return Ok(None);
        }
        let size = fs::metadata(stray).map_or(0, |metadata| metadata.len());
        if !dry_run {
            remove(stray)?;
        }
        Ok(Some(size))
    }

    fn strike(&self, exists: &dyn Fn(&Hash) -> bool) -> Result<(), StoreError> {
        self.strike_lines(exists)
    }

    fn reindex(&self, found: Scan) -> Result<Mended, StoreError> {
        self.mend(found)
    }

    /// The lock of the directory. Where the file system has no locks, many may fill a store at once, which is as
    /// correct, and collecting relies on the age of nodes alone.
    fn lock(&self) -> Result<Box<dyn Lease + '_>, StoreError> {
        let directory = self.directory()?;
        let _unsupported = directory.lock();
        Ok(Box::new(directory))
    }

    fn hold(&self) -> Result<Box<dyn Lease + '_>, StoreError> {
        let directory = self.directory()?;
        let _unsupported = directory.lock_shared();
        Ok(Box::new(directory))
    }
}

fn file_name(hash: &Hash) -> String {
    format!("{hash}.bin")
}

fn classify(entry: &fs::DirEntry, abandoned: SystemTime) -> Option<NodeEntry> {
    let name = entry.file_name();
    if let Some(hash) = name.to_str().and_then(|name| name.strip_suffix(".bin")?.parse().ok()) {
        return Some(NodeEntry::Node(hash));
    }
    let modified = entry.metadata().and_then(|metadata| metadata.modified());
    modified.is_ok_and(|time| time < abandoned).then(|| NodeEntry::Stray(entry.path()))
}

/// Gives a file the present time.
fn touch(path: &Path) -> io::Result<()> {
    let time = |nanos| Timespec { tv_sec: 0, tv_nsec: nanos };
    let times = Timestamps { last_access: time(UTIME_OMIT), last_modification: time(UTIME_NOW) };
    Ok(rustix::fs::utimensat(CWD, path, &times, AtFlags::empty())?)
}

/// The moment so long before now.
fn before(now: u64, ago: Duration) -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(now).saturating_sub(ago)
}

fn remove(path: &Path) -> Result<(), StoreError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(io_error("remove", path)(error)),
        _ => Ok(()),
    }
}

pub(super) fn io_error(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> StoreError {
    move |source| StoreError::Io { doing, path: path.to_owned(), source }
}

#[cfg(test)]
#[path = "fs_tests.rs"]
mod tests;
