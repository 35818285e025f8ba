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
use std::time::Duration;

use super::nodes::NodeEntry;
use super::{Finding, Hash, Referrer, Store, StoreError};

/// A node this young may be about to be referred to; what a writer left that is older belongs to nobody any more.
pub(super) const YOUNG: Duration = Duration::from_secs(3600);

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
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
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
        let lock = if how.dry_run { None } else { Some(self.nodes.lock()?) };
        marked.all_roots(how)?;
        if !marked.findings.is_empty() && !how.force {
            return Err(StoreError::Unsound { findings: marked.findings });
        }
        let (garbage, mut report) = self.scan(how, &mut marked)?;
        report.removed = garbage.len() as u64;
        let order = self.referrers_first(&garbage);
        if lock.is_none() {
            let sizes = order.iter().filter_map(|hash| self.nodes.stat(hash));
            report.bytes += sizes.map(|stat| stat.bytes).sum::<u64>();
            return Ok(report);
        }
        let removed = self.nodes.remove(&order);
        self.forget_types();
        report.bytes += removed?;
        self.nodes.strike(&|hash| marked.hashes.contains(hash) || self.nodes.has(hash))?;
        Ok(report)
    }

    /// The nodes that may go, after marking what young ones need; abandoned temp files are swept on the way.
    fn scan(&self, how: &Collect, marked: &mut Marked<'_>) -> Result<(BTreeSet<Hash>, GcReport), StoreError> {
        let mut report = GcReport::default();
        let (mut young, mut garbage) = (Vec::new(), BTreeSet::new());
        let limit = young_since(self.now(), how.since);
        for entry in self.nodes.entries(self.now())? {
            match entry? {
                NodeEntry::Node(hash) if marked.hashes.contains(&hash) => report.kept += 1,
                NodeEntry::Node(hash) => match self.nodes.stat(&hash) {
                    Some(stat) if stat.put >= limit => young.push(hash),
                    Some(_) => drop(garbage.insert(hash)),
                    None => {}
                },
                NodeEntry::Stray(path) => {
                    if let Some(size) = self.nodes.sweep(&path, how.dry_run)? {
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
}

/// Nodes put since then stay.
fn young_since(now: u64, since: Option<u64>) -> u64 {
    since.map_or(now, |since| since.min(now)).saturating_sub(YOUNG.as_millis() as u64)
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
        self.store.profile.hashes().try_for_each(|hash| self.reach(hash, None))
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
#[cfg(feature = "sqlite")]
#[path = "gc_tests.rs"]
mod tests;
