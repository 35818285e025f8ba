//! The right to work on a thread.

use uwf_engine::ThreadId;

use crate::FleetError;

/// The right to work on a thread, as it is named in every write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Lease {
    /// The thread.
    pub thread: ThreadId,
    /// Grows by one with each claim of the thread.
    pub fence: i64,
}

impl Lease {
    /// The error that says that it is over.
    pub fn lost(&self) -> FleetError {
        FleetError::LeaseLost { thread: self.thread.to_string(), fence: self.fence }
    }
}
