//! The variables of a store: names for nodes that can be moved.
//!
//! The only part of a store that changes. Where they are kept is behind [`Names`]; here is what a change must fulfil and
//! what is made of a row that is damaged. Never walks the graph of nodes.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::error::StoreError;
use super::hash::Hash;
use super::names::{Names, Row, VarChange, Variable, check_name, hash, tags};
use super::nodes::Nodes;
use super::{Clock, node};

/// How long the gap may last in which another program moves a variable, see [`crate::Profile::moved`]: two commits, on a slow disk.
const GAP: Duration = Duration::from_millis(200);

/// How often the end of a gap is looked for.
const LOOK: Duration = Duration::from_millis(5);

/// The variables of one store; threads may share them.
pub struct Vars {
    pub(super) names: Arc<dyn Names>,
    pub(super) nodes: Arc<dyn Nodes>,
    /// See [`crate::Profile::moved`].
    pub(super) moved: Option<&'static str>,
    pub(super) clock: Clock,
}

impl Vars {
    /// The variable; where a name has several rows, the newest. That one is not there which other programs
    /// move by removing it is believed after a while.
    ///
    /// # Errors
    /// [`StoreError::DamagedVariable`], or the rows cannot be read.
    pub fn get(&self, name: &str) -> Result<Option<Variable>, StoreError> {
        let begun = Instant::now();
        loop {
            let found = self.get_now(name)?;
            let moved = self.moved.is_some_and(|prefix| name.starts_with(prefix));
            if found.is_some() || !moved || begun.elapsed() >= GAP {
                return Ok(found);
            }
            std::thread::sleep(LOOK);
        }
    }

    /// The variable at this moment, in which another program may be moving it: for those who ask for many, and for whom
    /// one more that seems to be gone does no harm.
    ///
    /// # Errors
    /// [`StoreError::DamagedVariable`], or the rows cannot be read.
    pub fn get_now(&self, name: &str) -> Result<Option<Variable>, StoreError> {
        self.names.newest(name)?.map(Variable::try_from).transpose()
    }

    /// The tags of a variable whose row may be damaged otherwise; none when there are none that read as such.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub fn salvaged_tags(&self, name: &str) -> Result<Option<BTreeMap<String, String>>, StoreError> {
        let found = self.names.newest(name)?;
        Ok(found.and_then(|row| tags(&row.tags).ok()))
    }

    /// The variables whose names start so, by name. A damaged row spoils no other: one that names no node is left out,
    /// and tags that do not read as such are told as a status that nobody knows. [`Vars::get`] says what is wrong.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub fn list(&self, prefix: &str) -> Result<Vec<Variable>, StoreError> {
        let mut variables: Vec<Variable> = Vec::new();
        self.each_row(prefix, &mut |row| {
            if variables.last().is_none_or(|last| last.name != row.name) {
                variables.extend(Variable::carried(row));
            }
            Ok(())
        })?;
        Ok(variables)
    }

    /// The variables of at most `limit` rows with names from `from` up to and without `below`, by name, the last one
    /// first; damaged ones are left out as in [`Vars::list`]. With the name of the last row, before which the next ones
    /// are; none when there are no more rows.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub fn backwards(
        &self,
        from: &str,
        below: &str,
        limit: usize,
    ) -> Result<(Vec<Variable>, Option<String>), StoreError> {
        let found = self.names.backwards(from, below, limit)?;
        let end = found.last().map(|row| row.name.clone());
        let mut variables: Vec<Variable> = Vec::with_capacity(found.len());
        for row in found {
            if variables.last().is_none_or(|last| last.name != row.name) {
                variables.extend(Variable::carried(row));
            }
        }
        Ok((variables, end))
    }

    /// What the variable was set to, newest first, with the times in milliseconds; at most ten values, the present one
    /// included.
    ///
    /// # Errors
    /// [`StoreError::DamagedVariable`] when an entry is not a hash, or the history cannot be read.
    pub fn history(&self, name: &str) -> Result<Vec<(Hash, u64)>, StoreError> {
        let history = self.names.history(name)?;
        history.into_iter().map(|(value, at)| Ok((hash(name, &value)?, at))).collect()
    }

    /// Every row whose name starts so: several of one name stand together, the newest first.
    ///
    /// # Errors
    /// The rows cannot be read.
    pub fn rows(&self, prefix: &str) -> Result<Vec<Variable>, StoreError> {
        let mut variables = Vec::new();
        self.each_row(prefix, &mut |row| {
            variables.extend(Variable::carried(row));
            Ok(())
        })?;
        Ok(variables)
    }

    /// Does all of these changes, in order, or none. They are on the disk when this returns.
    ///
    /// # Errors
    /// [`StoreError::Conflict`] when a variable is not what a change expects, [`StoreError::BadName`],
    /// [`StoreError::NotFound`] for a value that is not there, [`StoreError::WrongType`] for one of another type, or the
    /// rows cannot be written.
    pub fn apply(&self, changes: &[VarChange]) -> Result<(), StoreError> {
        // A node that is there when it is checked is there when it has its name.
        let _held = self.nodes.hold()?;
        changes.iter().try_for_each(|change| self.check(change))?;
        self.names.apply(changes, (self.clock)())
    }

    /// The nodes that are remembered beside the present values: those of histories, their schemas, and those with tags.
    ///
    /// # Errors
    /// The rows or the histories cannot be read.
    pub fn remembered(&self) -> Result<Vec<Hash>, StoreError> {
        let texts = self.names.remembered()?;
        Ok(texts.iter().filter_map(|text| text.parse().ok()).collect())
    }

    /// Every row, names in order and the newest row of each name first.
    pub(super) fn each_row(
        &self,
        prefix: &str,
        visit: &mut dyn FnMut(Row) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let mut stopped = Ok(());
        let visit = &mut |row| {
            stopped = visit(row);
            stopped.is_ok()
        };
        self.names.each(prefix, visit)?;
        stopped
    }

    /// What can be refused before anything is locked.
    fn check(&self, change: &VarChange) -> Result<(), StoreError> {
        match change {
            VarChange::Set { name, schema, value, .. } => {
                check_name(name)?;
                let bytes = self.nodes.read(value)?.ok_or(StoreError::NotFound { hash: *value })?;
                let node = node::checked(value, &bytes)?;
                if node.type_ != *schema {
                    let (name, actual) = (name.clone(), node.type_);
                    return Err(StoreError::WrongType { name, value: *value, schema: *schema, actual });
                }
                Ok(())
            }
            VarChange::Remove { name } => check_name(name),
            // Whatever would complete the prefix to a name shows that it has at least a scope.
            VarChange::RemovePrefix { prefix } => check_name(&format!("{prefix}x")),
        }
    }
}

#[cfg(test)]
#[cfg(feature = "sqlite")]
#[path = "vars_tests.rs"]
mod tests;
