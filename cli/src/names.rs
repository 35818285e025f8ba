//! Threads, steps and nodes as they are typed: what a name on a command line means.
//!
//! | what | forms |
//! |---|---|
//! | a thread | its id; the beginning or the end of it; `@`, the latest thread of this directory, `@-1`, the one before |
//! | a step | its hash, or a part of it; `T:3`, `T:-1`, `T:last`, `T:developer`, `T:developer.2`, where T is a thread |
//! | a node | its hash, or a part of it; or a step |
//!
//! What is whole is read without a store, so that a name that can mean nothing creates none. Nothing is changed here.

mod directory;
mod node;
mod part;
mod step;
mod thread;

use std::path::Path;

use uwf_store::{Hash, Store};

pub(crate) use self::part::{IdPart, distinct_ends};
pub(crate) use self::step::{StepArgument, hashes};
use crate::shell::{CliError, Session};
use uwf_engine::ThreadId;

/// The thread that `text` names for somebody in the directory `here`, if it is a whole id or of the form `@-1`.
pub(crate) fn thread_here(store: &Store, here: &Path, text: &str) -> Option<ThreadId> {
    match directory::back(text) {
        None => text.to_ascii_uppercase().parse().ok(),
        Some(back) => {
            let back = back.ok()?;
            directory::of(store, here, back + 1).ok()?.get(back).copied()
        }
    }
}

impl Session<'_> {
    /// The thread that `text` names.
    ///
    /// # Errors
    /// It names none, several, or something else; the message says which, the hint what to type.
    pub(crate) fn thread_id(&self, text: &str) -> Result<ThreadId, CliError> {
        match text.parse() {
            Ok(thread) => Ok(thread),
            Err(_) => thread::find(self, text),
        }
    }

    /// The step that `text` names; whether there is one is known when it is found.
    ///
    /// # Errors
    /// It names none, several, or something else.
    pub(crate) fn step_argument(&self, text: &str) -> Result<StepArgument, CliError> {
        step::read(self, text)
    }

    /// The node that `text` names.
    ///
    /// # Errors
    /// It names none, several, or a thread.
    pub(crate) fn node_hash(&self, text: &str) -> Result<Hash, CliError> {
        match text.parse() {
            Ok(hash) => Ok(hash),
            Err(_) if text.contains(':') => self.step_argument(text)?.find(&self.store()?),
            Err(_) => node::find(self, text),
        }
    }

    /// The store, where there is one: looking for a name makes none.
    fn store_if_there(&self) -> Result<Option<Store>, CliError> {
        if self.homes()?.ocas.join("nodes").is_dir() { self.store().map(Some) } else { Ok(None) }
    }
}
