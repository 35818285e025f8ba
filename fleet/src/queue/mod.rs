//! Who works on what: submissions, claims, leases with fences, attempts, budgets, dead letters, wishes.
//!
//! A thread at a remote is in one state: `held` (kept, not to be run), `ready`, `leased` to a worker, `waiting` for a person,
//! `paused`, `done`, or `dead` after too many attempts without progress. Time is the database's; a worker counts its own lease
//! from before it asked for it, and stops before it is anybody else's.

mod budget;
mod claim;
mod lease;
mod listen;
mod presence;
mod submit;
#[cfg(test)]
mod tests;
mod wish;

use std::time::Duration;

use postgres::{Row, Transaction};
use serde_json::Value;
use uwf_engine::ThreadId;
use uwf_store::Hash;

pub use self::budget::{Waiting, is_empty, is_spent, waiting};
pub use self::claim::{Claimant, Reaped, claim, prepare_claims, reap};
pub use self::lease::{Beat, Beats, HandBack, check_held, hand_back, heartbeat, made_progress, settle};
pub use self::listen::{News, listen, wait};
pub use self::presence::{Presence, come, go, is_here};
pub(crate) use self::submit::submit_in;
pub use self::submit::{Submitted, Terms, submit};
pub use self::wish::{Resumption, Wish, Wished, resume, retry, wish};
use crate::FleetError;
pub use crate::lease::Lease;

/// A thread that a worker has claimed.
#[derive(Debug, Clone, PartialEq)]
pub struct Claim {
    /// What its writes name.
    pub lease: Lease,
    /// Where the thread stands.
    pub head: Hash,
    /// The directory that it works in: which kind, and where.
    pub workspace: Value,
    /// What a person has answered it, where it was suspended.
    pub answer: Option<String>,
    /// Which attempt this is, from 1, since there was progress.
    pub attempt: i32,
    /// What its steps have cost.
    pub cost_usd: f64,
    /// What they may cost.
    pub max_cost_usd: Option<f64>,
}

/// In what state a thread is left by whoever had it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settled {
    /// It waits for a person's answer.
    Waiting,
    /// Nobody is to go on with it until it is resumed.
    Paused,
    /// It has ended or was cancelled.
    Done,
    /// Nobody goes on with it until somebody says so: what it fails of will not go away.
    Dead,
}

impl Settled {
    /// The word for it at the remote.
    pub fn as_str(self) -> &'static str {
        match self {
            Settled::Waiting => "waiting",
            Settled::Paused => "paused",
            Settled::Done => "done",
            Settled::Dead => "dead",
        }
    }
}

/// The tags of a thread that is cancelled at this time, in SQL.
macro_rules! cancelled_tags {
    () => {
        "jsonb_build_object('status', 'cancelled', 'completedAt',
             floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint::text)"
    };
}
pub(crate) use cancelled_tags;

/// Why a thread goes no further that has cost so much, in SQL: its limit is used up.
macro_rules! limit_reached {
    ($cost:literal) => {
        concat!("format('its steps have cost $%s of $%s', round((", $cost, ")::numeric, 4), max_cost_usd)")
    };
}
pub(crate) use limit_reached;

/// Whether a thread of the team `$1` may be claimed at all, when its time has come and a worker offers what it asks for, in SQL:
/// it is ready, and neither its attempts nor its limit nor the team's budget are used up.
macro_rules! claimable {
    () => {
        "state = 'ready' AND attempts < max_attempts AND (max_cost_usd IS NULL OR cost_usd < max_cost_usd)
             AND NOT EXISTS (SELECT FROM uwf.team b WHERE b.name = $1 AND b.budget_usd IS NOT NULL
                             AND b.budget_usd::float8 <= uwf.spent(b.name))"
    };
}
use claimable;

/// An interval of the database.
fn seconds(duration: Duration) -> f64 {
    duration.as_secs_f64()
}

/// An id as a row has it.
fn thread_in(row: &Row, column: &str) -> Result<ThreadId, FleetError> {
    let id: String = row.get(column);
    id.parse()
        .map_err(|_| FleetError::Malformed { what: "thread".to_owned(), why: format!("{id:?} is no id") })
}

/// Something that happened, for whoever asks later.
struct Event<'a> {
    kind: &'a str,
    worker: Option<&'a str>,
    fence: Option<i64>,
    data: Value,
}

/// Writes an event of a thread, and tells who listens to the thread.
fn tell(
    transaction: &mut Transaction<'_>,
    team: &str,
    thread: &ThreadId,
    event: &Event<'_>,
) -> Result<(), FleetError> {
    transaction.execute(
        "INSERT INTO uwf.event (team, thread, kind, worker, fence, data) VALUES ($1, $2, $3, $4, $5, $6)",
        &[&team, &thread.as_str(), &event.kind, &event.worker, &event.fence, &event.data],
    )?;
    transaction.execute("SELECT pg_notify('uwf_thread_' || $1, $2)", &[&team, &thread.as_str()])?;
    Ok(())
}

/// Tells waiting workers that there is something to claim.
fn tell_ready(transaction: &mut Transaction<'_>, team: &str) -> Result<(), FleetError> {
    transaction.execute("SELECT pg_notify('uwf_ready_' || $1, '')", &[&team])?;
    Ok(())
}
