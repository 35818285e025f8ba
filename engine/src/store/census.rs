//! What a store holds, counted, and the index made anew from it: the two passes that only ask for each node's type.
//!
//! Apart from [`super::verify`] because neither judges a node: a node that cannot be read is counted and passed over.

use std::collections::{BTreeMap, HashSet};

use super::fs::{Entry, META};
use super::node;
use super::{Hash, Store, StoreError};

/// How much there is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Census {
    /// Node files.
    pub nodes: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Node files that cannot be read; they are of no type.
    pub unreadable: u64,
    /// How much there is of each type.
    pub types: BTreeMap<Hash, TypeCensus>,
}

/// How much there is of one type.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TypeCensus {
    /// Node files.
    pub nodes: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// What the index lacked, and what it had too much.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
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
    pub fn census(&self) -> Result<Census, StoreError> {
        let mut census = Census::default();
        self.each_type(&mut |_, size, head| {
            census.nodes += 1;
            census.bytes += size;
            let Some((type_, _)) = head else {
                census.unreadable += 1;
                return;
            };
            let of_type = census.types.entry(type_).or_default();
            of_type.nodes += 1;
            of_type.bytes += size;
        })?;
        Ok(census)
    }

    /// Makes the index say what the nodes say: missing lines are added, oldest node first, wrong ones struck out. Lines
    /// that are right stay where they are, so that other programs may write at the same time.
    pub fn reindex(&self) -> Result<ReindexReport, StoreError> {
        let _lock = self.disk.lock()?;
        let mut report = ReindexReport::default();
        let mut types: BTreeMap<Hash, Vec<(u64, Hash)>> = BTreeMap::new();
        self.each_type(&mut |hash, _, head| match head {
            Some((type_, timestamp)) => types.entry(type_).or_default().push((timestamp, hash)),
            None => report.unreadable += 1,
        })?;
        let own = types.iter().filter(|(type_, nodes)| nodes.iter().any(|(_, hash)| hash == *type_));
        let own: Vec<(u64, Hash)> = own.map(|(type_, _)| (0, *type_)).collect();
        report.types = types.len() as u64;
        report.nodes = types.values().map(|nodes| nodes.len() as u64).sum();
        for name in self.disk.index().names()? {
            match name.parse::<Hash>() {
                Ok(type_) if !types.contains_key(&type_) => self.disk.index().remove(&name)?,
                _ => {}
            }
        }
        self.mend_index(META, own, &mut report)?;
        for (type_, nodes) in types {
            self.mend_index(type_.as_str(), nodes, &mut report)?;
        }
        Ok(report)
    }

    fn mend_index(
        &self,
        name: &str,
        mut nodes: Vec<(u64, Hash)>,
        report: &mut ReindexReport,
    ) -> Result<(), StoreError> {
        let index = self.disk.index();
        let mut wanted: HashSet<Hash> = nodes.iter().map(|(_, hash)| *hash).collect();
        // The second line of a node is not wanted any more.
        report.struck += index.strike(name, &mut |hash| wanted.remove(hash))?;
        nodes.retain(|(_, hash)| wanted.contains(hash));
        nodes.sort();
        let missing: Vec<Hash> = nodes.into_iter().map(|(_, hash)| hash).collect();
        report.added += missing.len() as u64;
        if missing.is_empty() {
            return Ok(());
        }
        index.end_last_line(name)?;
        index.append(name, &missing)
    }

    /// Every node file with its size and, if it can be told, the node's type and timestamp.
    fn each_type(&self, visit: &mut dyn FnMut(Hash, u64, Option<(Hash, u64)>)) -> Result<(), StoreError> {
        for entry in self.disk.entries(self.now())? {
            let Entry::Node(hash) = entry? else { continue };
            // Removed since the directory was read.
            let Some(bytes) = self.disk.read_bytes(&hash)? else { continue };
            visit(hash, bytes.len() as u64, node::head(&bytes));
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "census_tests.rs"]
mod tests;
