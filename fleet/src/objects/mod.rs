//! The contents of large nodes, in an object store beside the database: S3 or what speaks like it, or a directory that all
//! machines mount. A team has one if its owner has set its URL; the row of a large node then has a key in place of bytes.
//!
//! Objects are written before the row that names them, under a key that nobody had before, and never change. Heads are never
//! there: not every such store keeps a promise about who is first.

#[cfg(feature = "objects")]
mod location;
#[cfg(test)]
#[cfg(feature = "objects")]
mod moto;
#[cfg(feature = "objects")]
mod store;
#[cfg(test)]
#[cfg(feature = "objects")]
mod tests;
#[cfg(not(feature = "objects"))]
mod without;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use postgres::GenericClient;
use uwf_engine::Env;
use uwf_store::Hash;

#[cfg(feature = "objects")]
pub use self::store::Objects;
#[cfg(not(feature = "objects"))]
pub use self::without::Objects;
use crate::garbage::told;
use crate::{Connection, FleetError};

/// Contents of more bytes than this go to the object store, where there is one.
pub const LARGE: usize = 256 << 10;

/// What the setting is called.
const NAME: &str = "objects";

/// Who asks an object store for something; kept in memory alone, and never printed.
#[derive(Clone, Default)]
pub struct Keys {
    /// `AWS_ACCESS_KEY_ID`.
    pub id: Option<String>,
    /// `AWS_SECRET_ACCESS_KEY`.
    pub secret: Option<String>,
    /// `AWS_SESSION_TOKEN`.
    pub token: Option<String>,
}

impl fmt::Debug for Keys {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Keys(…)")
    }
}

impl Keys {
    /// Those of an environment.
    pub fn of(env: &Env) -> Keys {
        let text = |name| env.text(name).filter(|text| !text.is_empty()).map(str::to_owned);
        Keys {
            id: text("AWS_ACCESS_KEY_ID"),
            secret: text("AWS_SECRET_ACCESS_KEY"),
            token: text("AWS_SESSION_TOKEN"),
        }
    }
}

/// A content that is in an object store.
#[derive(Debug, Clone)]
pub(crate) struct Piece {
    /// The node.
    pub(crate) hash: Hash,
    /// Under which key.
    pub(crate) key: String,
    /// How many bytes it has.
    #[cfg_attr(not(feature = "objects"), expect(dead_code, reason = "nothing is fetched then"))]
    pub(crate) size: usize,
}

/// The URL of a team's object store, where it has one.
///
/// # Errors
/// The connection was lost.
pub fn url_of(client: &mut impl GenericClient, team: &str) -> Result<Option<String>, FleetError> {
    let sql = "SELECT value FROM uwf.setting WHERE team = $1 AND name = $2";
    Ok(client.query_opt(sql, &[&team, &NAME])?.map(|row| row.get(0)))
}

/// How many nodes of a team have their contents in its object store.
///
/// # Errors
/// The connection was lost.
pub fn count(client: &mut impl GenericClient, team: &str) -> Result<i64, FleetError> {
    let sql = "SELECT count(*) FROM uwf.node WHERE team = $1 AND object IS NOT NULL";
    Ok(client.query_one(sql, &[&team])?.get(0))
}

/// Sets the URL of a team's object store, or that it has none. What is in the one before stays there. Gives the URL as it is
/// kept.
///
/// # Errors
/// [`FleetError::Objects`]: it is no such URL, or has keys in it. There is no such team, the login does not own the schema, or
/// the database fails.
pub fn set(connection: &mut Connection, team: &str, url: Option<&str>) -> Result<Option<String>, FleetError> {
    let client = connection.client();
    let Some(url) = url else {
        client.execute("DELETE FROM uwf.setting WHERE team = $1 AND name = $2", &[&team, &NAME])?;
        return Ok(None);
    };
    let url = Objects::check(url)?;
    let made = client.execute(
        "INSERT INTO uwf.setting (team, name, value) SELECT name, $2, $3 FROM uwf.team WHERE name = $1
         ON CONFLICT (team, name) DO UPDATE SET value = excluded.value",
        &[&team, &NAME, &url],
    )?;
    match made {
        0 => Err(FleetError::Refused {
            what: format!("there is no team `{team}`"),
            hint: Some("`uwf remote team list NAME` lists them".to_owned()),
        }),
        _ => Ok(Some(url)),
    }
}

/// The object stores of teams, after each of them was asked once.
#[derive(Debug, Default)]
pub struct Stores {
    open: BTreeMap<String, Arc<Objects>>,
    /// The teams whose stores cannot be used, each with why and what to do.
    pub closed: BTreeMap<String, String>,
}

impl Stores {
    /// Removes the objects of a team.
    ///
    /// # Errors
    /// [`FleetError::Objects`]: some are still there.
    pub fn remove(&self, team: &str, keys: &[String]) -> Result<(), FleetError> {
        self.open.get(team).ok_or_else(|| not_set(team))?.remove(keys)
    }
}

/// The object stores of all teams that have something in one: for a collection of garbage, which must not lose the keys of what
/// it cannot remove. What is wrong with that of one team is in no other team's way.
///
/// # Errors
/// The connection was lost.
pub fn all(connection: &mut Connection) -> Result<Stores, FleetError> {
    let sql = "SELECT DISTINCT team FROM uwf.node WHERE object IS NOT NULL ORDER BY team";
    let teams: Vec<String> = connection.client().query(sql, &[])?.iter().map(|row| row.get(0)).collect();
    let mut stores = Stores::default();
    for team in teams {
        match answering(connection, &team) {
            Ok(store) => drop(stores.open.insert(team, store)),
            Err(error @ FleetError::Objects { .. }) => {
                stores.closed.insert(team, told(&error));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(stores)
}

/// The object store of a team, which answers.
fn answering(connection: &mut Connection, team: &str) -> Result<Arc<Objects>, FleetError> {
    let store = connection.objects(team)?.ok_or_else(|| not_set(team))?;
    store.probe(team)?;
    Ok(store)
}

/// A row names an object, and nobody says where it is.
pub(crate) fn not_set(team: &str) -> FleetError {
    FleetError::Objects {
        what: format!("the team {team} has nodes in an object store, and its URL is not set"),
        hint: Some("the owner of the remote sets it: `uwf remote set NAME objects URL`".to_owned()),
        passes: false,
    }
}
