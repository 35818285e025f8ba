//! What has happened with a thread at a remote.

use serde::Serialize;
use serde_json::Value;
use uwf_engine::ThreadId;

use crate::{Connection, FleetError};

/// Something that has happened.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ThreadEvent {
    /// Grows with each.
    pub id: i64,
    /// The thread.
    pub thread: ThreadId,
    /// When, in milliseconds since the epoch.
    pub at: i64,
    /// `step`, `attempt` (one that failed), `claimed`, `submitted`, `pushed`, `failed`, `lost`, `handed back`, `waiting`,
    /// `paused`, `done`, `dead`, `resumed`, `retried`, or a wish: `cancel`, `pause`.
    pub kind: String,
    /// Which worker.
    pub worker: Option<String>,
    /// More, by kind: of a step its role, status, cost and tokens; of attempts what they have cost, and for which runs.
    pub data: Value,
}

/// What has happened with a thread after the event of this id, the oldest first; so many at most.
///
/// # Errors
/// The connection was lost.
pub fn events(
    connection: &mut Connection,
    thread: &ThreadId,
    (after, most): (i64, usize),
) -> Result<Vec<ThreadEvent>, FleetError> {
    let (client, team) = connection.parts();
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    let rows = client.query(
        "SELECT id, floor(extract(epoch FROM at) * 1000)::bigint, kind, worker, data FROM uwf.event
         WHERE team = $1 AND thread = $2 AND id > $3 ORDER BY id LIMIT $4",
        &[&team, &thread.as_str(), &after, &most],
    )?;
    let event = |row: &postgres::Row| ThreadEvent {
        id: row.get(0),
        thread: *thread,
        at: row.get(1),
        kind: row.get(2),
        worker: row.get(3),
        data: row.get(4),
    };
    Ok(rows.iter().map(event).collect())
}

/// The id of the last event of a thread; 0 where there is none.
///
/// # Errors
/// The connection was lost.
pub fn last_event(connection: &mut Connection, thread: &ThreadId) -> Result<i64, FleetError> {
    let (client, team) = connection.parts();
    let sql = "SELECT coalesce(max(id), 0) FROM uwf.event WHERE team = $1 AND thread = $2";
    Ok(client.query_one(sql, &[&team, &thread.as_str()])?.get(0))
}
