//! The wish that calls end early: one flag for all who watch it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Asks calls to end early. Clones share one flag; it never goes back.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Asks every call that was given this flag to end.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether [`Cancel::cancel`] was called on any clone.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
