//! Removing the nodes of a remote that nothing needs any more, while others push and work there.
//!
//! What is needed: all that can be reached from heads, from the variables of threads, from what journals of steps that are going
//! on name, from what the rows of threads say of their workspaces, and from nodes that were put or confirmed a short time ago.
//! Whoever pushes asks for every node (`uwf.have`), which confirms those that are there; so a node that a push relies on is young
//! from then until the head that needs it is set, and a node that is just being removed is told to be missing and is put again.
//! Nobody waits for the collection, and it waits for nobody: rows that somebody else has locked are left for the next time.
//!
//! Marking keeps its hashes in a temporary table of the database and the border of what it has seen here, at most 13 bytes a
//! node. There is no long transaction, so that others' vacuum goes on.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;
use uwf_store::Hash;

use crate::{Connection, FleetError};

/// Younger nodes than this are always kept: a push must be over by then. Whoever confirms one that is half as old makes it young.
pub const YOUNGEST: Duration = Duration::from_secs(60 * 60);

/// How many nodes are looked at in a statement that marks, and how many rows are removed in one.
const MARK: usize = 5_000;
const SWEEP: i64 = 2_000;

/// What to remove.
#[derive(Debug, Clone, Copy)]
pub struct Collect<'a> {
    /// Nodes that were put or confirmed later than this ago are kept; [`YOUNGEST`] at least.
    pub younger: Duration,
    /// Whether nothing is removed, only counted.
    pub dry_run: bool,
    /// The teams whose object stores cannot be used, each with why: of them nodes that are there stay.
    pub spared: &'a BTreeMap<String, String>,
}

/// What came of it, for a team.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Collected {
    /// The team.
    pub team: String,
    /// Nodes that are needed, or young.
    pub kept: u64,
    /// Nodes that were removed, or would be.
    pub removed: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Of these, those whose bytes are in an object store.
    pub objects: u64,
    /// Why something of it stays that is garbage: its object store cannot be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left: Option<String>,
}

/// Removes the objects of a team, by their keys.
pub type RemoveObjects<'a> = dyn FnMut(&str, &[String]) -> Result<(), FleetError> + 'a;

/// Removes garbage of all teams, one after another. The contents of removed nodes that are in an object store are handed to
/// `objects`, by their keys and with the team whose rows named them, after their rows are gone; a key that is put again must be
/// another one. Where `objects` fails, that team is left as it is then, which is told, and the next one comes.
///
/// # Errors
/// The login does not own the schema, or the connection was lost: the same again goes on, but for the keys that `objects` had.
pub fn collect(
    connection: &mut Connection,
    what: Collect<'_>,
    objects: &mut RemoveObjects<'_>,
) -> Result<Vec<Collected>, FleetError> {
    connection.wait_for_ever();
    check_owner(connection)?;
    let rows = connection.client().query("SELECT name FROM uwf.team ORDER BY name", &[])?;
    let teams: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
    teams.iter().map(|team| of_team(connection, team, what, objects)).collect()
}

/// Whether this login has the rights of the schema's owner, who alone sees the rows of all teams.
///
/// # Errors
/// [`FleetError::NotPermitted`] where it has not.
pub(crate) fn check_owner(connection: &mut Connection) -> Result<(), FleetError> {
    let owns = "SELECT pg_has_role(nspowner, 'USAGE') FROM pg_namespace WHERE nspname = 'uwf'";
    match connection.client().query_one(owns, &[])?.get(0) {
        true => Ok(()),
        false => Err(FleetError::NotPermitted { what: "only who owns the schema removes rows".to_owned() }),
    }
}

fn of_team(
    connection: &mut Connection,
    team: &str,
    what: Collect<'_>,
    objects: &mut RemoveObjects<'_>,
) -> Result<Collected, FleetError> {
    let since = begin(connection, team, what.younger)?;
    let mut open = roots(connection, team, since)?;
    let mut kept = 0;
    // The last ones first: the border stays small.
    while !open.is_empty() {
        let part = open.split_off(open.len().saturating_sub(MARK));
        kept += part.len() as u64;
        mark(connection, team, &part, &mut open)?;
    }
    let left = what.spared.get(team).cloned();
    let mut collected = Collected { team: team.to_owned(), kept, removed: 0, bytes: 0, objects: 0, left };
    let how = Sweep { dry_run: what.dry_run, spares: what.spared.contains_key(team) };
    let mut after = String::new();
    loop {
        match sweep(connection, (team, since, &after), how, &mut collected, objects) {
            Ok(Some(next)) => after = next,
            Ok(None) => break,
            Err(error @ FleetError::Objects { .. }) => {
                collected.left = Some(told(&error));
                break;
            }
            Err(error) => return Err(error),
        }
    }
    connection.client().batch_execute("DROP TABLE pg_temp.uwf_live")?;
    Ok(collected)
}

/// Makes the table of what is needed. Gives since when nodes are young, in microseconds: the longest lease counts, twice, since
/// who has it may push until its end.
fn begin(connection: &mut Connection, team: &str, younger: Duration) -> Result<i64, FleetError> {
    let client = connection.client();
    client.batch_execute(
        "DROP TABLE IF EXISTS pg_temp.uwf_live;
         CREATE TEMP TABLE uwf_live (hash text COLLATE \"C\" PRIMARY KEY)",
    )?;
    let row = client.query_one(
        "SELECT floor(extract(epoch FROM clock_timestamp() - greatest(make_interval(secs => $2),
             interval '30 min' + 2 * max(lease_until - clock_timestamp()))) * 1e6)::bigint
         FROM uwf.thread WHERE team = $1 AND state = 'leased'",
        &[&team, &younger.max(YOUNGEST).as_secs_f64()],
    )?;
    Ok(row.get(0))
}

/// The time that microseconds since the epoch stand for.
const SINCE: &str = "timestamptz 'epoch' + $2::bigint * interval '1 microsecond'";

/// Notes where everything that is needed begins, and gives these.
fn roots(connection: &mut Connection, team: &str, since: i64) -> Result<Vec<Hash>, FleetError> {
    // Whatever looks like a hash in a workspace is one: what kinds there are is not known here.
    let sql = format!(
        "INSERT INTO uwf_live (hash)
         SELECT head FROM uwf.thread WHERE team = $1
         UNION SELECT value FROM uwf.variable WHERE team = $1
         UNION SELECT unnest(also) FROM uwf.variable WHERE team = $1
         UNION SELECT unnest(nodes) FROM uwf.journal WHERE team = $1
         UNION SELECT word #>> '{{}}' FROM uwf.thread, jsonb_path_query(workspace, '$.** ? (@.type() == \"string\")') AS word
               WHERE team = $1 AND word #>> '{{}}' ~ '^[0-9A-HJKMNP-TV-Z]{{13}}$'
         UNION SELECT hash FROM uwf.node WHERE team = $1 AND put >= {SINCE}
         RETURNING hash"
    );
    let rows = connection.client().query(&sql, &[&team, &since])?;
    // What is no hash leads nowhere.
    Ok(rows.iter().filter_map(|row| row.get::<_, &str>(0).parse().ok()).collect())
}

/// Notes what these refer to, and adds to `open` what was not known before.
fn mark(
    connection: &mut Connection,
    team: &str,
    from: &[Hash],
    open: &mut Vec<Hash>,
) -> Result<(), FleetError> {
    let from: Vec<&str> = from.iter().map(Hash::as_str).collect();
    let rows = connection.client().query(
        "INSERT INTO uwf_live (hash)
         SELECT DISTINCT refs.hash FROM uwf.node AS node, unnest(node.refs) AS refs (hash)
         WHERE node.team = $1 AND node.hash = ANY ($2)
         ON CONFLICT DO NOTHING RETURNING hash",
        &[&team, &from],
    )?;
    open.extend(rows.iter().filter_map(|row| row.get::<_, &str>(0).parse::<Hash>().ok()));
    Ok(())
}

/// An error of an object store, with what is to be done.
pub(crate) fn told(error: &FleetError) -> String {
    error.hint().map_or(error.to_string(), |hint| format!("{error} ({hint})"))
}

/// How a team's garbage is swept.
#[derive(Clone, Copy)]
struct Sweep {
    dry_run: bool,
    /// Whether nodes that are in an object store stay.
    spares: bool,
}

/// Removes some of what is not needed, behind this hash. Gives the last hash that was looked at; none when that was all.
fn sweep(
    connection: &mut Connection,
    (team, since, after): (&str, i64, &str),
    Sweep { dry_run, spares }: Sweep,
    collected: &mut Collected,
    objects: &mut RemoveObjects<'_>,
) -> Result<Option<String>, FleetError> {
    // Whether a row is old is asked once more when its lock is there: it may have been confirmed just then.
    let lock = if dry_run { "" } else { "FOR UPDATE SKIP LOCKED" };
    let removed = match dry_run {
        true => "SELECT size, object FROM dead",
        false => {
            "DELETE FROM uwf.node AS n USING dead WHERE n.team = $1 AND n.hash = dead.hash RETURNING n.size, n.object"
        }
    };
    let sql = format!(
        "WITH page AS MATERIALIZED (SELECT hash FROM uwf.node WHERE team = $1 AND hash > $3 ORDER BY hash LIMIT $4),
         dead AS MATERIALIZED (
             SELECT hash, size, object FROM uwf.node
             WHERE team = $1 AND hash IN (SELECT hash FROM page) AND put < {SINCE}
                   AND NOT ($5 AND object IS NOT NULL)
                   AND NOT EXISTS (SELECT FROM uwf_live AS live WHERE live.hash = node.hash)
             ORDER BY hash {lock}),
         gone AS ({removed})
         SELECT (SELECT max(hash) FROM page), count(*), coalesce(sum(size), 0)::bigint,
                coalesce(array_agg(object) FILTER (WHERE object IS NOT NULL), '{{}}') FROM gone"
    );
    let row = connection.client().query_one(&sql, &[&team, &since, &after, &SWEEP, &spares])?;
    let count = |column: usize| u64::try_from(row.get::<_, i64>(column)).unwrap_or(0);
    let keys: Vec<String> = row.get(3);
    collected.removed += count(1);
    collected.bytes += count(2);
    collected.objects += keys.len() as u64;
    if !dry_run && !keys.is_empty() {
        objects(team, &keys)?;
    }
    Ok(row.get(0))
}
