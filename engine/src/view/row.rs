//! What a row of `thread list` has beside what is read of every thread: why it stands as it does, and what it took.
//!
//! Apart because these cost reads of their own, and are told of the rows alone for which somebody asks.

use serde::Serialize;
use uwf_store::Store;

use super::{RunsBeside, ThreadFacts, ThreadRow};
use crate::record;
use crate::thread::{self, ThreadError, ThreadId};

/// See the module.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadRowFacts {
    /// Why it stands as it does: `failed: …`, `asks: …`, `paused: …`, or what a program knows of its journals; null where
    /// there is nothing to say.
    pub reason: Option<String>,
    /// Who called it; null where nobody did.
    pub caller: Option<ThreadId>,
    /// What it took.
    #[serde(flatten)]
    pub facts: ThreadFacts,
}

impl ThreadRowFacts {
    /// Of a row; what it took is told of its last `most` steps.
    ///
    /// # Errors
    /// The chain, or the record of a step, cannot be read.
    pub fn of(
        store: &Store,
        beside: &RunsBeside,
        row: &ThreadRow,
        most: usize,
    ) -> Result<ThreadRowFacts, ThreadError> {
        Ok(ThreadRowFacts {
            reason: reason(store, beside, row),
            caller: beside.caller(&row.thread),
            facts: ThreadFacts::of(store, beside, &row.thread, most)?,
        })
    }
}

/// As far as the store tells.
fn reason(store: &Store, beside: &RunsBeside, row: &ThreadRow) -> Option<String> {
    match row.status {
        "idle" => {
            let failed = thread::step_node(store, &beside.last_failed(&row.thread)?).ok()?;
            let output = store.get(&failed.output).ok()?.payload;
            let error = record::error(&output).unwrap_or("no reason given");
            Some(format!("failed: {}", first_line(error)))
        }
        "suspended" => Some(format!("asks: {}", first_line(row.suspend_message.as_deref()?))),
        "paused" => Some(format!("paused: {}", first_line(row.pause_reason.as_deref()?))),
        _ => None,
    }
}

fn first_line(text: &str) -> &str {
    text.trim().lines().next().unwrap_or_default()
}
