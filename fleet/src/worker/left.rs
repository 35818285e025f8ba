//! How a worker leaves a thread that it had.

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
