//! The store: immutable nodes named by what they contain, and variables that name nodes.
//!
//! Reads down like this: `hash` and [`cbor`] say what a node is called; `node` what is in its file; `fs` how it gets
//! onto the disk; `vars` (and `rows`, its SQL) which names stand for which nodes; `graph`, `verify` and `gc` follow the
//! edges; `batch` and `census` are for many nodes. [`Store`] joins them. Opening costs the same for ten nodes and ten
//! million. [`schema`] is JSON Schema as far as the store allows it and needs no store; [`parallel`] and `regular` are
//! ways to read that those above need as well.
//!
//! Never decides what a node means: workflows, threads and steps are types like any other here.

mod batch;
pub mod cbor;
mod census;
mod error;
mod excerpt;
mod fs;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
mod gc;
mod graph;
mod hash;
mod node;
pub mod parallel;
mod regular;
mod rows;
pub mod schema;
mod vars;
mod verify;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;

use crate::schema::builtin::{self, META_SCHEMA};
use crate::schema::{Schema, Violation};
pub use batch::Batch;
pub use census::{Census, ReindexReport, TypeCensus};
pub use error::StoreError;
pub use excerpt::excerpt;
use fs::Disk;
pub use gc::{Collect, GcReport};
pub use graph::Walk;
pub use hash::{Hash, HashError};
use node::Encoded;
pub use node::{Node, is_deeper};
pub use regular::{only_regular, open_regular};
pub use vars::{Expect, VarChange, Variable, Vars, check_name};
pub use verify::{Finding, Referrer, VerifyReport};

/// Milliseconds since the epoch. The command lines pass the system's clock, tests one of their own.
pub type Clock = fn() -> u64;

/// A directory of nodes with its variables. Threads may share one.
pub struct Store {
    root: PathBuf,
    disk: Disk,
    vars: Vars,
    clock: Clock,
    /// The types seen so far: schemas never change, so an entry never gets old.
    types: Mutex<HashMap<Hash, Arc<Schema>>>,
}

impl Store {
    /// Opens a store, creating what a store must have and this one lacks.
    ///
    /// Reads nothing the store holds: one `stat` for each of the nodes that must be there, one query for the variables.
    pub fn open(root: &Path, clock: Clock) -> Result<Store, StoreError> {
        let disk = Disk::open(root)?;
        let is_complete = builtin::hashes().all(|hash| disk.is_filled(&hash));
        let filling = if is_complete { None } else { Some(disk.lock()?) };
        if filling.is_some() {
            disk.fill(&bootstrap(), clock())?;
        }
        let vars = Vars::open(root, disk.clone(), clock)?;
        drop(filling);
        Ok(Store { root: root.to_owned(), disk, vars, clock, types: Mutex::default() })
    }

    /// Stores a node, after checking it against its type. It is on the disk when this returns; storing it again writes
    /// nothing.
    pub fn put(&self, type_: &Hash, payload: &Value) -> Result<Hash, StoreError> {
        let node = self.encode(type_, payload, &HashMap::new())?;
        let hash = node.hash;
        self.disk.write(&[node], self.now())?;
        Ok(hash)
    }

    /// Stores many nodes at the price of one or two: all or none, synced together. A schema may
    /// be the type of nodes after it.
    pub fn put_all(&self, nodes: &[(Hash, Value)]) -> Result<Vec<Hash>, StoreError> {
        let mut batch = self.batch();
        let hashes: Vec<Hash> =
            nodes.iter().map(|(type_, payload)| batch.put(type_, payload)).collect::<Result<_, _>>()?;
        batch.commit()?;
        Ok(hashes)
    }

    /// Stores a schema; its hash is the type of the nodes that obey it.
    #[cfg(test)]
    fn put_schema(&self, schema: &Value) -> Result<Hash, StoreError> {
        self.put(&META_SCHEMA, schema)
    }

    /// Stores plain text.
    pub fn put_text(&self, text: &str) -> Result<Hash, StoreError> {
        self.put(&builtin::TEXT, &Value::from(text))
    }

    /// The node, checked against its hash.
    pub fn get(&self, hash: &Hash) -> Result<Node, StoreError> {
        self.find(hash)?.ok_or(StoreError::NotFound { hash: *hash })
    }

    /// The node, or none if there is no such node; a corrupt one is an error.
    pub fn find(&self, hash: &Hash) -> Result<Option<Node>, StoreError> {
        self.disk.read(hash)
    }

    /// Whether there is a file for this node; does not look into it.
    pub fn has(&self, hash: &Hash) -> bool {
        self.disk.exists(hash)
    }

    /// The nodes of this type, in the order they were put. This is what the index says, which can lack the last nodes
    /// before a power cut and still name nodes that were collected.
    pub fn indexed(&self, type_: &Hash) -> Result<Vec<Hash>, StoreError> {
        self.disk.index().read(type_.as_str())
    }

    /// The schema that is this type.
    pub fn schema_of(&self, type_: &Hash) -> Result<Value, StoreError> {
        self.type_(type_).map(|schema| schema.value().clone())
    }

    /// Everything that is wrong with a payload of this type; empty means it may be stored.
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

    /// The directory of the store.
    pub fn root(&self) -> &Path {
        &self.root
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

/// The nodes that every store holds.
fn bootstrap() -> Vec<Encoded> {
    builtin::schemas().values().map(schema_node).collect()
}

/// A schema as a node. The meta-schema is its own type; putting it again must find that node, not make another.
fn schema_node(schema: &Value) -> Encoded {
    let own = Encoded::new_self(schema);
    if own.hash == META_SCHEMA { own } else { Encoded::new(META_SCHEMA, schema) }
}

#[cfg(test)]
#[path = "store_tests.rs"]
mod tests;
