//! What a worker does with what it has: says that it is alive, and gives it back. Each names the fence.

use postgres::{GenericClient, Transaction};
use serde_json::json;
use uwf_engine::ThreadId;

use super::wish::Wish;
use super::{
    Claimant, Event, Lease, Settled, cancelled_tags, limit_reached, seconds, tell, tell_ready, thread_in,
};
use crate::{Connection, FleetError};

/// The longest that a thread waits after a step of it failed.
const LONGEST: f64 = 300.0;

/// How long it waits for a worker that has what the last one lacks, in seconds.
const ELSEWHERE: f64 = 15.0;

/// How often in a row machines may run out of room in the middle of a thread's step: by then it is the step that fills them.
const STRANDED: i64 = 20;

/// The answer to a heartbeat: a thread that the worker still has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Beat {
    /// The thread.
    pub thread: ThreadId,
    /// What somebody wants done with it.
    pub wish: Option<Wish>,
}

/// The answer to heartbeats. Leases that it does not name the worker has no longer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Beats {
    /// The threads that the worker has, for another lease.
    pub held: Vec<Beat>,
    /// Those that somebody else has locked just now: they have the lease of before, and are to be asked for again.
    pub locked: Vec<ThreadId>,
}

/// A row that somebody has locked keeps no other one from its lease.
const HEARTBEAT: &str = "
    WITH mine AS (
        SELECT t.id, t.wish FROM uwf.thread AS t JOIN unnest($2::text[], $3::bigint[]) AS m (id, fence) USING (id, fence)
        WHERE t.team = $1 AND t.state = 'leased'),
    free AS (
        SELECT t.id FROM uwf.thread AS t JOIN unnest($2::text[], $3::bigint[]) AS m (id, fence) USING (id, fence)
        WHERE t.team = $1 AND t.state = 'leased' FOR NO KEY UPDATE OF t SKIP LOCKED),
    held AS (
        UPDATE uwf.thread AS t SET lease_until = clock_timestamp() + make_interval(secs => $4)
        FROM free WHERE t.team = $1 AND t.id = free.id RETURNING t.id, t.wish)
    SELECT id, wish, true AS held FROM held
    UNION ALL
    SELECT id, wish, false FROM mine WHERE id NOT IN (SELECT id FROM free)";

/// Says that a worker still works on these, for another lease.
///
/// # Errors
/// The database fails, or the connection was lost.
pub fn heartbeat(
    connection: &mut Connection,
    claimant: &Claimant,
    leases: &[Lease],
) -> Result<Beats, FleetError> {
    let (client, team) = connection.parts();
    let ids: Vec<&str> = leases.iter().map(|lease| lease.thread.as_str()).collect();
    let fences: Vec<i64> = leases.iter().map(|lease| lease.fence).collect();
    let rows = client.query(HEARTBEAT, &[&team, &ids, &fences, &seconds(claimant.lease)])?;
    let mut beats = Beats::default();
    for row in &rows {
        let thread = thread_in(row, "id")?;
        match row.get("held") {
            true => beats.held.push(Beat { thread, wish: Wish::in_row(row) }),
            false => beats.locked.push(thread),
        }
    }
    Ok(beats)
}

/// Holds a lease until the end of the transaction: nobody else gets the thread meanwhile.
///
/// # Errors
/// [`FleetError::LeaseLost`]; nothing may be written then.
pub fn check_held(transaction: &mut Transaction<'_>, team: &str, lease: &Lease) -> Result<(), FleetError> {
    let held = transaction.query_opt(
        "SELECT 1 FROM uwf.thread WHERE team = $1 AND id = $2 AND fence = $3 AND state = 'leased' FOR UPDATE",
        &[&team, &lease.thread.as_str(), &lease.fence],
    )?;
    held.map(drop).ok_or_else(|| lease.lost())
}

/// Notes that a thread has got on, so that its attempts are counted from 0 again. Whether the lease holds is seen by the write
/// that is the progress.
///
/// # Errors
/// The connection was lost.
pub fn made_progress(client: &mut impl GenericClient, team: &str, lease: &Lease) -> Result<(), FleetError> {
    client.execute(
        "UPDATE uwf.thread SET attempts = 0 WHERE team = $1 AND id = $2 AND fence = $3 AND state = 'leased' AND attempts > 0",
        &[&team, &lease.thread.as_str(), &lease.fence],
    )?;
    Ok(())
}

/// Why a worker gives a thread back that is not done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HandBack {
    /// The worker ends: it was no fault of the thread.
    Drained,
    /// A step failed, for this reason: not at once again, and not for ever.
    Failed(String),
    /// This worker lacks what the thread needs, such as its directory, and another one may have it: it is no attempt, and is not
    /// claimed again at once.
    Elsewhere(String),
    /// The same in the middle of a step that has left no record, as where a disk is full. It may be the step that has filled the
    /// disk, and that may have been paid for: so not without end.
    Stranded(String),
}

/// Whoever has cost what it may with attempts that failed is claimed by nobody, so it waits for somebody as after a step.
const HAND_BACK: &str = concat!(
    "UPDATE uwf.thread SET
         state = CASE WHEN wish = 'cancel' THEN 'done' WHEN wish = 'pause' THEN 'paused'
                      WHEN $8 OR $4 AND attempts >= max_attempts THEN 'dead' WHEN max_cost_usd <= cost_usd THEN 'paused'
                      ELSE 'ready' END,
         status = CASE WHEN wish = 'cancel' THEN 'cancelled' ELSE status END,
         tags = CASE WHEN wish = 'cancel' THEN ",
    cancelled_tags!(),
    " ELSE tags END,
         attempts = CASE WHEN $4 THEN attempts ELSE greatest(attempts - 1, 0) END,
         ready_at = clock_timestamp()
             + make_interval(secs => CASE WHEN $4 THEN least($5, 2 ^ least(attempts, 20)) ELSE $7 END),
         reason = CASE WHEN wish IS NULL AND max_cost_usd <= cost_usd AND NOT ($8 OR $4 AND attempts >= max_attempts) THEN ",
    limit_reached!("cost_usd"),
    " ELSE coalesce($6, reason) END,
         wish = NULL, lease_until = NULL, updated = clock_timestamp()
     WHERE team = $1 AND id = $2 AND fence = $3 AND state = 'leased' RETURNING state"
);

/// How often in a row a thread was stranded before; what it has come to since, or what somebody has wanted of it, begins anew.
const WAS_STRANDED: &str = "
    SELECT count(*) FROM uwf.event WHERE team = $1 AND thread = $2 AND kind = 'handed back' AND data ? 'begun' AND id > (
        SELECT coalesce(max(id), 0) FROM uwf.event
        WHERE team = $1 AND thread = $2 AND kind IN ('step', 'failed', 'dead', 'resumed', 'retried', 'submitted', 'pushed'))";

/// Gives a thread back; one that is to be cancelled or paused is that then. Answers whether it is dead now: its last attempt was
/// this one.
///
/// # Errors
/// [`FleetError::LeaseLost`], or the connection was lost.
pub fn hand_back(
    connection: &mut Connection,
    worker: &str,
    lease: &Lease,
    why: &HandBack,
) -> Result<bool, FleetError> {
    let (client, team) = connection.parts();
    let mut transaction = client.transaction()?;
    let (reason, is_failure) = match why {
        HandBack::Drained => (None, false),
        HandBack::Failed(reason) => (Some(reason.as_str()), true),
        HandBack::Elsewhere(reason) | HandBack::Stranded(reason) => (Some(reason.as_str()), false),
    };
    let rest = if matches!(why, HandBack::Elsewhere(_) | HandBack::Stranded(_)) { ELSEWHERE } else { 0.0 };
    let key = lease.thread.as_str();
    let is_stranded = matches!(why, HandBack::Stranded(_));
    let gives_up =
        is_stranded && transaction.query_one(WAS_STRANDED, &[&team, &key])?.get::<_, i64>(0) + 1 >= STRANDED;
    let row = transaction.query_opt(
        HAND_BACK,
        &[&team, &key, &lease.fence, &is_failure, &LONGEST, &reason, &rest, &gives_up],
    )?;
    let row = row.ok_or_else(|| lease.lost())?;
    let is_dead = row.get::<_, &str>(0) == "dead";
    let kind = match (is_dead, is_failure) {
        (true, _) => "dead",
        (false, true) => "failed",
        (false, false) => "handed back",
    };
    let data = match reason {
        None => json!({}),
        Some(reason) if is_stranded => json!({ "reason": reason, "begun": true }),
        Some(reason) => json!({ "reason": reason }),
    };
    tell(
        &mut transaction,
        team,
        &lease.thread,
        &Event { kind, worker: Some(worker), fence: Some(lease.fence), data },
    )?;
    if matches!(why, HandBack::Drained) {
        tell_ready(&mut transaction, team)?;
    }
    transaction.commit()?;
    Ok(is_dead)
}

const SETTLE: &str = concat!(
    "UPDATE uwf.thread SET
         state = CASE WHEN wish = 'cancel' THEN 'done' ELSE $4 END,
         status = CASE WHEN wish = 'cancel' AND $4 <> 'done' THEN 'cancelled' ELSE status END,
         tags = CASE WHEN wish = 'cancel' AND $4 <> 'done' THEN ",
    cancelled_tags!(),
    " ELSE tags END,
         reason = $5, wish = NULL, lease_until = NULL, updated = clock_timestamp()
     WHERE team = $1 AND id = $2 AND fence = $3 AND state = 'leased' RETURNING state"
);

/// Leaves a thread in a state that is not the worker's any more; one that is to be cancelled is that then. Answers whether it is
/// dead now.
///
/// # Errors
/// [`FleetError::LeaseLost`], or the connection was lost.
pub fn settle(
    connection: &mut Connection,
    worker: &str,
    lease: &Lease,
    (settled, reason): (Settled, Option<&str>),
) -> Result<bool, FleetError> {
    let (client, team) = connection.parts();
    let mut transaction = client.transaction()?;
    let row = transaction
        .query_opt(SETTLE, &[&team, &lease.thread.as_str(), &lease.fence, &settled.as_str(), &reason])?;
    let row = row.ok_or_else(|| lease.lost())?;
    let data = reason.map_or_else(|| json!({}), |reason| json!({ "reason": reason }));
    let event = Event { kind: row.get(0), worker: Some(worker), fence: Some(lease.fence), data };
    tell(&mut transaction, team, &lease.thread, &event)?;
    transaction.commit()?;
    Ok(row.get::<_, &str>(0) == "dead")
}
