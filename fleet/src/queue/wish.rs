//! What a person wants of a thread that is at the remote: to give it up, to have it wait, to go on with it.

use postgres::{Row, Transaction};
use serde_json::json;
use uwf_engine::ThreadId;
use uwf_engine::thread::Status;

use super::{Event, tell, tell_ready};
use crate::{Connection, FleetError};

/// What is wished for a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wish {
    /// To give it up.
    Cancel,
    /// To make no further step for now.
    Pause,
}

impl Wish {
    /// The word for it at the remote.
    pub fn as_str(self) -> &'static str {
        match self {
            Wish::Cancel => "cancel",
            Wish::Pause => "pause",
        }
    }

    /// What the column `wish` says.
    pub(super) fn in_row(row: &Row) -> Option<Wish> {
        let word: Option<&str> = row.get("wish");
        [Wish::Cancel, Wish::Pause].into_iter().find(|wish| word == Some(wish.as_str()))
    }
}

/// What came of something that was wanted of a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wished {
    /// It is so.
    Done,
    /// A worker has the thread; it is told at once, and obeys.
    Asked {
        /// Which worker.
        worker: Option<String>,
    },
    /// It is not possible in the state that the thread is in.
    NotNow {
        /// Its state at the remote.
        state: String,
        /// Its status.
        status: String,
    },
    /// The remote does not have it.
    Unknown,
}

/// How a thread goes on.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Resumption<'a> {
    /// What it is answered.
    pub answer: Option<&'a str>,
    /// What its steps may cost from now on, those that it has made included, in US dollars; as before where this is none.
    pub max_cost_usd: Option<f64>,
}

/// How a thread stands, with its row locked.
struct Standing {
    state: String,
    status: String,
    worker: Option<String>,
    cost_usd: f64,
    max_cost_usd: Option<f64>,
}

impl Standing {
    /// Whoever has used up its limit is claimed by nobody, whatever state it is in.
    fn check_limit(&self, thread: &ThreadId, other: Option<f64>) -> Result<(), FleetError> {
        match other.or(self.max_cost_usd) {
            Some(most) if self.cost_usd >= most => Err(FleetError::Refused {
                what: format!("thread {thread} has cost ${:.4}, and may cost ${most}", self.cost_usd),
                hint: Some(format!(
                    "`uwf thread resume {thread} --remote NAME --max-cost USD` has it go on with another limit, a higher one"
                )),
            }),
            _ => Ok(()),
        }
    }
}

fn standing(
    transaction: &mut Transaction<'_>,
    team: &str,
    thread: &ThreadId,
) -> Result<Option<Standing>, FleetError> {
    let row = transaction.query_opt(
        "SELECT state, status, worker, cost_usd, max_cost_usd FROM uwf.thread WHERE team = $1 AND id = $2 FOR UPDATE",
        &[&team, &thread.as_str()],
    )?;
    Ok(row.map(|row| Standing {
        state: row.get(0),
        status: row.get(1),
        worker: row.get(2),
        cost_usd: row.get(3),
        max_cost_usd: row.get(4),
    }))
}

/// Has a thread given up or wait; `now` is the time that is noted for it, in milliseconds since the epoch.
///
/// # Errors
/// The database fails, or the connection was lost: the same again does no harm.
pub fn wish(
    connection: &mut Connection,
    thread: &ThreadId,
    wish: Wish,
    now: u64,
) -> Result<Wished, FleetError> {
    let (client, team) = connection.parts();
    let mut transaction = client.transaction()?;
    let Some(Standing { state, status, worker, .. }) = standing(&mut transaction, team, thread)? else {
        return Ok(Wished::Unknown);
    };
    let key = thread.as_str();
    let done = match (state.as_str(), wish) {
        ("leased", _) => {
            let set = "UPDATE uwf.thread SET wish = $3 WHERE team = $1 AND id = $2";
            transaction.execute(set, &[&team, &key, &wish.as_str()])?;
            transaction.execute("SELECT pg_notify('uwf_wish_' || $1, $2)", &[&team, &key])?;
            Wished::Asked { worker }
        }
        ("done", Wish::Cancel) if status == "cancelled" => return Ok(Wished::Done),
        ("done", _) => return Ok(Wished::NotNow { state, status }),
        (_, Wish::Cancel) => {
            let tags = json!(Status::Cancelled { completed_at: now }.to_tags());
            transaction.execute(
                "UPDATE uwf.thread SET state = 'done', status = 'cancelled', tags = $3, reason = NULL,
                     updated = clock_timestamp() WHERE team = $1 AND id = $2",
                &[&team, &key, &tags],
            )?;
            Wished::Done
        }
        ("paused", Wish::Pause) => return Ok(Wished::Done),
        ("ready" | "held" | "dead", Wish::Pause) => {
            let set = "UPDATE uwf.thread SET state = 'paused', reason = 'somebody paused it', updated = clock_timestamp()
                       WHERE team = $1 AND id = $2";
            transaction.execute(set, &[&team, &key])?;
            Wished::Done
        }
        (_, Wish::Pause) => return Ok(Wished::NotNow { state, status }),
    };
    let event = Event { kind: wish.as_str(), worker: None, fence: None, data: json!({}) };
    tell(&mut transaction, team, thread, &event)?;
    transaction.commit()?;
    Ok(done)
}

/// Has a thread go on: one that is paused, dead or held, and one that waits, with what it is answered.
///
/// # Errors
/// [`FleetError::Refused`]: it has cost what it may. The database fails, or the connection was lost.
pub fn resume(
    connection: &mut Connection,
    thread: &ThreadId,
    how: Resumption<'_>,
) -> Result<Wished, FleetError> {
    again(connection, thread, ("resumed", how), &|standing| match standing.state.as_str() {
        "waiting" => true,
        "paused" | "dead" | "held" => matches!(standing.status.as_str(), "idle" | "suspended"),
        _ => false,
    })
}

/// Has a dead thread tried again, its attempts counted from 0.
///
/// # Errors
/// [`FleetError::Refused`]: it has cost what it may. The database fails, or the connection was lost.
pub fn retry(connection: &mut Connection, thread: &ThreadId) -> Result<Wished, FleetError> {
    again(connection, thread, ("retried", Resumption::default()), &|standing| standing.state == "dead")
}

fn again(
    connection: &mut Connection,
    thread: &ThreadId,
    (kind, how): (&str, Resumption<'_>),
    is_possible: &dyn Fn(&Standing) -> bool,
) -> Result<Wished, FleetError> {
    let (client, team) = connection.parts();
    let mut transaction = client.transaction()?;
    let Some(standing) = standing(&mut transaction, team, thread)? else { return Ok(Wished::Unknown) };
    if !is_possible(&standing) {
        return Ok(Wished::NotNow { state: standing.state, status: standing.status });
    }
    let Resumption { answer, max_cost_usd } = how;
    standing.check_limit(thread, max_cost_usd)?;
    transaction.execute(
        "UPDATE uwf.thread SET state = 'ready', attempts = 0, reason = NULL, wish = NULL, answer = coalesce($3, answer),
             max_cost_usd = coalesce($4, max_cost_usd), ready_at = clock_timestamp(), updated = clock_timestamp()
         WHERE team = $1 AND id = $2",
        &[&team, &thread.as_str(), &answer, &max_cost_usd],
    )?;
    tell(&mut transaction, team, thread, &Event { kind, worker: None, fence: None, data: json!({}) })?;
    tell_ready(&mut transaction, team)?;
    transaction.commit()?;
    Ok(Wished::Done)
}
