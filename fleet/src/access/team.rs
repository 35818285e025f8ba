//! Teams of a remote: what each may spend and have, and who is of it.

use std::fmt;
use std::str::FromStr;

use postgres::Row;
use serde::Serialize;

use crate::{Connection, FleetError};

/// For how long a budget is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum BudgetPeriod {
    /// A day, by UTC.
    Day,
    /// A month, by UTC.
    Month,
    /// In all.
    Total,
}

impl BudgetPeriod {
    fn in_row(text: Option<&str>) -> BudgetPeriod {
        match text {
            Some("day") => BudgetPeriod::Day,
            Some("month") => BudgetPeriod::Month,
            _ => BudgetPeriod::Total,
        }
    }

    fn column(self) -> Option<&'static str> {
        match self {
            BudgetPeriod::Day => Some("day"),
            BudgetPeriod::Month => Some("month"),
            BudgetPeriod::Total => None,
        }
    }
}

impl fmt::Display for BudgetPeriod {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.column().unwrap_or("total"))
    }
}

impl FromStr for BudgetPeriod {
    type Err = String;

    fn from_str(text: &str) -> Result<BudgetPeriod, String> {
        let known = [BudgetPeriod::Day, BudgetPeriod::Month, BudgetPeriod::Total];
        let found = known.into_iter().find(|period| period.to_string() == text);
        found.ok_or_else(|| "a budget is for a day, a month, or in total".to_owned())
    }
}

/// A team, with what it may and what it has.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Team {
    /// Its name.
    pub name: String,
    /// What its steps may cost in US dollars; none for no limit.
    pub budget_usd: Option<f64>,
    /// For how long that is.
    pub period: BudgetPeriod,
    /// How many threads it may have.
    pub max_threads: Option<i32>,
    /// How many nodes.
    pub max_nodes: Option<i64>,
    /// How many bytes these may have together.
    pub max_bytes: Option<i64>,
    /// Threads that it has.
    pub threads: i64,
    /// Nodes that it has.
    pub nodes: i64,
    /// Bytes of these.
    pub bytes: i64,
    /// Logins that are of it by name.
    pub members: Vec<String>,
}

/// What is to be another of a team; `Some(None)` is no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct TeamChange {
    /// The budget.
    pub budget_usd: Option<Option<f64>>,
    /// Its period.
    pub period: Option<BudgetPeriod>,
    /// Threads.
    pub max_threads: Option<Option<i32>>,
    /// Nodes.
    pub max_nodes: Option<Option<i64>>,
    /// Bytes.
    pub max_bytes: Option<Option<i64>>,
}

/// Which team a login is of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// The login.
    pub login: String,
    /// The team.
    pub team: String,
}

/// All teams, by name; for those who do not own the schema, their own.
///
/// # Errors
/// The connection was lost.
pub fn list(connection: &mut Connection) -> Result<Vec<Team>, FleetError> {
    let members = members(connection)?;
    let rows = connection.client().query(
        "SELECT t.name, t.budget_usd::float8, t.budget_period, t.max_threads, t.max_nodes, t.max_bytes,
                coalesce(sum(u.threads), 0)::bigint AS threads, coalesce(sum(u.nodes), 0)::bigint AS nodes,
                coalesce(sum(u.bytes), 0)::bigint AS bytes
         FROM uwf.team t LEFT JOIN uwf.usage u ON u.team = t.name GROUP BY t.name ORDER BY t.name",
        &[],
    )?;
    let team = |row: &Row| {
        let name: String = row.get("name");
        let of = members.iter().filter(|member| member.team == name).map(|member| member.login.clone());
        Team {
            members: of.collect(),
            name,
            budget_usd: row.get("budget_usd"),
            period: BudgetPeriod::in_row(row.get("budget_period")),
            max_threads: row.get("max_threads"),
            max_nodes: row.get("max_nodes"),
            max_bytes: row.get("max_bytes"),
            threads: row.get("threads"),
            nodes: row.get("nodes"),
            bytes: row.get("bytes"),
        }
    };
    Ok(rows.iter().map(team).collect())
}

/// The logins that are of a team by name; none for those who may not see that.
///
/// # Errors
/// The connection was lost.
pub fn members(connection: &mut Connection) -> Result<Vec<Member>, FleetError> {
    let client = connection.client();
    let may: bool = client.query_one("SELECT has_table_privilege('uwf.member', 'SELECT')", &[])?.get(0);
    if !may {
        return Ok(Vec::new());
    }
    let rows = client.query("SELECT login::text, team FROM uwf.member ORDER BY login", &[])?;
    Ok(rows.iter().map(|row| Member { login: row.get(0), team: row.get(1) }).collect())
}

/// Adds a team without limits; false where it is there already, which stays as it is.
///
/// # Errors
/// The name is no name of a team, the login does not own the schema, or the database fails.
pub fn add(connection: &mut Connection, name: &str) -> Result<bool, FleetError> {
    check_name(name)?;
    let made = connection
        .client()
        .execute("INSERT INTO uwf.team (name) VALUES ($1) ON CONFLICT (name) DO NOTHING", &[&name])?;
    Ok(made > 0)
}

/// Changes what a team may.
///
/// # Errors
/// There is no such team, the login does not own the schema, or the database fails.
pub fn set(connection: &mut Connection, name: &str, change: &TeamChange) -> Result<(), FleetError> {
    let TeamChange { budget_usd, period, max_threads, max_nodes, max_bytes } = change;
    let changed = connection.client().execute(
        "UPDATE uwf.team SET
             budget_usd = CASE WHEN $2 THEN $3::float8::numeric ELSE budget_usd END,
             budget_period = CASE WHEN $4 THEN $5 ELSE budget_period END,
             max_threads = CASE WHEN $6 THEN $7 ELSE max_threads END,
             max_nodes = CASE WHEN $8 THEN $9 ELSE max_nodes END,
             max_bytes = CASE WHEN $10 THEN $11 ELSE max_bytes END
         WHERE name = $1",
        &[
            &name,
            &budget_usd.is_some(),
            &budget_usd.flatten(),
            &period.is_some(),
            &period.and_then(BudgetPeriod::column),
            &max_threads.is_some(),
            &max_threads.flatten(),
            &max_nodes.is_some(),
            &max_nodes.flatten(),
            &max_bytes.is_some(),
            &max_bytes.flatten(),
        ],
    )?;
    found(changed, name)
}

/// Makes a login one of a team; it leaves the one that it was of.
///
/// # Errors
/// There is no such team or no such login, the login that does this does not own the schema, or the database fails.
pub fn join(connection: &mut Connection, team: &str, login: &str) -> Result<(), FleetError> {
    let client = connection.client();
    let known = client.query_opt("SELECT 1 FROM pg_roles WHERE rolname = $1", &[&login])?;
    if known.is_none() {
        let what = format!("the server has no login {login}");
        return Err(FleetError::Refused { what, hint: Some(format!("`createuser {login}` makes one")) });
    }
    // Of another team's login the row is changed: nobody is of two.
    let changed = client.execute(
        "INSERT INTO uwf.member (login, team) SELECT $2::text::name, name FROM uwf.team WHERE name = $1
         ON CONFLICT (login) DO UPDATE SET team = excluded.team",
        &[&team, &login],
    )?;
    found(changed, team)
}

/// Takes a login out of its team: it is of the team `default` then. False where it was of none by name.
///
/// # Errors
/// The login that does this does not own the schema, or the database fails.
pub fn leave(connection: &mut Connection, login: &str) -> Result<bool, FleetError> {
    let sql = "DELETE FROM uwf.member WHERE login = $1::text::name";
    Ok(connection.client().execute(sql, &[&login])? > 0)
}

fn check_name(name: &str) -> Result<(), FleetError> {
    let may_begin = |first: char| first.is_ascii_lowercase() || first.is_ascii_digit();
    let is_name = name.len() <= 40
        && name.starts_with(may_begin)
        && name.chars().all(|char| may_begin(char) || matches!(char, '-' | '_'));
    match is_name {
        true => Ok(()),
        false => Err(FleetError::Refused {
            what: format!("{name:?} cannot be the name of a team"),
            hint: Some(
                "a lower-case letter or a digit, then these, `-` and `_`: at most 40 in all".to_owned(),
            ),
        }),
    }
}

fn found(changed: u64, team: &str) -> Result<(), FleetError> {
    match changed {
        0 => Err(FleetError::Refused {
            what: format!("the remote has no team {team}"),
            hint: Some(format!(
                "`uwf remote team add NAME {team}` adds it, `uwf remote team list NAME` tells which there are"
            )),
        }),
        _ => Ok(()),
    }
}
