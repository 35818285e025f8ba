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

/// The nodes as they were when the directory was read.
#[derive(Default)]
struct Scan {
    types: BTreeMap<Hash, Vec<(u64, Hash)>>,
    /// All, those that cannot be read included.
    seen: HashSet<Hash>,
    unreadable: u64,
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

    /// Every node of this type, whatever the index says. Reads every file.
    pub fn all_of(&self, type_: &Hash) -> Result<Vec<Hash>, StoreError> {
        let mut found = Vec::new();
        self.each_type(&mut |hash, _, head| {
            found.extend(head.filter(|(of, _)| of == type_).map(|_| hash));
        })?;
        Ok(found)
    }

    /// Makes the index say what the nodes say: missing lines are added, oldest node first, wrong ones struck out. Lines
    /// that are right stay where they are, so that other programs may write at the same time.
    pub fn reindex(&self) -> Result<ReindexReport, StoreError> {
        let _lock = self.disk.lock()?;
        self.mend(self.scan_types()?)
    }

    fn scan_types(&self) -> Result<Scan, StoreError> {
        let mut scan = Scan::default();
        self.each_type(&mut |hash, _, head| {
            scan.seen.insert(hash);
            match head {
                Some((type_, timestamp)) => scan.types.entry(type_).or_default().push((timestamp, hash)),
                None => scan.unreadable += 1,
            }
        })?;
        Ok(scan)
    }

    fn mend(&self, Scan { types, seen, unreadable }: Scan) -> Result<ReindexReport, StoreError> {
        let mut report = ReindexReport { unreadable, ..ReindexReport::default() };
        let own = types.iter().filter(|(type_, nodes)| nodes.iter().any(|(_, hash)| hash == *type_));
        let own: Vec<(u64, Hash)> = own.map(|(type_, _)| (0, *type_)).collect();
        report.types = types.len() as u64;
        report.nodes = types.values().map(|nodes| nodes.len() as u64).sum();
        // What was put since then: its line is right, and nobody would add it again.
        let new = |hash: &Hash| !seen.contains(hash) && self.disk.exists(hash);
        for name in self.disk.index().names()? {
            let gone = name.parse::<Hash>().is_ok_and(|type_| !types.contains_key(&type_));
            if gone && !self.disk.index().read(&name)?.iter().any(new) {
                self.disk.index().remove(&name)?;
            }
        }
        self.mend_index(META, own, &new, &mut report)?;
        for (type_, nodes) in types {
            self.mend_index(type_.as_str(), nodes, &new, &mut report)?;
        }
        Ok(report)
    }

    fn mend_index(
        &self,
        name: &str,
        mut nodes: Vec<(u64, Hash)>,
        new: &dyn Fn(&Hash) -> bool,
        report: &mut ReindexReport,
    ) -> Result<(), StoreError> {
        let index = self.disk.index();
        let wanted: HashSet<Hash> = nodes.iter().map(|(_, hash)| *hash).collect();
        let mut seen = HashSet::new();
        report.struck += index.strike(name, &mut |hash| {
            // The second line of a node is not wanted any more.
            (wanted.contains(hash) || new(hash)) && seen.insert(*hash)
        })?;
        nodes.retain(|(_, hash)| !seen.contains(hash));
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
