//! Which workers there are, for people; leases do not depend on it.

use super::Claimant;
use crate::{Connection, FleetError};

/// What a worker says of itself.
#[derive(Debug, Clone)]
pub struct Presence {
    /// Its program's version.
    pub version: String,
    /// The machine.
    pub host: String,
    /// How many threads it works on at once.
    pub parallel: u16,
}

/// A worker has begun. Those that were not heard of for a week are forgotten: one that was killed says nothing of it.
///
/// # Errors
/// The database fails, or the connection was lost.
pub fn come(connection: &mut Connection, claimant: &Claimant, presence: &Presence) -> Result<(), FleetError> {
    let (client, team) = connection.parts();
    let parallel = i32::from(presence.parallel);
    let gone = "DELETE FROM uwf.worker WHERE team = $1 AND seen < clock_timestamp() - interval '7 days'";
    client.execute(gone, &[&team])?;
    client.execute(
        "INSERT INTO uwf.worker (team, name, version, host, labels, parallel, state)
         VALUES ($1, $2, $3, $4, $5, $6, 'working')
         ON CONFLICT (team, name) DO UPDATE SET version = excluded.version, host = excluded.host, labels = excluded.labels,
             parallel = excluded.parallel, state = 'working', running = 0, started = clock_timestamp(), seen = clock_timestamp()",
        &[&team, &claimant.name, &presence.version, &presence.host, &claimant.labels, &parallel],
    )?;
    Ok(())
}

/// A worker is there, in this state, with so many threads.
///
/// # Errors
/// The database fails, or the connection was lost.
pub fn is_here(
    connection: &mut Connection,
    worker: &str,
    (state, running): (&str, usize),
) -> Result<(), FleetError> {
    let (client, team) = connection.parts();
    let running = i32::try_from(running).unwrap_or(i32::MAX);
    client.execute(
        "UPDATE uwf.worker SET seen = clock_timestamp(), state = $3, running = $4 WHERE team = $1 AND name = $2",
        &[&team, &worker, &state, &running],
    )?;
    Ok(())
}

/// A worker has ended.
///
/// # Errors
/// The database fails, or the connection was lost.
pub fn go(connection: &mut Connection, worker: &str) -> Result<(), FleetError> {
    let (client, team) = connection.parts();
    client.execute("DELETE FROM uwf.worker WHERE team = $1 AND name = $2", &[&team, &worker])?;
    Ok(())
}
