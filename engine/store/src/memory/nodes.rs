//! Nodes in a map.

use std::collections::{HashMap, HashSet};
use std::sync::PoisonError;

use super::{ByType, Memory, look};
use crate::error::StoreError;
use crate::hash::Hash;
use crate::node::{Comparison, Encoded};
use crate::nodes::{Lease, NodeBatch, NodeEntries, NodeEntry, Nodes, Stat};

#[derive(Default)]
pub(super) struct KeptNodes {
    nodes: HashMap<Hash, Bytes>,
    types: ByType,
}

struct Bytes {
    bytes: Vec<u8>,
    /// When it was put last.
    put: u64,
}

impl Nodes for Memory {
    fn read(&self, hash: &Hash) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(look(&self.nodes).nodes.get(hash).map(|kept| kept.bytes.clone()))
    }

    fn stat(&self, hash: &Hash) -> Option<Stat> {
        let kept = look(&self.nodes);
        kept.nodes.get(hash).map(|kept| Stat { bytes: kept.bytes.len() as u64, put: kept.put })
    }

    fn entries(&self, _now: u64) -> Result<NodeEntries<'_>, StoreError> {
        let hashes: Vec<Hash> = look(&self.nodes).nodes.keys().copied().collect();
        Ok(Box::new(hashes.into_iter().map(|hash| Ok(NodeEntry::Node(hash)))))
    }

    fn batch(&self) -> Box<dyn NodeBatch + '_> {
        Box::new(MemoryBatch { memory: self, seen: HashSet::new(), new: Vec::new(), newest: 0 })
    }

    fn of_type(&self, type_: &Hash) -> Result<Vec<Hash>, StoreError> {
        Ok(look(&self.nodes).types.get(type_).cloned().unwrap_or_default())
    }

    fn remove(&self, order: &[Hash]) -> Result<u64, StoreError> {
        let mut kept = look(&self.nodes);
        let gone: Vec<Bytes> = order.iter().filter_map(|hash| kept.nodes.remove(hash)).collect();
        let KeptNodes { nodes, types } = &mut *kept;
        types.values_mut().for_each(|hashes| hashes.retain(|hash| nodes.contains_key(hash)));
        Ok(gone.iter().map(|gone| gone.bytes.len() as u64).sum())
    }

    fn lock(&self) -> Result<Box<dyn Lease + '_>, StoreError> {
        Ok(Box::new(self.gate.write().unwrap_or_else(PoisonError::into_inner)))
    }

    fn hold(&self) -> Result<Box<dyn Lease + '_>, StoreError> {
        Ok(Box::new(self.gate.read().unwrap_or_else(PoisonError::into_inner)))
    }
}

struct MemoryBatch<'m> {
    memory: &'m Memory,
    seen: HashSet<Hash>,
    /// With their timestamps.
    new: Vec<(Encoded, u64)>,
    /// The time of the last one: all are as young.
    newest: u64,
}

impl MemoryBatch<'_> {
    /// Whether the node is there and whole; from now on it is as young as one that is put now.
    fn is_there(&self, node: &Encoded, now: u64) -> Result<bool, StoreError> {
        match self.memory.read(&node.hash)?.map(|bytes| node.compare(&bytes)) {
            None | Some(Comparison::Corrupt) => return Ok(false),
            Some(Comparison::Another) => return Err(StoreError::Collision { hash: node.hash }),
            Some(Comparison::Same) if self.memory.stat(&node.hash).is_some_and(|stat| stat.put >= now) => {
                return Ok(true);
            }
            Some(Comparison::Same) => {}
        }
        let _held = self.memory.hold()?;
        let mut kept = look(&self.memory.nodes);
        let there = kept.nodes.get_mut(&node.hash);
        Ok(there.map(|there| there.put = there.put.max(now)).is_some())
    }
}

impl NodeBatch for MemoryBatch<'_> {
    fn add(&mut self, node: &Encoded, timestamp: u64, now: u64) -> Result<(), StoreError> {
        if self.seen.insert(node.hash) && !self.is_there(node, now)? {
            self.new.push((node.clone(), timestamp));
            self.newest = self.newest.max(now);
        }
        Ok(())
    }

    fn contains(&self, hash: &Hash) -> bool {
        self.seen.contains(hash)
    }

    fn read(&self, hash: &Hash) -> Result<Option<Vec<u8>>, StoreError> {
        match self.new.iter().find(|(node, _)| node.hash == *hash) {
            Some((node, timestamp)) => Ok(Some(node.to_bytes(*timestamp))),
            None if self.seen.contains(hash) => self.memory.read(hash),
            None => Ok(None),
        }
    }

    fn commit(self: Box<Self>) -> Result<(), StoreError> {
        let mut kept = look(&self.memory.nodes);
        for (node, timestamp) in &self.new {
            let bytes = Bytes { bytes: node.to_bytes(*timestamp), put: self.newest };
            if kept.nodes.insert(node.hash, bytes).is_none() {
                kept.types.entry(node.type_).or_default().push(node.hash);
            }
        }
        Ok(())
    }
}
