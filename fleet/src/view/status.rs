//! How a remote stands: its schema, its team, what waits, who works, what is dead.

use postgres::Row;
use serde::Serialize;
use uwf_engine::ThreadId;

use crate::queue;
use crate::{Connection, FleetError};

/// How many dead threads are told, the youngest first.
const DEAD: i64 = 20;

/// See the module.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RemoteStatus {
    /// Which remote.
    pub name: String,
    /// Where it is.
    pub url: String,
    /// The version of its schema.
    pub schema: i32,
    /// The team that this login is of.
    pub team: String,
    /// How many threads are in which state.
    pub threads: Vec<StateCount>,
    /// How long the first of those that could be claimed has waited, in milliseconds.
    pub queue_age_ms: u64,
    /// What the team may spend; none where there is no limit.
    pub budget: Option<BudgetStatus>,
    /// Which workers there are.
    pub workers: Vec<WorkerStatus>,
    /// Threads that nobody goes on with until somebody says so; not all of very many.
    pub dead: Vec<DeadThread>,
}

/// How many threads are in a state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StateCount {
    /// The state.
    pub state: String,
    /// How many.
    pub count: i64,
}

/// What a team may spend, and has spent.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BudgetStatus {
    /// In USD.
    pub limit_usd: f64,
    /// `day`, `month` or `total`.
    pub period: String,
    /// In this period, in USD.
    pub spent_usd: f64,
    /// Whether no further step is begun.
    pub is_spent: bool,
}

/// A worker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkerStatus {
    /// Its name.
    pub name: String,
    /// Its machine.
    pub host: String,
    /// Its version.
    pub version: String,
    /// `working` or `draining`.
    pub state: String,
    /// How many threads it works on.
    pub running: i32,
    /// How many it works on at most.
    pub parallel: i32,
    /// What it offers.
    pub labels: Vec<String>,
    /// How long ago it was heard of, in milliseconds.
    pub seen_ms_ago: u64,
    /// How long ago it began, in milliseconds.
    pub started_ms_ago: u64,
}

/// A thread that came to nothing too often, or cannot go on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DeadThread {
    /// The thread.
    pub thread: ThreadId,
    /// What its workflow is called.
    pub workflow_name: String,
    /// Why.
    pub reason: Option<String>,
}

/// How long ago, in milliseconds.
const AGO: &str = "greatest(floor(extract(epoch FROM clock_timestamp() - AT) * 1000), 0)::bigint";

/// How a remote stands, with the name and the address that it is known by, and the version of its schema.
///
/// # Errors
/// The connection was lost.
pub fn status(
    connection: &mut Connection,
    (name, url, schema): (&str, &str, i32),
) -> Result<RemoteStatus, FleetError> {
    let waiting = queue::waiting(connection)?;
    let is_spent = queue::is_spent(connection)?;
    let (client, team) = connection.parts();
    let states = "SELECT state, count(*) FROM uwf.thread WHERE team = $1 GROUP BY state ORDER BY state";
    let count = |row: &Row| StateCount { state: row.get(0), count: row.get(1) };
    let threads = client.query(states, &[&team])?.iter().map(count).collect();
    let budget = client.query_opt(
        "SELECT budget_usd::float8, coalesce(budget_period, 'total'), uwf.spent(name)
         FROM uwf.team WHERE name = $1 AND budget_usd IS NOT NULL",
        &[&team],
    )?;
    let budget = budget.map(|row| BudgetStatus {
        limit_usd: row.get(0),
        period: row.get(1),
        spent_usd: row.get(2),
        is_spent,
    });
    let workers = format!(
        "SELECT name, host, version, state, running, parallel, labels, {}, {} FROM uwf.worker WHERE team = $1 ORDER BY name",
        AGO.replace("AT", "seen"),
        AGO.replace("AT", "started"),
    );
    let workers = client.query(&workers, &[&team])?.iter().map(worker).collect();
    let dead = "SELECT id, workflow_name, reason FROM uwf.thread WHERE team = $1 AND state = 'dead' ORDER BY id DESC LIMIT $2";
    let dead = client.query(dead, &[&team, &DEAD])?.iter().map(dead_thread).collect::<Result<_, _>>()?;
    Ok(RemoteStatus {
        name: name.to_owned(),
        url: url.to_owned(),
        schema,
        team: team.to_owned(),
        threads,
        queue_age_ms: waiting.longest_ms,
        budget,
        workers,
        dead,
    })
}

fn worker(row: &Row) -> WorkerStatus {
    let ago = |column: usize| u64::try_from(row.get::<_, i64>(column)).unwrap_or(0);
    WorkerStatus {
        name: row.get(0),
        host: row.get(1),
        version: row.get(2),
        state: row.get(3),
        running: row.get(4),
        parallel: row.get(5),
        labels: row.get(6),
        seen_ms_ago: ago(7),
        started_ms_ago: ago(8),
    }
}

fn dead_thread(row: &Row) -> Result<DeadThread, FleetError> {
    Ok(DeadThread {
        thread: super::threads::thread_in(row.get(0))?,
        workflow_name: row.get::<_, Option<String>>(1).unwrap_or_default(),
        reason: row.get(2),
    })
}
