//! `@`: the latest thread of this directory, `@-1` the one before it.
//!
//! A thread is of the directory it works in. Where none is of the current one, those of the nearest directory above
//! count, so that it does not matter where in a project one stands. Threads that others called are passed over.

use std::path::Path;

use uwf_store::{Store, parallel};

use crate::shell::{CliError, Session};
use uwf_engine::ThreadId;
use uwf_engine::thread::{self, ThreadEntry};

/// How many threads are read at once.
const BATCH: usize = 256;

/// How many threads back from the latest `text` means; none where it is not of this form.
pub(super) fn back(text: &str) -> Option<Result<usize, CliError>> {
    let rest = text.strip_prefix('@')?;
    if rest.is_empty() {
        return Some(Ok(0));
    }
    let number = rest.strip_prefix('-').and_then(|digits| digits.parse().ok());
    Some(number.ok_or_else(|| {
        CliError::user(format!("`{text}` names no thread"))
            .with_hint("`@` is the latest thread of this directory, `@-1` the one before it")
    }))
}

/// That thread of the current directory.
pub(super) fn latest(session: &Session<'_>, text: &str, back: usize) -> Result<ThreadId, CliError> {
    let here = session.directory(None)?;
    let found =
        session.store_if_there()?.map(|store| of(&store, &here, back + 1)).transpose()?.unwrap_or_default();
    found.get(back).copied().ok_or_else(|| {
        let error = match found.len() {
            0 => format!("`{text}` names no thread: there is none of {}", here.display()),
            1 => format!("`{text}` names no thread: there is one alone of {}", here.display()),
            count => format!("`{text}` names no thread: there are {count} of {}", here.display()),
        };
        CliError::user(error).with_hint("`uwf thread list --all` shows the threads of all directories")
    })
}

/// The latest threads of a directory, or else of the nearest one above it: `most` of them, the youngest first.
pub(super) fn of(store: &Store, here: &Path, most: usize) -> Result<Vec<ThreadId>, CliError> {
    let mut nearest: (usize, Vec<ThreadId>) = (0, Vec::new());
    let depth = here.components().count();
    let mut entries = thread::entries(store);
    loop {
        let batch: Vec<ThreadEntry> = entries.by_ref().take(BATCH).collect::<Result<_, _>>()?;
        if batch.is_empty() {
            return Ok(nearest.1);
        }
        let depths = parallel::map(&batch, |entry| depth_of(store, entry, here));
        for (entry, at) in batch.iter().zip(depths) {
            match at {
                Some(at) if at > nearest.0 => nearest = (at, vec![entry.thread]),
                Some(at) if at == nearest.0 && nearest.1.len() < most => nearest.1.push(entry.thread),
                _ => {}
            }
        }
        if nearest.0 == depth && nearest.1.len() >= most {
            return Ok(nearest.1);
        }
    }
}

/// How deep the directory of a thread is, if it is `here` or above it. A thread that cannot be read is of none.
fn depth_of(store: &Store, entry: &ThreadEntry, here: &Path) -> Option<usize> {
    let start = entry.read(store).ok()?.start(store).ok()?;
    let dir = Path::new(&start.cwd);
    (start.call.is_none() && here.starts_with(dir)).then(|| dir.components().count())
}
