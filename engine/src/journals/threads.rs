//! The threads of a store, for those who ask of many journals whose they are.

use std::collections::HashMap;

use uwf_store::{Hash, Store};

use crate::thread::{self, ThreadEntry, ThreadError, ThreadId};

/// Where a thread stands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ThreadPosition {
    pub(crate) head: Hash,
    /// Whether it was given up, so that no step of it is ever played again.
    pub(crate) is_cancelled: bool,
}

/// The threads of a store. One that is not there may be on its way from one head to the next: only who is not there at
/// two moments far enough from each other is gone, and those two are the same for all.
pub(crate) struct KnownThreads<'a> {
    store: &'a Store,
    /// Who was there at first, or was found since.
    there: HashMap<ThreadId, ThreadPosition>,
    waited: bool,
}

impl KnownThreads<'_> {
    /// Those that are there now.
    ///
    /// # Errors
    /// The threads cannot be listed.
    pub(crate) fn of(store: &Store) -> Result<KnownThreads<'_>, ThreadError> {
        let there = thread::entries(store).map(|entry| entry.map(|entry| (entry.thread, position(&entry))));
        Ok(KnownThreads { store, there: there.collect::<Result<_, _>>()?, waited: false })
    }

    /// Whether a thread is gone for good, or never was.
    pub(crate) fn is_gone(&mut self, thread: &ThreadId) -> bool {
        if self.there.contains_key(thread) {
            return false;
        }
        let gone = match self.waited {
            false => matches!(thread::variable_of(self.store, thread), Ok(None)),
            true => matches!(thread::stands_at(self.store, thread), Ok(None)),
        };
        // Only who was looked for in vain was waited for.
        self.waited |= gone;
        gone
    }

    /// Where a thread stands; nothing where it is gone.
    ///
    /// # Errors
    /// It is there, and its variable cannot be read.
    pub(crate) fn position(&mut self, thread: &ThreadId) -> Result<Option<ThreadPosition>, ThreadError> {
        if self.is_gone(thread) {
            return Ok(None);
        }
        if let Some(position) = self.there.get(thread) {
            return Ok(Some(*position));
        }
        let found = position(&thread::entry(self.store, thread)?);
        self.there.insert(*thread, found);
        Ok(Some(found))
    }
}

fn position(entry: &ThreadEntry) -> ThreadPosition {
    let is_cancelled = matches!(entry.status(), Ok(thread::Status::Cancelled { .. }));
    ThreadPosition { head: entry.head, is_cancelled }
}
