//! `uwf remote …`: which remotes this home knows, and their tables.

mod access;
mod retention;
mod setting;
mod status;

use uwf_fleet::schema::{self, Access, VERSIONS};
use uwf_fleet::view::{RemoteAdded, RemoteMigrated, RemoteRemoved, RemoteRow};
use uwf_fleet::{Address, Connection, FleetError, remote};

use super::args::{RemoteCommand, Setting};
use crate::remote::{at, known, named, open};
use crate::shell::{CliError, Column, Session, render};

pub(super) fn run(session: &mut Session<'_>, command: RemoteCommand) -> Result<u8, CliError> {
    match command {
        RemoteCommand::Add { name, url, create, offline } => {
            let connect = match (offline, create) {
                (true, _) => Connect::Never,
                (false, true) => Connect::AndCreate,
                (false, false) => Connect::Once,
            };
            add(session, &name, &url, connect)
        }
        RemoteCommand::List => list(session),
        RemoteCommand::Status { remote } => status::status(session, remote.as_deref()),
        RemoteCommand::Rm { remote } => remove(session, &remote),
        RemoteCommand::Migrate { remote } => migrate(session, remote.as_deref()),
        RemoteCommand::Roles { remote, print } => access::roles(session, remote.as_deref(), print),
        RemoteCommand::Team(command) => access::team(session, command),
        RemoteCommand::Set { remote, setting: Setting::Objects, value, unset: _, team } => {
            setting::objects(session, &remote, team.as_deref(), value.as_deref())
        }
        RemoteCommand::Gc { remote, younger, dry_run } => {
            retention::gc(session, remote.as_deref(), &younger, dry_run)
        }
        RemoteCommand::Prune(which) => retention::prune(session, &which),
    }
}

/// Whether a remote that is added is connected to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Connect {
    Never,
    Once,
    AndCreate,
}

fn add(session: &mut Session<'_>, name: &str, url: &str, connect: Connect) -> Result<u8, CliError> {
    let home = session.homes()?.uwf;
    remote::check_name(name)?;
    let address: Address = url.parse()?;
    let schema = match connect {
        Connect::Never => None,
        Connect::Once | Connect::AndCreate => tried(session, name, &address, connect)?,
    };
    let added = remote::add(&home, name, &address)?;
    let view = RemoteAdded { name: name.to_owned(), url: address.to_string(), added, schema };
    let exit = session.ui.result(&view, || match added {
        true => format!("{name}: {address}\n"),
        false => format!("{name}: it was there already\n"),
    })?;
    if schema.is_none() && connect != Connect::Never {
        session.ui.warn(&format!("{} has no tables of uwf yet", address.place()));
        session.ui.hint(&format!("`uwf remote migrate {name}` makes them; it takes a login that may"));
    }
    Ok(exit)
}

/// Connects once. Gives the version of the schema, where there is one.
fn tried(
    session: &Session<'_>,
    name: &str,
    address: &Address,
    connect: Connect,
) -> Result<Option<i32>, CliError> {
    let failed = |error: FleetError| match error {
        FleetError::Unreachable { .. } => {
            let hint = error.hint().map(|hint| hint + "; ").unwrap_or_default();
            CliError::from(error).with_hint(format!("{hint}--offline adds it without a try"))
        }
        error => at(name)(error),
    };
    let mut connection = Connection::open(address, &session.env).map_err(failed)?;
    if schema::present(connection.client()).map_err(failed)?.is_none() {
        if connect != Connect::AndCreate {
            return Ok(None);
        }
        schema::migrate(&mut connection, &VERSIONS).map_err(|error| may_not_create(error, name))?;
    }
    let present = schema::ready(&mut connection, &VERSIONS, Access::Read).map_err(failed)?;
    Ok(Some(present.version))
}

fn may_not_create(error: FleetError, name: &str) -> CliError {
    let is_right = matches!(error, FleetError::NotPermitted { .. });
    let error = at(name)(error);
    match is_right {
        true => error.with_hint(format!(
            "whoever owns the database makes the tables, with `uwf remote migrate {name}`; after that any login that was \
             granted a role can work there"
        )),
        false => error,
    }
}

fn list(session: &mut Session<'_>) -> Result<u8, CliError> {
    let remotes = known(session)?.all()?;
    let row =
        |remote: &remote::Remote| RemoteRow { name: remote.name.clone(), url: remote.address.to_string() };
    let rows: Vec<RemoteRow> = remotes.iter().map(row).collect();
    session.ui.result(&rows, || {
        let cells: Vec<_> = rows.iter().map(|row| [row.name.clone(), row.url.clone()]).collect();
        render::table([Column::new("NAME"), Column::new("ADDRESS")], &cells)
    })
}

fn remove(session: &mut Session<'_>, name: &str) -> Result<u8, CliError> {
    remote::remove(&session.homes()?.uwf, name)?;
    let removed = RemoteRemoved { name: name.to_owned(), removed: true };
    session.ui.result(&removed, || "removed; nothing at the remote has changed\n".to_owned())
}

fn migrate(session: &mut Session<'_>, name: Option<&str>) -> Result<u8, CliError> {
    let remote = named(session, name)?;
    let name = &remote.name;
    let mut connection = Connection::open(&remote.address, &session.env).map_err(at(name))?;
    let (from, to) =
        schema::migrate(&mut connection, &VERSIONS).map_err(|error| may_not_create(error, name))?;
    open(session, &remote, Access::Write)?;
    let migrated = RemoteMigrated { name: name.clone(), from, to };
    session.ui.result(&migrated, || match (from, from == to) {
        (_, true) => format!("{name}: the schema is version {to}, as it was\n"),
        (0, false) => format!("{name}: the tables are made, version {to}\n"),
        (_, false) => format!("{name}: the schema went from version {from} to {to}\n"),
    })
}
