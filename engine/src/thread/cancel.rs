//! Giving a thread up, and forgetting it. Whether it runs is the caller's to know: see [`crate::lock`].

use uwf_store::{Store, StoreError, VarChange};

use super::{
    CHILDREN, FAILED, MAX_LEVELS, PARENTS, Status, ThreadError, ThreadId, advance, all_called, entry,
    last_called, variable,
};
use crate::lost;
use crate::variables::{OPTIONS, PAUSES, UNDOS};

/// Gives a thread up where it stands, and the thread that it called; their failed attempts are forgotten. One that was given
/// up before stays as it is: then the answer is false.
///
/// # Errors
/// There is no such thread, it has ended, its head cannot be read, or another program moved the head meanwhile.
pub fn cancel(store: &Store, thread: &ThreadId) -> Result<bool, ThreadError> {
    let entry = entry(store, thread)?;
    match entry.status()? {
        Status::Cancelled { .. } => Ok(false),
        Status::Ended { .. } => Err(ThreadError::Ended { thread: *thread }),
        Status::Idle | Status::Suspended { .. } => {
            // A head that is no node can carry no state.
            entry.read(store)?;
            let cancelled = Status::Cancelled { completed_at: store.now() };
            advance(store, thread, &entry.head, &entry.head, &cancelled)?;
            cancel_called(store, thread);
            Ok(true)
        }
    }
}

/// Gives up what the thread called and is not done: nobody waits for it any more. One that cannot be read is left.
fn cancel_called(store: &Store, caller: &ThreadId) {
    if let Ok(Some(called)) = last_called(store, caller)
        && let Ok(entry) = entry(store, &called.thread)
        && entry.status().is_ok_and(|status| !status.is_final())
    {
        cancel(store, &called.thread).ok();
    }
}

/// An error unless there is such a thread, however damaged.
///
/// # Errors
/// [`ThreadError::Unknown`], or the variables cannot be read.
pub fn check_exists(store: &Store, thread: &ThreadId) -> Result<(), ThreadError> {
    match entry(store, thread) {
        Ok(_) | Err(ThreadError::Store(StoreError::DamagedVariable { .. })) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Forgets a thread, and those that it called: their heads, failed attempts and callers, and what was undone, and
/// the options that were chosen. The nodes stay
/// until somebody collects garbage.
///
/// # Errors
/// There is no such thread, or the variables cannot be read or changed.
pub fn remove(store: &Store, thread: &ThreadId) -> Result<(), ThreadError> {
    check_exists(store, thread)?;
    forget(store, thread, 0)
}

fn forget(store: &Store, thread: &ThreadId, level: usize) -> Result<(), ThreadError> {
    if level < MAX_LEVELS {
        for called in all_called(store, thread)?.iter().filter(|called| *called != thread) {
            forget(store, called, level + 1)?;
        }
    }
    let mut changes = vec![
        VarChange::Remove { name: variable(thread) },
        VarChange::RemovePrefix { prefix: format!("{FAILED}{thread}/") },
        VarChange::Remove { name: format!("{PARENTS}{thread}") },
        VarChange::Remove { name: format!("{CHILDREN}{thread}") },
        VarChange::Remove { name: format!("{UNDOS}{thread}") },
        VarChange::Remove { name: format!("{OPTIONS}{thread}") },
        VarChange::Remove { name: format!("{PAUSES}{thread}") },
    ];
    // Its steps are to be seen as removed, not as lost; where its head is damaged there is nothing to tell them by.
    let head = entry(store, thread).and_then(|entry| entry.read(store));
    if let Ok(head) = head {
        changes.push(lost::note_removal(store, &head.start_hash(), thread)?);
    }
    store.vars().apply(&changes)?;
    Ok(())
}
