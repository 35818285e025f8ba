//! How a command fails: what is said, and with which status the program exits.

use std::error::Error;
use std::io;

use uwf_fleet::FleetError;
use uwf_snapshot::SnapshotError;
use uwf_store::StoreError;

use uwf_engine::ask::AskError;
use uwf_engine::config::ConfigError;
use uwf_engine::exec::ExecError;
use uwf_engine::export::ExportError;
use uwf_engine::home::HomeError;
use uwf_engine::journals::JournalsError;
use uwf_engine::lock::{LockError, StopError};
use uwf_engine::spawn::SpawnError;
use uwf_engine::thread::{ThreadError, ThreadIdError, store_hint};
use uwf_engine::workflow::WorkflowError;

/// Done.
pub const OK: u8 = 0;
/// The user can mend it.
pub const USER: u8 = 1;
/// The command line is wrong.
pub const USAGE: u8 = 2;
/// A step failed.
pub const FAILED_STEP: u8 = 3;
/// The thread waits for a person.
pub const SUSPENDED: u8 = 10;
/// We have a bug.
pub const BUG: u8 = 70;

/// Why a command did not do what it should.
#[derive(Debug)]
pub enum CliError {
    /// Something to say.
    Said {
        /// What, on which thing; its sources are the causes.
        error: Box<dyn Error + Send + Sync>,
        /// What to do.
        hint: Option<String>,
        /// The exit status.
        exit: u8,
    },
    /// Somebody else says what is to be said.
    Untold {
        /// The exit status.
        exit: u8,
    },
    /// Whoever read our stdout has gone: nothing to say to anyone.
    ReaderGone,
}

impl CliError {
    /// An error of the user's in plain words.
    pub fn user(message: impl Into<String>) -> CliError {
        CliError::Said { error: message.into().into(), hint: None, exit: USER }
    }

    /// This error with a hint.
    pub fn with_hint(self, hint: impl Into<String>) -> CliError {
        match self {
            CliError::Said { error, exit, .. } => CliError::Said { error, hint: Some(hint.into()), exit },
            other => other,
        }
    }

    /// Writing to stdout failed.
    pub fn from_stdout(error: io::Error) -> CliError {
        match error.kind() {
            io::ErrorKind::BrokenPipe => CliError::ReaderGone,
            _ => CliError::said("cannot write to stdout", error),
        }
    }

    /// What could not be done, with the operating system's reason as its cause.
    pub fn said(what: impl Into<String>, source: impl Error + Send + Sync + 'static) -> CliError {
        let error = Box::new(Caused { what: what.into(), source: Box::new(source) });
        CliError::Said { error, hint: None, exit: USER }
    }

    /// What could not be done, with everything that is in the way, line by line.
    pub fn because(what: impl Into<String>, causes: impl DoubleEndedIterator<Item = String>) -> CliError {
        let last: Option<Box<dyn Error + Send + Sync>> = None;
        let source = causes.rev().fold(last, |source, what| {
            Some(match source {
                None => what.into(),
                Some(source) => Box::new(Caused { what, source }),
            })
        });
        let error = match source {
            None => what.into().into(),
            Some(source) => Box::new(Caused { what: what.into(), source }).into(),
        };
        CliError::Said { error, hint: None, exit: USER }
    }

    /// What could not be done.
    pub fn message(&self) -> String {
        match self {
            CliError::Said { error, .. } => error.to_string(),
            CliError::Untold { .. } | CliError::ReaderGone => String::new(),
        }
    }

    /// The chain of reasons.
    pub fn causes(&self) -> Vec<String> {
        let CliError::Said { error, .. } = self else { return Vec::new() };
        let mut causes: Vec<String> = Vec::new();
        let mut said = error.to_string();
        let mut next = error.source();
        while let Some(cause) = next {
            // Some sentences have their cause in them already.
            let text = cause.to_string();
            if !said.contains(&text) {
                causes.push(text.clone());
            }
            said = text;
            next = cause.source();
        }
        causes
    }

    /// What to do.
    pub fn hint(&self) -> Option<&str> {
        match self {
            CliError::Said { hint, .. } => hint.as_deref(),
            CliError::Untold { .. } | CliError::ReaderGone => None,
        }
    }

    /// The exit status.
    pub fn exit(&self) -> u8 {
        match self {
            CliError::Said { exit, .. } | CliError::Untold { exit } => *exit,
            CliError::ReaderGone => OK,
        }
    }
}

/// A sentence and its cause.
#[derive(Debug, thiserror::Error)]
#[error("{what}")]
struct Caused {
    what: String,
    source: Box<dyn Error + Send + Sync>,
}

impl From<ExecError> for CliError {
    fn from(error: ExecError) -> CliError {
        // What is in the way of a called thread is in the way of its caller.
        let mut cause = &error;
        while let ExecError::Below { source, .. } = cause {
            cause = source;
        }
        let exit = match cause {
            ExecError::Stopped { signal, .. } => by_signal(*signal),
            ExecError::Paused { .. } => SUSPENDED,
            _ => USER,
        };
        CliError::Said { hint: error.hint(), error: Box::new(error), exit }
    }
}

impl From<AskError> for CliError {
    fn from(error: AskError) -> CliError {
        let exit = match &error {
            AskError::Spawn(SpawnError::Stopped { signal }) => by_signal(*signal),
            _ => USER,
        };
        CliError::Said { hint: error.hint(), error: Box::new(error), exit }
    }
}

impl From<StoreError> for CliError {
    fn from(error: StoreError) -> CliError {
        CliError::Said { hint: store_hint(&error), error: Box::new(error), exit: USER }
    }
}

/// A signal that ended us is told as a shell tells it.
fn by_signal(signal: i32) -> u8 {
    u8::try_from(128 + signal).unwrap_or(USER)
}

/// Errors that know their own hint.
macro_rules! with_own_hint {
    ($($error:ty),*) => {$(
        impl From<$error> for CliError {
            fn from(error: $error) -> CliError {
                CliError::Said { hint: error.hint(), error: Box::new(error), exit: USER }
            }
        }
    )*};
}

/// Errors that say all there is to say.
macro_rules! without_hint {
    ($($error:ty),*) => {$(
        impl From<$error> for CliError {
            fn from(error: $error) -> CliError {
                CliError::Said { hint: None, error: Box::new(error), exit: USER }
            }
        }
    )*};
}

with_own_hint!(ThreadError, ConfigError, HomeError, ExportError, WorkflowError);
with_own_hint!(LockError, StopError, FleetError);
without_hint!(JournalsError, ThreadIdError, SnapshotError);
