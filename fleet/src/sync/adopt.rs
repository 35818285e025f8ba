//! A thread of this machine becomes as it stands at a remote, to stay here.

use uwf_engine::ThreadId;
use uwf_engine::thread::{self, OPTIONS};
use uwf_store::{Expect, Hash, Store, VarChange};

use super::relation::names_of_heads;
use crate::FleetError;
use crate::heads::{BROUGHT, RemoteHead, check_called, removal};

/// Makes a thread that stands at `here`, or is not here, stand so; all nodes that it names are here. Who plays, and what
/// weakens a sandbox, is taken from nobody: a thread that was here keeps what was chosen for it.
///
/// # Errors
/// The thread is not where it was any more, a thread that it called has diverged or was not called by it, a node is missing, or
/// the variables cannot be written.
pub(super) fn adopt(
    store: &Store,
    thread: &ThreadId,
    here: Option<Hash>,
    standing: &RemoteHead,
) -> Result<(), FleetError> {
    check_called(store, thread, standing, false)?;
    let options = format!("{OPTIONS}{thread}");
    let mut changes = removal(store, thread, &standing.variables)?;
    changes.retain(|change| !matches!(change, VarChange::Remove { name } if *name == options));
    // A worker that has brought it leaves it here then.
    changes.push(VarChange::Remove { name: format!("{BROUGHT}{thread}") });
    for variable in standing.variables.iter().filter(|variable| !variable.name.starts_with(OPTIONS)) {
        changes.push(VarChange::Set {
            name: variable.name.clone(),
            schema: store.get(&variable.value)?.type_,
            value: variable.value,
            tags: variable.tags.clone(),
            expect: Expect::Any,
        });
    }
    changes.push(VarChange::Set {
        name: names_of_heads(thread),
        schema: store.get(&standing.head)?.type_,
        value: standing.head,
        tags: standing.tags.clone(),
        expect: here.map_or(Expect::Absent, Expect::Value),
    });
    store.vars().apply(&changes)?;
    if here.is_none()
        && let Some(options) = standing.variables.iter().find(|variable| variable.name == options)
    {
        let (taken, _) = thread::options_of_node(store, &options.value)?.from_elsewhere();
        thread::keep_options(store, thread, &taken)?;
    }
    Ok(())
}
