//! A thread that the remote has is to be run.

use postgres::Transaction;
use serde_json::json;
use uwf_engine::ThreadId;

use super::{Event, tell, tell_ready};
use crate::workspace::Workspace;
use crate::{Connection, FleetError};

/// How a thread is to be run.
#[derive(Debug, Clone, PartialEq)]
pub struct Terms {
    /// The larger the sooner.
    pub priority: i32,
    /// What a worker must offer.
    pub labels: Vec<String>,
    /// How many claims in a row may come to nothing.
    pub max_attempts: i32,
    /// What its steps may cost, in US dollars.
    pub max_cost_usd: Option<f64>,
    /// The directory that it works in. The nodes of [`Workspace::roots`] must be at the remote before it is run.
    pub workspace: Workspace,
}

impl Default for Terms {
    fn default() -> Terms {
        let workspace = Workspace::default();
        Terms { priority: 0, labels: Vec::new(), max_attempts: 5, max_cost_usd: None, workspace }
    }
}

/// What came of a submission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Submitted {
    /// It is in this state now: `ready`, or as its status says.
    Is(String),
    /// A worker has it just now.
    Runs,
    /// The remote does not have it.
    Unknown,
}

/// Has a thread run that was pushed.
///
/// # Errors
/// The database fails, or the connection was lost: the same again does no harm.
pub fn submit(
    connection: &mut Connection,
    thread: &ThreadId,
    terms: &Terms,
) -> Result<Submitted, FleetError> {
    let (client, team) = connection.parts();
    let mut transaction = client.transaction()?;
    let submitted = submit_in(&mut transaction, team, thread, terms)?;
    if matches!(submitted, Submitted::Is(_)) {
        transaction.commit()?;
    }
    // Else it is undone: who works on it goes by what it was claimed with.
    Ok(submitted)
}

/// The same as a part of something.
pub(crate) fn submit_in(
    transaction: &mut Transaction<'_>,
    team: &str,
    thread: &ThreadId,
    terms: &Terms,
) -> Result<Submitted, FleetError> {
    let row = transaction.query_opt(
        "UPDATE uwf.thread SET
             state = CASE WHEN state = 'leased' THEN 'leased' WHEN status = 'idle' THEN 'ready'
                          WHEN status = 'suspended' THEN 'waiting' ELSE 'done' END,
             priority = $3, labels = $4, max_attempts = $5, max_cost_usd = $6, workspace = $7, attempts = 0, reason = NULL,
             ready_at = clock_timestamp(), updated = clock_timestamp()
         WHERE team = $1 AND id = $2 RETURNING state",
        &[
            &team,
            &thread.as_str(),
            &terms.priority,
            &terms.labels,
            &terms.max_attempts,
            &terms.max_cost_usd,
            &terms.workspace.to_value(),
        ],
    )?;
    let Some(row) = row else { return Ok(Submitted::Unknown) };
    let state: String = row.get(0);
    if state == "leased" {
        return Ok(Submitted::Runs);
    }
    let event = Event { kind: "submitted", worker: None, fence: None, data: json!({}) };
    tell(transaction, team, thread, &event)?;
    tell_ready(transaction, team)?;
    Ok(Submitted::Is(state))
}
