//! What a team may spend. A thread's own limit is looked at where it is claimed.

use super::{Claimant, claimable};
use crate::{Connection, FleetError};

/// Whether the team has spent what it may in this day, in this month, or in all. A team without a budget never has.
///
/// # Errors
/// The database fails, or the connection was lost.
pub fn is_spent(connection: &mut Connection) -> Result<bool, FleetError> {
    let (client, team) = connection.parts();
    Ok(client.query_one("SELECT uwf.is_spent($1)", &[&team])?.get(0))
}

/// How much there is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waiting {
    /// Threads that could be claimed.
    pub threads: u64,
    /// How long the first of them has waited, in milliseconds.
    pub longest_ms: u64,
}

/// How many threads wait for a worker, and how long. None when the team's budget is spent: no worker would take them.
///
/// # Errors
/// The connection was lost.
pub fn waiting(connection: &mut Connection) -> Result<Waiting, FleetError> {
    let (client, team) = connection.parts();
    let waiting = concat!(
        "SELECT count(*), coalesce(floor(extract(epoch FROM clock_timestamp() - min(ready_at)) * 1000), 0)::bigint
         FROM uwf.thread WHERE team = $1 AND ready_at <= clock_timestamp() AND ",
        claimable!()
    );
    let row = client.query_one(waiting, &[&team])?;
    let count = |column: usize| u64::try_from(row.get::<_, i64>(column)).unwrap_or(0);
    Ok(Waiting { threads: count(0), longest_ms: count(1) })
}

/// Whether nothing that this worker could take is ready, now or later, or worked on by anybody.
///
/// # Errors
/// The connection was lost.
pub fn is_empty(connection: &mut Connection, claimant: &Claimant) -> Result<bool, FleetError> {
    let (client, team) = connection.parts();
    let some = concat!(
        "SELECT NOT EXISTS (
            SELECT FROM uwf.thread
            WHERE team = $1 AND labels <@ $2 AND ($3::text IS NULL OR workflow_name = $3 OR workflow = $3)
              AND (state = 'leased' OR ",
        claimable!(),
        "))"
    );
    Ok(client.query_one(some, &[&team, &claimant.labels, &claimant.workflow])?.get(0))
}
