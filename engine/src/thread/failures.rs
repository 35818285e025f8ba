//! The failed visits of a role, kept beside the thread until a visit succeeds or the thread ends.
//!
//! They are a variable of their own, a text node with a JSON array of StepNode hashes, because a failed step must not
//! move the head and yet must not be lost.

use std::collections::BTreeMap;

use crate::builtin;
use uwf_store::{Expect, Hash, Node, Store, StoreError, VarChange, Variable};

use super::{COMPACT, FAILED, ThreadError, ThreadId};

/// What [`COMPACT`] is called in the name of a variable.
const COMPACT_VARIABLE: &str = "-COMPACT";
/// How often an append is tried again when another program appends at the same time.
const TRIES: usize = 5;

/// The failed steps of `role` since its last success, oldest first.
///
/// # Errors
/// The variable or the list that it names cannot be read.
pub fn failed_attempts(store: &Store, thread: &ThreadId, role: &str) -> Result<Vec<Hash>, ThreadError> {
    store.vars().get(&variable(thread, role))?.map_or(Ok(Vec::new()), |found| listed(store, &found))
}

/// Adds a failed step to the list of its role.
///
/// # Errors
/// The list cannot be read or written, or other programs kept changing it through five tries.
pub fn record_failure(store: &Store, thread: &ThreadId, role: &str, step: &Hash) -> Result<(), ThreadError> {
    let mut tries = TRIES;
    loop {
        tries -= 1;
        match append(store, &variable(thread, role), step) {
            Err(ThreadError::Store(StoreError::Conflict { .. })) if tries > 0 => {}
            done => return done,
        }
    }
}

/// Forgets the failed steps of a role, because it has succeeded.
///
/// # Errors
/// The variables cannot be changed.
pub fn clear_failures(store: &Store, thread: &ThreadId, role: &str) -> Result<(), ThreadError> {
    Ok(store.vars().apply(&[VarChange::Remove { name: variable(thread, role) }])?)
}

/// What failed of one role of one thread.
#[derive(Debug)]
pub struct Failures {
    /// Where they are listed.
    pub variable: Variable,
    /// The steps, oldest first; or why the list cannot be read, which is for the caller to judge.
    pub steps: Result<Vec<Hash>, ThreadError>,
}

/// The failed steps of every role of a thread, or of all threads.
///
/// # Errors
/// The variables cannot be listed. A list that cannot be read is an error in its own [`Failures::steps`].
pub fn all_failures(store: &Store, thread: Option<&ThreadId>) -> Result<Vec<Failures>, ThreadError> {
    let prefix = thread.map_or_else(|| FAILED.to_owned(), |thread| format!("{FAILED}{thread}/"));
    let with_steps = |variable: Variable| Failures { steps: listed(store, &variable), variable };
    Ok(store.vars().list(&prefix)?.into_iter().map(with_steps).collect())
}

fn append(store: &Store, name: &str, step: &Hash) -> Result<(), ThreadError> {
    let found = store.vars().get(name)?;
    let mut steps = found.as_ref().map_or(Ok(Vec::new()), |found| listed(store, found))?;
    if steps.contains(step) {
        return Ok(());
    }
    steps.push(*step);
    let text = serde_json::to_string(&steps).expect("a list of strings always serialises");
    let value = store.put_text(&text)?;
    let expect = found.map_or(Expect::Absent, |found| Expect::Value(found.value));
    let change =
        VarChange::Set { name: name.to_owned(), schema: builtin::TEXT, value, tags: BTreeMap::new(), expect };
    Ok(store.vars().apply(&[change])?)
}

fn listed(store: &Store, variable: &Variable) -> Result<Vec<Hash>, ThreadError> {
    steps_in(&variable.value, &store.get(&variable.value)?)
}

/// The steps that a list names.
pub(crate) fn steps_in(list: &Hash, node: &Node) -> Result<Vec<Hash>, ThreadError> {
    let text = node.payload.as_str().unwrap_or_default();
    serde_json::from_str(text).map_err(|source| ThreadError::Malformed { hash: *list, source })
}

/// The role that no workflow has is called as no role can be: names of variables have no `$`.
fn variable(thread: &ThreadId, role: &str) -> String {
    let name = if role == COMPACT { COMPACT_VARIABLE } else { role };
    format!("{FAILED}{thread}/{name}")
}
