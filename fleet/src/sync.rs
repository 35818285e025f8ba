//! A thread goes to a remote.

use std::collections::HashSet;
use uwf_engine::ThreadId;
use uwf_store::Store;

use crate::heads::{self, RemoteHead};
use crate::{Connection, FleetError, nodes};

/// Puts a thread that the remote does not have there, with all that it needs, to be kept and not to be run; false where it is
/// there already, which stays as it is. `role` is who plays next.
///
/// # Errors
/// The thread cannot be read, the remote has another node under a hash of it, or the connection was lost: the same again goes on
/// where this was.
pub fn begin(
    connection: &mut Connection,
    store: &Store,
    thread: &ThreadId,
    role: Option<&str>,
) -> Result<bool, FleetError> {
    let standing = RemoteHead::of(store, thread)?;
    let (client, team) = connection.parts();
    nodes::put(client, team, store, (&standing.roots(), &mut HashSet::new()))?;
    heads::begin(connection, store, thread, (&standing, role))
}

/// Brings a thread of the remote into a store, with all that it needs. A thread that stands elsewhere there is only taken where
/// the remote's comes after it.
///
/// # Errors
/// [`FleetError::NoRemote`] where the remote does not have it, [`FleetError::Diverged`], a node is damaged, or the connection was lost.
pub fn fetch(
    connection: &mut Connection,
    store: &Store,
    thread: &ThreadId,
) -> Result<RemoteHead, FleetError> {
    let (client, team) = connection.parts();
    let standing = heads::read(client, team, thread)?.ok_or_else(|| FleetError::NoRemote {
        what: format!("the remote has no thread {thread}"),
        hint: "`uwf thread list --remote NAME` tells which there are".to_owned(),
    })?;
    let there = nodes::closure(client, team, &standing.roots())?;
    nodes::get(client, team, store, &there)?;
    standing.write(store, thread)?;
    Ok(standing)
}
