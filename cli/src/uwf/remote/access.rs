//! `uwf remote roles` and `uwf remote team …`: who may do what at a remote.

use serde_json::json;
use uwf_fleet::access::{self, Team, TeamChange};
use uwf_fleet::schema::Access;

use crate::remote::{at, named, open};
use crate::shell::{CliError, Column, OK, Session, render};
use crate::uwf::args::{TeamCommand, TeamLimits};

pub(super) fn roles(session: &mut Session<'_>, remote: Option<&str>, print: bool) -> Result<u8, CliError> {
    if print {
        session.ui.print_text(access::ROLES)?;
        return Ok(OK);
    }
    let remote = named(session, remote)?;
    let mut connection = open(session, &remote, Access::Write)?;
    access::apply_roles(&mut connection).map_err(|error| {
        let is_right = matches!(error, uwf_fleet::FleetError::NotPermitted { .. });
        let error = at(&remote.name)(error);
        match is_right {
            true => error.with_hint(format!(
                "`uwf remote roles {} --print` prints the SQL for somebody who owns the tables and may make roles",
                remote.name
            )),
            false => error,
        }
    })?;
    let names: Vec<&str> = access::ROLE_NAMES.iter().map(|(name, _)| *name).collect();
    let view = json!({ "name": remote.name, "roles": names });
    session.ui.result(&view, || {
        let line = |(name, what): &(&str, &str)| format!("{name:<14} {what}\n");
        access::ROLE_NAMES.iter().map(line).collect::<String>()
    })
}

pub(super) fn team(session: &mut Session<'_>, command: TeamCommand) -> Result<u8, CliError> {
    match command {
        TeamCommand::List { remote } => list(session, remote.as_deref()),
        TeamCommand::Add { remote, team } => add(session, &remote, &team),
        TeamCommand::Set { remote, team, limits } => set(session, &remote, &team, &limits),
        TeamCommand::Join { remote, team, login } => {
            let remote = named(session, Some(&remote))?;
            let mut connection = open(session, &remote, Access::Write)?;
            access::join(&mut connection, &team, &login).map_err(at(&remote.name))?;
            let view = json!({ "login": login, "team": team });
            session.ui.result(&view, || format!("{login} is of the team {team}\n"))
        }
        TeamCommand::Leave { remote, login } => {
            let remote = named(session, Some(&remote))?;
            let mut connection = open(session, &remote, Access::Write)?;
            access::leave(&mut connection, &login).map_err(at(&remote.name))?;
            let view = json!({ "login": login, "team": "default" });
            session.ui.result(&view, || format!("{login} is of the team default\n"))
        }
    }
}

fn list(session: &mut Session<'_>, remote: Option<&str>) -> Result<u8, CliError> {
    let remote = named(session, remote)?;
    let mut connection = open(session, &remote, Access::Read)?;
    let teams = access::list(&mut connection).map_err(at(&remote.name))?;
    session.ui.result(&teams, || {
        let columns = ["TEAM", "BUDGET", "THREADS", "NODES", "BYTES", "MEMBERS"].map(Column::new);
        render::table(columns, &teams.iter().map(cells).collect::<Vec<_>>())
    })
}

fn cells(team: &Team) -> [String; 6] {
    let of = |has: i64, may: Option<i64>| match may {
        Some(may) => format!("{has} of {may}"),
        None => has.to_string(),
    };
    let budget = match team.budget_usd {
        Some(usd) => format!("${usd} per {}", team.period).replace("per total", "in total"),
        None => String::new(),
    };
    [
        team.name.clone(),
        budget,
        of(team.threads, team.max_threads.map(i64::from)),
        of(team.nodes, team.max_nodes),
        of(team.bytes, team.max_bytes),
        team.members.join(", "),
    ]
}

fn add(session: &mut Session<'_>, remote: &str, team: &str) -> Result<u8, CliError> {
    let remote = named(session, Some(remote))?;
    let mut connection = open(session, &remote, Access::Write)?;
    let added = access::add(&mut connection, team).map_err(at(&remote.name))?;
    session.ui.result(&json!({ "team": team, "added": added }), || match added {
        true => format!("{team}\n"),
        false => format!("{team}: it was there already\n"),
    })
}

fn set(session: &mut Session<'_>, remote: &str, team: &str, limits: &TeamLimits) -> Result<u8, CliError> {
    let remote = named(session, Some(remote))?;
    let mut connection = open(session, &remote, Access::Write)?;
    let change = TeamChange {
        budget_usd: limits.budget.map(|limit| limit.0),
        period: limits.per,
        max_threads: limits.max_threads.map(|limit| limit.0),
        max_nodes: limits.max_nodes.map(|limit| limit.0),
        max_bytes: limits.max_bytes.map(|limit| limit.0),
    };
    access::set(&mut connection, team, &change).map_err(at(&remote.name))?;
    let teams = access::list(&mut connection).map_err(at(&remote.name))?;
    let now = teams.into_iter().find(|other| other.name == team);
    session.ui.result(&now, || format!("{team}: set\n"))
}
