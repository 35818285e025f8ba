//! What pages are made from: a store, the homes, and a program that does what pages ask for.
//!
//! It has no state of its own: each page reads the store anew. What is remembered ([`crate::sums`]) follows from
//! nodes, which never change.

use std::sync::Arc;

use uwf_engine::conditions::{Conditions, Judge};
use uwf_engine::view::StepDiff;
use uwf_engine::{Homes, ThreadId};
use uwf_store::{Clock, Hash, Store};

use crate::remote::{Remote, RemoteSource};
use crate::sums::Sums;

/// What pages need done, and the program that shows them knows how to.
pub trait Host: Send + Sync {
    /// What a step changed in its workspace.
    ///
    /// # Errors
    /// Why that is not known, in words.
    fn changes(&self, store: &Store, step: &Hash) -> Result<StepDiff, String>;

    /// Answers what a suspended thread asks, and lets it run on its own.
    ///
    /// # Errors
    /// Why it does not run, in words.
    fn answer(&self, thread: &ThreadId, text: &str) -> Result<(), String>;

    /// Lets an idle thread run on its own, until it ends, waits or a step fails.
    ///
    /// # Errors
    /// Why it does not run, in words.
    fn run(&self, thread: &ThreadId) -> Result<(), String>;

    /// Ends the run of a thread.
    ///
    /// # Errors
    /// Why it goes on, in words.
    fn stop(&self, thread: &ThreadId) -> Result<(), String>;
}

/// Where pages are read from, and who does what they ask for.
pub struct Site {
    pub(crate) store: Store,
    pub(crate) homes: Homes,
    pub(crate) conditions: Option<Box<dyn Conditions + Send + Sync>>,
    pub(crate) host: Box<dyn Host>,
    pub(crate) sums: Sums,
    pub(crate) remote: Option<Arc<RemoteSource>>,
}

impl Site {
    /// Pages of the store in `homes.ocas`, opened as `store`.
    pub fn new(
        store: Store,
        homes: Homes,
        conditions: Option<Box<dyn Conditions + Send + Sync>>,
        host: Box<dyn Host>,
    ) -> Site {
        Site { store, homes, conditions, host, sums: Sums::default(), remote: None }
    }

    /// Shows this remote, too; `clock` is that of pages.
    #[must_use]
    pub fn with_remote(self, remote: Box<dyn Remote>, clock: Clock) -> Site {
        Site { remote: Some(Arc::new(RemoteSource::new(remote, clock))), ..self }
    }

    pub(crate) fn judge(&self) -> Judge<'_> {
        self.conditions.as_deref().map(|conditions| conditions as &dyn Conditions)
    }
}
