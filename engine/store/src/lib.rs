//! The store: immutable nodes named by what they contain, and variables that name nodes.
//!
//! Reads down like this: `hash` and [`cbor`] say what a node is called; `node` what is kept of it; `nodes` and `names`
//! are the two interfaces behind which everything is kept; `vars` says which names stand for which nodes; `graph`,
//! `verify` and `gc` follow the edges; `batch`, `blob` and `stats` are for much at once. [`Store`] joins them,
//! and is written once for everything that keeps nodes and names: a directory (`fs`) with a database (`sqlite`), which is
//! the format that other programs read, or `memory`, for tests; whoever writes another one has `conformance` to hold it
//! to. Opening costs the same for ten nodes and ten million. [`schema`] is JSON Schema as far as the store allows it
//! and needs no store; [`parallel`], `regular` and [`atomic_file`] are ways to read and write that those above need as
//! well, and `secret_names`, `kind` and [`suggest`] are for those who import nothing else in common.
//!
//! `fs`, `sqlite` and `Store::open` are there with the feature `sqlite` alone, which is on unless it is turned off.
//!
//! Never decides what a node means: workflows, threads and steps are types like any other here, and those who need them
//! in every store hand them in ([`Profile`]).

#![cfg_attr(
    test,
    allow(clippy::disallowed_methods, reason = "tests are programs: they have an environment and a clock")
)]

pub mod atomic_file;
mod batch;
mod blob;
pub mod cbor;
#[cfg(any(test, feature = "conformance"))]
pub mod conformance;
mod error;
mod excerpt;
mod expect;
mod finding;
#[cfg(feature = "sqlite")]
mod fs;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
mod gc;
mod graph;
mod hash;
pub mod json;
mod kind;
mod memory;
mod names;
mod node;
mod nodes;
pub mod parallel;
mod profile;
mod regular;
pub mod schema;
mod secret_names;
#[cfg(feature = "sqlite")]
mod sqlite;
mod stats;
pub mod suggest;
mod vars;
mod verify;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;

use crate::schema::builtin::{self, META_SCHEMA};
use crate::schema::{Schema, Violation};
pub use batch::Batch;
pub use blob::{BLOB, BYTES, Blob, BlobReader, PIECE};
pub use error::{DatabaseFault, StoreError};
pub use excerpt::excerpt;
pub use expect::Expect;
pub use finding::{Finding, Referrer};
pub use gc::{Collect, GcReport};
pub use graph::Walk;
pub use hash::{Hash, HashError};
pub use kind::kind;
use memory::Memory;
pub use names::{HISTORY, Names, Row, VarChange, Variable, check_name};
pub use node::{Comparison, Encoded, Node, is_deeper};
pub use nodes::{Lease, Mended, NodeBatch, NodeEntries, NodeEntry, Nodes, Scan, Stat};
pub use profile::Profile;
pub use regular::{only_regular, open_regular};
pub use secret_names::sounds_secret;
pub use stats::{ReindexReport, StoreStats, TypeStats};
pub use vars::Vars;
pub use verify::VerifyReport;

/// Milliseconds since the epoch. The command lines pass the system's clock, tests one of their own.
pub type Clock = fn() -> u64;

/// The format of stores on disk, files of CBOR and a database of names: raised when older programs could not read what a newer
/// one writes.
pub const FORMAT: u32 = 1;

/// Nodes with the variables that name them. Threads may share one, and its clones are the same one.
#[derive(Clone)]
pub struct Store {
    nodes: Arc<dyn Nodes>,
    vars: Arc<Vars>,
    profile: Profile,
    clock: Clock,
    /// The types seen so far: schemas never change, so an entry never gets old.
    types: Arc<Mutex<HashMap<Hash, Arc<Schema>>>>,
}

impl Store {
    /// Opens the store in a directory, creating what a store must have and this one lacks.
    ///
    /// Reads nothing the store holds: one `stat` for each of the nodes that must be there, one query for the variables.
    /// Needs the feature `sqlite`.
    ///
    /// # Errors
    /// The directory or the database cannot be read or made, or its lock cannot be taken.
    #[cfg(feature = "sqlite")]
    pub fn open(root: &std::path::Path, profile: Profile, clock: Clock) -> Result<Store, StoreError> {
        let names = || Ok(Arc::new(sqlite::Sqlite::open(&root.join("vars"))?) as Arc<dyn Names>);
        Store::join(Arc::new(fs::Disk::open(root)?), names, profile, clock)
    }

    /// A store of its own that is gone with its last clone.
    ///
    /// # Errors
    /// The nodes of the profile cannot be stored.
    pub fn in_memory(profile: Profile, clock: Clock) -> Result<Store, StoreError> {
        let memory = Arc::new(Memory::default());
        Store::over(memory.clone(), memory, profile, clock)
    }

    /// A store over what keeps nodes and names in another way; the module `conformance` is what that must do.
    ///
    /// # Errors
    /// What keeps the nodes or the names fails while it is filled.
    pub fn over(
        nodes: Arc<dyn Nodes>,
        names: Arc<dyn Names>,
        profile: Profile,
        clock: Clock,
    ) -> Result<Store, StoreError> {
        Store::join(nodes, || Ok(names), profile, clock)
    }

    /// Of many that open a new store at once, one does the work while the others wait: names are opened and made under
    /// the same lock.
    fn join(
        nodes: Arc<dyn Nodes>,
        names: impl FnOnce() -> Result<Arc<dyn Names>, StoreError>,
        profile: Profile,
        clock: Clock,
    ) -> Result<Store, StoreError> {
        let is_filled = |hash| nodes.stat(&hash).is_some_and(|stat| stat.bytes > 0);
        let is_complete = profile.hashes().all(is_filled);
        let filling = if is_complete { None } else { Some(nodes.lock()?) };
        if filling.is_some() {
            fill(&*nodes, &profile, clock())?;
        }
        let names = names()?;
        names.ensure(META_SCHEMA, &builtin::ALIASES, clock())?;
        drop(filling);
        let vars = Vars { names, nodes: Arc::clone(&nodes), moved: profile.moved, clock };
        Ok(Store { nodes, vars: Arc::new(vars), profile, clock, types: Arc::default() })
    }

    /// Stores a node, after checking it against its type. It is on the disk when this returns; storing it again writes
    /// nothing.
    ///
    /// # Errors
    /// The type is not a schema of the store, the payload does not obey it or is nested too deeply, or the node cannot
    /// be written.
    pub fn put(&self, type_: &Hash, payload: &Value) -> Result<Hash, StoreError> {
        let node = self.encode(type_, payload, &HashMap::new())?;
        let now = self.now();
        let mut batch = self.nodes.batch();
        batch.add(&node, now, now)?;
        batch.commit()?;
        Ok(node.hash)
    }

    /// Stores many nodes at the price of one or two: all or none, synced together. A schema may
    /// be the type of nodes after it.
    ///
    /// # Errors
    /// One of the nodes is refused as in [`Store::put`], or they cannot be written.
    pub fn put_all(&self, nodes: &[(Hash, Value)]) -> Result<Vec<Hash>, StoreError> {
        let mut batch = self.batch();
        let hashes: Vec<Hash> =
            nodes.iter().map(|(type_, payload)| batch.put(type_, payload)).collect::<Result<_, _>>()?;
        batch.commit()?;
        Ok(hashes)
    }

    /// Stores a schema; its hash is the type of the nodes that obey it.
    // Here and below the two stand apart, not in one `all(…)`: the linter takes `cfg(test)` alone for a test.
    #[cfg(test)]
    #[cfg(feature = "sqlite")]
    fn put_schema(&self, schema: &Value) -> Result<Hash, StoreError> {
        self.put(&META_SCHEMA, schema)
    }

    /// Stores plain text.
    ///
    /// # Errors
    /// The node cannot be written.
    pub fn put_text(&self, text: &str) -> Result<Hash, StoreError> {
        self.put(&builtin::TEXT, &Value::from(text))
    }

    /// The node, checked against its hash.
    ///
    /// # Errors
    /// [`StoreError::NotFound`], [`StoreError::Corrupt`], or the file cannot be read.
    pub fn get(&self, hash: &Hash) -> Result<Node, StoreError> {
        self.find(hash)?.ok_or(StoreError::NotFound { hash: *hash })
    }

    /// The node, or none if there is no such node; a corrupt one is an error.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`], or the file cannot be read.
    pub fn find(&self, hash: &Hash) -> Result<Option<Node>, StoreError> {
        self.nodes.read(hash)?.map(|bytes| node::checked(hash, &bytes)).transpose()
    }

    /// Whether something is kept under this hash; does not look into it.
    pub fn has(&self, hash: &Hash) -> bool {
        self.nodes.has(hash)
    }

    /// The nodes of this type, in the order they were put. This is what the index says, which can lack the last nodes
    /// before a power cut and still name nodes that were collected.
    ///
    /// # Errors
    /// The index cannot be read.
    pub fn indexed(&self, type_: &Hash) -> Result<Vec<Hash>, StoreError> {
        self.nodes.of_type(type_)
    }

    /// The schema that is this type.
    ///
    /// # Errors
    /// [`StoreError::UnknownType`] when it is not a schema of the store; otherwise the node cannot be read.
    pub fn schema_of(&self, type_: &Hash) -> Result<Value, StoreError> {
        self.type_(type_).map(|schema| schema.value().clone())
    }

    /// Everything that is wrong with a payload of this type; empty means it may be stored.
    ///
    /// # Errors
    /// The type is not a schema of the store, cannot be read, or nothing can be validated against it.
    pub fn validate(&self, type_: &Hash, payload: &Value) -> Result<Vec<Violation>, StoreError> {
        if *type_ == META_SCHEMA {
            return Ok(schema::check(payload).err().map(Violation::from).into_iter().collect());
        }
        Ok(self.type_(type_)?.validate(payload)?)
    }

    /// The variables.
    pub fn vars(&self) -> &Vars {
        &self.vars
    }

    /// The time, in milliseconds since the epoch.
    pub fn now(&self) -> u64 {
        (self.clock)()
    }

    /// Checks a node and encodes it; `batch` holds schemas that are about to be stored with it.
    fn encode(
        &self,
        type_: &Hash,
        payload: &Value,
        batch: &HashMap<Hash, Arc<Schema>>,
    ) -> Result<Encoded, StoreError> {
        if is_deeper(payload, node::MAX_DEPTH) {
            return Err(StoreError::TooDeep { limit: node::MAX_DEPTH });
        }
        if *type_ == META_SCHEMA {
            schema::check(payload)?;
            return Ok(schema_node(payload));
        }
        let schema = batch.get(type_).cloned().map_or_else(|| self.type_(type_), Ok)?;
        let violations = schema.validate(payload)?;
        if !violations.is_empty() {
            return Err(StoreError::Invalid { type_: *type_, violations });
        }
        Ok(Encoded::new(*type_, payload))
    }

    /// Types may have been collected.
    fn forget_types(&self) {
        self.types.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    fn type_(&self, hash: &Hash) -> Result<Arc<Schema>, StoreError> {
        if let Some(schema) = self.types.lock().unwrap_or_else(PoisonError::into_inner).get(hash) {
            return Ok(Arc::clone(schema));
        }
        let unknown = |exists| StoreError::UnknownType { type_: *hash, exists };
        let node = self.find(hash)?.ok_or_else(|| unknown(false))?;
        if node.type_ != META_SCHEMA {
            return Err(unknown(true));
        }
        let schema = Arc::new(Schema::new(node.payload));
        self.types.lock().unwrap_or_else(PoisonError::into_inner).insert(*hash, Arc::clone(&schema));
        Ok(schema)
    }
}

/// The node in these bytes, whatever hash they have: what reading a file of that name would make of them.
#[cfg(feature = "fuzzing")]
fn node_in(hash: &Hash, bytes: &[u8]) -> Result<Node, String> {
    node::from_bytes(hash, bytes)
}

/// Makes sure that the nodes every store has are there, for one who has the lock: they are never collected, so those
/// that are there need not be made young.
fn fill(nodes: &dyn Nodes, profile: &Profile, now: u64) -> Result<(), StoreError> {
    let mut lacking = nodes.batch();
    for schema in builtin::schemas().into_values().chain((profile.values)()) {
        let node = schema_node(&schema);
        let found = nodes.read(&node.hash)?.map(|bytes| node.compare(&bytes));
        if found != Some(Comparison::Same) {
            lacking.add(&node, now, now)?;
        }
    }
    lacking.commit()
}

/// A schema as a node. The meta-schema is its own type; putting it again must find that node, not make another.
fn schema_node(schema: &Value) -> Encoded {
    let own = Encoded::new_self(schema);
    if own.hash == META_SCHEMA { own } else { Encoded::new(META_SCHEMA, schema) }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store").finish_non_exhaustive()
    }
}

#[cfg(test)]
#[cfg(feature = "sqlite")]
#[path = "store_tests.rs"]
mod tests;
