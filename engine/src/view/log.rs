//! The days of the log.

use serde::Serialize;

/// A day of the log, as a row of `log list`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LogDay {
    /// `2026-11-21`.
    pub date: String,
    /// How many lines can be read.
    pub lines: usize,
    /// The file.
    pub file: String,
    /// Its name.
    pub name: Option<String>,
    /// Its size in bytes.
    pub size: u64,
}

/// Days of the log were removed: `log clean`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LogCleaned {
    /// Which.
    pub removed: Vec<String>,
    /// How many.
    pub deleted: usize,
}

impl From<Vec<String>> for LogCleaned {
    fn from(removed: Vec<String>) -> LogCleaned {
        LogCleaned { deleted: removed.len(), removed }
    }
}
