//! What goes on at a remote just now, as rows for people: workers, what waits, what is leased, what was done and what it has
//! cost.

use postgres::Row;

use crate::{Connection, FleetError};

/// How many rows of a kind are told at most.
const MOST: i64 = 200;

/// What goes on. Times are in milliseconds since the epoch, by the clock of the database.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Overview {
    /// Whose rows these are.
    pub team: String,
    /// Workers that have not ended.
    pub workers: Vec<WorkerRow>,
    /// Threads that could be claimed, by what they ask of a worker.
    pub queue: Vec<QueueRow>,
    /// Threads that workers have.
    pub leases: Vec<LeaseRow>,
    /// How many threads are in each state.
    pub states: Vec<(String, u64)>,
    /// Steps of each of the last 24 hours, the oldest first: when it began, and how many.
    pub hours: Vec<(u64, u64)>,
    /// What steps have cost on each of the last 14 days, the latest first; of all teams that this login sees.
    pub costs: Vec<CostRow>,
    /// Threads that came to nothing too often.
    pub dead: Vec<DeadRow>,
}

/// A worker.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkerRow {
    /// Its name.
    pub name: String,
    /// Its machine.
    pub host: String,
    /// Its program's version.
    pub version: String,
    /// What it offers.
    pub labels: Vec<String>,
    /// `working` or `draining`.
    pub state: String,
    /// How many threads it works on, of how many at most.
    pub running: (u64, u64),
    /// When it began.
    pub started: u64,
    /// When it was heard of last.
    pub seen: u64,
}

/// Threads that wait for a worker of a kind.
#[derive(Debug, Clone, PartialEq)]
pub struct QueueRow {
    /// What they ask for.
    pub labels: Vec<String>,
    /// How many they are.
    pub threads: u64,
    /// Since when the first of them waits.
    pub since: u64,
}

/// A thread that a worker has.
#[derive(Debug, Clone, PartialEq)]
pub struct LeaseRow {
    /// The thread.
    pub thread: String,
    /// The worker.
    pub worker: String,
    /// Its workflow.
    pub workflow: String,
    /// Who plays.
    pub role: String,
    /// Which attempt it is.
    pub attempt: u64,
    /// Until when the worker has it, if it is not heard of.
    pub until: u64,
}

/// A day of a team.
#[derive(Debug, Clone, PartialEq)]
pub struct CostRow {
    /// The team.
    pub team: String,
    /// The day, by UTC: `2026-11-24`.
    pub day: String,
    /// Steps that were made.
    pub steps: u64,
    /// What they have cost, in US dollars.
    pub usd: f64,
}

/// A thread that nobody goes on with.
#[derive(Debug, Clone, PartialEq)]
pub struct DeadRow {
    /// The thread.
    pub thread: String,
    /// Its workflow.
    pub workflow: String,
    /// Why it is dead.
    pub reason: String,
    /// When it died.
    pub at: u64,
}

fn count(row: &Row, column: &str) -> u64 {
    u64::try_from(row.get::<_, i64>(column)).unwrap_or(0)
}

/// A time in a query.
macro_rules! ms {
    ($time:literal) => {
        concat!("floor(extract(epoch FROM ", $time, ") * 1000)::bigint")
    };
}

/// What goes on at a remote.
///
/// # Errors
/// The login may not see it, or the connection was lost.
pub fn overview(connection: &mut Connection) -> Result<Overview, FleetError> {
    let team = connection.team().to_owned();
    Ok(Overview {
        workers: workers(connection)?,
        queue: queue(connection)?,
        leases: leases(connection)?,
        states: states(connection)?,
        hours: hours(connection)?,
        costs: costs(connection)?,
        dead: dead(connection)?,
        team,
    })
}

fn workers(connection: &mut Connection) -> Result<Vec<WorkerRow>, FleetError> {
    let sql = concat!(
        "SELECT name, host, version, labels, state, running::bigint, parallel::bigint, ",
        ms!("started"),
        " AS started, ",
        ms!("seen"),
        " AS seen FROM uwf.worker WHERE team = $1 ORDER BY seen DESC, name LIMIT $2"
    );
    let (client, team) = connection.parts();
    let row = |row: &Row| WorkerRow {
        name: row.get("name"),
        host: row.get("host"),
        version: row.get("version"),
        labels: row.get("labels"),
        state: row.get("state"),
        running: (count(row, "running"), count(row, "parallel")),
        started: count(row, "started"),
        seen: count(row, "seen"),
    };
    Ok(client.query(sql, &[&team, &MOST])?.iter().map(row).collect())
}

fn queue(connection: &mut Connection) -> Result<Vec<QueueRow>, FleetError> {
    let sql = concat!(
        "SELECT labels, count(*) AS threads, ",
        ms!("min(ready_at)"),
        " AS since FROM uwf.thread WHERE team = $1 AND state = 'ready' AND ready_at <= clock_timestamp()
          GROUP BY labels ORDER BY threads DESC LIMIT $2"
    );
    let (client, team) = connection.parts();
    let row = |row: &Row| QueueRow {
        labels: row.get("labels"),
        threads: count(row, "threads"),
        since: count(row, "since"),
    };
    Ok(client.query(sql, &[&team, &MOST])?.iter().map(row).collect())
}

fn leases(connection: &mut Connection) -> Result<Vec<LeaseRow>, FleetError> {
    let sql = concat!(
        "SELECT id, coalesce(worker, '') AS worker, coalesce(workflow_name, workflow) AS workflow, coalesce(role, '') AS role,
                attempts::bigint, ",
        ms!("lease_until"),
        " AS until FROM uwf.thread WHERE team = $1 AND state = 'leased' ORDER BY id LIMIT $2"
    );
    let (client, team) = connection.parts();
    let row = |row: &Row| LeaseRow {
        thread: row.get("id"),
        worker: row.get("worker"),
        workflow: row.get("workflow"),
        role: row.get("role"),
        attempt: count(row, "attempts"),
        until: count(row, "until"),
    };
    Ok(client.query(sql, &[&team, &MOST])?.iter().map(row).collect())
}

fn states(connection: &mut Connection) -> Result<Vec<(String, u64)>, FleetError> {
    let (client, team) = connection.parts();
    let sql =
        "SELECT state, count(*) AS threads FROM uwf.thread WHERE team = $1 GROUP BY state ORDER BY state";
    Ok(client.query(sql, &[&team])?.iter().map(|row| (row.get("state"), count(row, "threads"))).collect())
}

fn hours(connection: &mut Connection) -> Result<Vec<(u64, u64)>, FleetError> {
    let sql = concat!(
        "SELECT ",
        ms!("hour"),
        " AS hour, count(e.id) AS steps
         FROM generate_series(date_trunc('hour', clock_timestamp()) - interval '23 hours',
                              date_trunc('hour', clock_timestamp()), '1 hour') AS hour
         LEFT JOIN uwf.event e ON e.team = $1 AND e.kind = 'step' AND e.data ->> 'role' IS DISTINCT FROM '$COMPACT'
                                  AND e.at >= hour AND e.at < hour + interval '1 hour'
         GROUP BY hour ORDER BY hour"
    );
    let (client, team) = connection.parts();
    Ok(client.query(sql, &[&team])?.iter().map(|row| (count(row, "hour"), count(row, "steps"))).collect())
}

fn costs(connection: &mut Connection) -> Result<Vec<CostRow>, FleetError> {
    let sql = "
        SELECT team, to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS day,
               count(*) FILTER (WHERE kind = 'step' AND data ->> 'role' IS DISTINCT FROM '$COMPACT') AS steps,
               coalesce(sum((data ->> 'cost_usd')::float8), 0) AS usd
        FROM uwf.event WHERE kind IN ('step', 'attempt') AND at >= date_trunc('day', clock_timestamp(), 'UTC') - interval '13 days'
        GROUP BY team, day ORDER BY day DESC, team LIMIT $1";
    let row = |row: &Row| CostRow {
        team: row.get("team"),
        day: row.get("day"),
        steps: count(row, "steps"),
        usd: row.get("usd"),
    };
    Ok(connection.client().query(sql, &[&MOST])?.iter().map(row).collect())
}

fn dead(connection: &mut Connection) -> Result<Vec<DeadRow>, FleetError> {
    let sql = concat!(
        "SELECT id, coalesce(workflow_name, workflow) AS workflow, coalesce(reason, '') AS reason, ",
        ms!("updated"),
        " AS at FROM uwf.thread WHERE team = $1 AND state = 'dead' ORDER BY updated DESC LIMIT $2"
    );
    let (client, team) = connection.parts();
    let row = |row: &Row| DeadRow {
        thread: row.get("id"),
        workflow: row.get("workflow"),
        reason: row.get("reason"),
        at: count(row, "at"),
    };
    Ok(client.query(sql, &[&team, &MOST])?.iter().map(row).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Postgres;

    #[test]
    fn what_there_is_is_told_and_of_another_team_nothing() {
        let Some(postgres) = Postgres::start() else { return };
        let mut at = postgres.connection();
        let empty = overview(&mut at).unwrap();
        assert_eq!((empty.team.as_str(), empty.hours.len()), ("default", 24));
        let rows = "
            INSERT INTO uwf.thread (team, id, head, tags, status, workflow, workflow_name, state, labels, lease_until, worker, reason)
            VALUES ('TEAM', 'R1', 'H', '{}', 'idle', 'W', 'solve', 'ready', '{gpu}', NULL, NULL, NULL),
                   ('TEAM', 'R2', 'H', '{}', 'idle', 'W', NULL, 'ready', '{gpu}', NULL, NULL, NULL),
                   ('TEAM', 'L', 'H', '{}', 'idle', 'W', NULL, 'leased', '{}', now() + interval '30 s', 'w', NULL),
                   ('TEAM', 'D', 'H', '{}', 'idle', 'W', NULL, 'dead', '{}', NULL, NULL, 'no model');
            INSERT INTO uwf.worker (team, name, version, host, parallel, running, state) VALUES ('TEAM', 'w', '1', 'h', 4, 1, 'working');
            INSERT INTO uwf.event (team, kind, data) VALUES ('TEAM', 'step', '{\"cost_usd\": 0.25}'), ('TEAM', 'step', '{}'), ('TEAM', 'claimed', '{}');";
        for team in ["default", "other"] {
            postgres.client().batch_execute(&rows.replace("TEAM", team)).unwrap();
        }
        let found = overview(&mut at).unwrap();
        assert_eq!((found.workers.len(), found.workers[0].running), (1, (1, 4)));
        assert_eq!(
            (found.queue.len(), found.queue[0].threads, &found.queue[0].labels[0]),
            (1, 2, &"gpu".to_owned())
        );
        assert_eq!((found.leases[0].thread.as_str(), found.leases[0].workflow.as_str()), ("L", "W"));
        assert_eq!((found.hours[23].1, found.dead[0].reason.as_str()), (2, "no model"));
        assert_eq!(found.states, [("dead".to_owned(), 1), ("leased".to_owned(), 1), ("ready".to_owned(), 2)]);
        // Who owns the tables sees what all teams have cost.
        let teams: Vec<_> =
            found.costs.iter().map(|cost| (cost.team.as_str(), cost.steps, cost.usd)).collect();
        assert_eq!(teams, [("default", 2, 0.25), ("other", 2, 0.25)]);
    }
}
