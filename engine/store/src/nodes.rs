//! What keeps nodes: the interface between what a store means and where its bytes are.
//!
//! A node is kept as the bytes of its file, under its hash; what is in them is read and judged once, above this. An
//! implementation decides where they are, how they get there durably, and how writers and a collector keep out of each
//! other's way. Times are milliseconds since the epoch. Never interprets a payload.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use super::{Encoded, Hash, StoreError};

/// The nodes of one store. Threads and, where it is more than memory, processes share it.
pub trait Nodes: Send + Sync {
    /// The bytes kept under this hash, whatever they are; none if there are none.
    ///
    /// # Errors
    /// What is there cannot be read.
    fn read(&self, hash: &Hash) -> Result<Option<Vec<u8>>, StoreError>;

    /// How much is kept under this hash and since when, without reading it.
    fn stat(&self, hash: &Hash) -> Option<Stat>;

    /// Whether anything is kept under this hash, be it empty.
    fn has(&self, hash: &Hash) -> bool {
        self.stat(hash).is_some()
    }

    /// Everything that is kept, each once, in no order. What is put or removed meanwhile may be among it or not.
    ///
    /// # Errors
    /// The nodes cannot be listed; an item is an error when listing fails later.
    fn entries(&self, now: u64) -> Result<NodeEntries<'_>, StoreError>;

    /// Begins to put nodes that are to appear together.
    fn batch(&self) -> Box<dyn NodeBatch + '_>;

    /// The nodes of this type, in the order they were put, each once. May lack the last ones before a crash and name
    /// some that were removed.
    ///
    /// # Errors
    /// The listing cannot be read.
    fn of_type(&self, type_: &Hash) -> Result<Vec<Hash>, StoreError>;

    /// Removes these, one after the other in this order, durably, and gives their bytes; what is gone already is no
    /// error. Killed on the way it has removed the first ones and none of the others. For one who has the
    /// [`Nodes::lock`].
    ///
    /// # Errors
    /// A node cannot be removed, or the removal cannot be made durable; those before it are gone.
    fn remove(&self, order: &[Hash]) -> Result<u64, StoreError>;

    /// Removes something that [`Nodes::entries`] gave as [`NodeEntry::Stray`], if a killed writer left it, and gives its
    /// bytes; none if it is something else. With `dry_run` it stays.
    ///
    /// # Errors
    /// The stray cannot be removed.
    fn sweep(&self, _stray: &Path, _dry_run: bool) -> Result<Option<u64>, StoreError> {
        Ok(None)
    }

    /// Has [`Nodes::of_type`] forget what does not exist. For an implementation whose listing cannot be out of step
    /// there is nothing to do.
    ///
    /// # Errors
    /// The listing cannot be read or written.
    fn strike(&self, _exists: &dyn Fn(&Hash) -> bool) -> Result<(), StoreError> {
        Ok(())
    }

    /// Has [`Nodes::of_type`] say what was found by reading each node, and what was put since then; see
    /// [`Nodes::strike`].
    ///
    /// # Errors
    /// The listing cannot be read or written.
    fn reindex(&self, _found: Scan) -> Result<Mended, StoreError> {
        Ok(Mended::default())
    }

    /// The right to remove, held alone until it is dropped: waits until nobody has it or [`Nodes::hold`]s, in any
    /// process. A store is filled for the first time and collected by who has it. Nobody puts nodes while having it but
    /// those that are not there.
    ///
    /// # Errors
    /// The lock cannot be taken.
    fn lock(&self) -> Result<Box<dyn Lease + '_>, StoreError>;

    /// That nothing is removed until it is dropped, together with others: for one who names a node that must be there,
    /// or says that a node need not be written since it is there.
    ///
    /// # Errors
    /// The lock cannot be taken.
    fn hold(&self) -> Result<Box<dyn Lease + '_>, StoreError>;
}

/// Nodes that are about to be put: all by [`NodeBatch::commit`], none if it is dropped. Until then nobody sees them.
///
/// What is there already and whole is not put again but is as young as if it were: a collector must not take it. What is
/// new is as young as the last new one that was added, however long ago it was added itself.
pub trait NodeBatch: Send {
    /// Adds a node unless it is there already, in the store or here. `timestamp` is for a new one, `now` is the time.
    ///
    /// # Errors
    /// [`StoreError::Collision`] when another node of this hash is there; what is corrupt is replaced.
    fn add(&mut self, node: &Encoded, timestamp: u64, now: u64) -> Result<(), StoreError>;

    /// Whether it was added, be it that it was there already.
    fn contains(&self, hash: &Hash) -> bool;

    /// The bytes of a node that was added, be it that it was there already.
    ///
    /// # Errors
    /// What is there cannot be read.
    fn read(&self, hash: &Hash) -> Result<Option<Vec<u8>>, StoreError>;

    /// Makes all of them durable and visible. Whoever crashes on the way leaves the first ones, in the order they were
    /// added, and none of the others.
    ///
    /// # Errors
    /// A node cannot be written; those that were added before it may be there.
    fn commit(self: Box<Self>) -> Result<(), StoreError>;
}

/// Something that is had until it is dropped; see [`Nodes::lock`].
pub trait Lease {}

impl<T> Lease for T {}

/// See [`Nodes::entries`].
pub type NodeEntries<'n> = Box<dyn Iterator<Item = Result<NodeEntry, StoreError>> + 'n>;

/// How much is kept of a node, and since when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stat {
    /// All bytes.
    pub bytes: u64,
    /// When it was put last, in milliseconds since the epoch: by the clock of whoever keeps it.
    pub put: u64,
}

/// One thing that is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NodeEntry {
    /// What has the hash of a node for a name.
    Node(Hash),
    /// A file that no program of today will ever read: an abandoned temp file, or somebody's notes.
    Stray(PathBuf),
}

/// The nodes as they were when they were listed, by what is in them.
#[derive(Debug, Default)]
pub struct Scan {
    /// The nodes of each type, with their timestamps.
    pub types: BTreeMap<Hash, Vec<(u64, Hash)>>,
    /// All, those that cannot be read included.
    pub seen: HashSet<Hash>,
}

/// What a listing by type lacked, and what it had too much.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Mended {
    /// Nodes it lacked.
    pub added: u64,
    /// Repeats, nodes that are not there or of another type, and what is no hash.
    pub struck: u64,
}
