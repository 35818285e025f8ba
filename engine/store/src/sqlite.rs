//! Names in the SQLite file that other programs open too.
//!
//! Every change is one `BEGIN IMMEDIATE` transaction (a deferred one fails at once when somebody else writes, in spite
//! of the busy timeout) and is on the disk when it returns (`synchronous=FULL`). The statements are in [`rows`]. The
//! only part of a store that knows a database.

mod rows;

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rusqlite::{Connection, Transaction, TransactionBehavior, ffi};

use super::error::{DatabaseFault, StoreError};
use super::hash::Hash;
use super::names::{Names, Row, VarChange};
#[cfg(test)]
pub(super) use rows::BUSY_TIMEOUT;

/// One connection, which threads may share.
pub(super) struct Sqlite {
    connection: Mutex<Connection>,
    path: PathBuf,
}

impl Sqlite {
    /// Opens the database in this directory, which is made if it is missing.
    pub(super) fn open(directory: &Path) -> Result<Sqlite, StoreError> {
        std::fs::create_dir_all(directory).map_err(|source| StoreError::Io {
            doing: "create the directory",
            path: directory.to_owned(),
            source,
        })?;
        let path = directory.join("_store.db");
        let connection = rows::connect(&path);
        let connection = connection.map_err(|error| failure("open the variable database", &path, error))?;
        Ok(Sqlite { connection: Mutex::new(connection), path })
    }

    /// A thread that panicked cannot leave a transaction open: dropping it rolls back.
    pub(super) fn connection(&self) -> MutexGuard<'_, Connection> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn failed(&self, doing: &'static str) -> impl Fn(rusqlite::Error) -> StoreError {
        move |source| failure(doing, &self.path, source)
    }
}

impl Names for Sqlite {
    fn newest(&self, name: &str) -> Result<Option<Row>, StoreError> {
        rows::newest(&self.connection(), name).map_err(self.failed("read a variable from"))
    }

    fn each(&self, prefix: &str, visit: &mut dyn FnMut(Row) -> bool) -> Result<(), StoreError> {
        rows::each(&self.connection(), prefix, visit).map_err(self.failed("list"))
    }

    fn backwards(&self, from: &str, below: &str, limit: usize) -> Result<Vec<Row>, StoreError> {
        rows::backwards(&self.connection(), from, below, limit).map_err(self.failed("list"))
    }

    fn history(&self, name: &str) -> Result<Vec<(String, u64)>, StoreError> {
        let history =
            rows::history(&self.connection(), name).map_err(self.failed("read the history from"))?;
        Ok(history.into_iter().map(|(value, at)| (value, at.unsigned_abs())).collect())
    }

    /// Marked in another way is what has a row in `tags`.
    fn remembered(&self) -> Result<Vec<String>, StoreError> {
        rows::remembered(&self.connection()).map_err(self.failed("read the history from"))
    }

    fn apply(&self, changes: &[VarChange], now: u64) -> Result<(), StoreError> {
        let failed = self.failed("write to");
        let mut connection = self.connection();
        let transaction =
            connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(&failed)?;
        for change in changes {
            if let VarChange::Set { name, expect, .. } = change {
                expect.check(name, rows::newest(&transaction, name).map_err(&failed)?.as_ref())?;
            }
            perform(&transaction, change, now).map_err(&failed)?;
        }
        transaction.commit().map_err(&failed)
    }

    /// One query, where it is so already.
    fn ensure(&self, schema: Hash, names: &[(&str, Hash)], now: u64) -> Result<(), StoreError> {
        let mut connection = self.connection();
        // In a database without tables there are none, which is what makes them come to be.
        if rows::count_matching(&connection, schema, names).is_ok_and(|count| count == names.len()) {
            return Ok(());
        }
        let mut create = || {
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            rows::create_tables(&transaction)?;
            for (name, value) in names {
                rows::set(&transaction, name, &(schema, *value), "{}", now)?;
            }
            transaction.commit()
        };
        create().map_err(self.failed("create the tables of"))
    }
}

impl Drop for Sqlite {
    fn drop(&mut self) {
        rows::checkpoint(&self.connection(), &self.path);
    }
}

fn perform(transaction: &Transaction<'_>, change: &VarChange, now: u64) -> rusqlite::Result<()> {
    match change {
        VarChange::Set { name, schema, value, tags, .. } => {
            let tags = serde_json::to_string(tags).expect("strings are JSON");
            rows::set(transaction, name, &(*schema, *value), &tags, now)
        }
        VarChange::Remove { name } => rows::remove(transaction, name),
        VarChange::RemovePrefix { prefix } => rows::remove_prefix(transaction, prefix),
    }
}

fn failure(doing: &'static str, path: &Path, source: rusqlite::Error) -> StoreError {
    let fault = source.sqlite_error().map_or(DatabaseFault::Other, fault);
    StoreError::Database { doing, place: path.display().to_string(), fault, source: Box::new(source) }
}

/// Writing, and reading while something is in its log, needs a writable directory: SQLite keeps its locks in a file beside
/// the database.
fn fault(error: &ffi::Error) -> DatabaseFault {
    use rusqlite::ErrorCode;
    match error.code {
        ErrorCode::DiskFull => DatabaseFault::Full,
        _ if error.extended_code == ffi::SQLITE_IOERR_SHMSIZE => DatabaseFault::Full,
        // One that could not be opened for writing is read as it is, so this may be told of a full disk, too.
        ErrorCode::ReadOnly => DatabaseFault::ReadOnly,
        ErrorCode::CannotOpen | ErrorCode::PermissionDenied => DatabaseFault::NotPermitted,
        ErrorCode::DatabaseBusy => DatabaseFault::Busy,
        _ => DatabaseFault::Other,
    }
}
