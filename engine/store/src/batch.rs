//! Many nodes at the price of one or two syncs: each is checked and written as it comes, all appear together.
//!
//! Apart from [`Store::put_all`] for those who do not have all nodes in memory. Never keeps a payload, but the schemas
//! that are to be types of the nodes after them.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;

use super::graph::refs_under;
use super::nodes::NodeBatch;
use super::{Hash, Node, Store, StoreError, node};
use crate::schema::Schema;
use crate::schema::builtin::META_SCHEMA;

/// Nodes that are about to be stored: all by [`Batch::commit`], none if it is dropped.
pub struct Batch<'s> {
    store: &'s Store,
    staged: Box<dyn NodeBatch + 's>,
    schemas: HashMap<Hash, Arc<Schema>>,
}

impl Store {
    /// Begins a batch. A schema in it may be the type of nodes after it.
    pub fn batch(&self) -> Batch<'_> {
        Batch { store: self, staged: self.nodes.batch(), schemas: HashMap::new() }
    }
}

impl Batch<'_> {
    /// Adds a node, after checking it against its type.
    ///
    /// # Errors
    /// The type is not a schema of the store or of this batch, the payload does not obey it or is nested too deeply, or
    /// the node cannot be written.
    pub fn put(&mut self, type_: &Hash, payload: &Value) -> Result<Hash, StoreError> {
        let now = self.store.now();
        self.add(type_, payload, now)
    }

    /// Adds a node that comes from another store and keeps its timestamp, unless it is here already. All that it refers
    /// to must be here or have been added.
    ///
    /// # Errors
    /// As [`Batch::put`]; and [`StoreError::NotFound`] when a node that it refers to is not there.
    pub fn put_node(&mut self, node: &Node) -> Result<Hash, StoreError> {
        let hash = self.add(&node.type_, &node.payload, node.timestamp)?;
        if node.type_ != META_SCHEMA {
            let schema = self.schemas.get(&node.type_).cloned();
            let schema = schema.map_or_else(|| self.store.type_(&node.type_), Ok)?;
            let there = |hash: &Hash| self.staged.contains(hash) || self.store.has(hash);
            if let Some(hash) =
                refs_under(schema.value(), &node.payload).into_iter().find(|hash| !there(hash))
            {
                return Err(StoreError::NotFound { hash });
            }
        }
        Ok(hash)
    }

    /// A node that was added.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] when it was not added, [`StoreError::Corrupt`] when its bytes are damaged.
    pub fn get(&self, hash: &Hash) -> Result<Node, StoreError> {
        let bytes = self.staged.read(hash)?.ok_or(StoreError::NotFound { hash: *hash })?;
        node::checked(hash, &bytes)
    }

    /// Makes all nodes durable and visible, in the order they were added.
    ///
    /// # Errors
    /// The nodes cannot be written; those that came first may be there.
    pub fn commit(self) -> Result<(), StoreError> {
        self.staged.commit()
    }

    /// Whether this schema was added.
    pub(super) fn knows(&self, type_: &Hash) -> bool {
        self.schemas.contains_key(type_)
    }

    fn add(&mut self, type_: &Hash, payload: &Value, timestamp: u64) -> Result<Hash, StoreError> {
        let node = self.store.encode(type_, payload, &self.schemas)?;
        if *type_ == META_SCHEMA {
            self.schemas.insert(node.hash, Arc::new(Schema::new(payload.clone())));
        }
        self.staged.add(&node, timestamp, self.store.now())?;
        Ok(node.hash)
    }
}
