//! What can go wrong with a store.
//!
//! One enum for nodes and variables alike, since callers hold one `Store`, wherever it is kept: names no database. The text names the thing and what was
//! expected; [`StoreError::hint`] says what to do about it. Never holds a payload, which may be large or secret.

use std::io;
use std::path::{Path, PathBuf};

use super::expect::Expect;
use super::finding::Finding;
use super::hash::Hash;
use crate::schema::{self, SchemaError, Violation};

/// Why a store could not do what was asked. Nothing was changed then, unless a variant says otherwise.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// There is no such node.
    #[error("no node {hash} in the store")]
    NotFound {
        /// The hash asked for.
        hash: Hash,
    },
    /// There is a file for this node, but not this node in it.
    #[error("node {hash} is corrupt: {why}")]
    Corrupt {
        /// The name of the file.
        hash: Hash,
        /// What is wrong with its content.
        why: String,
    },
    /// The type of a node is not in the store, or is no schema.
    #[error("type {type_} {}", if *exists { "is not a schema" } else { "is not in the store" })]
    UnknownType {
        /// The hash given as a type.
        type_: Hash,
        /// Whether there is a node of this hash.
        exists: bool,
    },
    /// A payload does not obey its type.
    #[error("the payload does not obey type {type_}: {}", schema::sentence(violations))]
    Invalid {
        /// The type.
        type_: Hash,
        /// Everything that is wrong.
        violations: Vec<Violation>,
    },
    /// A schema cannot be stored, or cannot be validated against.
    #[error(transparent)]
    Schema(#[from] SchemaError),
    /// A payload is nested more deeply than other programs can read.
    #[error("the payload is nested too deeply: more than {limit} levels")]
    TooDeep {
        /// The depth allowed.
        limit: usize,
    },
    /// Another node already has this hash.
    #[error("another node with the hash {hash} exists already, with other content")]
    Collision {
        /// The hash of both.
        hash: Hash,
    },
    /// Nodes that are needed are missing or corrupt, so what they refer to is not known.
    #[error("the store is damaged: {}", first(findings))]
    Unsound {
        /// At least one.
        findings: Vec<Finding>,
    },
    /// A file operation failed.
    #[error("could not {doing} '{}': {source}", path.display())]
    Io {
        /// The verb.
        doing: &'static str,
        /// Of which file or directory.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A content, to be stored or from the store, could not be read to its end.
    #[error("a content cannot be read to its end: {source}")]
    Unread {
        /// Why.
        source: io::Error,
    },
    /// A node was to be read as a content and is something else.
    #[error("node {hash} has type {type_}, which is no content: expected a text, bytes or a list of both")]
    NotContent {
        /// The node.
        hash: Hash,
        /// Its type.
        type_: Hash,
    },
    /// What keeps the variables failed.
    #[error("could not {doing} '{place}': {source}")]
    Database {
        /// The verb.
        doing: &'static str,
        /// Where it is: the database file.
        place: String,
        /// What this means to its user.
        fault: DatabaseFault,
        /// The database's reason.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A variable is not what the change expected it to be: somebody else was faster.
    #[error("variable {name} was expected {expected} but {}", state(found))]
    Conflict {
        /// The variable.
        name: String,
        /// What it had to be.
        expected: Expect,
        /// What it is; none if there is no such variable.
        found: Option<Hash>,
    },
    /// A text that cannot be the name of a variable.
    #[error(
        "{name:?} is not a variable name: expected @scope/segment[/segment…], segments of A-Z a-z 0-9 . _ -"
    )]
    BadName {
        /// The text.
        name: String,
    },
    /// A variable's row cannot be read: not written by a program that keeps to the format.
    #[error("variable {name} is damaged: {why}")]
    DamagedVariable {
        /// The variable.
        name: String,
        /// What is wrong with its row.
        why: String,
    },
    /// A variable was to be set to a node with a schema that is not the node's type.
    #[error("variable {name}: node {value} has type {actual}, not {schema}")]
    WrongType {
        /// The variable.
        name: String,
        /// The node.
        value: Hash,
        /// The schema given.
        schema: Hash,
        /// The node's type.
        actual: Hash,
    },
}

/// What kept a database from doing what was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DatabaseFault {
    /// It has no space.
    Full,
    /// It can only be read, be it that there is no space to do more.
    ReadOnly,
    /// Its user may not open or write it.
    NotPermitted,
    /// Somebody else has kept it locked for too long.
    Busy,
    /// Something else.
    Other,
}

impl StoreError {
    /// What the user can do about it, where that can be known.
    pub fn hint(&self) -> Option<String> {
        match self {
            StoreError::Io { source, path, .. } => io_hint(source.kind(), path),
            StoreError::Database { fault, place, .. } => database_hint(*fault, place),
            StoreError::Corrupt { .. } => Some(
                "store the same content again to heal it; verify the store to find what else is damaged"
                    .into(),
            ),
            StoreError::Unsound { .. } => Some(
                "nothing was changed; `uwf cas verify` tells all that is wrong and who refers to it".into(),
            ),
            StoreError::DamagedVariable { name, .. } => Some(format!(
                "`uwf var history {name}` shows what it was, `uwf var set {name} HASH --force` sets it again"
            )),
            StoreError::Conflict { .. } => Some("read it again, then decide anew".into()),
            StoreError::Schema(SchemaError::Unsupported { .. }) => {
                Some("the only format is ocas_ref; for tuples, use an object".into())
            }
            StoreError::Schema(SchemaError::UnknownKeyword { .. }) => Some(
                "a schema stands alone: write out what `$ref` refers to, and leave `$schema` and `$id` out"
                    .into(),
            ),
            StoreError::NotFound { .. } | StoreError::UnknownType { exists: false, .. } => {
                Some("OCAS_HOME names the store; `uwf doctor` tells which it is".into())
            }
            StoreError::NotContent { hash, .. } => Some(format!("`uwf cas get {hash}` prints any node")),
            StoreError::UnknownType { exists: true, .. } => {
                Some("a type is the hash of a schema, or a name such as string or StepNode".into())
            }
            _ => None,
        }
    }
}

fn io_hint(kind: io::ErrorKind, path: &Path) -> Option<String> {
    let place = &path.display().to_string();
    match kind {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Some(free_space(place)),
        io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => Some(make_writable(place)),
        io::ErrorKind::NotADirectory | io::ErrorKind::NotFound => {
            Some("OCAS_HOME names the directory of the store; it must be one that can be made".into())
        }
        _ => None,
    }
}

fn database_hint(fault: DatabaseFault, place: &str) -> Option<String> {
    match fault {
        DatabaseFault::Full => Some(free_space(place)),
        DatabaseFault::ReadOnly => Some(format!("{}; its file system must have space", make_writable(place))),
        DatabaseFault::NotPermitted => Some(make_writable(place)),
        DatabaseFault::Busy => Some("another program has kept the database locked; try again".to_owned()),
        DatabaseFault::Other => None,
    }
}

fn free_space(place: &str) -> String {
    format!("free space on the file system of '{place}'; nothing was stored")
}

fn make_writable(place: &str) -> String {
    format!("the store must be writable: check the owner and mode of '{place}', or use another store")
}

/// The first few, and how many more.
fn first(findings: &[Finding]) -> String {
    let said: Vec<String> = findings.iter().take(3).map(Finding::to_string).collect();
    match findings.len().saturating_sub(3) {
        0 => said.join("; "),
        more => format!("{}; and {more} more", said.join("; ")),
    }
}

fn state(found: &Option<Hash>) -> String {
    match found {
        Some(hash) => format!("is {hash}"),
        None => "does not exist".to_owned(),
    }
}
