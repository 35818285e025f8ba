//! Collecting what nobody needs any more: mark from the variables, sweep the rest.
//!
//! **What stays.** Everything that can be reached, over references and types, from
//! - the value and the schema of every row of every variable, and of its history: going back to it must work;
//! - nodes that carry tags;
//! - the nodes every store holds;
//! - what the caller names besides, see [`Collect`];
//! - every node that was put within the last hour, or since the oldest run began that is going on: who puts a node
//!   names it later.
//!
//! **Whenever it is killed**, the store verifies: a node goes before the nodes it refers to, so that no reference is
//! ever left without its node. Marking needs no lock; sweeping holds the directory's, and begins by marking what was
//! named meanwhile. A reachable node that cannot be read ends it before anything is removed, since what that node
//! refers to would be lost as well.
//!
//! Keeps the hash of each node in memory, never its content. Never removes a file that is neither a node nor an
//! abandoned temp file.

use std::collections::{BTreeSet, HashSet};
use std::time::SystemTime;

use super::fs::{self, Entry, META};
use super::{Finding, Hash, Referrer, Store, StoreError};
use crate::schema::builtin;

/// What is kept beside what the variables lead to, and how it is gone about.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Collect {
    /// Nodes that are needed though no variable leads to them; those that do not exist are passed over.
    pub roots: Vec<Hash>,
    /// Everything put since this moment is needed, in milliseconds since the epoch: when the oldest run began.
    pub since: Option<u64>,
    /// What is known to be wrong with needed nodes, so that not all of the roots could be told.
    pub findings: Vec<Finding>,
    /// Says what would be done and changes nothing.
    pub dry_run: bool,
    /// Goes on though reachable nodes are missing or corrupt.
    pub force: bool,
}

/// What was done, or would be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GcReport {
    /// Nodes removed.
    pub removed: u64,
    /// Nodes that stay.
    pub kept: u64,
    /// Temp files of killed writers removed.
    pub temporary: u64,
    /// Bytes of all files removed.
    pub bytes: u64,
}

impl Store {
    /// Removes what can be reached from nowhere. See the module for what that is.
    ///
    /// # Errors
    /// [`StoreError::Unsound`] when a reachable node is missing or corrupt; nothing was removed then.
    pub fn gc(&self, how: &Collect) -> Result<GcReport, StoreError> {
        let mut marked = Marked { store: self, hashes: HashSet::new(), findings: how.findings.clone() };
        marked.all_roots(how)?;
        let lock = if how.dry_run { None } else { Some(self.disk.lock()?) };
        marked.all_roots(how)?;
        if !marked.findings.is_empty() && !how.force {
            return Err(StoreError::Unsound { findings: marked.findings });
        }
        let (garbage, mut report) = self.scan(how, &mut marked)?;
        report.removed = garbage.len() as u64;
        let order = self.referrers_first(&garbage);
        let size = |hash| self.disk.size_and_time(hash).map_or(0, |(size, _)| size);
        let Some(directory) = lock else {
            report.bytes += order.iter().map(size).sum::<u64>();
            return Ok(report);
        };
        report.bytes += self.disk.remove_in_order(&order)?;
        self.forget_types();
        directory.sync_all().map_err(fs::io_error("sync the directory", &self.root))?;
        self.strike_from_index(&marked.hashes)?;
        Ok(report)
    }

    /// The nodes that may go, after marking what young ones need; abandoned temp files are swept on the way.
    fn scan(&self, how: &Collect, marked: &mut Marked<'_>) -> Result<(BTreeSet<Hash>, GcReport), StoreError> {
        let mut report = GcReport::default();
        let (mut young, mut garbage) = (Vec::new(), BTreeSet::new());
        let limit = young_since(self.now(), how.since);
        for entry in self.disk.entries(self.now())? {
            match entry? {
                Entry::Node(hash) if marked.hashes.contains(&hash) => report.kept += 1,
                Entry::Node(hash) => match self.disk.size_and_time(&hash) {
                    Some((_, time)) if time >= limit => young.push(hash),
                    Some(_) => drop(garbage.insert(hash)),
                    None => {}
                },
                Entry::Stray(path) => {
                    if let Some(size) = self.disk.sweep(&path, how.dry_run)? {
                        report.temporary += 1;
                        report.bytes += size;
                    }
                }
            }
        }
        report.kept += young.len() as u64;
        let all = garbage.len() as u64;
        young.iter().try_for_each(|hash| marked.reach(*hash, None))?;
        garbage.retain(|hash| !marked.hashes.contains(hash));
        report.kept += all - garbage.len() as u64;
        Ok((garbage, report))
    }

    /// The index forgets nodes that are not there, and types that are not there altogether. Looks at every line, so
    /// that it also mends what a killed collector left undone.
    fn strike_from_index(&self, marked: &HashSet<Hash>) -> Result<(), StoreError> {
        let exists = |hash: &Hash| marked.contains(hash) || self.disk.exists(hash);
        for name in self.disk.index().names()? {
            match name.parse() {
                Ok(type_) if !exists(&type_) => self.disk.index().remove(&name)?,
                Err(_) if name != META => {}
                _ => drop(self.disk.index().strike(&name, &mut |hash| exists(hash))?),
            }
        }
        Ok(())
    }
}

/// Nodes put since then stay.
fn young_since(now: u64, since: Option<u64>) -> SystemTime {
    fs::before(since.map_or(now, |since| since.min(now)), fs::YOUNG)
}

/// The nodes that were reached, and what was not there to be reached.
struct Marked<'s> {
    store: &'s Store,
    hashes: HashSet<Hash>,
    findings: Vec<Finding>,
}

impl Marked<'_> {
    fn all_roots(&mut self, how: &Collect) -> Result<(), StoreError> {
        let (mut named, mut damaged) = (Vec::new(), Vec::new());
        self.store.vars.each_row("", &mut |row| {
            let (value, schema) = (row.value.parse::<Hash>(), row.schema.parse::<Hash>());
            for hash in [&value, &schema].into_iter().flatten() {
                named.push((*hash, row.name.clone()));
            }
            // What it names is not known, and so would not be kept.
            if let Some(error) = value.err().or(schema.err()) {
                damaged.push(Finding::Variable { name: row.name, why: error.to_string() });
            }
            Ok(())
        })?;
        damaged.retain(|finding| !self.findings.contains(finding));
        self.findings.append(&mut damaged);
        for (hash, name) in named {
            self.reach(hash, Some(Referrer::Variable(name)))?;
        }
        let remembered = self.store.vars.remembered()?;
        remembered.iter().chain(&how.roots).try_for_each(|hash| self.reach(*hash, None))?;
        // Last: one that is damaged is a finding when a node that is needed is of this type.
        builtin::hashes().try_for_each(|hash| self.reach(hash, None))
    }

    /// Marks everything that can be reached from here. With a referrer the nodes on the way must be there.
    fn reach(&mut self, root: Hash, referrer: Option<Referrer>) -> Result<(), StoreError> {
        if self.hashes.contains(&root) {
            return Ok(());
        }
        let needed = referrer.is_some();
        let mut open = vec![(root, referrer)];
        while let Some((hash, referrer)) = open.pop() {
            if !self.hashes.insert(hash) {
                continue;
            }
            match self.store.find(&hash) {
                Ok(Some(node)) => {
                    let edges = self.store.edges(&node)?;
                    let new = edges.into_iter().filter(|edge| !self.hashes.contains(edge));
                    open.extend(new.map(|edge| (edge, needed.then_some(Referrer::Node(hash)))));
                }
                Ok(None) => {
                    let missing = |referrer| Finding::Missing { hash, referred_by: vec![referrer] };
                    self.findings.extend(referrer.map(missing));
                }
                Err(StoreError::Corrupt { hash, why }) => {
                    let referred_by = referrer.into_iter().collect();
                    self.findings.push(Finding::Corrupt { hash, why, referred_by });
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "gc_tests.rs"]
mod tests;
