//! The variable database in SQL: how it is opened, and each statement that is run on it.
//!
//! Apart from [`super`] so that the statements can be read together. The tables (`vars.sql`) are those of the
//! format, to the letter, since other programs open the same file. Never checks a name or an expectation, and begins
//! no transaction.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;
use std::{fs, io};

use rusqlite::config::DbConfig;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, OptionalExtension, Transaction, params};

use crate::hash::Hash;
use crate::names::{HISTORY, Row};

/// How long a writer waits for another before it gives up.
pub(crate) const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

const COLUMNS: &str = "name, schema, value, created, updated, tags, labels";

/// By the places of [`COLUMNS`]: to look for names in each of many rows takes a good part of reading them. Columns have
/// no type that SQLite would keep others to.
fn read(row: &rusqlite::Row<'_>) -> rusqlite::Result<Row> {
    Ok(Row {
        name: text(row.get_ref(0)?),
        schema: text(row.get_ref(1)?),
        value: text(row.get_ref(2)?),
        created: row.get_ref(3)?.as_i64().ok(),
        updated: row.get_ref(4)?.as_i64().ok(),
        tags: text(row.get_ref(5)?),
        labels: text(row.get_ref(6)?),
    })
}

fn text(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        ValueRef::Integer(number) => number.to_string(),
        ValueRef::Real(number) => number.to_string(),
        ValueRef::Null => String::new(),
    }
}

/// The database, to be read and written; where it cannot be, as it is.
pub(super) fn connect(path: &Path) -> rusqlite::Result<Connection> {
    use rusqlite::ErrorCode::{CannotOpen, DiskFull, PermissionDenied, ReadOnly, SystemIoFailure};
    open(path).or_else(|error| match error.sqlite_error_code() {
        Some(CannotOpen | DiskFull | PermissionDenied | ReadOnly | SystemIoFailure) => {
            as_it_is(path).map_err(|_| error)
        }
        _ => Err(error),
    })
}

/// The database without locks and without a log, to be read alone: on a file system that is read-only or full it cannot
/// have either. Only where nothing is in a log, which may hold what came last, nor in the journal of a program that was cut
/// off while it wrote.
fn as_it_is(path: &Path) -> rusqlite::Result<Connection> {
    let refused = || rusqlite::Error::InvalidPath(path.to_owned());
    let holds = |suffix| beside(path, suffix).is_ok_and(|file| file.is_file() && file.len() > 0);
    if !path.is_file() || holds("-wal") || holds("-journal") {
        return Err(refused());
    }
    let name = path.to_str().ok_or_else(refused)?;
    let name = name.replace('%', "%25").replace('?', "%3f").replace('#', "%23");
    let flags =
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
    Connection::open_with_flags(format!("file:{name}?immutable=1"), flags)
}

/// The busy timeout comes first: setting the journal mode already needs a lock.
fn open(path: &Path) -> rusqlite::Result<Connection> {
    let flags =
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    enter_wal(&connection)?;
    // See [`checkpoint`], which removes nothing: another program may be about to open the log.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    Ok(connection)
}

/// Moves what is in the log into the database, so that whoever loses, forgets to copy or deletes the log loses nothing
/// that a command before has done. As much as can be done at once: a program that reads or writes at this moment is not
/// waited for, and whoever closes next does the rest. It costs about two syncs, once for each command that has written.
pub(super) fn checkpoint(connection: &Connection, path: &Path) {
    if beside(path, "-wal").is_ok_and(|log| log.len() > 0) {
        // What fails here is in the log still.
        connection.busy_timeout(Duration::ZERO).ok();
        connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).ok();
    }
}

/// A file that SQLite keeps beside the database.
fn beside(path: &Path, suffix: &str) -> io::Result<fs::Metadata> {
    let mut file = path.as_os_str().to_owned();
    file.push(suffix);
    fs::metadata(file)
}

/// Switching a new database to WAL can fail with "busy" at once when two programs do it: SQLite does not wait there.
fn enter_wal(connection: &Connection) -> rusqlite::Result<()> {
    let pause = Duration::from_millis(5);
    let mut left = BUSY_TIMEOUT.as_millis() / pause.as_millis();
    loop {
        match connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(())) {
            Err(error)
                if left > 0 && error.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseBusy) =>
            {
                left -= 1;
                std::thread::sleep(pause);
            }
            result => return result,
        }
    }
}

/// The row of this name; of several, the newest.
pub(super) fn newest(connection: &Connection, name: &str) -> rusqlite::Result<Option<Row>> {
    let sql =
        format!("SELECT {COLUMNS} FROM vars WHERE name = ?1 ORDER BY updated DESC, created DESC LIMIT 1");
    connection.prepare_cached(&sql)?.query_row([name], read).optional()
}

/// Makes the tables and indexes that are not there yet.
pub(super) fn create_tables(transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    transaction.execute_batch(include_str!("vars.sql"))
}

/// How many of these names stand for just these nodes, all of one schema.
pub(super) fn count_matching(
    connection: &Connection,
    schema: Hash,
    wanted: &[(&str, Hash)],
) -> rusqlite::Result<usize> {
    let wanted: BTreeMap<_, _> = wanted.iter().copied().collect();
    let wanted = serde_json::to_string(&wanted).expect("names and hashes are JSON");
    let sql = "SELECT count(*) FROM json_each(?1) AS wanted CROSS JOIN vars
               ON vars.name = wanted.key AND vars.schema = ?2 AND vars.value = wanted.value";
    let count: i64 = connection.query_row(sql, params![wanted, schema.as_str()], |row| row.get(0))?;
    Ok(count as usize)
}

/// Every row whose name starts so, names in order and the newest row of each first, until `visit` says no.
pub(super) fn each(
    connection: &Connection,
    prefix: &str,
    visit: &mut dyn FnMut(Row) -> bool,
) -> rusqlite::Result<()> {
    let sql = format!(
        "SELECT {COLUMNS} FROM vars WHERE name >= ?1 AND name < ?2 ORDER BY name, updated DESC, created DESC"
    );
    let mut query = connection.prepare_cached(&sql)?;
    let mut rows = query.query([prefix, &after(prefix)])?;
    while let Some(row) = rows.next()? {
        if !visit(read(row)?) {
            break;
        }
    }
    Ok(())
}

/// At most `limit` rows with names from `from` up to and without `below`: names from the last to the first, the newest
/// row of each first.
pub(super) fn backwards(
    connection: &Connection,
    from: &str,
    below: &str,
    limit: usize,
) -> rusqlite::Result<Vec<Row>> {
    let sql = format!(
        "SELECT {COLUMNS} FROM vars WHERE name >= ?1 AND name < ?2
         ORDER BY name DESC, updated DESC, created DESC LIMIT ?3"
    );
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut query = connection.prepare_cached(&sql)?;
    query.query_map(params![from, below, limit], read)?.collect()
}

/// The values of a name and when they were set, newest first.
pub(super) fn history(connection: &Connection, name: &str) -> rusqlite::Result<Vec<(String, i64)>> {
    let mut query = connection.prepare_cached(
        "SELECT value, set_at FROM var_history WHERE name = ?1 ORDER BY set_at DESC, position DESC",
    )?;
    query
        .query_map([name], |row| Ok((text(row.get_ref(0)?), row.get_ref(1)?.as_i64().unwrap_or(0))))?
        .collect()
}

/// Every value and schema in a history, and everything that has tags.
pub(super) fn remembered(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut query = connection.prepare_cached(
        "SELECT value FROM var_history UNION SELECT schema FROM var_history UNION SELECT target FROM tags",
    )?;
    query.query_map([], |row| Ok(text(row.get_ref(0)?)))?.collect()
}

/// Forgets a name, with its history.
pub(super) fn remove(transaction: &Transaction<'_>, name: &str) -> rusqlite::Result<()> {
    transaction.prepare_cached("DELETE FROM vars WHERE name = ?1")?.execute([name]).map(drop)
}

/// Forgets every name that starts so.
pub(super) fn remove_prefix(transaction: &Transaction<'_>, prefix: &str) -> rusqlite::Result<()> {
    transaction
        .prepare_cached("DELETE FROM vars WHERE name >= ?1 AND name < ?2")?
        .execute([prefix, &after(prefix)])
        .map(drop)
}

/// Leaves one row of this name. A row of the same schema keeps its history; one of another schema takes its history
/// with it.
pub(super) fn set(
    transaction: &Transaction<'_>,
    name: &str,
    (schema, value): &(Hash, Hash),
    tags: &str,
    now: u64,
) -> rusqlite::Result<()> {
    let (schema, value, now) = (schema.as_str(), value.as_str(), now.cast_signed());
    let before = newest(transaction, name)?;
    let created = before.as_ref().and_then(|before| before.created).unwrap_or(now);
    let labels = before.map(|before| before.labels).filter(|labels| is_list(labels));
    let labels = labels.unwrap_or_else(|| "[]".to_owned());
    transaction
        .prepare_cached("DELETE FROM vars WHERE name = ?1 AND schema <> ?2")?
        .execute([name, schema])?;
    transaction
        .prepare_cached(
            "INSERT INTO vars (name, schema, value, created, updated, tags, labels) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
             ON CONFLICT (name, schema) DO UPDATE SET value = ?3, updated = ?5, tags = ?6, labels = ?7,
             created = CASE typeof(created) WHEN 'integer' THEN min(created, ?4) ELSE ?4 END",
        )?
        .execute(params![name, schema, value, created, now, tags, labels])?;
    remember(transaction, name, schema, value, now)
}

/// Adds a value to the history unless it is the last one there.
fn remember(
    transaction: &Transaction<'_>,
    name: &str,
    schema: &str,
    value: &str,
    now: i64,
) -> rusqlite::Result<()> {
    let last: Option<(i64, String)> = transaction
        .prepare_cached(
            "SELECT position, value FROM var_history WHERE name = ?1 AND schema = ?2 ORDER BY position DESC LIMIT 1",
        )?
        .query_row([name, schema], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let position = match last {
        Some((_, last)) if last == value => return Ok(()),
        Some((position, _)) => position + 1,
        None => 0,
    };
    transaction
        .prepare_cached(
            "INSERT INTO var_history (name, schema, value, position, set_at) VALUES (?1, ?2, ?3, ?4, ?5)",
        )?
        .execute(params![name, schema, value, position, now])?;
    transaction
        .prepare_cached(
            "DELETE FROM var_history WHERE name = ?1 AND schema = ?2 AND position NOT IN
             (SELECT position FROM var_history WHERE name = ?1 AND schema = ?2 ORDER BY position DESC LIMIT ?3)",
        )?
        .execute(params![name, schema, HISTORY as i64])?;
    Ok(())
}

fn is_list(labels: &str) -> bool {
    serde_json::from_str::<Vec<String>>(labels).is_ok()
}

/// What sorts after every name with this prefix.
fn after(prefix: &str) -> String {
    format!("{prefix}{}", char::MAX)
}
