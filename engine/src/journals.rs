//! The journals of runs, as far as the engine has to do with them: which there are below `$UWF_HOME`, and which of them
//! nobody can come back to.
//!
//! Until a step is recorded its journal is the truth, and nobody removes it; from then on the record is, and once the
//! thread has moved on from where the run began, the journal is stale: no start ever looks for it. Apart from the agent,
//! which alone knows what the lines mean: a name tells thread and head, and of the lines no more is read than whether
//! the run had begun and how it ended. Never takes a journal that a process holds.

mod forks;
mod name;
mod progress;
pub mod sink;
mod threads;

use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use uwf_store::{Hash, Store, open_regular};

pub use self::forks::{FORK_FILE, forks, remove_forgotten_forks};
pub use self::name::{JournalName, spool_dir};
pub use self::progress::{JournalHeader, header};
pub(crate) use self::threads::KnownThreads;
use self::threads::ThreadPosition;
use crate::lost;
use crate::thread::{ThreadError, ThreadId};

/// What is this young may be of a run that is just beginning.
const YOUNG: Duration = Duration::from_secs(3600);

/// Why it cannot be told which runs there are, or what of the store they need.
#[derive(Debug, thiserror::Error)]
pub enum JournalsError {
    /// The threads of the store, or the lists of their failed attempts.
    #[error(transparent)]
    Thread(#[from] ThreadError),
    /// A file of `$UWF_HOME`.
    #[error("cannot read {}", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
}

/// A journal of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JournalFile {
    /// The file. It may be gone, and only its outputs be left.
    pub path: PathBuf,
    /// What its name tells.
    pub name: JournalName,
    /// Its bytes, and those of the outputs beside it.
    pub bytes: u64,
    /// When it was written last, in milliseconds since the epoch.
    pub written: u64,
    /// What it is to its thread.
    pub standing: JournalStanding,
}

/// What a journal is to its thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JournalStanding {
    /// A process holds it.
    Live,
    /// Its run was cut off, and another process can go on with it.
    Unfinished,
    /// Its run is over and recorded, and the thread has not moved on.
    Answered,
    /// The store does not know its thread, which may be another store's.
    Unknown,
    /// Nobody can come back to it.
    Stale,
}

/// How many leftovers of runs were removed, or would be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct LeftoversRemoved {
    /// How many.
    pub removed: u64,
    /// Their bytes, and those of what belongs to them.
    pub bytes: u64,
}

/// Where the journals are.
pub fn directory(home: &Path) -> PathBuf {
    home.join("sessions")
}

/// The journals of `home`, by thread, each with what it is to its thread in `store`. Older forms of journals, which
/// nobody goes on with, are not among them.
///
/// # Errors
/// The journals or the threads cannot be listed, or a journal of a thread that stands where it began cannot be read.
pub fn survey(store: &Store, home: &Path) -> Result<Vec<JournalFile>, JournalsError> {
    // The files first: a head that is read later, and is another one, has moved on since the run began.
    let listed = list(&directory(home))?;
    let mut threads = KnownThreads::of(store)?;
    let mut found: Vec<JournalFile> = Vec::new();
    for (path, name) in listed {
        let (bytes, written) = size(&path);
        let young = written + YOUNG.as_millis() as u64 > store.now();
        let before = found.iter().rev().take_while(|other| is_same_visit(&other.name, &name));
        let is_first = before.filter(|other| other.standing != JournalStanding::Stale).count() == 0;
        let position = threads.position(&name.thread)?;
        let standing = match standing(store, (&path, &name), position, (young, is_first)) {
            // Somebody has removed it since it was listed.
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            standing => standing.map_err(|source| JournalsError::Io { path: path.clone(), source })?,
        };
        found.push(JournalFile { path, name, bytes, written, standing });
    }
    Ok(found)
}

/// When the journals of threads were written last, in milliseconds since the epoch; a thread may have several.
///
/// # Errors
/// They cannot be listed.
pub fn written(home: &Path) -> Result<Vec<(ThreadId, u64)>, JournalsError> {
    let listed = list(&directory(home))?;
    Ok(listed.into_iter().map(|(path, name)| (name.thread, size(&path).1)).collect())
}

/// The role of a visit that began at this head and is not over, or whose step the head has not moved to: what was done in
/// it is lost where the head moves elsewhere. The visits of `but` do not count.
///
/// # Errors
/// The journals cannot be listed or read.
pub fn role_in_progress(
    home: &Path,
    (thread, head): (&ThreadId, &Hash),
    but: &str,
) -> Result<Option<String>, JournalsError> {
    for (path, name) in list(&directory(home))? {
        if (name.thread, name.head) != (*thread, *head) {
            continue;
        }
        let Some(role) = header(&path).map(|header| header.role).filter(|role| role != but) else { continue };
        let progress = open_regular(&path).and_then(progress::of);
        let progress = progress.map_err(|source| JournalsError::Io { path, source })?;
        if progress.has_begun && progress.failed != Some(true) {
            return Ok(Some(role));
        }
    }
    Ok(None)
}

/// Whether a visit of the builtin agent that began at this head has asked its model, and has never heard of it. That nothing can be
/// read is no such visit.
pub fn is_unanswered(home: &Path, (thread, head): (&ThreadId, &Hash)) -> bool {
    let journals = list(&directory(home)).unwrap_or_default().into_iter();
    let mut theirs = journals.filter(|(_, name)| (name.thread, name.head) == (*thread, *head));
    theirs.any(|(path, _)| {
        header(&path).is_some_and(|header| header.adapted().is_none())
            && open_regular(&path).and_then(progress::is_unanswered).unwrap_or(false)
    })
}

/// Removes the journals of the visits of a role that began at this head: what came of them is on record, and is not to be
/// given again. What cannot be removed stays.
pub(crate) fn forget_visits(home: &Path, (thread, head): (&ThreadId, &Hash), role: &str) {
    for (path, name) in list(&directory(home)).unwrap_or_default() {
        let is_theirs = (name.thread, name.head) == (*thread, *head);
        if is_theirs && header(&path).is_some_and(|header| header.role == role) {
            remove(&path).ok();
        }
    }
}

/// Removes the stale ones among these, with the outputs beside them; with `dry_run` they stay. What cannot be removed,
/// or is held by now, is not counted.
pub fn remove_stale(journals: &[JournalFile], dry_run: bool) -> LeftoversRemoved {
    let stale = journals.iter().filter(|journal| journal.standing == JournalStanding::Stale);
    let removed = stale.filter(|journal| dry_run || remove(&journal.path).is_ok());
    removed.fold(LeftoversRemoved::default(), |sum, journal| LeftoversRemoved {
        removed: sum.removed + 1,
        bytes: sum.bytes + journal.bytes,
    })
}

/// Removes a journal, the outputs beside it first: one whose removal was cut short is found again.
///
/// # Errors
/// `WouldBlock` where a process holds it; or the disk's reason.
pub fn remove(path: &Path) -> io::Result<()> {
    let file = match open_regular(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        file => Some(file?),
    };
    file.as_ref().map_or(Ok(()), File::try_lock).map_err(|error| match error {
        TryLockError::WouldBlock => ErrorKind::WouldBlock.into(),
        TryLockError::Error(error) => error,
    })?;
    match fs::remove_dir_all(spool_dir(path)) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => file.map_or(Ok(()), |_| fs::remove_file(path)),
    }
}

/// Removes what the runs of a thread left that was taken off the list: their journals, and the outputs beside them.
/// What cannot be removed does no harm: nobody can come back to it, and it holds nothing.
pub fn forget(home: &Path, thread: &ThreadId) {
    let own = format!("{thread}.");
    for entry in fs::read_dir(directory(home)).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(&own) {
            let path = entry.path();
            fs::remove_file(&path).or_else(|_| fs::remove_dir_all(&path)).ok();
        }
    }
}

fn is_same_visit(one: &JournalName, other: &JournalName) -> bool {
    (one.thread, one.head) == (other.thread, other.head)
}

/// The journals in a directory in the order of their names, those included of which only the outputs are left.
fn list(directory: &Path) -> Result<Vec<(PathBuf, JournalName)>, JournalsError> {
    let failed = |source| JournalsError::Io { path: directory.to_owned(), source };
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(failed)?,
    };
    let mut names = Vec::new();
    for entry in entries {
        let file = entry.map_err(failed)?.file_name().to_string_lossy().into_owned();
        names.extend(JournalName::parse(&file).or_else(|| JournalName::parse(&format!("{file}.jsonl"))));
    }
    names.sort_unstable();
    names.dedup();
    Ok(names.into_iter().map(|name| (directory.join(name.to_string()), name)).collect())
}

/// See [`JournalFile`].
fn size(journal: &Path) -> (u64, u64) {
    let spool = spool_dir(journal);
    let outputs = bytes_below(&spool);
    let file = fs::metadata(journal);
    let own = file.as_ref().map_or(0, fs::Metadata::len);
    let written = file.or_else(|_| fs::metadata(&spool)).and_then(|file| file.modified());
    let written = written.ok().and_then(|written| written.duration_since(UNIX_EPOCH).ok());
    (own + outputs, written.map_or(0, |written| written.as_millis() as u64))
}

/// The bytes of the files in a directory.
fn bytes_below(directory: &Path) -> u64 {
    let files = fs::read_dir(directory).into_iter().flatten().flatten();
    files.filter_map(|file| file.metadata().ok()).filter(fs::Metadata::is_file).map(|file| file.len()).sum()
}

/// What a journal is; `is_first` of its visit where none before it can be gone on with.
fn standing(
    store: &Store,
    (path, name): (&Path, &JournalName),
    position: Option<ThreadPosition>,
    (is_young, is_first): (bool, bool),
) -> io::Result<JournalStanding> {
    let file = match open_regular(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let spool = fs::metadata(spool_dir(path))?;
            let is_stale = spool.is_dir() && !is_young;
            return Ok(if is_stale { JournalStanding::Stale } else { JournalStanding::Live });
        }
        // Somebody has put something else there.
        Err(error) if error.kind() == ErrorKind::InvalidInput => return Ok(JournalStanding::Unknown),
        file => file?,
    };
    // Where the file system knows no locks, nobody knows whether it is held.
    if file.try_lock_shared().is_err() {
        return Ok(JournalStanding::Live);
    }
    let Some(ThreadPosition { head, is_cancelled }) = position else {
        let is_removed = lost::is_noted(store, &name.head, &name.thread);
        return Ok(if is_removed { JournalStanding::Stale } else { JournalStanding::Unknown });
    };
    if head != name.head || is_cancelled {
        return Ok(JournalStanding::Stale);
    }
    let progress = progress::of(file)?;
    Ok(match (progress.has_begun, progress.failed) {
        (false, _) if is_young => JournalStanding::Live,
        (false, _) => JournalStanding::Stale,
        // The attempt is on record, and what comes next is another one, unless an older run would be found then.
        (true, Some(true)) if is_first => JournalStanding::Stale,
        (true, Some(_)) => JournalStanding::Answered,
        (true, None) => JournalStanding::Unfinished,
    })
}

#[cfg(test)]
mod tests;
