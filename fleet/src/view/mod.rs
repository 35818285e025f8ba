//! What programs are shown of a remote.

mod events;
mod status;
mod sync;
mod threads;

use serde::Serialize;

pub use self::events::{ThreadEvent, events, last_event};
pub use self::status::{BudgetStatus, DeadThread, RemoteStatus, StateCount, WorkerStatus, status};
pub use self::sync::SyncedThread;
pub use self::threads::{RemoteThread, ThreadQuery, matching, thread, threads};

/// A remote, as `uwf remote list` has it.
#[derive(Debug, Clone, Serialize)]
pub struct RemoteRow {
    /// Its name.
    pub name: String,
    /// Its address; it has no password.
    pub url: String,
}

/// A remote that was added.
#[derive(Debug, Clone, Serialize)]
pub struct RemoteAdded {
    /// Its name.
    pub name: String,
    /// Its address.
    pub url: String,
    /// Whether it was not there before.
    pub added: bool,
    /// The version of its schema; none where it has no tables of ours, or was not asked.
    pub schema: Option<i32>,
}

/// A remote that was removed.
#[derive(Debug, Clone, Serialize)]
pub struct RemoteRemoved {
    /// Its name.
    pub name: String,
    /// Always true.
    pub removed: bool,
}

/// A remote whose schema is up to date now.
#[derive(Debug, Clone, Serialize)]
pub struct RemoteMigrated {
    /// Its name.
    pub name: String,
    /// The version that it had; 0 for none.
    pub from: i32,
    /// The version that it has.
    pub to: i32,
}
