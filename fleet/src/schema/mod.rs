//! What the tables of a remote look like, in versions: each a file of SQL that is never changed once it was released.
//!
//! A schema says of each of its versions how old a program may be that still reads or writes it, and a program knows the
//! oldest schema that it works with, so that several of either can be about at the same time. Nothing is migrated unasked but
//! a database without any schema.

use postgres::Client;

use crate::connect::Connection;
use crate::error::FleetError;

/// One version of the schema, as a step from the version before it.
#[derive(Debug, Clone, Copy)]
pub struct Migration {
    /// Its number, from 1.
    pub version: i32,
    /// The oldest program that may read the schema then, by the newest version that it knows.
    pub oldest_reader: i32,
    /// The oldest program that may write.
    pub oldest_writer: i32,
    /// What makes it of the version before.
    pub sql: &'static str,
}

/// The versions that a program knows.
#[derive(Debug, Clone, Copy)]
pub struct Versions {
    /// All migrations, in order.
    pub migrations: &'static [Migration],
    /// The oldest version of the schema that it works with.
    pub oldest: i32,
}

/// Those of this program.
pub const VERSIONS: Versions = Versions {
    migrations: &[Migration {
        version: 1,
        oldest_reader: 1,
        oldest_writer: 1,
        sql: include_str!("0001.sql"),
    }],
    oldest: 1,
};

/// What somebody wants to do with a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// To look at what is there.
    Read,
    /// To change what is there.
    Write,
}

/// What is known of the schema of a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Present {
    /// Its version.
    pub version: i32,
    /// The oldest program that may read it.
    pub oldest_reader: i32,
    /// The oldest program that may write it.
    pub oldest_writer: i32,
}

impl Versions {
    /// The newest version that the program knows.
    pub fn newest(&self) -> i32 {
        self.migrations.last().map_or(0, |last| last.version)
    }

    /// Whether the program may do this with the schema that is present.
    ///
    /// # Errors
    /// [`FleetError::SchemaTooNew`] or [`FleetError::SchemaTooOld`].
    pub fn check(&self, present: Present, access: Access) -> Result<(), FleetError> {
        let (known, found) = (self.newest(), present.version);
        let oldest = match access {
            Access::Read => present.oldest_reader,
            Access::Write => present.oldest_writer,
        };
        if found > known && known < oldest {
            return Err(FleetError::SchemaTooNew { found, known, reading: access == Access::Read });
        }
        if found < self.oldest {
            return Err(FleetError::SchemaTooOld { found, oldest: self.oldest });
        }
        Ok(())
    }
}

/// The schema that is present; none where there is none.
///
/// # Errors
/// The database fails, or this login may not see it.
pub fn present(client: &mut Client) -> Result<Option<Present>, FleetError> {
    // Of the catalogue, which everybody may read: whether it is there is another question than whether one may use it.
    let there = client.query_one(
        "SELECT EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
                        WHERE n.nspname = 'uwf' AND c.relname = 'version')",
        &[],
    )?;
    if !there.get::<_, bool>(0) {
        return Ok(None);
    }
    let newest =
        "SELECT version, oldest_reader, oldest_writer FROM uwf.version ORDER BY version DESC LIMIT 1";
    let row = client.query_opt(newest, &[])?;
    Ok(row.map(|row| Present { version: row.get(0), oldest_reader: row.get(1), oldest_writer: row.get(2) }))
}

/// Brings the schema to the newest version that the program knows, and says from which to which; all of it or nothing.
/// Several who do that at the same time wait for each other.
///
/// # Errors
/// The login may not change the schema, or the database fails; nothing was changed.
pub fn migrate(connection: &mut Connection, versions: &Versions) -> Result<(i32, i32), FleetError> {
    connection.wait_for_ever();
    let mut transaction = connection.client().transaction()?;
    // Whoever uses the tables may take longer than a step of theirs does.
    transaction.batch_execute("SET LOCAL lock_timeout = '10min'")?;
    // Any number does; it is that of nothing else.
    transaction.execute("SELECT pg_advisory_xact_lock(7811887311)", &[])?;
    let there: Option<String> = transaction.query_one("SELECT to_regclass('uwf.version')::text", &[])?.get(0);
    let mut version = 0;
    if there.is_some() {
        version =
            transaction.query_one("SELECT coalesce(max(version), 0) FROM uwf.version", &[])?.get::<_, i32>(0);
    }
    let from = version;
    for next in versions.migrations.iter().filter(|next| next.version > from) {
        transaction.batch_execute(next.sql)?;
        transaction.execute(
            "INSERT INTO uwf.version (version, oldest_reader, oldest_writer) VALUES ($1, $2, $3)",
            &[&next.version, &next.oldest_reader, &next.oldest_writer],
        )?;
        version = next.version;
    }
    transaction.commit()?;
    connection.learn_team()?;
    Ok((from, version))
}

/// A connection for this use: the schema is there and of a version that the program works with.
///
/// # Errors
/// [`FleetError::NoSchema`], [`FleetError::SchemaTooNew`], [`FleetError::SchemaTooOld`], or the database fails.
pub fn ready(
    connection: &mut Connection,
    versions: &Versions,
    access: Access,
) -> Result<Present, FleetError> {
    let found = present(connection.client())?;
    let found = found.ok_or_else(|| FleetError::NoSchema { place: connection.place().to_owned() })?;
    versions.check(found, access)?;
    connection.learn_team()?;
    Ok(found)
}
