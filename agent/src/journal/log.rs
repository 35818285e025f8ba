//! The entries of a session, for whoever looks at a run once it is over.
//!
//! Apart from `find`, which takes a journal over: this one locks nothing and changes nothing.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::Path;

use serde_json::Value;

use super::{Entry, read};

/// What the journal of `session` in `dir` holds; nothing where there is no such journal, or it cannot be read.
pub(crate) fn entries_of(dir: &Path, session: &str) -> Vec<Entry> {
    let end = format!(".{session}.jsonl");
    let files = fs::read_dir(dir).into_iter().flatten().flatten();
    let own = files.into_iter().find(|file| file.file_name().to_string_lossy().ends_with(&end));
    let bytes = own.and_then(|file| fs::read(file.path()).ok()).unwrap_or_default();
    read::entries(&bytes).map(|(entries, _)| entries).unwrap_or_default()
}

/// The raw replies in the journal, one for each turn of the model: read one after the other, since all of them together are
/// as long as the run. Nothing where the journal cannot be read.
pub(crate) fn raw_replies(journal: &Path) -> impl Iterator<Item = Value> {
    let lines = File::open(journal).map(|file| BufReader::new(file).lines()).into_iter().flatten();
    lines.map_while(Result::ok).filter_map(|line| match serde_json::from_str(&line) {
        Ok(Entry::Answered { raw, .. }) => Some(raw),
        _ => None,
    })
}
