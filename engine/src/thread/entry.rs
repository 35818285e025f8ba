//! A thread as its variable tells of it: head and status, before any node is read.
//!
//! Apart because most questions to many threads at once (which are idle? the fifty youngest?) need no more, and a thread
//! whose nodes are damaged still has an entry.

use std::collections::VecDeque;

use crate::builtin;
use uwf_store::{Hash, Store, Variable};

use super::{HEADS, Head, HeadKind, Status, ThreadError, ThreadId, variable};

/// What is known of a thread without reading a node.
#[derive(Debug)]
pub struct ThreadEntry {
    /// The thread.
    pub thread: ThreadId,
    /// The node it stands at; whether that can be read is another question.
    pub head: Hash,
    /// Its stored state, or the word for one that this version does not know.
    status: Result<Status, String>,
    /// Whether no step was made yet.
    pub is_new: bool,
    /// When the head moved last, in milliseconds since the epoch.
    pub updated: u64,
}

impl ThreadEntry {
    fn of(thread: ThreadId, variable: &Variable) -> ThreadEntry {
        let status = Status::from_tags(&variable.tags, variable.updated);
        let is_new = builtin::STARTS.contains(&variable.schema);
        ThreadEntry { thread, head: variable.value, status, is_new, updated: variable.updated }
    }

    /// Its stored state.
    ///
    /// # Errors
    /// [`ThreadError::UnknownStatus`] when this version does not know the state that is stored.
    pub fn status(&self) -> Result<&Status, ThreadError> {
        let unknown =
            |status: &String| ThreadError::UnknownStatus { thread: self.thread, status: status.clone() };
        self.status.as_ref().map_err(unknown)
    }

    /// The head with its node; one read.
    ///
    /// # Errors
    /// The node is missing, damaged or of another type, or the state that is stored is unknown.
    pub fn read(&self, store: &Store) -> Result<Head, ThreadError> {
        let hash = self.head;
        let node = store
            .get(&hash)
            .map_err(|error| ThreadError::Headless { thread: self.thread, source: Box::new(error) })?;
        let kind = HeadKind::of(&hash, node)?;
        Ok(Head { hash, status: self.status()?.clone(), kind, updated: self.updated })
    }
}

/// The entry of one thread.
///
/// # Errors
/// [`ThreadError::Unknown`], or the variable cannot be read.
pub fn entry(store: &Store, thread: &ThreadId) -> Result<ThreadEntry, ThreadError> {
    let variable = store.vars().get(&variable(thread))?.ok_or(ThreadError::Unknown { thread: *thread })?;
    Ok(ThreadEntry::of(*thread, &variable))
}

/// The node a thread stands at, as far as that can be told without waiting for one that is being moved.
///
/// # Errors
/// The variable cannot be read.
pub fn stands_at(store: &Store, thread: &ThreadId) -> Result<Option<Hash>, ThreadError> {
    Ok(store.vars().get_now(&variable(thread))?.map(|variable| variable.value))
}

/// Where a thread stands.
///
/// # Errors
/// There is no such thread, its node is missing, damaged or of another type, or the state that is stored is unknown.
pub fn head(store: &Store, thread: &ThreadId) -> Result<Head, ThreadError> {
    entry(store, thread)?.read(store)
}

/// Every thread, the youngest first; what nobody asks for is not read.
pub fn entries(store: &Store) -> ThreadEntries<'_> {
    let of = |from: String, below: String| IdRange { from, below, read: VecDeque::new(), chunk: FIRST_CHUNK };
    let border = format!("{HEADS}{}", ThreadId::first_shifted());
    let end = format!("{HEADS}{}", char::MAX);
    ThreadEntries { store, kinds: [of(HEADS.to_owned(), border.clone()), of(border, end)] }
}

/// How many entries are read first; later reads are larger.
const FIRST_CHUNK: usize = 64;

/// How many entries are read with one query at most.
const LARGEST_CHUNK: usize = 8192;

/// The threads of a store from the youngest on; see [`entries`].
///
/// The ids of each kind sort by time, as their variables do, and those of the shifted kind all come after the standard
/// ones: so this merges two lists that are read from their ends.
pub struct ThreadEntries<'a> {
    store: &'a Store,
    kinds: [IdRange; 2],
}

/// The ids of one kind, as far as they are read.
struct IdRange {
    from: String,
    /// What is not read yet sorts before this.
    below: String,
    read: VecDeque<ThreadEntry>,
    /// How many are read next; 0 when there are no more.
    chunk: usize,
}

impl IdRange {
    fn fill(&mut self, store: &Store) -> Result<(), ThreadError> {
        while self.read.is_empty() && self.chunk > 0 {
            let (variables, end) = store.vars().backwards(&self.from, &self.below, self.chunk)?;
            self.chunk = if end.is_none() { 0 } else { (self.chunk * 4).min(LARGEST_CHUNK) };
            self.below = end.unwrap_or_default();
            let id = |variable: &Variable| variable.name.strip_prefix(HEADS)?.parse::<ThreadId>().ok();
            let known =
                variables.iter().filter_map(|variable| Some(ThreadEntry::of(id(variable)?, variable)));
            self.read.extend(known);
        }
        Ok(())
    }
}

impl Iterator for ThreadEntries<'_> {
    type Item = Result<ThreadEntry, ThreadError>;

    fn next(&mut self) -> Option<Self::Item> {
        for kind in &mut self.kinds {
            if let Err(error) = kind.fill(self.store) {
                self.kinds.iter_mut().for_each(|kind| kind.chunk = 0);
                return Some(Err(error));
            }
        }
        let age = |kind: &IdRange| kind.read.front().map(|entry| (entry.thread.time_ms(), entry.thread));
        let [standard, shifted] = &mut self.kinds;
        let younger = if age(standard) >= age(shifted) { standard } else { shifted };
        younger.read.pop_front().map(Ok)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::fixture::Place;
    use uwf_store::{Expect, VarChange};

    #[test]
    fn both_kinds_of_ids_are_listed_by_age() {
        let place = Place::new();
        let store = place.store();
        let head = super::head(&store, &place.flow_thread()).unwrap().hash;
        let now = crate::fixture::clock();
        // A shifted id reads as a standard one four times as late.
        let mut ids: Vec<ThreadId> =
            (0..700).map(|n| ThreadId::new(if n % 3 == 0 { (now - n) * 4 } else { now - n })).collect();
        ids.sort_by_key(|id| (id.time_ms(), *id));
        ids.dedup();
        let set = |id: &ThreadId| VarChange::Set {
            name: variable(id),
            schema: builtin::START_NODE,
            value: head,
            tags: BTreeMap::new(),
            expect: Expect::Any,
        };
        store.vars().apply(&ids.iter().map(set).collect::<Vec<_>>()).unwrap();
        let listed: Vec<ThreadId> = entries(&store).map(|entry| entry.unwrap().thread).collect();
        let ages: Vec<u64> = listed.iter().map(ThreadId::time_ms).collect();
        assert!(ages.is_sorted_by(|one, next| one >= next));
        assert_eq!((listed.len(), ids.len()), (701, 700));
        assert!(ids.iter().all(|id| listed.contains(id)));
    }
}
