//! How a worker leaves a thread that it had.

use super::trouble;
use crate::FleetError;
use crate::queue::{HandBack, Settled};

/// How a worker leaves a thread.
pub(super) enum Left {
    /// It is in a state of its own already.
    Nothing,
    /// The same, and nobody will go on with it.
    Ended,
    Settle(Settled, String),
    HandBack(HandBack),
}

/// Why there is no step.
pub(super) struct Unmade {
    pub(super) why: String,
    pub(super) fault: Fault,
}

/// Whose fault it is that there is no step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// This machine's, which has begun nothing.
    Unbegun,
    /// This machine's, which has run out of something in the middle of it.
    Short,
    /// The thread's, or nobody knows.
    Thread,
    /// The thread's: the step is on record as failed.
    Recorded,
}

impl Unmade {
    /// By what was said.
    pub(super) fn said(why: String) -> Unmade {
        let fault = if trouble::tells_of_machine(&why) { Fault::Short } else { Fault::Thread };
        Unmade { why, fault }
    }

    /// The journal of the step cannot be kept. Turns of it may be paid for: keys that do not open the object store are found out
    /// before a step wherever the thread has something there.
    pub(super) fn unkept(error: &FleetError) -> Unmade {
        let why = format!("its journal cannot be kept: {}", crate::error::chain(error));
        Unmade { why, fault: if trouble::is_shortage(error) { Fault::Short } else { Fault::Thread } }
    }
}
