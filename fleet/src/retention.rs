//! Removing what is over and old at a remote: threads, each exported before it goes, and events that no budget counts.
//!
//! The nodes of a removed thread are garbage then, for [`crate::garbage`].

use std::io::Write;
use std::time::Duration;

use serde::Serialize;
use uwf_engine::{ThreadId, builtin, export, thread};
use uwf_store::{Clock, Hash, Store};

use crate::garbage::check_owner;
use crate::{Connection, FleetError, heads, nodes};

/// Which threads are to go.
#[derive(Debug, Clone)]
pub struct Old {
    /// Those with which nothing has happened for so long.
    pub older: Duration,
    /// Those of these statuses: `end`, `cancelled`, `suspended`, `idle`.
    pub statuses: Vec<String>,
}

/// A thread that may go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OldThread {
    /// Its team.
    pub team: String,
    /// The thread.
    pub thread: ThreadId,
    /// Its status.
    pub status: String,
    /// Steps that it has made at the remote.
    pub steps: i32,
    /// Where it stood when it was found.
    #[serde(skip)]
    head: String,
}

/// The threads of all teams that are old, and that nobody works on or is to.
///
/// # Errors
/// The login does not own the schema, or the connection was lost.
pub fn old_threads(connection: &mut Connection, old: &Old) -> Result<Vec<OldThread>, FleetError> {
    check_owner(connection)?;
    let rows = connection.client().query(
        "SELECT team, id, status, steps, head FROM uwf.thread
         WHERE status = ANY ($1) AND state NOT IN ('ready', 'leased')
               AND updated < clock_timestamp() - make_interval(secs => $2) ORDER BY team, updated",
        &[&old.statuses, &old.older.as_secs_f64()],
    )?;
    // A row whose id is none is no thread of ours, and in nobody's way.
    let thread = |row: &postgres::Row| {
        Some(OldThread {
            team: row.get("team"),
            thread: row.get::<_, &str>("id").parse().ok()?,
            status: row.get("status"),
            steps: row.get("steps"),
            head: row.get("head"),
        })
    };
    Ok(rows.iter().filter_map(thread).collect())
}

/// A thread with all that it needs, in a store in memory that has nothing else.
#[derive(Debug)]
pub struct WholeThread {
    store: Store,
    thread: ThreadId,
    head: Hash,
}

impl WholeThread {
    /// Where it stands.
    pub fn head(&self) -> &Hash {
        &self.head
    }

    /// Whether this is its head, or in the chain behind it.
    ///
    /// # Errors
    /// The chain cannot be read.
    pub fn has_step(&self, step: &Hash) -> Result<bool, FleetError> {
        Ok(*step == self.head || thread::is_before(&self.store, step, &self.head)?)
    }

    /// Writes it as `uwf thread export` does. Gives how many nodes these are.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write(&self, out: &mut dyn Write) -> Result<u64, FleetError> {
        Ok(export::export(&self.store, &self.thread, out)?.nodes)
    }
}

/// Fetches a thread of the remote, whichever team's it is.
///
/// # Errors
/// A node of it is missing or damaged, or the connection was lost.
pub fn fetch(connection: &mut Connection, old: &OldThread, clock: Clock) -> Result<WholeThread, FleetError> {
    let store = Store::in_memory(builtin::PROFILE, clock)?;
    let client = connection.client();
    let standing = heads::read(client, &old.team, &old.thread)?.ok_or_else(|| FleetError::Malformed {
        what: format!("thread {}", old.thread),
        why: "it was removed meanwhile".to_owned(),
    })?;
    let needed = nodes::closure(client, &old.team, &standing.roots())?;
    nodes::get_of(connection, &old.team, &store, &needed)?;
    standing.write(&store, &old.thread, None)?;
    Ok(WholeThread { store, thread: old.thread, head: standing.head })
}

/// Removes a thread with its variables and journals; false where somebody has gone on with it, which then stays.
///
/// # Errors
/// The login does not own the schema, or the connection was lost.
pub fn remove(connection: &mut Connection, thread: &OldThread, old: &Old) -> Result<bool, FleetError> {
    let removed = connection.client().execute(
        "DELETE FROM uwf.thread WHERE team = $1 AND id = $2 AND head = $3 AND status = $4 AND state NOT IN ('ready', 'leased')
             AND updated < clock_timestamp() - make_interval(secs => $5)",
        &[
            &thread.team,
            &thread.thread.as_str(),
            &thread.head,
            &thread.status,
            &old.older.as_secs_f64(),
        ],
    )?;
    Ok(removed > 0)
}

/// The events that are older than `$1` seconds, but for the costs that a budget counts now.
const OLD_EVENTS: &str = "
    SELECT e.id FROM uwf.event e LEFT JOIN uwf.team t ON t.name = e.team
    WHERE e.at < clock_timestamp() - make_interval(secs => $1)
          AND NOT (e.kind IN ('step', 'attempt') AND t.budget_usd IS NOT NULL AND e.at >= uwf.period_start(t.budget_period))";

/// How many events are removed at once.
const BATCH: i64 = 10_000;

/// Removes the events that are older than this, but for what was paid in the running period of a budget. Gives how many they are;
/// with `dry_run` they stay.
///
/// # Errors
/// The login does not own the schema, or the connection was lost: what was removed until then is.
pub fn remove_events(connection: &mut Connection, older: Duration, dry_run: bool) -> Result<u64, FleetError> {
    connection.wait_for_ever();
    check_owner(connection)?;
    let (client, older) = (connection.client(), older.as_secs_f64());
    if dry_run {
        let count: i64 =
            client.query_one(&format!("SELECT count(*) FROM ({OLD_EVENTS}) AS old"), &[&older])?.get(0);
        return Ok(count.unsigned_abs());
    }
    let mut removed = 0;
    loop {
        let sql = format!("DELETE FROM uwf.event WHERE id IN ({OLD_EVENTS} ORDER BY e.id LIMIT $2)");
        match client.execute(&sql, &[&older, &BATCH])? {
            0 => return Ok(removed),
            some => removed += some,
        }
    }
}

#[cfg(test)]
mod tests {
    use uwf_engine::fixture::Place;
    use uwf_engine::thread;

    use super::*;
    use crate::fixture::Postgres;
    use crate::{access, sync};

    const DAY: Duration = Duration::from_secs(24 * 60 * 60);

    #[test]
    fn what_is_over_and_old_goes_as_a_file_that_is_imported_again() {
        let Some(postgres) = Postgres::start() else { return };
        let mut at = postgres.connection();
        let place = Place::in_memory();
        let (store, [ended, young, open]) = (place.store(), [(); 3].map(|()| place.flow_thread()));
        for thread in [&ended, &young, &open] {
            sync::begin(&mut at, &store, thread, None).unwrap();
        }
        let set = |what: &str, thread: &ThreadId| {
            let sql = format!("UPDATE uwf.thread SET {what} WHERE id = $1");
            postgres.client().execute(&sql, &[&thread.as_str()]).unwrap();
        };
        let over = "state = 'done', status = 'end', tags = '{\"status\": \"end\", \"completedAt\": \"7\"}'";
        set(&format!("{over}, updated = updated - interval '9 days'"), &ended);
        set(over, &young);
        set("updated = updated - interval '9 days'", &open);
        let no_id = "INSERT INTO uwf.thread (team, id, head, tags, status, workflow, state, updated)
            VALUES ('default', 'x', 'H', '{}', 'end', 'W', 'done', now() - interval '9 days')";
        postgres.client().batch_execute(no_id).unwrap();
        let old = Old { older: 7 * DAY, statuses: vec!["end".into()] };
        let found = old_threads(&mut at, &old).unwrap();
        assert_eq!(found.iter().map(|old| old.thread).collect::<Vec<_>>(), [ended]);
        let mut file = Vec::new();
        let whole = fetch(&mut at, &found[0], || 7).unwrap();
        assert!(whole.write(&mut file).unwrap() > 3);
        assert!(
            whole.has_step(whole.head()).unwrap()
                && !whole.has_step(&"0000000000001".parse().unwrap()).unwrap()
        );
        // Somebody goes on with it just then.
        set("updated = clock_timestamp()", &ended);
        assert!(!remove(&mut at, &found[0], &old).unwrap());
        set("updated = updated - interval '9 days'", &ended);
        assert!(remove(&mut at, &found[0], &old).unwrap());
        assert_eq!(old_threads(&mut at, &old).unwrap(), []);
        let other = Place::in_memory();
        let elsewhere = other.store();
        let imported =
            uwf_engine::export::import(&elsewhere, std::path::Path::new("/nowhere"), &mut file.as_slice())
                .unwrap();
        assert_eq!((imported.thread, imported.new), (ended, true));
        assert_eq!(
            thread::head(&elsewhere, &ended).unwrap().hash,
            thread::head(&store, &ended).unwrap().hash
        );
    }

    #[test]
    fn events_go_but_for_what_a_budget_counts() {
        let Some(postgres) = Postgres::start() else { return };
        let mut at = postgres.connection();
        for team in ["daily", "total"] {
            access::add(&mut at, team).unwrap();
        }
        let mut client = postgres.client();
        client
            .batch_execute(
                "UPDATE uwf.team SET budget_usd = 5, budget_period = CASE name WHEN 'daily' THEN 'day' END WHERE name <> 'default';
                 INSERT INTO uwf.event (team, kind, at) SELECT name, kind, clock_timestamp() - old
                 FROM uwf.team, unnest(ARRAY['step', 'claimed']) AS kind, unnest(ARRAY['40 days', '1 minute']::interval[]) AS old",
            )
            .unwrap();
        assert_eq!(remove_events(&mut at, 30 * DAY, true).unwrap(), 5);
        assert_eq!(remove_events(&mut at, 30 * DAY, false).unwrap(), 5);
        let left = "SELECT team || ' ' || kind FROM uwf.event WHERE at < now() - interval '1 day'";
        let left: Vec<String> = client.query(left, &[]).unwrap().iter().map(|row| row.get(0)).collect();
        assert_eq!(left, ["total step"]);
    }
}
