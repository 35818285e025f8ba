//! How a thread stands here to how it stands at a remote.

use std::collections::BTreeMap;

use uwf_engine::ThreadId;
use uwf_engine::thread::{self, HEADS};
use uwf_store::{Hash, Store};

use crate::FleetError;
use crate::heads::RemoteHead;

/// See the module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relation {
    /// It is the same.
    Same,
    /// Here are steps that the remote does not have.
    Ahead {
        /// How many; 0 where only the status differs, or a thread that it called.
        steps: u64,
    },
    /// The remote has steps that are not here.
    Behind {
        /// How many; 0 where only the status differs, or a thread that it called.
        steps: u64,
    },
    /// Both have steps that the other does not have.
    Diverged,
}

/// The variable of a thread's head.
pub(super) fn names_of_heads(thread: &ThreadId) -> String {
    format!("{HEADS}{thread}")
}

/// How `ours` stands to `theirs`; the nodes of both are in the store.
pub(super) fn relation(
    store: &Store,
    thread: &ThreadId,
    ours: &RemoteHead,
    theirs: &RemoteHead,
) -> Result<Relation, FleetError> {
    let of_heads = between(store, ours.head, theirs.head)?;
    if of_heads != Relation::Same {
        return Ok(of_heads);
    }
    let of_called = called(store, thread, ours, theirs)?;
    if of_called != Relation::Same {
        return Ok(of_called);
    }
    // Who is given up does not come back; a status beside that is a function of the head.
    let is_over = |standing: &RemoteHead| standing.status() == "cancelled";
    Ok(match (is_over(ours), is_over(theirs)) {
        (true, false) => Relation::Ahead { steps: 0 },
        (false, true) => Relation::Behind { steps: 0 },
        _ => Relation::Same,
    })
}

fn between(store: &Store, ours: Hash, theirs: Hash) -> Result<Relation, FleetError> {
    if ours == theirs {
        return Ok(Relation::Same);
    }
    if let Some(steps) = thread::steps_between(store, &ours, &theirs)? {
        return Ok(Relation::Behind { steps });
    }
    let steps = thread::steps_between(store, &theirs, &ours)?;
    Ok(steps.map_or(Relation::Diverged, |steps| Relation::Ahead { steps }))
}

/// The threads that were called may be in the middle of their steps, while the one that called them stands still.
fn called(
    store: &Store,
    thread: &ThreadId,
    ours: &RemoteHead,
    theirs: &RemoteHead,
) -> Result<Relation, FleetError> {
    let own = names_of_heads(thread);
    let heads = |standing: &RemoteHead| -> BTreeMap<String, Hash> {
        let heads = standing.variables.iter().filter(|variable| variable.name.starts_with(HEADS));
        heads.filter(|head| head.name != own).map(|head| (head.name.clone(), head.value)).collect()
    };
    let (ours, theirs) = (heads(ours), heads(theirs));
    for name in ours.keys().chain(theirs.keys()) {
        let found = match (ours.get(name), theirs.get(name)) {
            (Some(ours), Some(theirs)) => between(store, *ours, *theirs)?,
            (Some(_), None) => Relation::Ahead { steps: 0 },
            (None, _) => Relation::Behind { steps: 0 },
        };
        match found {
            Relation::Same => {}
            Relation::Ahead { .. } => return Ok(Relation::Ahead { steps: 0 }),
            Relation::Behind { .. } => return Ok(Relation::Behind { steps: 0 }),
            Relation::Diverged => return Ok(Relation::Diverged),
        }
    }
    Ok(Relation::Same)
}
