//! The entries of a session, for whoever looks at a run once it is over.
//!
//! Apart from `find`, which takes a journal over: this one locks nothing and changes nothing.

use std::fs;
use std::path::Path;

use super::{Entry, read};

/// What the journal of `session` in `dir` holds; nothing where there is no such journal, or it cannot be read.
pub(crate) fn entries_of(dir: &Path, session: &str) -> Vec<Entry> {
    let end = format!(".{session}.jsonl");
    let files = fs::read_dir(dir).into_iter().flatten().flatten();
    let own = files.into_iter().find(|file| file.file_name().to_string_lossy().ends_with(&end));
    let bytes = own.and_then(|file| fs::read(file.path()).ok()).unwrap_or_default();
    read::entries(&bytes).map(|(entries, _)| entries).unwrap_or_default()
}
