//! What was undone in the workspace of a thread, step by step, and what of that was done again: a log that only grows.
//!
//! The variable `@uwf/undo/<thread>` names the youngest entry, each entry the one before, so that collecting the store
//! keeps them and the trees they need. An entry names a step, which may be stored again since, when its thread was summed
//! up: what is undone is what a run did, and both name its record. An entry is written before its first file is changed: a
//! file that an entry is about is as before it, or as after it. Nothing here looks at a workspace; whoever changes the log
//! has the lock of the thread.

use std::collections::{BTreeMap, BTreeSet};

use uwf_store::{Expect, Hash, Store, VarChange};

use crate::builtin;
use crate::record::{UndoKind, UndoRecord};
use crate::thread::{self, ThreadError, ThreadId};
use crate::variables::UNDOS;

/// The log of one thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UndoLog {
    /// The youngest first.
    entries: Vec<(Hash, UndoRecord)>,
    /// The records of the runs whose steps these name; a step that cannot be read stands for itself.
    runs: BTreeMap<Hash, Hash>,
}

/// An undo that was not wholly taken back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StandingUndo<'l> {
    /// Its entry.
    pub hash: Hash,
    /// The same, read.
    pub record: &'l UndoRecord,
    /// The paths that are undone still.
    pub paths: BTreeSet<&'l str>,
}

/// How much of what a step changed is undone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UndoneExtent {
    /// All of it.
    Whole,
    /// Some of it.
    Part,
}

impl UndoneExtent {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            UndoneExtent::Whole => "whole",
            UndoneExtent::Part => "part",
        }
    }
}

/// The variable of a thread's log.
pub(crate) fn variable(thread: &ThreadId) -> String {
    format!("{UNDOS}{thread}")
}

impl UndoLog {
    /// The log of a thread; empty where nothing was undone.
    ///
    /// # Errors
    /// An entry is missing, damaged or of another type.
    pub fn of(store: &Store, thread: &ThreadId) -> Result<UndoLog, ThreadError> {
        let mut next = store.vars().get(&variable(thread))?.map(|variable| variable.value);
        let (mut entries, mut runs) = (Vec::new(), BTreeMap::new());
        while let Some(hash) = next {
            let record = entry(store, &hash)?;
            next = record.previous;
            let run = || thread::step_node(store, &record.step).map_or(record.step, |step| step.detail);
            runs.entry(record.step).or_insert_with(run);
            entries.push((hash, record));
        }
        Ok(UndoLog { entries, runs })
    }

    /// The record (a StepNode's `detail`) of the run that an entry is about.
    pub fn run(&self, record: &UndoRecord) -> Hash {
        self.runs.get(&record.step).copied().unwrap_or(record.step)
    }

    /// The youngest entry.
    pub fn last(&self) -> Option<&(Hash, UndoRecord)> {
        self.entries.first()
    }

    /// What is undone still, the youngest first.
    pub fn standing(&self) -> Vec<StandingUndo<'_>> {
        let mut taken_back: BTreeMap<Hash, BTreeSet<&str>> = BTreeMap::new();
        let mut found = Vec::new();
        // Who takes an entry back is younger than that.
        for (hash, record) in &self.entries {
            let paths = record.paths.iter().map(String::as_str);
            match (record.kind, record.takes_back) {
                (UndoKind::Undo, _) => {
                    let gone = taken_back.remove(hash).unwrap_or_default();
                    let paths: BTreeSet<&str> = paths.filter(|path| !gone.contains(path)).collect();
                    if !paths.is_empty() {
                        found.push(StandingUndo { hash: *hash, record, paths });
                    }
                }
                (UndoKind::Redo, Some(undo)) => taken_back.entry(undo).or_default().extend(paths),
                (UndoKind::Redo, None) => {}
            }
        }
        found
    }

    /// What was redone at some time of what a run did, whether that was finished or not.
    pub fn redone(&self, run: &Hash) -> BTreeSet<&str> {
        let is_redo = |record: &&UndoRecord| record.kind == UndoKind::Redo && self.run(record) == *run;
        let redone = self.entries.iter().map(|(_, record)| record).filter(is_redo);
        redone.flat_map(|record| &record.paths).map(String::as_str).collect()
    }

    /// What is undone still of what each run did, by its record.
    pub fn undone_runs(&self) -> BTreeMap<Hash, UndoneExtent> {
        let mut runs: BTreeMap<Hash, UndoneExtent> = BTreeMap::new();
        for StandingUndo { record, paths, .. } in self.standing() {
            let is_whole = paths.len() == record.paths.len();
            let run = self.run(record);
            let undone = match runs.get(&run) {
                // What the one before left is in a younger one.
                Some(UndoneExtent::Whole) if is_whole => UndoneExtent::Whole,
                None if is_whole && record.left.is_empty() => UndoneExtent::Whole,
                _ => UndoneExtent::Part,
            };
            runs.insert(run, undone);
        }
        runs
    }
}

/// The threads that have a log.
///
/// # Errors
/// The variables cannot be listed.
pub fn threads(store: &Store) -> Result<Vec<ThreadId>, ThreadError> {
    let logs = store.vars().list(UNDOS)?;
    Ok(logs.iter().filter_map(|log| log.name.strip_prefix(UNDOS)?.parse().ok()).collect())
}

/// Writes an entry below what the log has.
///
/// # Errors
/// The entry cannot be written, or somebody else has written one since the log was read.
pub fn append(store: &Store, thread: &ThreadId, record: &UndoRecord) -> Result<Hash, ThreadError> {
    let hash = record.put(store)?;
    let expect = record.previous.map_or(Expect::Absent, Expect::Value);
    set(store, thread, (hash, expect))?;
    Ok(hash)
}

/// Puts another entry in the place of the youngest: what it was about came out otherwise.
///
/// # Errors
/// As [`append`].
pub fn amend(
    store: &Store,
    thread: &ThreadId,
    youngest: &Hash,
    record: &UndoRecord,
) -> Result<Hash, ThreadError> {
    let hash = record.put(store)?;
    set(store, thread, (hash, Expect::Value(*youngest)))?;
    Ok(hash)
}

/// Takes the youngest entry out of the log, whose operation changed nothing.
///
/// # Errors
/// As [`append`].
pub fn withdraw(
    store: &Store,
    thread: &ThreadId,
    youngest: &Hash,
    record: &UndoRecord,
) -> Result<(), ThreadError> {
    match record.previous {
        Some(previous) => set(store, thread, (previous, Expect::Value(*youngest))),
        None => Ok(store.vars().apply(&[VarChange::Remove { name: variable(thread) }])?),
    }
}

fn set(store: &Store, thread: &ThreadId, (value, expect): (Hash, Expect)) -> Result<(), ThreadError> {
    let (name, tags) = (variable(thread), BTreeMap::new());
    let change = VarChange::Set { name, schema: builtin::UWF_UNDO, value, tags, expect };
    Ok(store.vars().apply(&[change])?)
}

fn entry(store: &Store, hash: &Hash) -> Result<UndoRecord, ThreadError> {
    let payload = store.get(hash)?.payload;
    serde_json::from_value(payload).map_err(|source| ThreadError::Malformed { hash: *hash, source })
}

#[cfg(test)]
#[path = "undo_log_tests.rs"]
mod tests;
