//! What a program needs of every store that it opens, beside what the format demands of each.
//!
//! Apart so that the store knows no program: types that mean something to one are handed in by it.

use serde_json::Value;

use crate::Hash;
use crate::schema::builtin;

/// See the module.
#[derive(Debug, Clone, Copy)]
pub struct Profile {
    /// The hashes of schemas that are there from the start and never collected. No variable names them.
    pub schemas: &'static [Hash],
    /// The schemas as values; asked for only where a store lacks one, so that knowing them costs nothing.
    pub values: fn() -> Vec<Value>,
    /// Variables whose names start so are moved by other programs by removing them, then setting them: that one is not
    /// there is believed after a while.
    pub moved: Option<&'static str>,
}

impl Profile {
    /// Nothing besides.
    pub const PLAIN: Profile = Profile { schemas: &[], values: Vec::new, moved: None };

    /// Every node that a store must hold, some more than once.
    pub(crate) fn hashes(&self) -> impl Iterator<Item = Hash> + use<> {
        builtin::hashes().chain(self.schemas.iter().copied())
    }
}
