//! State files of the oldest design, taken over once: `threads.yaml`, `workflows.yaml` or `registry.yaml`, and
//! `history.jsonl` in `$UWF_HOME`. What they name becomes variables; then each is renamed to `*.migrated`. One of which
//! nothing can be used is left as it is: it belongs to another program, or to another store than this one.
//!
//! No two programs wrote them alike, so they are read leniently:
//! - a file of names is a mapping `name: <hash>` or `name: {head | hash | …: <hash>, status, …}`, or a list of mappings
//!   with an `id`, either of them perhaps below one key (`threads:`);
//! - a line of the history is a mapping with `thread` or `id`, a hash, a status and `completedAt`.
//!
//! An entry that cannot be used (its node is missing or of another kind) is reported and passed over; a variable that
//! is there already is never overwritten. Where there are no such files this costs one `stat` each.

mod entry;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;
use uwf_store::{Store, StoreError, VarChange, Variable};
use uwf_workflow::yaml;

use crate::thread::{self, Status, ThreadId};
use crate::workflow;
use entry::LegacyEntry;

/// The files, in the order in which they are taken over: what is active before what is over.
const FILES: [(&str, LegacyKind); 4] = [
    ("threads.yaml", LegacyKind::Threads),
    ("workflows.yaml", LegacyKind::Workflows),
    ("registry.yaml", LegacyKind::Workflows),
    ("history.jsonl", LegacyKind::History),
];

/// What the names of all variables begin with that it sets.
const OURS: &str = "@uwf/";

/// How often it is tried again when another program does the same.
const TRIES: usize = 5;

#[derive(Clone, Copy, PartialEq)]
enum LegacyKind {
    Threads,
    Workflows,
    History,
}

/// What became of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Migrated {
    /// The file, under its old name.
    pub file: PathBuf,
    /// Entries taken over.
    pub taken: usize,
    /// Entries passed over, each with the reason.
    pub skipped: Vec<String>,
}

/// Why a file was left as it is.
#[derive(Debug, thiserror::Error)]
pub enum LegacyError {
    /// It cannot be read or renamed.
    #[error("cannot {doing} {}", file.display())]
    Io {
        /// The verb.
        doing: &'static str,
        /// The file.
        file: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// It is not what such a file was.
    #[error("{} cannot be taken over: {why}", file.display())]
    Malformed {
        /// The file.
        file: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// Nothing in it means anything in this store.
    #[error("{} is left as it is: none of its entries can be used with this store ({first})", file.display())]
    Foreign {
        /// The file.
        file: PathBuf,
        /// The first entry, and what is wrong with it.
        first: String,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Whether there is anything to take over.
pub fn is_there(home: &Path) -> bool {
    FILES.iter().any(|(name, _)| home.join(name).exists())
}

/// Takes over what there is: for each file what became of it, or why it was left.
pub fn migrate(store: &Store, home: &Path) -> Vec<Result<Migrated, LegacyError>> {
    let there = FILES.iter().map(|(name, kind)| (home.join(name), *kind)).filter(|(file, _)| file.exists());
    there.map(|(file, kind)| take_over(store, file, kind)).collect()
}

fn take_over(store: &Store, file: PathBuf, kind: LegacyKind) -> Result<Migrated, LegacyError> {
    let text = fs::read_to_string(&file);
    let text = text.map_err(|source| LegacyError::Io { doing: "read", file: file.clone(), source })?;
    let (entries, mut skipped) = match kind {
        LegacyKind::History => entry::lines(&text),
        LegacyKind::Threads | LegacyKind::Workflows => {
            let malformed = |why: String| LegacyError::Malformed { file: file.clone(), why };
            let value: Value = yaml::parse_value(&text).map_err(|error| malformed(error.to_string()))?;
            entry::named(&value).map_err(malformed)?
        }
    };
    // By variable: of two lines of one thread the last one is what became of it.
    let mut changes = BTreeMap::new();
    for entry in entries {
        match change(store, kind, &entry) {
            Ok(change) => drop(changes.insert(variable(&change).to_owned(), change)),
            Err(why) => skipped.push(format!("{}: {why}", entry.name)),
        }
    }
    let changes: Vec<VarChange> = changes.into_values().collect();
    if let (true, Some(first)) = (changes.is_empty(), skipped.first()) {
        return Err(LegacyError::Foreign { first: first.clone(), file });
    }
    let taken = apply(store, &changes, &mut skipped)?;
    rename(&file).map_err(|source| LegacyError::Io { doing: "rename", file: file.clone(), source })?;
    Ok(Migrated { file, taken, skipped })
}

/// The variable that an entry becomes, or why it cannot.
fn change(store: &Store, kind: LegacyKind, entry: &LegacyEntry) -> Result<VarChange, String> {
    let hash = entry.hash.as_ref().ok_or("it names no node")?;
    let hash = hash.parse().map_err(|error: uwf_store::HashError| error.to_string())?;
    if kind == LegacyKind::Workflows {
        return workflow::registration(store, &entry.name, &hash).map_err(|error| error.to_string());
    }
    let thread: ThreadId = entry.name.parse().map_err(|error: thread::ThreadIdError| error.to_string())?;
    let node = store.get(&hash).map_err(|error| error.to_string())?;
    let status = match entry.status(node.timestamp)? {
        // What has no state in the history came to its end.
        Status::Idle if kind == LegacyKind::History => {
            Status::Ended { completed_at: entry.completed_at.unwrap_or(node.timestamp) }
        }
        status => status,
    };
    thread::adoption(store, &thread, &hash, status.to_tags()).map_err(|error| error.to_string())
}

fn variable(change: &VarChange) -> &str {
    let (VarChange::Set { name, .. } | VarChange::Remove { name } | VarChange::RemovePrefix { prefix: name }) =
        change;
    name
}

/// Sets what is not set yet. A variable that says the same is no news; one that says something else stays.
fn apply(store: &Store, changes: &[VarChange], skipped: &mut Vec<String>) -> Result<usize, LegacyError> {
    let mut tries = TRIES;
    loop {
        tries -= 1;
        let listed = store.vars().list(OURS)?;
        let there: BTreeMap<&str, &Variable> =
            listed.iter().map(|variable| (variable.name.as_str(), variable)).collect();
        let (mut new, mut kept) = (Vec::new(), Vec::new());
        for change in changes {
            let VarChange::Set { name, value, .. } = change else { continue };
            match there.get(name.as_str()) {
                None => new.push(change.clone()),
                Some(there) if there.value == *value => {}
                Some(there) => kept.push(format!("{name}: it is {} already", there.value)),
            }
        }
        match store.vars().apply(&new) {
            // Another program takes them over, too.
            Err(StoreError::Conflict { .. }) if tries > 0 => {}
            done => {
                done?;
                skipped.extend(kept);
                return Ok(new.len());
            }
        }
    }
}

/// To a name that is free, so that nothing of an earlier time is lost.
fn rename(file: &Path) -> io::Result<()> {
    let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let free =
        (1_u32..).map(|n| if n == 1 { format!("{name}.migrated") } else { format!("{name}.{n}.migrated") });
    let mut free = free.map(|name| file.with_file_name(name)).filter(|path| !path.exists());
    match fs::rename(file, free.next().expect("there are more numbers than files")) {
        // Another program has done it.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}
