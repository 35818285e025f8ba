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
mod pending;
mod removal;
mod streamed;

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::buffer::spare_capacity;
use rustix::fs::{AtFlags, CWD, Mode, OFlags, Timespec, Timestamps, UTIME_NOW, UTIME_OMIT, openat};
use rustix::io::retry_on_intr;

use super::error::StoreError;
use super::hash::Hash;
use super::node::{self, Encoded, Found, Node};
pub(super) use index::{Index, META};
pub(super) use pending::Pending;
pub(super) use streamed::Text;

/// A temp file this old belongs to nobody any more; a node this young may be about to be referred to.
pub(super) const YOUNG: Duration = Duration::from_secs(3600);

/// A file's time is only moved when it is off by more than this.
const RECENT: Duration = Duration::from_secs(60);

const TEMP_PREFIX: &str = ".put-";
const TEMP_SUFFIX: &str = ".tmp";

/// The two directories that hold the nodes of a store.
#[derive(Clone)]
pub(super) struct Disk {
    nodes: PathBuf,
    /// The same, open: a file in it is found without walking down its path again.
    open: Arc<File>,
    index: Index,
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
        let (nodes, index) = (root.join("nodes"), Index::at(root.join("_index")));
        for directory in [&nodes, index.directory()] {
            fs::create_dir_all(directory).map_err(io_error("create the directory", directory))?;
        }
        let open = File::open(&nodes).map_err(io_error("open the directory", &nodes))?;
        Ok(Disk { nodes, open: Arc::new(open), index })
    }

    /// The lock of the directory, held alone: while a store is filled for the first time, so that of many processes
    /// one does the work, and while nodes are collected. Where the file system has no locks, the first is done by all,
    /// which is as correct, and the second relies on the age of nodes alone.
    pub(super) fn lock(&self) -> Result<File, StoreError> {
        let directory = self.directory()?;
        let _unsupported = directory.lock();
        Ok(directory)
    }

    /// The same lock, held together with others who need nodes to stay for a moment.
    pub(super) fn hold(&self) -> Result<File, StoreError> {
        let directory = self.directory()?;
        let _unsupported = directory.lock_shared();
        Ok(directory)
    }

    fn directory(&self) -> Result<File, StoreError> {
        File::open(&self.nodes).map_err(io_error("open the directory", &self.nodes))
    }

    /// The index beside the nodes.
    pub(super) fn index(&self) -> &Index {
        &self.index
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

    /// The content of a node's file; none if there is no file.
    pub(super) fn read_bytes(&self, hash: &Hash) -> Result<Option<Vec<u8>>, StoreError> {
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

    /// Nodes to be written together.
    pub(super) fn pending(&self) -> Pending<'_> {
        Pending::on(self)
    }

    /// Makes sure that the nodes every store has are there and durable, for one who has the lock: they are never
    /// collected, so their files need not be made young.
    pub(super) fn fill(&self, nodes: &[Encoded], now: u64) -> Result<(), StoreError> {
        let mut lacking = self.pending();
        for node in nodes {
            if self.compare(node)? != Some(Found::Same) {
                lacking.add(node, now, now)?;
            }
        }
        lacking.commit()
    }

    /// Makes sure these nodes are there and durable. Good ones that exist already are left alone; a failure leaves
    /// whole nodes or none, and no temp files.
    pub(super) fn write(&self, nodes: &[Encoded], now: u64) -> Result<(), StoreError> {
        let mut pending = self.pending();
        nodes.iter().try_for_each(|node| pending.add(node, now, now))?;
        pending.commit()
    }

    fn holds(&self, node: &Encoded, now: u64) -> Result<bool, StoreError> {
        match self.compare(node)? {
            Some(Found::Same) => self.freshen(&node.hash, now),
            Some(Found::Corrupt) | None => Ok(false),
            Some(Found::Another) => Err(StoreError::Collision { hash: node.hash }),
        }
    }

    fn compare(&self, node: &Encoded) -> Result<Option<Found>, StoreError> {
        Ok(self.read_bytes(&node.hash)?.map(|bytes| node.compare(&bytes)))
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

    /// The size of a node's file and when it was written or put last; none if there is no file.
    pub(super) fn size_and_time(&self, hash: &Hash) -> Option<(u64, SystemTime)> {
        let metadata = fs::metadata(self.path(hash)).ok()?;
        Some((metadata.len(), metadata.modified().ok()?))
    }

    /// Removes an abandoned temp file and gives its size; none if it is something else.
    pub(super) fn sweep(&self, stray: &Path, dry_run: bool) -> Result<Option<u64>, StoreError> {
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

    /// Every entry of the node directory, one at a time, in no order. Temp files of writers that may still be at work
    /// are passed over.
    pub(super) fn entries(
        &self,
        now: u64,
    ) -> Result<impl Iterator<Item = Result<Entry, StoreError>>, StoreError> {
        let failed = || io_error("read the directory", &self.nodes);
        let abandoned = before(now, YOUNG);
        let entries = fs::read_dir(&self.nodes).map_err(failed())?;
        Ok(entries.filter_map(move |entry| match entry {
            Ok(entry) => classify(&entry, abandoned).map(Ok),
            Err(error) => Some(Err(failed()(error))),
        }))
    }

    fn path(&self, hash: &Hash) -> PathBuf {
        self.nodes.join(file_name(hash))
    }
}

fn file_name(hash: &Hash) -> String {
    format!("{hash}.bin")
}

fn classify(entry: &fs::DirEntry, abandoned: SystemTime) -> Option<Entry> {
    let name = entry.file_name();
    if let Some(hash) = name.to_str().and_then(|name| name.strip_suffix(".bin")?.parse().ok()) {
        return Some(Entry::Node(hash));
    }
    let modified = entry.metadata().and_then(|metadata| metadata.modified());
    modified.is_ok_and(|time| time < abandoned).then(|| Entry::Stray(entry.path()))
}

/// Gives a file the present time.
fn touch(path: &Path) -> io::Result<()> {
    let time = |nanos| Timespec { tv_sec: 0, tv_nsec: nanos };
    let times = Timestamps { last_access: time(UTIME_OMIT), last_modification: time(UTIME_NOW) };
    Ok(rustix::fs::utimensat(CWD, path, &times, AtFlags::empty())?)
}

/// The moment so long before now.
pub(super) fn before(now: u64, ago: Duration) -> SystemTime {
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
