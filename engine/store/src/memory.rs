//! A store that is in memory alone: for tests, and as the plainest form of what [`Nodes`] and [`Names`] ask for.
//!
//! Keeps what the directory and the database keep, in maps, and says the same of it. Nothing survives it, and no other
//! process sees it, so nothing is ever half there.

mod names;
mod nodes;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock};

use super::hash::Hash;

/// What is kept. Each map is locked for the moment in which it is looked at or changed.
#[derive(Default)]
pub(super) struct Memory {
    nodes: Mutex<nodes::KeptNodes>,
    names: Mutex<BTreeMap<String, names::KeptName>>,
    /// Had alone by who removes nodes, together by those who need them to stay.
    gate: RwLock<()>,
}

/// A thread that panicked has changed a map or has not: each change is one step.
fn look<T>(kept: &Mutex<T>) -> MutexGuard<'_, T> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The hashes of each type, in the order they were put.
type ByType = HashMap<Hash, Vec<Hash>>;
