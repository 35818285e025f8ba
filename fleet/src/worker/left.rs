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
    /// Whether that is this machine's fault and not the thread's; never where the step is on record as failed.
    pub(super) is_of_machine: bool,
    /// Whether it was begun, so that it may have been paid for.
    pub(super) is_begun: bool,
}

impl Unmade {
    /// By what was said.
    pub(super) fn said(why: String) -> Unmade {
        Unmade { is_of_machine: trouble::tells_of_machine(&why), why, is_begun: true }
    }

    /// Nothing was begun, for want of something here.
    pub(super) fn unbegun(why: String) -> Unmade {
        Unmade { why, is_of_machine: true, is_begun: false }
    }

    /// It is on record as failed.
    pub(super) fn on_record(why: String) -> Unmade {
        Unmade { is_of_machine: false, why, is_begun: true }
    }

    /// The journal of the step cannot be kept.
    pub(super) fn unkept(error: &FleetError) -> Unmade {
        let why = format!("its journal cannot be kept: {}", crate::error::chain(error));
        Unmade { is_of_machine: trouble::is_of_machine(error), why, is_begun: true }
    }
}
