//! Why something at a remote did not happen, and what to do about it. Never holds a password.

use std::path::PathBuf;

use postgres::error::SqlState;
use thiserror::Error;
use uwf_engine::ThreadError;
use uwf_engine::export::ExportError;
use uwf_engine::lock::LockError;
use uwf_store::{Hash, StoreError};

use crate::workspace::WorkspaceError;

/// Why something at a remote did not happen.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FleetError {
    /// A URL that cannot be that of a remote.
    #[error("{url} is no address of a remote: {why}")]
    Address {
        /// What was given, its password left out.
        url: String,
        /// What is wrong with it.
        why: String,
        /// What to type instead.
        hint: String,
    },
    /// The server does not answer, or not as it must.
    #[error("cannot connect to {place}: {why}")]
    Unreachable {
        /// Which server and database.
        place: String,
        /// The reason.
        why: String,
        /// What to do, when that can be said.
        hint: Option<String>,
    },
    /// The connection was lost. What was being written may be there or not; whoever writes it again finds out.
    #[error("the connection to the remote was lost: {why}")]
    Lost {
        /// The reason.
        why: String,
    },
    /// The login lacks a right.
    #[error("this login may not do that at the remote: {what}")]
    NotPermitted {
        /// What the database says.
        what: String,
    },
    /// A rule of the remote is against it: a limit of the team, or that a worker has the thread.
    #[error("the remote refuses that: {what}")]
    Refused {
        /// What the rule says.
        what: String,
        /// What to do.
        hint: Option<String>,
    },
    /// The database refused for another reason.
    #[error("the remote's database failed: {message}")]
    Database {
        /// What it says.
        message: String,
        /// The five characters of SQLSTATE; empty for a fault that was seen on this side.
        code: String,
    },
    /// The object store of a team cannot be used, or not for this.
    #[error("{what}")]
    Objects {
        /// What failed, on which object, and why; no key is in it.
        what: String,
        /// What to do, when that can be said.
        hint: Option<String>,
        /// Whether the same may succeed later.
        passes: bool,
    },
    /// There are no tables of ours.
    #[error("{place} has no tables of uwf")]
    NoSchema {
        /// Which server and database.
        place: String,
    },
    /// The schema is too new for this program.
    #[error(
        "the remote's schema is version {found}, which this uwf (version {known}) may not {}",
        if *reading { "read" } else { "write" }
    )]
    SchemaTooNew {
        /// The schema's version.
        found: i32,
        /// The newest that this program knows.
        known: i32,
        /// Whether only reading was asked for.
        reading: bool,
    },
    /// The schema is too old for this program.
    #[error("the remote's schema is version {found}; this uwf needs {oldest} at least")]
    SchemaTooOld {
        /// The schema's version.
        found: i32,
        /// The oldest that this program works with.
        oldest: i32,
    },
    /// No remote of this name, or none at all.
    #[error("{what}")]
    NoRemote {
        /// What there is not.
        what: String,
        /// What to type.
        hint: String,
    },
    /// A file of this home cannot be read or written, or is not what it must be.
    #[error("cannot use {}: {why}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The reason.
        why: String,
    },
    /// What cannot be the name of a remote.
    #[error("{name:?} cannot be the name of a remote")]
    RemoteName {
        /// What was given.
        name: String,
    },
    /// There is a remote of this name with another address.
    #[error("there is a remote `{name}` already, {url}")]
    RemoteExists {
        /// The name.
        name: String,
        /// Its address.
        url: String,
    },
    /// The lease on a thread is over: somebody else may have the thread. Nothing more may be written for it.
    #[error("the lease on thread {thread} is over (fence {fence})")]
    LeaseLost {
        /// The thread.
        thread: String,
        /// The fence that no longer counts.
        fence: i64,
    },
    /// The remote has another node under a hash, or what it has was altered.
    #[error("the remote's node {hash} is not the one of that content: {why}")]
    Collision {
        /// The hash that both have.
        hash: Hash,
        /// Which digests.
        why: String,
    },
    /// A node that the remote has is not what its hash or its digest says.
    #[error("the remote's node {hash} is damaged: {why}")]
    Damaged {
        /// The node.
        hash: Hash,
        /// What is wrong with it.
        why: String,
    },
    /// A thread went on in two places.
    #[error(
        "thread {thread} stands at {here} here and at {there} at the remote, and neither comes after the other"
    )]
    Diverged {
        /// The thread.
        thread: String,
        /// Where it is here.
        here: Hash,
        /// Where it is at the remote.
        there: Hash,
    },
    /// A worker has the thread: nobody else moves it meanwhile.
    #[error("thread {thread} is leased at the remote, to {}", worker.as_deref().unwrap_or("a worker"))]
    Leased {
        /// The thread.
        thread: String,
        /// Who has it.
        worker: Option<String>,
    },
    /// Others kept moving the thread while this was tried.
    #[error("thread {thread} kept moving at the remote")]
    Contended {
        /// The thread.
        thread: String,
    },
    /// A row of the remote is not what it must be.
    #[error("the remote's {what} is not what it must be: {why}")]
    Malformed {
        /// Which row.
        what: String,
        /// What is wrong with it.
        why: String,
    },
    /// The directory that a thread works in cannot be made, read or kept.
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    /// The engine cannot read or write a thread.
    #[error(transparent)]
    Thread(#[from] ThreadError),
    /// The engine cannot take a thread out of its store.
    #[error(transparent)]
    Export(Box<ExportError>),
    /// A step of the thread runs on this machine.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The local store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl FleetError {
    /// What to do about it at the remote of this name, when that can be said.
    pub fn hint_at(&self, remote: &str) -> Option<String> {
        self.hint().map(|hint| hint.replace("NAME", remote))
    }

    /// What to do about it, when that can be said; `NAME` is that of the remote.
    pub fn hint(&self) -> Option<String> {
        match self {
            FleetError::Address { hint, .. } | FleetError::NoRemote { hint, .. } => Some(hint.clone()),
            FleetError::Unreachable { hint, .. }
            | FleetError::Refused { hint, .. }
            | FleetError::Objects { hint, .. } => hint.clone(),
            FleetError::RemoteName { .. } => {
                Some("a letter, then letters, digits, `-`, `_` and `.`: at most 64 in all".to_owned())
            }
            FleetError::RemoteExists { name, .. } => {
                Some(format!("another name, or `uwf remote rm {name}` first"))
            }
            FleetError::Lost { .. } => Some("the same command again goes on where it was".to_owned()),
            FleetError::NotPermitted { .. } => Some(
                "whoever owns the database grants roles: `uwf remote roles --help` tells which there are"
                    .to_owned(),
            ),
            FleetError::NoSchema { .. } => {
                Some("`uwf remote migrate NAME` makes them; it takes a login that may".to_owned())
            }
            FleetError::SchemaTooNew { .. } => Some("install a newer uwf on this machine".to_owned()),
            FleetError::SchemaTooOld { .. } => Some(
                "`uwf remote migrate NAME` brings it up to date; `uwf remote status NAME` tells who works there"
                    .to_owned(),
            ),
            FleetError::Collision { .. } | FleetError::Damaged { .. } => Some(
                "nothing was changed here; whoever owns the database must see to that node before anybody trusts it"
                    .to_owned(),
            ),
            FleetError::Diverged { here, thread, .. } => Some(format!(
                "`uwf thread fork {here}` keeps what is here as a thread of its own; then `uwf thread rm {thread}` and \
                 `uwf clone NAME {thread}` take the remote's"
            )),
            FleetError::Leased { thread, .. } => Some(format!(
                "wait for it (`uwf thread watch {thread} --remote NAME`), or have the worker let it go: \
                 `uwf thread pause {thread} --remote NAME`"
            )),
            FleetError::Contended { .. } => Some("the same command again tries anew".to_owned()),
            FleetError::Export(error) => error.hint(),
            FleetError::Lock(error) => error.hint(),
            FleetError::Workspace(error) => error.hint(),
            FleetError::Thread(error) => error.hint(),
            FleetError::Store(error) => uwf_engine::thread::store_hint(error),
            _ => None,
        }
    }

    /// Whether the same may succeed when it is done again, as it is: the connection was lost, or two got in each other's way.
    pub fn is_passing(&self) -> bool {
        // Also what an administrator mends: no memory, no disk, a server that is only read.
        const PASSING: [SqlState; 10] = [
            SqlState::T_R_DEADLOCK_DETECTED,
            SqlState::T_R_SERIALIZATION_FAILURE,
            SqlState::LOCK_NOT_AVAILABLE,
            SqlState::TOO_MANY_CONNECTIONS,
            SqlState::CANNOT_CONNECT_NOW,
            SqlState::DISK_FULL,
            SqlState::OUT_OF_MEMORY,
            SqlState::IO_ERROR,
            SqlState::QUERY_CANCELED,
            SqlState::READ_ONLY_SQL_TRANSACTION,
        ];
        match self {
            FleetError::Lost { .. } | FleetError::Unreachable { .. } => true,
            FleetError::Objects { passes, .. } => *passes,
            FleetError::Database { code, .. } => PASSING.iter().any(|passing| passing.code() == code),
            _ => false,
        }
    }
}

impl From<ExportError> for FleetError {
    fn from(error: ExportError) -> FleetError {
        FleetError::Export(Box::new(error))
    }
}

impl From<postgres::Error> for FleetError {
    fn from(error: postgres::Error) -> FleetError {
        let Some(db) = error.as_db_error() else {
            return match lost(&error) {
                true => FleetError::Lost { why: chain(&error) },
                false => FleetError::Database { message: chain(&error), code: String::new() },
            };
        };
        let (code, message) = (db.code(), db.message().to_owned());
        // Classes of SQLSTATE: 08 is about connections, 57P0 says that the server goes down or comes up.
        let ended = [SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT];
        if code.code().starts_with("08") || code.code().starts_with("57P0") || ended.contains(code) {
            return FleetError::Lost { why: message };
        }
        if *code == SqlState::INSUFFICIENT_PRIVILEGE {
            return FleetError::NotPermitted { what: message };
        }
        // Raised by functions of the schema.
        if code.code().starts_with("UWF") {
            return FleetError::Refused { what: message, hint: db.hint().map(str::to_owned) };
        }
        FleetError::Database { message, code: code.code().to_owned() }
    }
}

/// Whether nothing more comes over this connection.
fn lost(error: &postgres::Error) -> bool {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(this) = cause {
        if this.is::<std::io::Error>() {
            return true;
        }
        cause = this.source();
    }
    error.is_closed()
}

/// An error with its causes, in one line.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let (mut text, mut cause) = (error.to_string(), error.source());
    while let Some(this) = cause {
        let said = this.to_string();
        if !text.contains(&said) {
            text = format!("{text}: {said}");
        }
        cause = this.source();
    }
    text
}
