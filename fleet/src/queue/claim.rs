//! Taking threads: those that are ready, and those whose worker has not been heard of for too long.

use std::time::Duration;

use postgres::Row;
use uwf_engine::ThreadId;

use super::{Claim, Lease, claimable, seconds, thread_in};
use crate::{Connection, FleetError};

/// Who claims, and what.
#[derive(Debug, Clone)]
pub struct Claimant {
    /// The worker's name.
    pub name: String,
    /// What it offers: it takes threads that ask for nothing else.
    pub labels: Vec<String>,
    /// Only threads of this workflow, by its name or its hash.
    pub workflow: Option<String>,
    /// How long a lease is.
    pub lease: Duration,
}

/// One statement: the row of a thread is locked, leased and told of, or left to whoever was there before. What a team has spent is
/// added up for those alone that have a budget, and that it is one thread stands in the text: with either as a question of its
/// own, it takes twice as long. An answer is for a thread that asks: any other would fail of it again and again.
const CLAIM: &str = concat!(
    "
    WITH taken AS (
        UPDATE uwf.thread AS t
        SET state = 'leased', fence = t.fence + 1, attempts = t.attempts + 1, worker = $4,
            lease_until = clock_timestamp() + make_interval(secs => $5), updated = clock_timestamp()
        WHERE t.team = $1 AND t.id = (
            SELECT id FROM uwf.thread
            WHERE team = $1 AND ready_at <= clock_timestamp() AND labels <@ $2
              AND ($3::text IS NULL OR workflow_name = $3 OR workflow = $3) AND ",
    claimable!(),
    "
            ORDER BY priority DESC, ready_at LIMIT 1 FOR UPDATE SKIP LOCKED)
        RETURNING t.team, t.id, t.fence, t.worker, t.head, t.workspace, t.attempts, t.cost_usd, t.max_cost_usd,
                  CASE t.status WHEN 'suspended' THEN t.answer END AS answer),
    told AS (
        INSERT INTO uwf.event (team, thread, kind, worker, fence) SELECT team, id, 'claimed', worker, fence FROM taken)
    SELECT id, fence, head, workspace, answer, attempts, cost_usd, max_cost_usd FROM taken"
);

/// Claims go along the index of what is ready, in its order. How many threads there are in each state changes faster than the
/// planner learns of it: by what it remembers, it would read all of them and sort them for each claim.
const ALONG_THE_INDEX: &str = "SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_sort = off;
    SET plan_cache_mode = force_generic_plan";

/// Prepares a connection over which threads are claimed again and again.
///
/// # Errors
/// The connection was lost.
pub fn prepare_claims(connection: &mut Connection) -> Result<(), FleetError> {
    Ok(connection.client().batch_execute(ALONG_THE_INDEX)?)
}

/// Claims the most urgent thread, of several the one that has waited longest. None when there is none, or when the team's budget
/// is spent. A row that is no thread, as whoever may write rows can make one, is dead then, and the next one is claimed.
///
/// # Errors
/// The database fails, or the connection was lost: then a thread may be claimed that nobody knows of, until its lease is over.
pub fn claim(connection: &mut Connection, claimant: &Claimant) -> Result<Option<Claim>, FleetError> {
    let statement = connection.prepared(CLAIM)?;
    let (client, team) = connection.parts();
    let lease = seconds(claimant.lease);
    loop {
        let row = client
            .query_opt(&statement, &[&team, &claimant.labels, &claimant.workflow, &claimant.name, &lease])?;
        let Some(row) = row else { return Ok(None) };
        match claim_of(&row) {
            Ok(claim) => return Ok(Some(claim)),
            Err(error) => {
                let (id, fence): (&str, i64) = (row.get("id"), row.get("fence"));
                client.execute(BURY, &[&team, &id, &fence, &error.to_string()])?;
            }
        }
    }
}

/// Gives a claimed row up by its key as it is, which may be no id.
const BURY: &str = "
    WITH dead AS (
        UPDATE uwf.thread SET state = 'dead', reason = $4, wish = NULL, lease_until = NULL, updated = clock_timestamp()
        WHERE team = $1 AND id = $2 AND fence = $3 AND state = 'leased' RETURNING team, id, worker, fence)
    INSERT INTO uwf.event (team, thread, kind, worker, fence, data)
    SELECT team, id, 'dead', worker, fence, jsonb_build_object('reason', $4::text) FROM dead";

fn claim_of(row: &Row) -> Result<Claim, FleetError> {
    let thread = thread_in(row, "id")?;
    let head: String = row.get("head");
    let malformed = |_| FleetError::Malformed {
        what: format!("head of thread {thread}"),
        why: format!("{head:?} is no hash"),
    };
    Ok(Claim {
        lease: Lease { thread, fence: row.get("fence") },
        head: head.parse().map_err(malformed)?,
        workspace: row.get("workspace"),
        answer: row.get("answer"),
        attempt: row.get("attempts"),
        cost_usd: row.get("cost_usd"),
        max_cost_usd: row.get("max_cost_usd"),
    })
}

/// A thread that was taken from a worker that was not heard of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reaped {
    /// The thread.
    pub thread: ThreadId,
    /// Who had it.
    pub worker: Option<String>,
    /// Whether it is dead now: too many attempts came to nothing.
    pub is_dead: bool,
}

/// Frees the threads of the team whose leases are over, for whoever claims them next. Whoever wants something of a thread may do
/// that as well as workers: there may be none any more.
///
/// # Errors
/// The database fails, or the connection was lost.
pub fn reap(connection: &mut Connection) -> Result<Vec<Reaped>, FleetError> {
    let rows = connection.client().query("SELECT id, worker, state FROM uwf.reap()", &[])?;
    // A row whose id is none is no thread of ours, and in nobody's way.
    let of = |row: &Row| {
        let is_dead = row.get::<_, &str>("state") == "dead";
        Some(Reaped { thread: thread_in(row, "id").ok()?, worker: row.get("worker"), is_dead })
    };
    Ok(rows.iter().filter_map(of).collect())
}
