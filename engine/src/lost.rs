//! Threads whose names are lost: steps in the store that no variable leads to, though nobody removed their thread.
//!
//! Nodes are files of their own, names are rows of one database. When that is lost (a copy without its log, a file that
//! was replaced) a store looks empty, and collecting it would remove all there is. So whoever collects, verifies or lists
//! asks here first.
//!
//! **The rule.** The threads of the steps in the store are told by their StartNodes. A thread is *named* when the head of
//! some thread, or any other variable, is its StartNode or one of its steps; this takes in ended and cancelled threads,
//! forks, failed attempts and steps that were poked away, which all are of a thread that has a head. It is *removed* when
//! `thread rm` has left a note of that (`note_removal`), which stays until the StartNode has been collected. What is
//! neither is lost. A few lost threads prove nothing: another engine may have removed them, or an import may have been
//! cut off. It is taken for damage when
//! - more threads are lost than there are threads with a name (so always when there are none), or
//! - one of them was put before the oldest variable: names come to be with the store, so these were made anew.
//!
//! Threads that were begun and never stepped are not looked for: their loss costs a command line.

use std::collections::{BTreeMap, HashSet};
use std::fmt;

use uwf_store::{Expect, Hash, Node, Store, StoreError, VarChange, Variable, parallel};

use crate::builtin;
use crate::thread_id::{MAX_LEVELS, ThreadId};
use crate::variables::HEADS;

/// Where it is noted that threads were removed: one variable for each StartNode.
pub const REMOVED: &str = "@uwf/removed/";

/// What is lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lost {
    /// The StartNode of each thread, with its last step.
    pub(crate) threads: BTreeMap<Hash, Hash>,
    /// How many steps they have.
    steps: usize,
    /// How many threads have a name.
    named: usize,
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Lost { threads, steps, named } = self;
        let threads = threads.len();
        write!(
            f,
            "the names of threads are lost: {steps} steps of {threads} threads are in the store that no variable leads \
             to and nobody removed, and {named} threads have a name"
        )
    }
}

impl Lost {
    /// What to do about it.
    pub fn hint(&self) -> String {
        let last = self.threads.values().next();
        let last = last.map_or_else(|| "STEP".to_owned(), Hash::to_string);
        format!(
            "put vars/_store.db of the store back from a copy, with its -wal file if there is one; or begin a thread at \
             the last step of each, which `uwf cas verify` lists: `uwf step fork {last}`"
        )
    }
}

/// A step, as far as it matters here.
struct LostStep {
    hash: Hash,
    start: Hash,
    prev: Option<Hash>,
    put: u64,
}

/// What is lost, by every node there is; none when there is nothing that ordinary use does not explain.
///
/// # Errors
/// The nodes or the variables of the store cannot be listed.
pub fn find(store: &Store) -> Result<Option<Lost>, StoreError> {
    among(store, &steps(|type_| store.all_of(type_))?)
}

/// What is lost by what the index says, without reading every node: for those who list threads.
///
/// # Errors
/// The index or the variables of the store cannot be read.
pub fn glance(store: &Store) -> Result<Option<Lost>, StoreError> {
    among(store, &steps(|type_| store.indexed(type_))?)
}

/// The steps of both types.
fn steps(of_type: impl Fn(&Hash) -> Result<Vec<Hash>, StoreError>) -> Result<Vec<Hash>, StoreError> {
    let steps = builtin::STEPS.iter().map(of_type).collect::<Result<Vec<_>, _>>()?;
    Ok(steps.concat())
}

fn among(store: &Store, steps: &[Hash]) -> Result<Option<Lost>, StoreError> {
    let steps = parallel::map(steps, |hash| step(store, hash));
    let mut steps: Vec<LostStep> = steps.into_iter().flatten().collect();
    if steps.is_empty() {
        return Ok(None);
    }
    let variables = store.vars().rows("")?;
    let mut found = named(store, variables.iter().map(|variable| variable.value));
    let removed =
        variables.iter().filter_map(|variable| variable.name.strip_prefix(REMOVED)?.parse::<Hash>().ok());
    found.extend(removed);
    steps.retain(|step| !found.contains(&step.start));
    if !steps.is_empty() {
        // A thread that was called needs no name as long as its caller has one.
        steps.retain(|step| !first_start(store, &step.start).is_some_and(|start| found.contains(&start)));
        found = named(store, store.vars().remembered()?.into_iter());
        steps.retain(|step| !found.contains(&step.start));
    }
    Ok(judged(&steps, &variables))
}

/// Applies the rule to the steps of threads without a name.
fn judged(steps: &[LostStep], variables: &[Variable]) -> Option<Lost> {
    let named = variables.iter().filter(|variable| variable.name.starts_with(HEADS)).count();
    let oldest = variables.iter().map(|variable| variable.created).min();
    let before: HashSet<Hash> = steps.iter().filter_map(|step| step.prev).collect();
    let mut in_order: Vec<&LostStep> = steps.iter().collect();
    // Of several last ones, which a fork or a failure makes, the one put last.
    in_order.sort_by_key(|step| (!before.contains(&step.hash), step.put, step.hash));
    let threads: BTreeMap<Hash, Hash> = in_order.iter().map(|step| (step.start, step.hash)).collect();
    let older = |step: &LostStep| oldest.is_none_or(|oldest| step.put < oldest);
    let is_damage = threads.len() > named || steps.iter().any(older);
    is_damage.then_some(Lost { threads, steps: steps.len(), named })
}

/// The starts of the threads that these nodes are of; those that are no StartNode or StepNode are of none.
fn named(store: &Store, nodes: impl Iterator<Item = Hash>) -> HashSet<Hash> {
    let nodes: HashSet<Hash> = nodes.collect();
    let nodes: Vec<Hash> = nodes.into_iter().collect();
    parallel::map(&nodes, |hash| start_of(store, hash)).into_iter().flatten().collect()
}

/// The start of the thread that this node is of.
fn start_of(store: &Store, hash: &Hash) -> Option<Hash> {
    match store.find(hash).ok()?? {
        Node { type_: builtin::START_NODE | builtin::UWF_START, .. } => Some(*hash),
        Node { type_: builtin::STEP_NODE | builtin::UWF_STEP, payload, .. } => {
            payload["start"].as_str()?.parse().ok()
        }
        _ => None,
    }
}

/// The start of the first thread of the stack that one is on top of; none where that one was not called.
fn first_start(store: &Store, start: &Hash) -> Option<Hash> {
    let mut first = None;
    let mut next = *start;
    for _ in 0..MAX_LEVELS {
        let node = store.find(&next).ok()??;
        let Some(state) = node.payload["parentState"].as_str() else { break };
        next = start_of(store, &state.parse().ok()?)?;
        first = Some(next);
    }
    first
}

/// A step that cannot be read is told of by others.
fn step(store: &Store, hash: &Hash) -> Option<LostStep> {
    let Node { payload, timestamp: put, .. } = store.find(hash).ok()??;
    let node = |name: &str| payload[name].as_str()?.parse().ok();
    Some(LostStep { hash: *hash, start: node("start")?, prev: node("prev"), put })
}

/// The tag of a note that lists the threads, in words.
const THREADS: &str = "threads";

/// The change that notes the removal of a thread with this StartNode.
///
/// # Errors
/// The note on an earlier one of the same StartNode cannot be read.
pub(crate) fn note_removal(store: &Store, start: &Hash, thread: &ThreadId) -> Result<VarChange, StoreError> {
    let name = format!("{REMOVED}{start}");
    let earlier = store.vars().get(&name)?.and_then(|note| note.tags.get(THREADS).cloned());
    let threads = earlier.into_iter().chain([thread.to_string()]).collect::<Vec<_>>().join(" ");
    Ok(VarChange::Set {
        name,
        // Any node will do that is never collected: the name says it all.
        schema: builtin::META_SCHEMA,
        value: builtin::TEXT,
        tags: [(THREADS.to_owned(), threads)].into(),
        expect: Expect::Any,
    })
}

/// Whether it is noted that this thread, which stood at `head` once, was removed.
pub(crate) fn is_noted(store: &Store, head: &Hash, thread: &ThreadId) -> bool {
    let note = |start: &Hash| {
        let note = store.vars().get(&format!("{REMOVED}{start}")).ok()??;
        let threads = note.tags.get(THREADS)?;
        Some(threads.split(' ').any(|noted| noted == thread.as_str()))
    };
    start_of(store, head).and_then(|start| note(&start)).unwrap_or_default()
}

/// Forgets the notes on StartNodes that have been collected.
///
/// # Errors
/// The variables cannot be listed or changed.
pub fn forget_collected(store: &Store) -> Result<(), StoreError> {
    let gone = |variable: &Variable| {
        variable
            .name
            .strip_prefix(REMOVED)
            .and_then(|start| start.parse().ok())
            .is_some_and(|start| !store.has(&start))
    };
    let notes = store.vars().list(REMOVED)?;
    let forgotten: Vec<VarChange> =
        notes.into_iter().filter(gone).map(|note| VarChange::Remove { name: note.name }).collect();
    if forgotten.is_empty() { Ok(()) } else { store.vars().apply(&forgotten) }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;
    use crate::fixture::Place;
    use crate::thread::{self, Status};

    /// A thread that stands at its first step.
    fn stepped(place: &Place, task: &str) -> (ThreadId, Hash) {
        let thread = place.thread(task);
        let step = place.step(&thread, None, "writer", &json!({"$status": "checked"}));
        let start = thread::head(&place.store(), &thread).unwrap().hash;
        thread::advance(&place.store(), &thread, &start, &step, &Status::Idle).unwrap();
        (thread, step)
    }

    fn drop_name(store: &Store, thread: &ThreadId) {
        let name = format!("{HEADS}{thread}");
        store.vars().apply(&[VarChange::Remove { name }]).unwrap();
    }

    #[test]
    fn what_ordinary_use_leaves_is_not_lost() {
        let place = Place::new();
        let store = place.store();
        assert_eq!(find(&store).unwrap(), None);
        let (ended, at) = stepped(&place, "end");
        thread::advance(&store, &ended, &at, &at, &Status::Ended { completed_at: 1 }).unwrap();
        let (cancelled, _) = stepped(&place, "cancel");
        let failed = json!({"$status": "error", "error": "no", "phase": "answer"});
        let failed = place.step(&cancelled, None, "writer", &failed);
        thread::record_failure(&store, &cancelled, "writer", &failed).unwrap();
        thread::cancel(&store, &cancelled).unwrap();
        let (forked, at) = stepped(&place, "fork");
        thread::fork(&store, &at).unwrap();
        drop_name(&store, &forked);
        assert_eq!(find(&store).unwrap(), None);
        let (poked, at) = stepped(&place, "poke");
        let other = place.step(&poked, None, "writer", &json!({"$status": "done"}));
        thread::advance(&store, &poked, &at, &other, &Status::Idle).unwrap();
        for thread in [ended, cancelled, poked] {
            thread::remove(&store, &thread).unwrap();
        }
        assert_eq!(find(&store).unwrap(), None);
        assert_eq!(store.vars().list(REMOVED).unwrap().len(), 3);
    }

    #[test]
    fn more_than_have_a_name_are_damage() {
        let place = Place::new();
        let store = place.store();
        let threads: Vec<_> = (0..3).map(|n| stepped(&place, &format!("task {n}"))).collect();
        drop_name(&store, &threads[0].0);
        assert_eq!(find(&store).unwrap(), None, "one of three: another engine may have done that");
        drop_name(&store, &threads[1].0);
        let lost = find(&store).unwrap().unwrap();
        let last: Vec<Hash> = lost.threads.values().copied().collect();
        let mut expected = [threads[0].1, threads[1].1];
        expected.sort_by_key(|step| thread::step_node(&store, step).unwrap().start);
        assert_eq!((last.as_slice(), lost.steps, lost.named), (&expected[..], 2, 1));
        assert_eq!(glance(&store).unwrap(), Some(lost));
        // Whatever leads to it is a name.
        let (schema, value) = (builtin::STEP_NODE, threads[0].1);
        let (name, tags) = ("@me/kept".to_owned(), BTreeMap::new());
        store.vars().apply(&[VarChange::Set { name, schema, value, tags, expect: Expect::Any }]).unwrap();
        assert_eq!(find(&store).unwrap(), None);
    }

    #[test]
    fn names_that_are_younger_than_what_they_do_not_name_were_made_anew() {
        let step = |n: u8, put| {
            let hash = |n: u8| format!("000000000000{n}").parse().unwrap();
            LostStep { hash: hash(n), start: hash(9), prev: (n > 1).then(|| hash(n - 1)), put }
        };
        let head = |n: u8| Variable {
            name: format!("{HEADS}{n}"),
            schema: builtin::TEXT,
            value: builtin::TEXT,
            created: 1000,
            updated: 1000,
            tags: BTreeMap::new(),
            labels: Vec::new(),
        };
        let heads: Vec<Variable> = (0..5).map(head).collect();
        assert_eq!(judged(&[step(1, 1000), step(2, 1001)], &heads), None);
        let lost = judged(&[step(2, 1001), step(1, 999)], &heads).unwrap();
        assert_eq!(lost.threads.values().next(), Some(&step(2, 0).hash));
        assert!(judged(&[step(1, 1000)], &[]).is_some(), "no names at all");
        assert_eq!(judged(&[], &[]), None);
    }
}
