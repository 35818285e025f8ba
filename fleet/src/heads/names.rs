//! Which variables a thread of a remote may bring into a store: its own, and those of the threads that it called.
//!
//! Whoever may submit writes any name into the rows of a thread. What is taken over unlooked-at would be another thread's head,
//! or a workflow's name, of whoever pulls it.

use std::collections::BTreeSet;

use uwf_engine::ThreadId;
use uwf_engine::thread::{self, CHILDREN, FAILED, HEADS, MAX_LEVELS, OPTIONS, PARENTS, PAUSES};
use uwf_engine::variables::UNDOS;
use uwf_store::{Hash, Store};

use super::{OwnVariable, RemoteHead, malformed};
use crate::FleetError;

/// The tag with the called thread, of the variable that its caller has of it.
const CALLED: &str = "thread";

/// Callers, each with the thread that it called last, from the first caller on.
fn calls(first: &ThreadId, variables: &[OwnVariable]) -> Vec<(ThreadId, ThreadId)> {
    let (mut caller, mut seen, mut calls) = (*first, BTreeSet::from([*first]), Vec::new());
    while calls.len() < MAX_LEVELS {
        let name = format!("{CHILDREN}{caller}");
        let noted = variables.iter().find(|variable| variable.name == name);
        let called = noted.and_then(|noted| noted.tags.get(CALLED)?.parse::<ThreadId>().ok());
        let Some(called) = called.filter(|called| seen.insert(*called)) else { break };
        calls.push((caller, called));
        caller = called;
    }
    calls
}

/// Whether all of these may be variables of a thread.
///
/// # Errors
/// [`FleetError::Malformed`] with the first that may not.
pub(super) fn check(thread: &ThreadId, variables: &[OwnVariable]) -> Result<(), FleetError> {
    let called: Vec<ThreadId> = calls(thread, variables).into_iter().map(|(_, called)| called).collect();
    let with = |prefixes: &[&str], ids: &[ThreadId]| -> Vec<String> {
        ids.iter().flat_map(|id| prefixes.iter().map(move |prefix| format!("{prefix}{id}"))).collect()
    };
    let all: Vec<ThreadId> = [*thread].into_iter().chain(called.iter().copied()).collect();
    let mut names = with(&[UNDOS, OPTIONS, PAUSES, CHILDREN], &all);
    names.extend(with(&[HEADS, PARENTS], &called));
    let failed: Vec<String> = all.iter().map(|id| format!("{FAILED}{id}/")).collect();
    let is_own = |name: &String| names.contains(name) || failed.iter().any(|failed| name.starts_with(failed));
    match variables.iter().find(|variable| !is_own(&variable.name)) {
        None => Ok(()),
        Some(OwnVariable { name, .. }) => {
            let why = format!("{name:?} is not its own, nor of a thread that it called");
            Err(malformed("variables", thread, why))
        }
    }
}

/// Whether the threads that were called may become here as the remote has them; all nodes are here. One that is here must be
/// called by the same thread. With `overwrite` it may stand elsewhere, else the remote's head must come after it.
///
/// # Errors
/// [`FleetError::Malformed`], [`FleetError::Diverged`], or the store cannot be read.
pub(crate) fn check_called(
    store: &Store,
    thread: &ThreadId,
    standing: &RemoteHead,
    overwrite: bool,
) -> Result<(), FleetError> {
    let variables = &standing.variables;
    let head_of = |called: &ThreadId| {
        let name = format!("{HEADS}{called}");
        variables.iter().find(|variable| variable.name == name).map(|head| head.value)
    };
    for (caller, called) in calls(thread, variables) {
        let Some(here) = thread::stands_at(store, &called)? else { continue };
        let stands = if caller == *thread { Some(standing.head) } else { head_of(&caller) };
        if !is_called(store, (&caller, stands), &called)? {
            let why = format!("thread {called} is here, and {caller} did not call it");
            return Err(malformed("variables", thread, why));
        }
        if let Some(there) = head_of(&called).filter(|there| !overwrite && *there != here)
            && !thread::is_before(store, &here, &there)?
        {
            return Err(FleetError::Diverged { thread: thread.to_string(), here, there });
        }
    }
    Ok(())
}

/// Whether a thread that is here was called by this one, which stands so at the remote: it is noted, or its start says so.
fn is_called(
    store: &Store,
    (caller, stands): (&ThreadId, Option<Hash>),
    called: &ThreadId,
) -> Result<bool, FleetError> {
    if let Some((noted, _)) = thread::caller(store, called)? {
        return Ok(noted == *caller);
    }
    let Some(call) = thread::head(store, called)?.start(store)?.call else { return Ok(false) };
    if thread::last_called(store, caller)?.is_some_and(|last| last.thread == *called) {
        return Ok(true);
    }
    stands.map_or(Ok(false), |stands| Ok(thread::is_before(store, &call.parent_state, &stands)?))
}
