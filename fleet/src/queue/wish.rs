//! What a person wants of a thread that is at the remote: to give it up, to have it wait, to go on with it.

use postgres::{Row, Transaction};
use serde_json::json;
use uwf_engine::ThreadId;
use uwf_engine::thread::Status;

use super::{Event, reap, tell, tell_ready};
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
    is_to_be_cancelled: bool,
    cost_usd: f64,
    max_cost_usd: Option<f64>,
}

impl Standing {
    /// A text is for a thread that asks: whoever has asked nothing would fail of it.
    fn check_answer(&self, thread: &ThreadId, answer: Option<&str>) -> Result<(), FleetError> {
        match answer {
            Some(_) if self.status != "suspended" => Err(FleetError::Refused {
                what: format!("thread {thread} has asked nothing, so it cannot be answered"),
                hint: Some(format!(
                    "`uwf thread resume {thread} --remote NAME` has it go on, without `-p` and `--file`"
                )),
            }),
            _ => Ok(()),
        }
    }

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
        "SELECT state, status, worker, coalesce(wish = 'cancel', false), cost_usd, max_cost_usd FROM uwf.thread
         WHERE team = $1 AND id = $2 FOR UPDATE",
        &[&team, &thread.as_str()],
    )?;
    Ok(row.map(|row| Standing {
        state: row.get(0),
        status: row.get(1),
        worker: row.get(2),
        is_to_be_cancelled: row.get(3),
        cost_usd: row.get(4),
        max_cost_usd: row.get(5),
    }))
}

/// Has a thread given up or wait; `now` is the time that is noted for it, in milliseconds since the epoch.
///
/// # Errors
/// [`FleetError::Refused`]: it is to wait, and somebody has given it up. The database fails, or the connection was lost: the same
/// again does no harm.
pub fn wish(
    connection: &mut Connection,
    thread: &ThreadId,
    wish: Wish,
    now: u64,
) -> Result<Wished, FleetError> {
    reap(connection)?;
    let (client, team) = connection.parts();
    let mut transaction = client.transaction()?;
    let Some(standing) = standing(&mut transaction, team, thread)? else { return Ok(Wished::Unknown) };
    let Standing { state, status, worker, is_to_be_cancelled, .. } = standing;
    let key = thread.as_str();
    let done = match (state.as_str(), wish) {
        ("leased", Wish::Pause) if is_to_be_cancelled => {
            return Err(FleetError::Refused {
                what: format!("thread {thread} is being cancelled, so it cannot be paused"),
                hint: Some(format!("`uwf thread show {thread} --remote NAME` tells when it is")),
            });
        }
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
/// [`FleetError::Refused`]: it has cost what it may, or is answered and has asked nothing. The database fails, or the connection
/// was lost.
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
    reap(connection)?;
    let (client, team) = connection.parts();
    let mut transaction = client.transaction()?;
    let Some(standing) = standing(&mut transaction, team, thread)? else { return Ok(Wished::Unknown) };
    if !is_possible(&standing) {
        return Ok(Wished::NotNow { state: standing.state, status: standing.status });
    }
    let Resumption { answer, max_cost_usd } = how;
    standing.check_limit(thread, max_cost_usd)?;
    standing.check_answer(thread, answer)?;
    transaction.execute(
        "UPDATE uwf.thread SET state = 'ready', attempts = 0, reason = NULL, wish = NULL,
             answer = CASE status WHEN 'suspended' THEN coalesce($3, answer) END,
             max_cost_usd = coalesce($4, max_cost_usd), ready_at = clock_timestamp(), updated = clock_timestamp()
         WHERE team = $1 AND id = $2",
        &[&team, &thread.as_str(), &answer, &max_cost_usd],
    )?;
    tell(&mut transaction, team, thread, &Event { kind, worker: None, fence: None, data: json!({}) })?;
    tell_ready(&mut transaction, team)?;
    transaction.commit()?;
    Ok(Wished::Done)
}
