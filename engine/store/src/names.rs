//! What keeps names: the interface between what a variable means and where its rows are, and what goes through it.
//!
//! A row is kept as text, since other programs may write to where it is kept: what is damaged is judged once, above this
//! (see [`crate::Vars`]). An implementation does changes together or not at all, compares what a name stands for with
//! what it must in the same moment, and keeps what was. Times are milliseconds since the epoch. Never looks for a node.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;

use super::error::StoreError;
use super::expect::Expect;
use super::hash::{Hash, HashError};

/// How many values of a variable's past are kept, the present one included.
pub const HISTORY: usize = 10;

/// The names of one store. Threads and, where it is more than memory, processes share it.
pub trait Names: Send + Sync {
    /// The row of this name; where there are several, the one that was set last.
    ///
    /// # Errors
    /// The rows cannot be read.
    fn newest(&self, name: &str) -> Result<Option<Row>, StoreError>;

    /// Every row whose name starts so, names in order of their bytes and the newest row of each first, until `visit`
    /// says no. `visit` asks nothing of these names.
    ///
    /// # Errors
    /// The rows cannot be read.
    fn each(&self, prefix: &str, visit: &mut dyn FnMut(Row) -> bool) -> Result<(), StoreError>;

    /// At most `limit` rows with names from `from` up to and without `below`: names from the last to the first, the
    /// newest row of each first.
    ///
    /// # Errors
    /// The rows cannot be read.
    fn backwards(&self, from: &str, below: &str, limit: usize) -> Result<Vec<Row>, StoreError>;

    /// What a name was set to and when, newest first; at most [`HISTORY`] values of each schema, the present one
    /// included. It is forgotten with the name.
    ///
    /// # Errors
    /// The history cannot be read.
    fn history(&self, name: &str) -> Result<Vec<(String, u64)>, StoreError>;

    /// Every value and every schema in a history, and every node that is marked in some other way.
    ///
    /// # Errors
    /// The rows or the histories cannot be read.
    fn remembered(&self) -> Result<Vec<String>, StoreError>;

    /// Does all of these changes, in order, or none; they are durable when this returns. Names are well-formed, and
    /// values are there: both were checked.
    ///
    /// A set leaves one row of its name, with the labels and the time of creation of the row before; a value that is
    /// not the last one goes into the history, which a set to another schema begins anew.
    ///
    /// # Errors
    /// [`StoreError::Conflict`] and [`StoreError::DamagedVariable`], see [`Expect::check`].
    fn apply(&self, changes: &[VarChange], now: u64) -> Result<(), StoreError>;

    /// Makes sure that these names stand for these nodes of one schema: no work when it is so already.
    ///
    /// # Errors
    /// The rows cannot be read or written.
    fn ensure(&self, schema: Hash, names: &[(&str, Hash)], now: u64) -> Result<(), StoreError>;
}

/// A row as it is kept. What is no text or no number where there must be one spoils neither the row nor those after it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The variable.
    pub name: String,
    /// The type of the node.
    pub schema: String,
    /// The node.
    pub value: String,
    /// When the variable was first set.
    pub created: Option<i64>,
    /// When it was last set.
    pub updated: Option<i64>,
    /// A JSON object.
    pub tags: String,
    /// A JSON array of strings.
    pub labels: String,
}

/// A name and the node it stands for.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
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

impl Expect {
    /// Whether a change may happen where this is what `name` stands for.
    ///
    /// # Errors
    /// [`StoreError::Conflict`] when it may not, [`StoreError::DamagedVariable`] when `found` names no node; not where
    /// nothing is expected, since whoever expects nothing can mend what is damaged.
    pub fn check(self, name: &str, found: Option<&Row>) -> Result<(), StoreError> {
        if self == Expect::Any {
            return Ok(());
        }
        let found = found.map(|row| hash(name, &row.value)).transpose()?;
        let met = match self {
            Expect::Any => true,
            Expect::Absent => found.is_none(),
            Expect::Value(value) => found == Some(value),
        };
        match met {
            true => Ok(()),
            false => Err(StoreError::Conflict { name: name.to_owned(), expected: self, found }),
        }
    }
}

impl Variable {
    /// As much of a row as can be told; see [`crate::Vars::list`].
    pub(super) fn carried(row: Row) -> Option<Variable> {
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
pub(super) fn tags(text: &str) -> serde_json::Result<BTreeMap<String, String>> {
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

pub(super) fn hash(name: &str, text: &str) -> Result<Hash, StoreError> {
    text.parse().map_err(|error: HashError| StoreError::DamagedVariable {
        name: name.to_owned(),
        why: error.to_string(),
    })
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
