//! What can be wrong with a store, in words.
//!
//! Apart because errors tell of it as well as whoever looks for it. Never looks.

use std::fmt;
use std::path::PathBuf;

use super::hash::Hash;
use crate::schema::Violation;

/// Something wrong with a store.
#[derive(Debug, Clone, PartialEq)]
pub enum Finding {
    /// A file that cannot be decoded, or whose content has another hash than its name.
    Corrupt {
        /// Its name.
        hash: Hash,
        /// What is wrong.
        why: String,
        /// Who refers to it.
        referred_by: Vec<Referrer>,
    },
    /// A node that something refers to is not there.
    Missing {
        /// Its hash.
        hash: Hash,
        /// Who refers to it.
        referred_by: Vec<Referrer>,
    },
    /// A node that does not obey its type, or whose type nothing can obey.
    Invalid {
        /// The node.
        hash: Hash,
        /// Its type.
        type_: Hash,
        /// What is wrong with it.
        violations: Vec<Violation>,
        /// Who refers to it.
        referred_by: Vec<Referrer>,
    },
    /// A row of a variable that cannot be read, or whose schema is not its node's type.
    Variable {
        /// The variable.
        name: String,
        /// What is wrong.
        why: String,
    },
    /// A file that is no node, such as what a killed writer left behind. Safe to delete if nobody knows it.
    Stray {
        /// The file.
        path: PathBuf,
    },
}

/// What refers to a node.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Referrer {
    /// Another node, by a reference in its payload or by its type.
    Node(Hash),
    /// A variable.
    Variable(String),
}

impl fmt::Display for Referrer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Referrer::Node(hash) => write!(f, "node {hash}"),
            Referrer::Variable(name) => write!(f, "variable {name}"),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let referred_by = match self {
            Finding::Corrupt { hash, why, referred_by } => {
                write!(f, "node {hash} is corrupt: {why}")?;
                referred_by
            }
            Finding::Missing { hash, referred_by } => {
                write!(f, "node {hash} is missing")?;
                referred_by
            }
            Finding::Invalid { hash, type_, violations, referred_by } => {
                write!(f, "node {hash} does not obey its type {type_}")?;
                violations.iter().try_for_each(|violation| write!(f, "; {violation}"))?;
                referred_by
            }
            Finding::Variable { name, why } => return write!(f, "variable {name} is damaged: {why}"),
            Finding::Stray { path } => return write!(f, "'{}' is no node", path.display()),
        };
        let referrers: Vec<_> = referred_by.iter().map(Referrer::to_string).collect();
        if referrers.is_empty() { Ok(()) } else { write!(f, " (referred to by {})", referrers.join(", ")) }
    }
}
