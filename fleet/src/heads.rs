//! Where a thread stands at a remote, with its own variables: read, begun, moved by compare-and-set with a fence.

mod failed;
mod names;

use std::collections::BTreeMap;
use std::time::Duration;

use postgres::{GenericClient, Transaction};
use serde_json::json;
use uwf_engine::ThreadId;
use uwf_engine::thread::{self, CHILDREN, FAILED, HEADS, MAX_LEVELS, OPTIONS, PARENTS, PAUSES};
use uwf_engine::variables::UNDOS;
use uwf_engine::workflow;
use uwf_store::{Expect, Hash, Store, VarChange};

pub use self::failed::{Attempt, FailedStep, PaidRun, keep_failed, told_runs};
pub(crate) use self::names::check_called;
use crate::queue::{Lease, Terms, cancelled_tags, limit_reached, submit_in};
use crate::workspace::{Kept, Workspace};
use crate::{Connection, FleetError};

/// Where threads that a worker has brought here are noted, among the variables: these it may overwrite and forget.
pub(crate) const BROUGHT: &str = "@uwf/brought/";

/// The tag of such a note that says for which lease the thread was brought.
const FENCE: &str = "fence";

/// A variable of a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnVariable {
    /// Its name.
    pub name: String,
    /// The node that it stands for.
    pub value: Hash,
    /// What is known about it.
    pub tags: BTreeMap<String, String>,
    /// The nodes that its node names in its text, where no reference leads to them: the steps of failed attempts.
    pub also: Vec<Hash>,
}

/// A thread as it stands: what of it is no node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteHead {
    /// Where it stands.
    pub head: Hash,
    /// The tags of the variable that is its head: its status.
    pub tags: BTreeMap<String, String>,
    /// Its own variables but that: failed attempts, what was undone, options, a pause, and the threads that it called.
    pub variables: Vec<OwnVariable>,
}

impl RemoteHead {
    /// How a thread stands in a store.
    ///
    /// # Errors
    /// There is no such thread, or it cannot be read.
    pub fn of(store: &Store, thread: &ThreadId) -> Result<RemoteHead, FleetError> {
        thread::check_exists(store, thread)?;
        let own = |name: String| -> Result<Option<OwnVariable>, FleetError> {
            let found = store.vars().get_now(&name)?;
            Ok(found.map(|found| OwnVariable { name, value: found.value, tags: found.tags, also: vec![] }))
        };
        let head = own(format!("{HEADS}{thread}"))?.expect("it exists");
        let mut this = RemoteHead { head: head.value, tags: head.tags, variables: vec![] };
        let (mut of, mut level) = (*thread, 0);
        loop {
            for prefix in [UNDOS, OPTIONS, PAUSES, CHILDREN] {
                this.variables.extend(own(format!("{prefix}{of}"))?);
            }
            for failed in thread::all_failures(store, Some(&of))? {
                let Ok(also) = failed.steps else { continue };
                let (name, value, tags) = (failed.variable.name, failed.variable.value, failed.variable.tags);
                this.variables.push(OwnVariable { name, value, tags, also });
            }
            // The thread that it called last may be in the middle of its steps.
            let calls = this.variables.last().is_some_and(|last| last.name.starts_with(CHILDREN))
                || store.vars().get_now(&format!("{CHILDREN}{of}"))?.is_some();
            let called = if calls { thread::last_called(store, &of)? } else { None };
            let Some(called) = called.filter(|_| level < MAX_LEVELS) else { return Ok(this) };
            of = called.thread;
            level += 1;
            for prefix in [HEADS, PARENTS] {
                this.variables.extend(own(format!("{prefix}{of}"))?);
            }
        }
    }

    /// All nodes that must be at the remote for it.
    pub fn roots(&self) -> Vec<Hash> {
        let named =
            self.variables.iter().flat_map(|variable| [&variable.value].into_iter().chain(&variable.also));
        [&self.head].into_iter().chain(named).copied().collect()
    }

    /// The status that its tags tell.
    pub fn status(&self) -> &str {
        self.tags.get("status").map_or("idle", String::as_str)
    }

    /// Makes a store's thread stand so, for the lease with this fence where a worker does it; all nodes that it names must be
    /// there. What was chosen of who plays, and what weakens a sandbox, is not taken over.
    ///
    /// # Errors
    /// [`FleetError::Diverged`], a node is missing or of another kind, a thread that it names as called is here and was not
    /// called by it, or the variables cannot be written.
    pub fn write(&self, store: &Store, thread: &ThreadId, fence: Option<i64>) -> Result<(), FleetError> {
        let named = |prefix: &str, tags| OwnVariable {
            name: format!("{prefix}{thread}"),
            value: self.head,
            tags,
            also: vec![],
        };
        let head = named(HEADS, self.tags.clone());
        let was_brought = store.vars().get_now(&format!("{BROUGHT}{thread}"))?.is_some();
        let here = thread::stands_at(store, thread)?;
        if let Some(here) = here.filter(|here| !was_brought && *here != self.head)
            && !thread::is_before(store, &here, &self.head)?
        {
            return Err(FleetError::Diverged { thread: thread.to_string(), here, there: self.head });
        }
        check_called(store, thread, self, was_brought)?;
        let fence = fence.map(|fence| (FENCE.to_owned(), fence.to_string()));
        let mark = named(BROUGHT, fence.into_iter().collect());
        let mark = Some(&mark).filter(|_| was_brought || here.is_none());
        let chosen = |variable: &&OwnVariable| !variable.name.starts_with(OPTIONS);
        let mut changes = removal(store, thread, &self.variables)?;
        for variable in self.variables.iter().filter(chosen).chain([&head]).chain(mark) {
            changes.push(VarChange::Set {
                name: variable.name.clone(),
                schema: store.get(&variable.value)?.type_,
                value: variable.value,
                tags: variable.tags.clone(),
                expect: Expect::Any,
            });
        }
        store.vars().apply(&changes)?;
        let options = format!("{OPTIONS}{thread}");
        if let Some(options) = self.variables.iter().find(|variable| variable.name == options) {
            let (taken, _) = thread::options_of_node(store, &options.value)?.from_elsewhere();
            thread::keep_options(store, thread, &taken)?;
        }
        Ok(())
    }
}

/// What removes a thread's variables but these.
pub(crate) fn removal(
    store: &Store,
    thread: &ThreadId,
    but: &[OwnVariable],
) -> Result<Vec<VarChange>, FleetError> {
    let singles = [UNDOS, PAUSES, CHILDREN, OPTIONS].map(|prefix| format!("{prefix}{thread}"));
    let failed = store.vars().list(&format!("{FAILED}{thread}/"))?;
    let names = singles.into_iter().chain(failed.into_iter().map(|failed| failed.name));
    let is_gone = |name: &String| !but.iter().any(|other| other.name == *name);
    Ok(names.filter(is_gone).map(|name| VarChange::Remove { name }).collect())
}

/// Whether a thread is in a store because a worker has brought it.
///
/// # Errors
/// The variables cannot be read.
pub fn is_brought(store: &Store, thread: &ThreadId) -> Result<bool, FleetError> {
    Ok(store.vars().get_now(&format!("{BROUGHT}{thread}"))?.is_some())
}

/// Forgets a thread that was brought for a lease; one that was here before stays, and one that was brought for another lease,
/// which is false. The nodes stay until somebody collects garbage.
///
/// # Errors
/// The variables cannot be changed.
pub fn forget(store: &Store, lease: &Lease) -> Result<bool, FleetError> {
    let mark = format!("{BROUGHT}{}", lease.thread);
    let fence = lease.fence.to_string();
    let is_own = store.vars().get_now(&mark)?.is_some_and(|mark| mark.tags.get(FENCE) == Some(&fence));
    if !is_own {
        return Ok(false);
    }
    thread::remove(store, &lease.thread)?;
    store.vars().apply(&[VarChange::Remove { name: mark }])?;
    Ok(true)
}

fn malformed(what: &str, thread: &ThreadId, why: String) -> FleetError {
    FleetError::Malformed { what: format!("{what} of thread {thread}"), why }
}

fn tags_in(value: serde_json::Value, thread: &ThreadId) -> Result<BTreeMap<String, String>, FleetError> {
    serde_json::from_value(value).map_err(|error| malformed("tags", thread, error.to_string()))
}

fn hash_in(text: &str, thread: &ThreadId) -> Result<Hash, FleetError> {
    text.parse().map_err(|_| malformed("head", thread, format!("{text:?} is no hash")))
}

/// How a thread stands at the remote; none where it is not there.
///
/// # Errors
/// The connection was lost, or a row is not what it must be, such as a variable that is not the thread's own.
pub fn read(
    client: &mut impl GenericClient,
    team: &str,
    thread: &ThreadId,
) -> Result<Option<RemoteHead>, FleetError> {
    let key = thread.as_str();
    let found =
        client.query_opt("SELECT head, tags FROM uwf.thread WHERE team = $1 AND id = $2", &[&team, &key])?;
    let Some(row) = found else { return Ok(None) };
    let rows = client.query(
        "SELECT name, value, tags, also FROM uwf.variable WHERE team = $1 AND thread = $2 ORDER BY name",
        &[&team, &key],
    )?;
    let variable = |row: &postgres::Row| {
        let value = hash_in(row.get(1), thread)?;
        let also: Vec<&str> = row.get(3);
        let also = also.into_iter().map(|hash| hash_in(hash, thread)).collect::<Result<_, _>>()?;
        Ok(OwnVariable { name: row.get(0), value, tags: tags_in(row.get(2), thread)?, also })
    };
    let variables = rows.iter().map(variable).collect::<Result<Vec<_>, FleetError>>()?;
    names::check(thread, &variables)?;
    Ok(Some(RemoteHead { head: hash_in(row.get(0), thread)?, tags: tags_in(row.get(1), thread)?, variables }))
}

/// Begins a thread at the remote, kept and not to be run, or over as it is here; false where it is there already, which stays as
/// it is. Whoever has it run without saying where it works has it work where it was begun. With `terms` it is to be run at once.
///
/// # Errors
/// The thread cannot be read, or the connection was lost.
pub fn begin(
    connection: &mut Connection,
    store: &Store,
    thread: &ThreadId,
    (standing, role): (&RemoteHead, Option<&str>),
    terms: Option<&Terms>,
) -> Result<bool, FleetError> {
    let start = thread::head(store, thread)?.start(store)?;
    let name = workflow::get(store, &start.workflow).map_err(thread::ThreadError::from)?.name;
    let (client, team) = connection.parts();
    let mut transaction = client.transaction()?;
    let made = transaction.execute(
        "INSERT INTO uwf.thread (team, id, head, tags, status, workflow, workflow_name, task, role, workspace, state)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10,
                 CASE WHEN $5 IN ('idle', 'suspended') THEN 'held' ELSE 'done' END) ON CONFLICT DO NOTHING",
        &[
            &team,
            &thread.as_str(),
            &standing.head.as_str(),
            &json!(standing.tags),
            &standing.status(),
            &start.workflow.as_str(),
            &name,
            &start.prompt,
            &role,
            &Workspace::default().to_value(),
        ],
    )?;
    if made == 0 {
        return Ok(false);
    }
    write_variables(&mut transaction, team, thread, &standing.variables)?;
    if let Some(terms) = terms {
        submit_in(&mut transaction, team, thread, terms)?;
    }
    transaction.commit()?;
    Ok(true)
}

pub(crate) fn write_variables(
    transaction: &mut Transaction<'_>,
    team: &str,
    thread: &ThreadId,
    variables: &[OwnVariable],
) -> Result<(), FleetError> {
    let names: Vec<&str> = variables.iter().map(|variable| variable.name.as_str()).collect();
    // What was chosen for the thread is the submitter's: a worker has only a part of it.
    transaction.execute(
        "DELETE FROM uwf.variable WHERE team = $1 AND thread = $2 AND name <> ALL ($3) AND NOT starts_with(name, $4)",
        &[&team, &thread.as_str(), &names, &OPTIONS],
    )?;
    for OwnVariable { name, value, tags, also } in variables {
        let also: Vec<&str> = also.iter().map(Hash::as_str).collect();
        transaction.execute(
            "INSERT INTO uwf.variable (team, thread, name, value, tags, also) VALUES ($1, $2, $3, $4, $5, $7)
             ON CONFLICT (team, thread, name) DO UPDATE
                 SET value = excluded.value, tags = excluded.tags, also = excluded.also
             WHERE NOT starts_with(excluded.name, $6)",
            &[&team, &thread.as_str(), &name, &value.as_str(), &json!(tags), &OPTIONS, &also],
        )?;
    }
    Ok(())
}

/// A step that a worker has made, to be the head.
#[derive(Debug)]
pub struct Advance<'a> {
    /// What the worker has.
    pub lease: Lease,
    /// Its name.
    pub worker: &'a str,
    /// Where the thread stood.
    pub from: Hash,
    /// How it stands now.
    pub to: &'a RemoteHead,
    /// The role that has played; the one that sums up makes no step of the chain.
    pub played: Option<&'a str>,
    /// Who plays next.
    pub role: Option<&'a str>,
    /// In which state it is to be; `leased` where the worker goes on with it.
    pub state: &'a str,
    /// Why it is in that state.
    pub reason: Option<&'a str>,
    /// What the step has cost, in US dollars.
    pub cost_usd: f64,
    /// Tokens that were sent and received.
    pub tokens: i64,
    /// How long the next lease is.
    pub next_lease: Duration,
    /// The directory that it works in, as the step has left it; the one of before where this is none. What it names is there.
    pub kept: Option<&'a Kept>,
}

/// A wish and a budget are looked at where the head moves: whoever has made the step does not make another one then. A thread
/// that is to be cancelled is that with its last step, unless that has ended it.
const ADVANCE: &str = concat!(
    "
    WITH moved AS (
        SELECT id, coalesce(wish = 'cancel' AND $9 <> 'done', false) AS is_cancelled,
               CASE WHEN wish = 'cancel' THEN 'done' WHEN $9 <> 'leased' THEN $9 WHEN wish = 'pause' THEN 'paused'
                    WHEN max_cost_usd <= cost_usd + $10 THEN 'paused' ELSE 'leased' END AS next,
               CASE WHEN wish = 'cancel' THEN NULL WHEN $9 <> 'leased' THEN $12 WHEN wish = 'pause' THEN 'somebody paused it'
                    WHEN max_cost_usd <= cost_usd + $10 THEN ",
    limit_reached!("cost_usd + $10"),
    "          END AS because
        FROM uwf.thread WHERE team = $1 AND id = $2 AND fence = $3 AND state = 'leased' AND head = $4 FOR UPDATE)
    UPDATE uwf.thread AS t SET head = $5, role = $8,
        status = CASE WHEN is_cancelled THEN 'cancelled' ELSE $7 END,
        tags = CASE WHEN is_cancelled THEN ",
    cancelled_tags!(),
    " ELSE $6 END,
        state = next, reason = because,
        steps = steps + (t.head <> $5 AND $15 IS DISTINCT FROM '$COMPACT')::int,
        cost_usd = cost_usd + $10, tokens = tokens + $11, attempts = 0, answer = NULL,
        workspace = coalesce($14, workspace),
        wish = CASE WHEN next = 'leased' THEN wish END,
        lease_until = CASE WHEN next = 'leased' THEN clock_timestamp() + make_interval(secs => $13) END,
        ready_at = clock_timestamp(), updated = clock_timestamp()
    FROM moved WHERE t.team = $1 AND t.id = moved.id RETURNING t.state, t.status"
);

/// Moves a head by compare-and-set with the fence, and in the same transaction all that goes with it. Gives the state of the
/// thread then. One that is there already, as when the answer was lost, is one's own.
///
/// # Errors
/// [`FleetError::LeaseLost`], or the connection was lost: then the same again tells.
pub fn advance(connection: &mut Connection, step: &Advance<'_>) -> Result<String, FleetError> {
    let (client, team) = connection.parts();
    let mut transaction = client.transaction()?;
    let thread = step.lease.thread;
    let key = thread.as_str();
    let workspace = step.kept.map(|kept| kept.workspace.to_value());
    let row = transaction.query_opt(
        ADVANCE,
        &[
            &team,
            &key,
            &step.lease.fence,
            &step.from.as_str(),
            &step.to.head.as_str(),
            &json!(step.to.tags),
            &step.to.status(),
            &step.role,
            &step.state,
            &step.cost_usd,
            &step.tokens,
            &step.reason,
            &step.next_lease.as_secs_f64(),
            &workspace,
            &step.played,
        ],
    )?;
    let Some(row) = row else { return already_mine(&mut transaction, team, step) };
    let (state, status): (String, String) = (row.get(0), row.get(1));
    write_variables(&mut transaction, team, &thread, &step.to.variables)?;
    transaction.execute("DELETE FROM uwf.journal WHERE team = $1 AND thread = $2", &[&team, &key])?;
    let data = json!({
        "from": step.from.as_str(), "to": step.to.head.as_str(), "role": step.played, "status": status,
        "state": state, "cost_usd": step.cost_usd, "tokens": step.tokens,
        "left_out": step.kept.map_or(&[][..], |kept| &kept.left_out),
    });
    transaction.execute(
        "INSERT INTO uwf.event (team, thread, kind, worker, fence, data) VALUES ($1, $2, 'step', $3, $4, $5)",
        &[&team, &key, &step.worker, &step.lease.fence, &data],
    )?;
    transaction.execute("SELECT pg_notify('uwf_thread_' || $1, $2)", &[&team, &key])?;
    if state == "ready" {
        transaction.execute("SELECT pg_notify('uwf_ready_' || $1, '')", &[&team])?;
    }
    transaction.commit()?;
    Ok(state)
}

fn already_mine(
    transaction: &mut Transaction<'_>,
    team: &str,
    step: &Advance<'_>,
) -> Result<String, FleetError> {
    let row = transaction.query_opt(
        "SELECT head, state, tags FROM uwf.thread WHERE team = $1 AND id = $2",
        &[&team, &step.lease.thread.as_str()],
    )?;
    match row {
        // Nobody else makes a node of this hash, or ends the thread at this time. Whoever has cancelled it meanwhile has changed
        // the tags alone.
        Some(row)
            if row.get::<_, &str>(0) == step.to.head.as_str()
                && (step.from != step.to.head
                    || row.get::<_, serde_json::Value>(2) == json!(step.to.tags)) =>
        {
            Ok(row.get(1))
        }
        _ => Err(step.lease.lost()),
    }
}
