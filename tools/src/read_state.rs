//! What this run knows of files: the content hash last seen of each, how much of it the model saw, and one lock a
//! file.
//!
//! Staleness is decided by content, never by time: a timestamp changes without the content, and the other way
//! round. It never opens a file.

use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::{Arc, Mutex};

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh64::{Xxh64, xxh64};

use crate::lock::lock;

/// XXH64 of a file's content; displayed as 16 hex digits. It tells "changed" from "unchanged", no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Digest(u64);

impl Digest {
    pub(crate) fn of(content: &[u8]) -> Self {
        Self(xxh64(content, 0))
    }

    pub(crate) fn finish(hasher: &Xxh64) -> Self {
        Self(hasher.digest())
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl FromStr for Digest {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        u64::from_str_radix(text, 16).map(Self)
    }
}

/// What the model knows of one file after a call; for the record, and for a run that continues.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadState {
    /// Relative to the workspace, symlinks resolved.
    pub path: String,
    /// XXH64 of the content, 16 hex digits.
    pub hash: String,
    /// Whether all of it was shown to, or written by, the model.
    pub whole: bool,
    /// The lines that were shown while not all of them were: first and last, from 1.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lines: Vec<(u64, u64)>,
}

/// Lines `first..=last` of a file of `total` lines, as shown.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ShownLines {
    pub(crate) first: u64,
    pub(crate) last: u64,
    pub(crate) total: u64,
}

struct FileState {
    digest: Digest,
    whole: bool,
    /// Shown ranges of lines, sorted and apart from each other.
    ranges: Vec<(u64, u64)>,
}

/// The files of one run, by real path (relative to the workspace, symlinks resolved).
#[derive(Default)]
pub(crate) struct ReadStates {
    known: Mutex<HashMap<PathBuf, FileState>>,
    locks: Mutex<HashMap<PathBuf, Arc<Mutex<()>>>>,
}

impl ReadStates {
    /// The lock of one file; held from reading it until it is replaced, so that no update is lost.
    pub(crate) fn lock_of(&self, path: &Path) -> Arc<Mutex<()>> {
        Arc::clone(lock(&self.locks).entry(path.to_owned()).or_default())
    }

    /// Lines of `path` were shown; pages of the same content add up.
    pub(crate) fn shown(&self, path: &Path, digest: Digest, shown: ShownLines) -> ReadState {
        let mut known = lock(&self.known);
        let entry = known.entry(path.to_owned()).or_insert_with(|| FileState::new(digest));
        if entry.digest != digest {
            *entry = FileState::new(digest);
        }
        entry.add(shown);
        entry.read_state(path)
    }

    /// All of `path` was shown or written.
    pub(crate) fn whole(&self, path: &Path, digest: Digest) -> ReadState {
        self.put(path, FileState { whole: true, ..FileState::new(digest) })
    }

    /// An edit turned `before` into `after`: what was known whole stays so.
    pub(crate) fn edited(&self, path: &Path, before: Digest, after: Digest) -> ReadState {
        let whole = self.is_whole(path, before);
        self.put(path, FileState { whole, ..FileState::new(after) })
    }

    fn put(&self, path: &Path, entry: FileState) -> ReadState {
        let state = entry.read_state(path);
        lock(&self.known).insert(path.to_owned(), entry);
        state
    }

    /// Whether the model has seen all of this very content.
    pub(crate) fn is_whole(&self, path: &Path, digest: Digest) -> bool {
        lock(&self.known).get(path).is_some_and(|known| known.whole && known.digest == digest)
    }

    /// Whether the model has seen the file with another content than this.
    pub(crate) fn is_stale(&self, path: &Path, digest: Digest) -> bool {
        lock(&self.known).get(path).is_some_and(|known| known.digest != digest)
    }

    /// Takes over what an earlier part of the run knew. A hash that is none is left out: the file counts as unseen.
    pub(crate) fn remember(&self, state: &ReadState) {
        if let Ok(digest) = state.hash.parse() {
            let entry = FileState { whole: state.whole, ranges: state.lines.clone(), digest };
            lock(&self.known).insert(PathBuf::from(&state.path), entry);
        }
    }
}

impl FileState {
    fn new(digest: Digest) -> Self {
        Self { digest, whole: false, ranges: Vec::new() }
    }

    fn add(&mut self, shown: ShownLines) {
        self.ranges.push((shown.first, shown.last));
        self.ranges.sort_unstable();
        let mut joined: Vec<(u64, u64)> = Vec::with_capacity(self.ranges.len());
        for (first, last) in self.ranges.drain(..) {
            match joined.last_mut() {
                Some(previous) if first <= previous.1 + 1 => previous.1 = previous.1.max(last),
                _ => joined.push((first, last)),
            }
        }
        self.ranges = joined;
        let all = matches!(self.ranges[..], [(first, last)] if first <= 1 && last >= shown.total);
        self.whole |= all || shown.total == 0;
    }

    fn read_state(&self, path: &Path) -> ReadState {
        let lines = if self.whole { Vec::new() } else { self.ranges.clone() };
        let (path, hash) = (path.to_string_lossy().into_owned(), self.digest.to_string());
        ReadState { path, hash, whole: self.whole, lines }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(first: u64, last: u64) -> ShownLines {
        ShownLines { first, last, total: 30 }
    }

    #[test]
    fn pages_of_one_content_add_up_in_any_order() {
        let (files, path, digest) = (ReadStates::default(), Path::new("a"), Digest::of(b"x"));
        assert!(!files.shown(path, digest, shown(11, 20)).whole);
        assert!(!files.shown(path, digest, shown(1, 5)).whole);
        assert!(!files.shown(path, digest, shown(21, 30)).whole);
        assert!(files.shown(path, digest, shown(6, 10)).whole);
    }

    #[test]
    fn another_content_starts_over() {
        let (files, path) = (ReadStates::default(), Path::new("a"));
        files.shown(path, Digest::of(b"old"), shown(1, 20));
        assert!(!files.shown(path, Digest::of(b"new"), shown(21, 30)).whole);
        assert!(files.is_stale(path, Digest::of(b"old")));
    }

    #[test]
    fn an_edit_keeps_what_was_known_and_adds_nothing() {
        let (files, path) = (ReadStates::default(), Path::new("a"));
        let [one, two, three] = [b"1", b"2", b"3"].map(|content| Digest::of(content));
        assert!(!files.edited(path, one, two).whole);
        files.whole(path, two);
        assert!(files.edited(path, two, three).whole);
    }

    #[test]
    fn what_was_recorded_can_be_taken_over() {
        let (files, path, digest) = (ReadStates::default(), Path::new("a"), Digest::of(b"x"));
        let state = files.whole(path, digest);
        let later = ReadStates::default();
        later.remember(&state);
        assert!(later.is_whole(path, digest));
        let part = files.shown(path, Digest::of(b"y"), shown(1, 20));
        later.remember(&part);
        assert!(!later.is_whole(path, Digest::of(b"y")));
        assert!(later.shown(path, Digest::of(b"y"), shown(21, 30)).whole, "pages go on adding up");
    }
}
