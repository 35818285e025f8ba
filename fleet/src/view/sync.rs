//! What came of a push, a fetch or a pull, a row for each thread.

use serde::Serialize;
use uwf_engine::ThreadId;

use crate::FleetError;
use crate::sync::{Pulled, Pushed, Relation};

/// See the module.
#[derive(Debug, Clone, Serialize)]
pub struct SyncedThread {
    /// The thread.
    pub thread: ThreadId,
    /// `new`, `moved` or `same`; `held` where it was pushed and its files at the remote are those of before; `ahead` or `behind`,
    /// as this machine is seen from the remote, where nothing was to be done; `diverged`, `leased`, `running` or `failed` where
    /// it could not be done.
    pub outcome: &'static str,
    /// By how many steps.
    pub steps: u64,
    /// Why it could not be done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What to type then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl SyncedThread {
    fn of(thread: ThreadId, (outcome, steps): (&'static str, u64)) -> SyncedThread {
        SyncedThread { thread, outcome, steps, error: None, hint: None }
    }

    /// After a push.
    pub fn pushed(thread: ThreadId, pushed: Pushed) -> SyncedThread {
        let told = match pushed {
            Pushed::New => ("new", 0),
            Pushed::Moved { steps } => ("moved", steps),
            Pushed::Held { steps } => ("held", steps),
            Pushed::Same => ("same", 0),
            Pushed::Behind { steps } => ("behind", steps),
        };
        SyncedThread::of(thread, told)
    }

    /// After a pull.
    pub fn pulled(thread: ThreadId, pulled: Pulled) -> SyncedThread {
        let told = match pulled {
            Pulled::New => ("new", 0),
            Pulled::Moved { steps } => ("moved", steps),
            Pulled::Same => ("same", 0),
            Pulled::Ahead { steps } => ("ahead", steps),
        };
        SyncedThread::of(thread, told)
    }

    /// After a fetch; none for a thread that is not here.
    pub fn fetched(thread: ThreadId, relation: Option<Relation>) -> SyncedThread {
        let told = match relation {
            None => ("new", 0),
            Some(Relation::Same) => ("same", 0),
            Some(Relation::Ahead { steps }) => ("ahead", steps),
            Some(Relation::Behind { steps }) => ("behind", steps),
            Some(Relation::Diverged) => ("diverged", 0),
        };
        SyncedThread::of(thread, told)
    }

    /// A thread with which it could not be done, at the remote of this name.
    pub fn failed(thread: ThreadId, error: &FleetError, remote: &str) -> SyncedThread {
        let outcome = match error {
            FleetError::Diverged { .. } => "diverged",
            FleetError::Leased { .. } => "leased",
            FleetError::Lock(_) => "running",
            _ => "failed",
        };
        let row = SyncedThread::of(thread, (outcome, 0));
        SyncedThread { error: Some(crate::error::chain(error)), hint: error.hint_at(remote), ..row }
    }
}
