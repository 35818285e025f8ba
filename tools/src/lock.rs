//! Locks that a panic elsewhere does not take along.
//!
//! Apart because everything that threads share uses it.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks `mutex`, whether a thread panicked while it held it or not: each update of what is behind these locks is one
/// insert or one assignment, so that a panic leaves it whole.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
