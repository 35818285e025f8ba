//! Nodes on their way into a store: written beside the others under names of their own, and then named together.
//!
//! Apart from [`super`] because here is the one order of steps that makes a put durable: write, sync, rename, sync the
//! directory, index. Until [`Staging::commit`] nobody sees anything, and dropping it leaves nothing behind; what is
//! kept in memory of a node is its name, not its content.

use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::io::{self, Write};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use tempfile::TempPath;

use super::index::META;
use super::{Disk, YOUNG, io_error, touch};
use crate::error::StoreError;
use crate::hash::Hash;
use crate::node::Encoded;
use crate::nodes::{NodeBatch, Nodes};

/// After so many files the disk is put to work on them, so that less is left to be waited for in the end.
const MANY: usize = 1 << 14;

/// See the module.
pub(super) struct Staging<'d> {
    disk: &'d Disk,
    seen: HashSet<Hash>,
    new: Vec<NewNode>,
    /// The only file so far: one file is synced alone, several by one `syncfs`.
    alone: Option<File>,
    /// When the files were made young last, in milliseconds since the epoch.
    fresh: u64,
    /// The disk at work on the files so far.
    flushing: Option<JoinHandle<io::Result<()>>>,
}

struct NewNode {
    hash: Hash,
    type_: Hash,
    file: TempPath,
}

impl Staging<'_> {
    pub(super) fn on(disk: &Disk) -> Staging<'_> {
        Staging { disk, seen: HashSet::new(), new: Vec::new(), alone: None, fresh: 0, flushing: None }
    }

    fn keep(&mut self, new: NewNode, opened: File) -> Result<(), StoreError> {
        self.alone = self.new.is_empty().then_some(opened);
        self.new.push(new);
        if self.new.len().is_multiple_of(MANY) { self.flush() } else { Ok(()) }
    }

    /// Has the files so far written while more are made. What goes wrong there is told by the next flush or the commit:
    /// the kernel tells it once.
    fn flush(&mut self) -> Result<(), StoreError> {
        self.flushed()?;
        let directory = Arc::clone(&self.disk.open);
        let flush = move || Ok(rustix::fs::syncfs(&directory)?);
        // Where the system has no more threads, the commit syncs all of it.
        self.flushing = thread::Builder::new().spawn(flush).ok();
        Ok(())
    }

    fn flushed(&mut self) -> Result<(), StoreError> {
        let done = self.flushing.take().map_or(Ok(Ok(())), JoinHandle::join);
        let done = done.unwrap_or_else(|_| Err(io::Error::other("the thread that waits for it panicked")));
        done.map_err(io_error("sync", &self.disk.nodes))
    }

    /// Keeps the files of one who takes long from being swept as those of a killed one.
    fn freshen(&mut self, now: u64) -> Result<(), StoreError> {
        if self.new.is_empty() || now.saturating_sub(self.fresh) > YOUNG.as_millis() as u64 / 4 {
            self.new.iter().try_for_each(|new| touch(&new.file).map_err(io_error("write", &new.file)))?;
            self.fresh = now;
        }
        Ok(())
    }
}

impl NodeBatch for Staging<'_> {
    fn add(&mut self, node: &Encoded, timestamp: u64, now: u64) -> Result<(), StoreError> {
        if !self.seen.insert(node.hash) || self.disk.holds(node, now)? {
            return Ok(());
        }
        self.freshen(now)?;
        let (opened, file) = self.disk.write_temp(&node.to_bytes(timestamp))?;
        self.keep(NewNode { hash: node.hash, type_: node.type_, file }, opened)
    }

    fn contains(&self, hash: &Hash) -> bool {
        self.seen.contains(hash)
    }

    fn read(&self, hash: &Hash) -> Result<Option<Vec<u8>>, StoreError> {
        if !self.seen.contains(hash) {
            return Ok(None);
        }
        let Some(new) = self.new.iter().find(|new| new.hash == *hash) else { return self.disk.read(hash) };
        std::fs::read(&new.file).map(Some).map_err(io_error("read", &new.file))
    }

    /// A crash between two renames never leaves a node without what it refers to.
    fn commit(mut self: Box<Self>) -> Result<(), StoreError> {
        self.flushed()?;
        let Staging { disk, new, alone, .. } = *self;
        if new.is_empty() {
            return Ok(());
        }
        let directory = disk.directory()?;
        match alone {
            Some(file) => file.sync_data().map_err(io_error("write a node to", &disk.nodes))?,
            None => {
                rustix::fs::syncfs(&directory).map_err(|error| io_error("sync", &disk.nodes)(error.into()))?
            }
        }
        let mut lines: BTreeMap<Hash, Vec<Hash>> = BTreeMap::new();
        for NewNode { hash, type_, file } in new {
            let path = disk.path(&hash);
            file.persist(&path).map_err(|error| io_error("write", &path)(error.error))?;
            lines.entry(type_).or_default().push(hash);
        }
        directory.sync_all().map_err(io_error("sync the directory", &disk.nodes))?;
        for (type_, hashes) in &lines {
            if hashes.contains(type_) {
                disk.index.append(META, &[*type_])?;
            }
            disk.index.append(type_.as_str(), hashes)?;
        }
        Ok(())
    }
}

impl Disk {
    /// A file in the directory of the nodes that removes itself unless it is persisted.
    pub(super) fn write_temp(&self, bytes: &[u8]) -> Result<(File, TempPath), StoreError> {
        let write = || -> io::Result<_> {
            let mut temp = tempfile::Builder::new()
                .prefix(super::TEMP_PREFIX)
                .suffix(super::TEMP_SUFFIX)
                .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666))
                .tempfile_in(&self.nodes)?;
            temp.write_all(bytes)?;
            Ok(temp.into_parts())
        };
        write().map_err(io_error("write a node to", &self.nodes))
    }
}
