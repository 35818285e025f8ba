//! The variables of a store: names for nodes that can be moved, in the SQLite file that other programs open too.
//!
//! The only part of a store that changes. Every change is one `BEGIN IMMEDIATE` transaction (a deferred one fails at
//! once when somebody else writes, in spite of the busy timeout) and is on the disk when it returns
//! (`synchronous=FULL`). The statements are in [`super::rows`]; here is what a change must fulfil. Never walks the
//! graph of nodes.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::{Connection, Transaction, TransactionBehavior};
use serde_json::Value;

use super::error::StoreError;
use super::fs::Disk;
use super::hash::Hash;
use super::rows::{self, Row};
use crate::Clock;
use crate::schema::builtin;

/// Thread heads: what other engines move by deleting the row, then inserting the new one.
pub(super) const THREAD_HEADS: &str = "@uwf/thread/";

/// How long such a gap may last: two commits of another program, on a slow disk.
const GAP: Duration = Duration::from_millis(200);

/// How often the end of a gap is looked for.
const LOOK: Duration = Duration::from_millis(5);

/// A name and the node it stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    /// `@scope/segment[/segment…]`
    pub name: String,
    /// The type of the node.
    pub schema: Hash,
    /// The node.
    pub value: Hash,
    /// When the variable was first set, in milliseconds since the epoch.
    pub created: u64,
    /// When it was last set.
    pub updated: u64,
    /// What is known about it; replaced as a whole by each set.
    pub tags: BTreeMap<String, String>,
    /// Names of groups it belongs to; kept by a set.
    pub labels: Vec<String>,
}

/// One change to the variables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VarChange {
    /// Makes a name stand for a node, if it stands for what is expected. Replaces every row of the name.
    Set {
        /// The variable.
        name: String,
        /// The type of the node.
        schema: Hash,
        /// The node, which must exist.
        value: Hash,
        /// All tags it has from now on.
        tags: BTreeMap<String, String>,
        /// What it must be before.
        expect: Expect,
    },
    /// Forgets a name; no error if there is none.
    Remove {
        /// The variable.
        name: String,
    },
    /// Forgets every name that starts so.
    RemovePrefix {
        /// At least `@scope/`.
        prefix: String,
    },
}

/// What a variable must be for a change to happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expect {
    /// Anything, or nothing.
    Any,
    /// Not there.
    Absent,
    /// This node.
    Value(Hash),
}

impl fmt::Display for Expect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Expect::Any => f.write_str("to be anything"),
            Expect::Absent => f.write_str("not to exist"),
            Expect::Value(hash) => write!(f, "to be {hash}"),
        }
    }
}

/// The variables of one store; one connection, which threads may share.
pub struct Vars {
    connection: Mutex<Connection>,
    path: PathBuf,
    disk: Disk,
    clock: Clock,
}

impl Vars {
    /// Opens the database and makes sure that the variables every store has name what they must. In the ordinary case
    /// that is one query.
    pub(super) fn open(root: &Path, disk: Disk, clock: Clock) -> Result<Vars, StoreError> {
        let directory = root.join("vars");
        std::fs::create_dir_all(&directory).map_err(|source| StoreError::Io {
            doing: "create the directory",
            path: directory.clone(),
            source,
        })?;
        let path = directory.join("_store.db");
        let connection = rows::connect(&path).map_err(|source| StoreError::Database {
            doing: "open the variable database",
            path: path.clone(),
            source,
        })?;
        let vars = Vars { connection: Mutex::new(connection), path, disk, clock };
        if !vars.has_aliases() {
            vars.create()?;
        }
        Ok(vars)
    }

    /// The variable; where a name has several rows, the newest. That a thread has no head is believed after a while.
    pub fn get(&self, name: &str) -> Result<Option<Variable>, StoreError> {
        let begun = Instant::now();
        loop {
            let found = self.get_now(name)?;
            if found.is_some() || !name.starts_with(THREAD_HEADS) || begun.elapsed() >= GAP {
                return Ok(found);
            }
            std::thread::sleep(LOOK);
        }
    }

    /// The same at this very moment, in which another program may be moving it: for those who ask for many threads, and
    /// for whom one more that seems to be gone does no harm.
    pub fn get_now(&self, name: &str) -> Result<Option<Variable>, StoreError> {
        let found = rows::newest(&self.connection(), name).map_err(self.failed("read a variable from"))?;
        found.map(Variable::try_from).transpose()
    }

    /// The tags of a variable whose row may be damaged otherwise; none when there are none that read as such.
    pub fn salvaged_tags(&self, name: &str) -> Result<Option<BTreeMap<String, String>>, StoreError> {
        let found = rows::newest(&self.connection(), name).map_err(self.failed("read a variable from"))?;
        Ok(found.and_then(|row| tags(&row.tags).ok()))
    }

    /// The variables whose names start so, by name. A damaged row spoils no other: one that names no node is left out,
    /// and tags that do not read as such are told as a status that nobody knows. [`Vars::get`] says what is wrong.
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
    pub fn backwards(
        &self,
        from: &str,
        below: &str,
        limit: usize,
    ) -> Result<(Vec<Variable>, Option<String>), StoreError> {
        let found = rows::backwards(&self.connection(), from, below, limit).map_err(self.failed("list"))?;
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
    pub fn history(&self, name: &str) -> Result<Vec<(Hash, u64)>, StoreError> {
        let past = rows::history(&self.connection(), name).map_err(self.failed("read the history from"))?;
        past.into_iter().map(|(value, at)| Ok((hash(name, &value)?, at.unsigned_abs()))).collect()
    }

    /// Every row whose name starts so: several of one name stand together, the newest first.
    pub fn rows(&self, prefix: &str) -> Result<Vec<Variable>, StoreError> {
        let mut variables = Vec::new();
        self.each_row(prefix, &mut |row| {
            variables.extend(Variable::carried(row));
            Ok(())
        })?;
        Ok(variables)
    }

    /// Does all of these changes, in order, or none. They are on the disk when this returns.
    pub fn apply(&self, changes: &[VarChange]) -> Result<(), StoreError> {
        // A node that is there when it is checked is there when it has its name.
        let _held = self.disk.hold()?;
        changes.iter().try_for_each(|change| self.check(change))?;
        let now = (self.clock)();
        let failed = self.failed("write to");
        let mut connection = self.connection();
        let transaction =
            connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(&failed)?;
        for change in changes {
            if let VarChange::Set { name, expect, .. } = change {
                // Whoever expects nothing can mend what is damaged.
                if *expect != Expect::Any {
                    let found = rows::newest(&transaction, name).map_err(&failed)?.map(|row| row.value);
                    meets(*expect, found.map(|value| hash(name, &value)).transpose()?, name)?;
                }
            }
            perform(&transaction, change, now).map_err(&failed)?;
        }
        transaction.commit().map_err(&failed)
    }

    /// The nodes that are remembered beside the present values: those of histories, their schemas, and those with tags.
    pub fn remembered(&self) -> Result<Vec<Hash>, StoreError> {
        let texts = rows::remembered(&self.connection()).map_err(self.failed("read the history from"))?;
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
        rows::each(&self.connection(), prefix, visit).map_err(self.failed("list"))?;
        stopped
    }

    /// What can be refused before anything is locked.
    fn check(&self, change: &VarChange) -> Result<(), StoreError> {
        match change {
            VarChange::Set { name, schema, value, .. } => {
                check_name(name)?;
                let node = self.disk.read(value)?.ok_or(StoreError::NotFound { hash: *value })?;
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

    /// In a database without tables there are none, which is what makes them come to be.
    fn has_aliases(&self) -> bool {
        let count = rows::count_matching(&self.connection(), builtin::META_SCHEMA, &builtin::ALIASES);
        count.is_ok_and(|count| count == builtin::ALIASES.len())
    }

    fn create(&self) -> Result<(), StoreError> {
        let now = (self.clock)();
        let mut connection = self.connection();
        let mut create = || {
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            rows::create_tables(&transaction)?;
            for (name, value) in builtin::ALIASES {
                rows::set(&transaction, name, &(builtin::META_SCHEMA, value), "{}", now)?;
            }
            transaction.commit()
        };
        create().map_err(self.failed("create the tables of"))
    }

    /// A thread that panicked cannot leave a transaction open: dropping it rolls back.
    fn connection(&self) -> MutexGuard<'_, Connection> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn failed(&self, doing: &'static str) -> impl Fn(rusqlite::Error) -> StoreError {
        move |source| StoreError::Database { doing, path: self.path.clone(), source }
    }
}

impl Drop for Vars {
    fn drop(&mut self) {
        rows::checkpoint(&self.connection(), &self.path);
    }
}

impl Variable {
    /// As much of a row as can be told; see [`Vars::list`].
    fn carried(row: Row) -> Option<Variable> {
        Some(Variable {
            schema: row.schema.parse().ok()?,
            value: row.value.parse().ok()?,
            created: row.created.unwrap_or_default().unsigned_abs(),
            updated: row.updated.unwrap_or_default().unsigned_abs(),
            labels: serde_json::from_str(&row.labels).unwrap_or_default(),
            tags: tags(&row.tags).unwrap_or_else(|_| BTreeMap::from([("status".to_owned(), row.tags)])),
            name: row.name,
        })
    }
}

/// Other programs may write numbers and truth values, which are taken as the text they are written with.
fn tags(text: &str) -> serde_json::Result<BTreeMap<String, String>> {
    let tags: BTreeMap<String, Value> = serde_json::from_str(text)?;
    let text = |value: Value| match value {
        Value::Number(_) | Value::Bool(_) => Ok(value.to_string()),
        other => serde_json::from_value(other),
    };
    tags.into_iter().map(|(name, value)| Ok((name, text(value)?))).collect()
}

impl TryFrom<Row> for Variable {
    type Error = StoreError;

    fn try_from(row: Row) -> Result<Variable, StoreError> {
        let damaged = |what: &str, why: &dyn fmt::Display| StoreError::DamagedVariable {
            name: row.name.clone(),
            why: format!("{what}: {why}"),
        };
        let time = |what: &str, time: Option<i64>| {
            time.map(i64::unsigned_abs).ok_or_else(|| damaged(what, &"it is no time in milliseconds"))
        };
        Ok(Variable {
            schema: hash(&row.name, &row.schema)?,
            value: hash(&row.name, &row.value)?,
            created: time("created", row.created)?,
            updated: time("updated", row.updated)?,
            tags: tags(&row.tags).map_err(|error| damaged("tags", &error))?,
            labels: serde_json::from_str(&row.labels).map_err(|error| damaged("labels", &error))?,
            name: row.name,
        })
    }
}

fn hash(name: &str, text: &str) -> Result<Hash, StoreError> {
    text.parse().map_err(|error: super::hash::HashError| StoreError::DamagedVariable {
        name: name.to_owned(),
        why: error.to_string(),
    })
}

fn meets(expect: Expect, found: Option<Hash>, name: &str) -> Result<(), StoreError> {
    let met = match expect {
        Expect::Any => true,
        Expect::Absent => found.is_none(),
        Expect::Value(value) => found == Some(value),
    };
    if met {
        return Ok(());
    }
    Err(StoreError::Conflict { name: name.to_owned(), expected: expect, found })
}

fn perform(transaction: &Transaction<'_>, change: &VarChange, now: u64) -> rusqlite::Result<()> {
    match change {
        VarChange::Set { name, schema, value, tags, .. } => {
            let tags = serde_json::to_string(tags).expect("strings are JSON");
            rows::set(transaction, name, &(*schema, *value), &tags, now)
        }
        VarChange::Remove { name } => rows::remove(transaction, name),
        VarChange::RemovePrefix { prefix } => rows::remove_prefix(transaction, prefix),
    }
}

/// Whether a variable may be called that.
///
/// # Errors
/// [`StoreError::BadName`].
pub fn check_name(name: &str) -> Result<(), StoreError> {
    let is_scope = |scope: &str| {
        scope.starts_with(|c: char| c.is_ascii_alphabetic())
            && scope.chars().all(|c| c.is_ascii_alphanumeric())
    };
    let is_segment = |segment: &str| {
        !segment.is_empty()
            && segment.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'))
    };
    match name.strip_prefix('@').and_then(|rest| rest.split_once('/')) {
        Some((scope, rest)) if is_scope(scope) && rest.split('/').all(is_segment) => Ok(()),
        _ => Err(StoreError::BadName { name: name.to_owned() }),
    }
}

#[cfg(test)]
#[path = "vars_tests.rs"]
mod tests;
