//! What a store holds, counted, and the index made anew from it: the two passes that only ask for each node's type.
//!
//! Apart from [`super::verify`] because neither judges a node: a node that cannot be read is counted and passed over.

use std::collections::BTreeMap;

use super::nodes::{Mended, NodeEntry, Scan};
use super::{Hash, Store, StoreError, node};

/// How much there is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StoreStats {
    /// Node files.
    pub nodes: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Node files that cannot be read; they are of no type.
    pub unreadable: u64,
    /// How much there is of each type.
    pub types: BTreeMap<Hash, TypeStats>,
}

/// How much there is of one type.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TypeStats {
    /// Node files.
    pub nodes: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// What the index lacked, and what it had too much.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct ReindexReport {
    /// Nodes that are in the index now.
    pub nodes: u64,
    /// Their types.
    pub types: u64,
    /// Lines added.
    pub added: u64,
    /// Lines struck out: repeats, nodes that are not there or of another type, and what is no hash.
    pub struck: u64,
    /// Node files that cannot be read, and so are not in the index.
    pub unreadable: u64,
}

impl Store {
    /// Counts the nodes. Reads every file, but does not check what is in it.
    ///
    /// # Errors
    /// The nodes cannot be listed. One that cannot be read is counted.
    pub fn stats(&self) -> Result<StoreStats, StoreError> {
        let mut stats = StoreStats::default();
        self.each_type(&mut |_, size, head| {
            stats.nodes += 1;
            stats.bytes += size;
            let Some((type_, _)) = head else {
                stats.unreadable += 1;
                return;
            };
            let of_type = stats.types.entry(type_).or_default();
            of_type.nodes += 1;
            of_type.bytes += size;
        })?;
        Ok(stats)
    }

    /// Every node of this type, whatever the index says. Reads every file.
    ///
    /// # Errors
    /// The nodes cannot be listed.
    pub fn all_of(&self, type_: &Hash) -> Result<Vec<Hash>, StoreError> {
        let mut found = Vec::new();
        self.each_type(&mut |hash, _, head| {
            found.extend(head.filter(|(of, _)| of == type_).map(|_| hash));
        })?;
        Ok(found)
    }

    /// The hashes of which `is_wanted` holds, in no order. Reads no file, only their names.
    ///
    /// # Errors
    /// The nodes cannot be listed.
    pub fn hashes(&self, is_wanted: &dyn Fn(&Hash) -> bool) -> Result<Vec<Hash>, StoreError> {
        let wanted = |entry| match entry {
            Ok(NodeEntry::Node(hash)) => is_wanted(&hash).then_some(Ok(hash)),
            Ok(NodeEntry::Stray(_)) => None,
            Err(error) => Some(Err(error)),
        };
        self.nodes.entries(self.now())?.filter_map(wanted).collect()
    }

    /// Makes the index say what the nodes say: missing lines are added, oldest node first, wrong ones struck out. Lines
    /// that are right stay where they are, so that other programs may write at the same time.
    ///
    /// # Errors
    /// The lock cannot be taken, the nodes cannot be listed, or the index cannot be written.
    pub fn reindex(&self) -> Result<ReindexReport, StoreError> {
        let _lock = self.nodes.lock()?;
        let (scan, unreadable) = self.scan_types()?;
        let types = scan.types.len() as u64;
        let nodes = scan.types.values().map(|nodes| nodes.len() as u64).sum();
        let Mended { added, struck } = self.nodes.reindex(scan)?;
        Ok(ReindexReport { nodes, types, added, struck, unreadable })
    }

    /// What there is of each type, and how much cannot be read.
    fn scan_types(&self) -> Result<(Scan, u64), StoreError> {
        let (mut scan, mut unreadable) = (Scan::default(), 0);
        self.each_type(&mut |hash, _, head| {
            scan.seen.insert(hash);
            match head {
                Some((type_, timestamp)) => scan.types.entry(type_).or_default().push((timestamp, hash)),
                None => unreadable += 1,
            }
        })?;
        Ok((scan, unreadable))
    }

    /// Every node file with its size and, if it can be told, the node's type and timestamp.
    fn each_type(&self, visit: &mut dyn FnMut(Hash, u64, Option<(Hash, u64)>)) -> Result<(), StoreError> {
        for entry in self.nodes.entries(self.now())? {
            let NodeEntry::Node(hash) = entry? else { continue };
            // Removed since the directory was read.
            let Some(bytes) = self.nodes.read(&hash)? else { continue };
            visit(hash, bytes.len() as u64, node::head(&bytes));
        }
        Ok(())
    }
}

#[cfg(test)]
#[cfg(feature = "sqlite")]
#[path = "stats_tests.rs"]
mod tests;
