//! The index made to say what the nodes say, after each was read.
//!
//! Apart from [`super::index`], which knows lines and no nodes. Lines that are right stay where they are, so that other
//! programs may write at the same time.

use std::collections::HashSet;

use super::Disk;
use super::index::META;
use crate::error::StoreError;
use crate::hash::Hash;
use crate::nodes::{Mended, Scan};

impl Disk {
    /// Strikes out what is wrong and adds what is missing, oldest node first.
    pub(super) fn mend(&self, Scan { types, seen }: Scan) -> Result<Mended, StoreError> {
        let mut mended = Mended::default();
        let own = types.iter().filter(|(type_, nodes)| nodes.iter().any(|(_, hash)| hash == *type_));
        let own: Vec<(u64, Hash)> = own.map(|(type_, _)| (0, *type_)).collect();
        // What was put since then: its line is right, and nobody would add it again.
        let new = |hash: &Hash| !seen.contains(hash) && self.exists(hash);
        for name in self.index.names()? {
            let gone = name.parse::<Hash>().is_ok_and(|type_| !types.contains_key(&type_));
            if gone && !self.index.read(&name)?.iter().any(new) {
                self.index.remove(&name)?;
            }
        }
        self.mend_lines(META, own, &new, &mut mended)?;
        for (type_, nodes) in types {
            self.mend_lines(type_.as_str(), nodes, &new, &mut mended)?;
        }
        Ok(mended)
    }

    fn mend_lines(
        &self,
        name: &str,
        mut nodes: Vec<(u64, Hash)>,
        new: &dyn Fn(&Hash) -> bool,
        mended: &mut Mended,
    ) -> Result<(), StoreError> {
        let wanted: HashSet<Hash> = nodes.iter().map(|(_, hash)| *hash).collect();
        let mut seen = HashSet::new();
        mended.struck += self.index.strike(name, &mut |hash| {
            // The second line of a node is not wanted any more.
            (wanted.contains(hash) || new(hash)) && seen.insert(*hash)
        })?;
        nodes.retain(|(_, hash)| !seen.contains(hash));
        nodes.sort();
        let missing: Vec<Hash> = nodes.into_iter().map(|(_, hash)| hash).collect();
        mended.added += missing.len() as u64;
        if missing.is_empty() {
            return Ok(());
        }
        self.index.end_last_line(name)?;
        self.index.append(name, &missing)
    }

    /// The index forgets nodes that are not there, and types that are not there altogether. Looks at every line, so
    /// that it also mends what a killed collector left undone.
    pub(super) fn strike_lines(&self, exists: &dyn Fn(&Hash) -> bool) -> Result<(), StoreError> {
        for name in self.index.names()? {
            match name.parse() {
                Ok(type_) if !exists(&type_) => self.index.remove(&name)?,
                Err(_) if name != META => {}
                _ => drop(self.index.strike(&name, &mut |hash| exists(hash))?),
            }
        }
        Ok(())
    }
}
