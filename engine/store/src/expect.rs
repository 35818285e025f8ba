//! What a variable must be for a change to happen.
//!
//! Apart because the change asks for it and the error tells of it. Whether it is so is for `names` to say.

use std::fmt;

use super::hash::Hash;

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
