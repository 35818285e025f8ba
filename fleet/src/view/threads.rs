//! Threads of a remote as their rows tell of them: no node is fetched for it.

use postgres::Row;
use serde::Serialize;
use serde_json::Value;
use uwf_engine::ThreadId;
use uwf_store::excerpt;

use crate::{Connection, FleetError};

/// How many characters of a task are shown, as in a list of local threads.
const TASK: usize = 120;

/// How many bytes of a task are asked for.
const ASKED: i32 = 1_000;

/// A thread of a remote. What a local thread has, too, is named as there.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RemoteThread {
    /// The thread.
    pub thread: ThreadId,
    /// Its Workflow node.
    pub workflow: String,
    /// What that is called.
    pub workflow_name: String,
    /// The node it stands at.
    pub head: String,
    /// `idle`, `running`, `suspended`, `paused`, `end` or `cancelled`.
    pub status: String,
    /// How it stands in the queue: `held` (not to be run), `ready`, `leased`, `waiting`, `paused`, `done` or `dead`.
    pub state: String,
    /// Why it is in that state, where there is something to say.
    pub reason: Option<String>,
    /// Who plays next, while it is idle.
    pub current_role: Option<String>,
    /// Who asks, while it is suspended.
    pub suspended_role: Option<String>,
    /// What is asked, while it is suspended.
    pub suspend_message: Option<String>,
    /// When it was started, in milliseconds since the epoch.
    pub started_at: u64,
    /// When its row changed last, in milliseconds since the epoch.
    pub updated_at: u64,
    /// The first line of its task; of a long one, its beginning.
    pub task: String,
    /// Who has it, or had it last.
    pub worker: Option<String>,
    /// Until when its lease is, in milliseconds since the epoch.
    pub lease_until: Option<u64>,
    /// What somebody wants of it that its worker does not know yet: `cancel` or `pause`.
    pub wish: Option<String>,
    /// The larger the sooner.
    pub priority: i32,
    /// What a worker must offer.
    pub labels: Vec<String>,
    /// How many claims in a row have come to nothing, the present one among them.
    pub attempts: i32,
    /// How many may.
    pub max_attempts: i32,
    /// How many steps workers have made.
    pub steps: i32,
    /// Tokens sent and received in these.
    pub tokens: i64,
    /// What these have cost, in USD.
    pub cost: f64,
    /// What they may cost.
    pub max_cost: Option<f64>,
    /// The directory that it works in.
    pub workspace: Value,
}

const COLUMNS: &str = "id, workflow, workflow_name, head, status, state, reason, role, tags, left(task, $2) AS task, worker, wish,
    priority, labels, attempts, max_attempts, steps, tokens, cost_usd, max_cost_usd, workspace,
    floor(extract(epoch FROM updated) * 1000)::bigint AS updated_ms,
    floor(extract(epoch FROM lease_until) * 1000)::bigint AS lease_ms,
    CASE state WHEN 'leased' THEN 'running' WHEN 'paused' THEN 'paused' ELSE status END AS word";

impl RemoteThread {
    fn of(row: &Row) -> Result<RemoteThread, FleetError> {
        let thread = thread_in(row.get("id"))?;
        let tags: Value = row.get("tags");
        let status: String = row.get("status");
        let tag = |name: &str| tags.get(name).and_then(Value::as_str).map(str::to_owned);
        let asks = |name: &str| tag(name).filter(|_| status == "suspended");
        let since = |ms: i64| u64::try_from(ms).unwrap_or(0);
        let task: Option<&str> = row.get("task");
        let first = task.unwrap_or_default().trim().lines().next().unwrap_or_default();
        Ok(RemoteThread {
            thread,
            workflow: row.get("workflow"),
            workflow_name: row.get::<_, Option<String>>("workflow_name").unwrap_or_default(),
            head: row.get("head"),
            status: row.get("word"),
            state: row.get("state"),
            reason: row.get("reason"),
            current_role: row.get::<_, Option<String>>("role").filter(|_| status == "idle"),
            suspended_role: asks("suspendedRole"),
            suspend_message: asks("suspendMessage"),
            started_at: thread.time_ms(),
            updated_at: since(row.get("updated_ms")),
            task: excerpt(first, TASK).into_owned(),
            worker: row.get("worker"),
            lease_until: row.get::<_, Option<i64>>("lease_ms").map(since),
            wish: row.get("wish"),
            priority: row.get("priority"),
            labels: row.get("labels"),
            attempts: row.get("attempts"),
            max_attempts: row.get("max_attempts"),
            steps: row.get("steps"),
            tokens: row.get("tokens"),
            cost: row.get("cost_usd"),
            max_cost: row.get("max_cost_usd"),
            workspace: row.get("workspace"),
        })
    }
}

/// An id as a row has it.
pub(super) fn thread_in(id: &str) -> Result<ThreadId, FleetError> {
    let malformed = |_| FleetError::Malformed { what: "thread".to_owned(), why: format!("{id:?} is no id") };
    id.parse().map_err(malformed)
}

/// Which threads are listed.
#[derive(Debug, Clone, Default)]
pub struct ThreadQuery {
    /// Those of these statuses, as [`RemoteThread::status`] has them; all where there is none.
    pub statuses: Vec<String>,
    /// Those started after this time, in milliseconds since the epoch.
    pub after: Option<u64>,
    /// Those started before this time.
    pub before: Option<u64>,
    /// So many of them are left out.
    pub skip: usize,
    /// So many at most.
    pub take: Option<usize>,
}

/// The states that threads of this status are in.
fn states_of(status: &str) -> &'static [&'static str] {
    match status {
        "idle" => &["held", "ready", "dead"],
        "running" => &["leased"],
        "suspended" => &["waiting", "held", "ready", "dead"],
        "paused" => &["paused"],
        _ => &["done"],
    }
}

/// The beginning of all ids of this time.
fn prefix(ms: u64) -> String {
    const OF_TIME: usize = 10;
    ThreadId::new(ms).as_str().chars().take(OF_TIME).collect()
}

/// Threads, the youngest first.
///
/// # Errors
/// The connection was lost, or a row is not what it must be.
pub fn threads(connection: &mut Connection, wanted: &ThreadQuery) -> Result<Vec<RemoteThread>, FleetError> {
    let (client, team) = connection.parts();
    let statuses = Some(&wanted.statuses).filter(|statuses| !statuses.is_empty());
    let states: Option<Vec<&str>> =
        statuses.map(|statuses| statuses.iter().flat_map(|status| states_of(status)).copied().collect());
    let after = wanted.after.map(|ms| prefix(ms.saturating_add(1)));
    let before = wanted.before.map(prefix);
    let number = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
    let (skip, take) = (number(wanted.skip), wanted.take.map(number));
    let rows = client.query(
        &format!("SELECT {COLUMNS} FROM uwf.thread {LISTED}"),
        &[&team, &ASKED, &states, &statuses, &after, &before, &skip, &take],
    )?;
    rows.iter().map(RemoteThread::of).collect()
}

/// By the index of states where these are few, by that of ids where they are not; what is asked for is known when it is planned.
const LISTED: &str = "
    WHERE team = $1 AND ($3::text[] IS NULL OR state = ANY ($3))
      AND ($4::text[] IS NULL
           OR CASE state WHEN 'leased' THEN 'running' WHEN 'paused' THEN 'paused' ELSE status END = ANY ($4))
      AND ($5::text IS NULL OR id >= $5) AND ($6::text IS NULL OR id < $6)
    ORDER BY id DESC OFFSET $7 LIMIT $8";

/// A thread; none where the remote does not have it.
///
/// # Errors
/// The connection was lost, or the row is not what it must be.
pub fn thread(connection: &mut Connection, thread: &ThreadId) -> Result<Option<RemoteThread>, FleetError> {
    let (client, team) = connection.parts();
    let sql = format!("SELECT {COLUMNS} FROM uwf.thread WHERE team = $1 AND id = $3");
    let row = client.query_opt(&sql, &[&team, &ASKED, &thread.as_str()])?;
    row.as_ref().map(RemoteThread::of).transpose()
}

/// The threads whose ids begin or end so, so many at most, the youngest first.
///
/// # Errors
/// The connection was lost.
pub fn matching(
    connection: &mut Connection,
    part: &str,
    most: usize,
) -> Result<Vec<RemoteThread>, FleetError> {
    let (client, team) = connection.parts();
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    let sql = format!(
        "SELECT {COLUMNS} FROM uwf.thread
         WHERE team = $1 AND (starts_with(id, $3) OR right(id, length($3)) = $3) ORDER BY id DESC LIMIT $4"
    );
    client.query(&sql, &[&team, &ASKED, &part, &most])?.iter().map(RemoteThread::of).collect()
}
