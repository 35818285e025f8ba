//! A thread goes to a remote, and comes from it.
//!
//! Nodes are sent where they are missing, then the head moves: at the remote by compare-and-set, here under the lock of runs. A
//! head moves forward alone, to one whose chain it is in; where neither is in the other's chain, the thread has diverged and
//! stays as it is on both sides. Whatever is cut off is done by the same call again.

mod adopt;
mod relation;
#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::path::Path;

use postgres::{Client, IsolationLevel};
use serde_json::json;
use uwf_engine::ThreadId;
use uwf_engine::lock::ThreadLock;
use uwf_engine::thread;
use uwf_store::Store;

pub use self::relation::Relation;
use self::relation::{names_of_heads, relation};
use crate::heads::{self, RemoteHead, write_variables};
use crate::queue::{self, Terms};
use crate::{Connection, FleetError, nodes};

/// How often a push is tried again when somebody else moves the thread meanwhile.
const TRIES: usize = 5;

/// Puts a thread that the remote does not have there, with all that it needs, to be kept and not to be run; false where it is
/// there already, which stays as it is. `role` is who plays next.
///
/// # Errors
/// The thread cannot be read, the remote has another node under a hash of it, or the connection was lost: the same again goes on
/// where this was.
pub fn begin(
    connection: &mut Connection,
    store: &Store,
    thread: &ThreadId,
    role: Option<&str>,
) -> Result<bool, FleetError> {
    put_and_begin(connection, store, thread, (role, None))
}

/// The same of a thread that is to be run on these terms: it is there and ready, or it is not there. What its workspace needs
/// goes along.
///
/// # Errors
/// As [`begin`]; where the connection was lost, it may be there all the same.
pub fn start(
    connection: &mut Connection,
    store: &Store,
    thread: &ThreadId,
    (role, terms): (Option<&str>, &Terms),
) -> Result<bool, FleetError> {
    put_and_begin(connection, store, thread, (role, Some(terms)))
}

fn put_and_begin(
    connection: &mut Connection,
    store: &Store,
    thread: &ThreadId,
    (role, terms): (Option<&str>, Option<&Terms>),
) -> Result<bool, FleetError> {
    let standing = RemoteHead::of(store, thread)?;
    let mut roots = standing.roots();
    roots.extend(terms.iter().flat_map(|terms| terms.workspace.roots()));
    nodes::put(connection, store, (&roots, &mut HashSet::new()))?;
    heads::begin(connection, store, thread, (&standing, role), terms)
}

/// What came of a push.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pushed {
    /// The remote did not have it.
    New,
    /// Its head at the remote has moved, by so many steps.
    Moved {
        /// How many; 0 where only the status has changed.
        steps: u64,
    },
    /// The same, but its files at the remote, a snapshot or a branch, are those of before these steps: nobody goes on with it
    /// there until it is resumed.
    Held {
        /// How many.
        steps: u64,
    },
    /// It stands there as here.
    Same,
    /// The remote is ahead, by so many steps: nothing was pushed.
    Behind {
        /// How many.
        steps: u64,
    },
}

/// Pushes a thread: its nodes, then its head. `role` is who plays next. A thread that was not there is kept, and not run.
///
/// # Errors
/// [`FleetError::Diverged`], [`FleetError::Leased`] where a worker has it, [`FleetError::Collision`], or the connection was lost:
/// the same again goes on where this was.
pub fn push(
    connection: &mut Connection,
    store: &Store,
    thread: &ThreadId,
    role: Option<&str>,
) -> Result<Pushed, FleetError> {
    for _ in 0..TRIES {
        let ours = RemoteHead::of(store, thread)?;
        let (client, team) = connection.parts();
        let Some(row) = Row::read(client, team, thread)? else {
            if begin(connection, store, thread, role)? {
                return Ok(Pushed::New);
            }
            continue;
        };
        bring(connection, store, &row.standing)?;
        let steps = match relation(store, thread, &ours, &row.standing)? {
            Relation::Same => return Ok(Pushed::Same),
            Relation::Behind { steps } => return Ok(Pushed::Behind { steps }),
            Relation::Diverged => return Err(diverged(thread, &ours, &row.standing)),
            // Its worker may have been killed: when it was the last one, nobody else frees what it had.
            Relation::Ahead { .. } if row.has_lapsed => {
                queue::reap(connection)?;
                continue;
            }
            Relation::Ahead { .. } if row.state == "leased" => {
                return Err(FleetError::Leased { thread: thread.to_string(), worker: row.worker });
            }
            Relation::Ahead { steps } => steps,
        };
        nodes::put(connection, store, (&ours.roots(), &mut HashSet::new()))?;
        match move_head(connection, thread, (&row, &ours), role)? {
            Some(Moved::Whole) => return Ok(Pushed::Moved { steps }),
            Some(Moved::WithoutFiles) => return Ok(Pushed::Held { steps }),
            None => {}
        }
    }
    Err(FleetError::Contended { thread: thread.to_string() })
}

fn diverged(thread: &ThreadId, ours: &RemoteHead, theirs: &RemoteHead) -> FleetError {
    FleetError::Diverged { thread: thread.to_string(), here: ours.head, there: theirs.head }
}

/// A thread's row at the remote.
struct Row {
    standing: RemoteHead,
    state: String,
    /// Whether it is leased, and the lease is over.
    has_lapsed: bool,
    worker: Option<String>,
    fence: i64,
}

impl Row {
    /// All of it as of one instant.
    fn read(client: &mut Client, team: &str, thread: &ThreadId) -> Result<Option<Row>, FleetError> {
        let mut at = client
            .build_transaction()
            .isolation_level(IsolationLevel::RepeatableRead)
            .read_only(true)
            .start()?;
        let Some(standing) = heads::read(&mut at, team, thread)? else { return Ok(None) };
        let sql = "
            SELECT state, worker, fence, coalesce(lease_until < clock_timestamp(), false) FROM uwf.thread
            WHERE team = $1 AND id = $2";
        let row = at.query_one(sql, &[&team, &thread.as_str()])?;
        let (state, worker, fence, has_lapsed) = (row.get(0), row.get(1), row.get(2), row.get(3));
        Ok(Some(Row { standing, state, has_lapsed, worker, fence }))
    }

    fn get(client: &mut Client, team: &str, thread: &ThreadId) -> Result<Row, FleetError> {
        Row::read(client, team, thread)?.ok_or_else(|| FleetError::NoRemote {
            what: format!("the remote has no thread {thread}"),
            hint: "`uwf thread list --remote NAME` tells which there are".to_owned(),
        })
    }
}

/// What has come of moving a head.
enum Moved {
    Whole,
    /// The files that the thread works in have stayed where they were.
    WithoutFiles,
}

/// A thread that waited for an answer has had one; what was over may go on. Whether it is run stays as it was, but that nobody
/// goes on unasked where the files are not those of the head: those that workers keep are moved by workers alone.
const MOVE: &str = "
    UPDATE uwf.thread SET head = $6, tags = $7, status = $8, role = $9, attempts = 0, answer = NULL, wish = NULL,
        state = CASE WHEN $8 NOT IN ('idle', 'suspended') THEN 'done'
                     WHEN $3 <> $6 AND workspace ->> 'kind' IN ('snapshot', 'git') THEN 'held'
                     WHEN $8 = 'suspended' THEN CASE state WHEN 'held' THEN 'held' ELSE 'waiting' END
                     ELSE CASE state WHEN 'waiting' THEN 'ready' WHEN 'done' THEN 'held' ELSE state END END,
        reason = CASE WHEN $8 IN ('idle', 'suspended') AND $3 <> $6 AND workspace ->> 'kind' IN ('snapshot', 'git')
                      THEN 'steps were pushed without their files: here it has those of before'
                      WHEN $8 = 'suspended' THEN $7::jsonb ->> 'suspendMessage'
                      WHEN $8 = 'idle' AND state IN ('paused', 'dead') THEN reason END,
        ready_at = clock_timestamp(), updated = clock_timestamp()
    WHERE team = $1 AND id = $2 AND head = $3 AND tags = $4 AND fence = $5 AND state <> 'leased'
    RETURNING state, state = 'held' AND $3 <> $6 AND coalesce(workspace ->> 'kind', '') IN ('snapshot', 'git')";

/// Moves the head of a thread by compare-and-set from what was seen; none where it is not so any more.
fn move_head(
    connection: &mut Connection,
    thread: &ThreadId,
    (seen, ours): (&Row, &RemoteHead),
    role: Option<&str>,
) -> Result<Option<Moved>, FleetError> {
    let (client, team) = connection.parts();
    let mut transaction = client.transaction()?;
    let key = thread.as_str();
    let row = transaction.query_opt(
        MOVE,
        &[
            &team,
            &key,
            &seen.standing.head.as_str(),
            &json!(seen.standing.tags),
            &seen.fence,
            &ours.head.as_str(),
            &json!(ours.tags),
            &ours.status(),
            &role,
        ],
    )?;
    let Some(row) = row else { return Ok(None) };
    let (state, stays): (String, bool) = (row.get(0), row.get(1));
    write_variables(&mut transaction, team, thread, &ours.variables)?;
    let data = json!({ "from": seen.standing.head.as_str(), "to": ours.head.as_str(), "status": ours.status(), "state": state });
    transaction.execute(
        "INSERT INTO uwf.event (team, thread, kind, data) VALUES ($1, $2, 'pushed', $3)",
        &[&team, &key, &data],
    )?;
    transaction.execute("SELECT pg_notify('uwf_thread_' || $1, $2)", &[&team, &key])?;
    if state == "ready" {
        transaction.execute("SELECT pg_notify('uwf_ready_' || $1, '')", &[&team])?;
    }
    transaction.commit()?;
    Ok(Some(if stays { Moved::WithoutFiles } else { Moved::Whole }))
}

/// Brings the nodes of a thread here that the store lacks, if it lacks any of the heads; the others are complete then.
fn bring(connection: &mut Connection, store: &Store, standing: &RemoteHead) -> Result<usize, FleetError> {
    if standing.roots().iter().all(|root| store.has(root)) {
        return Ok(0);
    }
    let (client, team) = connection.parts();
    let there = nodes::closure(client, team, &standing.roots())?;
    nodes::get(connection, store, &there)
}

/// A thread whose nodes were fetched.
#[derive(Debug, Clone)]
pub struct Fetched {
    /// How it stands at the remote.
    pub standing: RemoteHead,
    /// How it stands here to there; none where it is not here.
    pub relation: Option<Relation>,
    /// How many nodes have come.
    pub nodes: usize,
}

/// Fetches the nodes of a thread into a store, and moves nothing there.
///
/// # Errors
/// [`FleetError::NoRemote`] where the remote does not have it, a node is damaged or another one than here, or the connection was
/// lost: the same again goes on.
pub fn fetch_nodes(
    connection: &mut Connection,
    store: &Store,
    thread: &ThreadId,
) -> Result<Fetched, FleetError> {
    let (client, team) = connection.parts();
    let standing = Row::get(client, team, thread)?.standing;
    let there = nodes::closure(client, team, &standing.roots())?;
    let nodes = nodes::get(connection, store, &there)?;
    let relation = match thread::stands_at(store, thread)? {
        Some(_) => Some(relation(store, thread, &RemoteHead::of(store, thread)?, &standing)?),
        None => None,
    };
    Ok(Fetched { standing, relation, nodes })
}

/// What came of a pull.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pulled {
    /// It was not here.
    New,
    /// Its head here has moved, by so many steps.
    Moved {
        /// How many; 0 where only the status has changed.
        steps: u64,
    },
    /// It stands here as there.
    Same,
    /// It is ahead of the remote, by so many steps: nothing was pulled.
    Ahead {
        /// How many.
        steps: u64,
    },
}

/// Pulls a thread: its nodes, then its head, under the lock of runs of `home`, which is `$UWF_HOME`. Gives how many nodes have
/// come, too.
///
/// # Errors
/// As [`fetch_nodes`]; [`FleetError::Diverged`]; [`FleetError::Lock`] where a step of it runs here.
pub fn pull(
    connection: &mut Connection,
    (store, home): (&Store, &Path),
    thread: &ThreadId,
) -> Result<(Pulled, usize), FleetError> {
    let Fetched { standing, relation: first, nodes } = fetch_nodes(connection, store, thread)?;
    if matches!(first, Some(Relation::Same | Relation::Ahead { .. })) {
        return Ok((outcome(first), nodes));
    }
    let _still = ThreadLock::unannounced(home, thread)?;
    // What ran until then may have moved it.
    let here = thread::stands_at(store, thread)?;
    let ours = here.map(|_| RemoteHead::of(store, thread)).transpose()?;
    let now = ours.as_ref().map(|ours| relation(store, thread, ours, &standing)).transpose()?;
    match (&ours, now) {
        (Some(ours), Some(Relation::Diverged)) => return Err(diverged(thread, ours, &standing)),
        (_, Some(Relation::Same | Relation::Ahead { .. })) => {}
        (_, None | Some(Relation::Behind { .. } | Relation::Diverged)) => {
            adopt::adopt(store, thread, here, &standing)?;
        }
    }
    Ok((outcome(now), nodes))
}

fn outcome(relation: Option<Relation>) -> Pulled {
    match relation {
        None => Pulled::New,
        Some(Relation::Behind { steps }) => Pulled::Moved { steps },
        Some(Relation::Ahead { steps }) => Pulled::Ahead { steps },
        Some(Relation::Same | Relation::Diverged) => Pulled::Same,
    }
}

/// Which of these threads the remote has, those alone that do not stand there as here.
///
/// # Errors
/// The connection was lost, or a thread of the store cannot be read.
pub fn differing(
    connection: &mut Connection,
    store: &Store,
    threads: &[ThreadId],
) -> Result<(usize, Vec<ThreadId>), FleetError> {
    let (client, team) = connection.parts();
    let ids: Vec<&str> = threads.iter().map(ThreadId::as_str).collect();
    let sql = "SELECT id, head, status FROM uwf.thread WHERE team = $1 AND id = ANY ($2) ORDER BY id";
    let rows = client.query(sql, &[&team, &ids])?;
    let (both, mut found) = (rows.len(), Vec::new());
    for row in rows {
        let id: &str = row.get(0);
        let Some(thread) = threads.iter().find(|thread| thread.as_str() == id) else { continue };
        let Some(here) = store.vars().get_now(&names_of_heads(thread))? else { continue };
        let status = here.tags.get("status").map_or("idle", String::as_str);
        let called = store.vars().get_now(&format!("{}{thread}", thread::CHILDREN))?;
        let is_same = here.value.as_str() == row.get::<_, &str>(1) && status == row.get::<_, &str>(2);
        // A thread that it called may have moved alone.
        if !is_same || called.is_some() {
            found.push(*thread);
        }
    }
    Ok((both, found))
}

/// Brings a thread of the remote into a store, with all that it needs. A thread that stands elsewhere there is only taken where
/// the remote's comes after it.
///
/// # Errors
/// [`FleetError::NoRemote`] where the remote does not have it, [`FleetError::Diverged`], a node is damaged, or the connection was
/// lost.
pub fn fetch(
    connection: &mut Connection,
    store: &Store,
    thread: &ThreadId,
) -> Result<RemoteHead, FleetError> {
    let (client, team) = connection.parts();
    let standing = Row::get(client, team, thread)?.standing;
    let there = nodes::closure(client, team, &standing.roots())?;
    nodes::get(connection, store, &there)?;
    standing.write(store, thread, None)?;
    Ok(standing)
}
