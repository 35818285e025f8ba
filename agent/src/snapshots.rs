//! What is captured of a run's workspace and how, where the cache of it lies, and what is said where it cannot be.
//!
//! Apart from the loop, which says when, and from `uwf-snapshot`, which knows neither runs nor their settings.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde_json::Value;
use uwf_engine::builtin;
use uwf_engine::home::make_private;
use uwf_engine::record::RecordedSnapshot;
use uwf_snapshot::{CaptureCache, CaptureNotice, Limit, Options, Snapshot, SnapshotError, Why, capture};
use uwf_store::{Hash, Store};

/// So many of what is left out are named.
const NAMED: usize = 3;

/// The workspace of a run, to be captured by whoever has the time for it.
pub(crate) struct WorkspaceCapture {
    dir: PathBuf,
    options: Options,
    store: Store,
    cache_file: PathBuf,
    /// Read when it is wanted first.
    cache: Mutex<Option<CaptureCache>>,
}

impl WorkspaceCapture {
    /// The workspace in `dir`, with its cache below `home`.
    pub(crate) fn new((home, dir): (&Path, &Path), options: Options, store: Store) -> WorkspaceCapture {
        let cache_file = cache_file(home, dir);
        WorkspaceCapture { dir: dir.to_owned(), options, store, cache_file, cache: Mutex::default() }
    }

    /// The same without these directories, where they lie within it.
    pub(crate) fn without<'d>(mut self, directories: impl Iterator<Item = &'d Path>) -> WorkspaceCapture {
        let patterns: Vec<String> =
            directories.filter_map(|directory| pattern(&self.dir, directory)).collect();
        self.options.leave_out.extend(patterns);
        self
    }

    /// Puts the workspace as it is into the store. What was found is kept in a file for the next run where it `is_bound` to
    /// be the same for a while.
    ///
    /// # Errors
    /// Why that cannot be done, for people.
    pub(crate) fn capture(&self, is_bound: bool) -> Result<Snapshot, String> {
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        let cache = cache.get_or_insert_with(|| CaptureCache::open(&self.cache_file));
        let snapshot =
            capture(&self.dir, &self.options, cache, &self.store).map_err(|error| reason(&error))?;
        if is_bound && self.cache_file.parent().is_some_and(|dir| make_private(dir).is_ok()) {
            // Without it the next run reads the workspace again, and no more.
            cache.save().ok();
        }
        Ok(snapshot)
    }
}

/// The cache of a workspace.
fn cache_file(home: &Path, workspace: &Path) -> PathBuf {
    let name = Hash::of(&builtin::TEXT, &Value::from(workspace.to_string_lossy()));
    home.join("cache/snapshots").join(name.as_str())
}

/// What leaves a directory out that lies within the workspace; none for any other.
fn pattern(workspace: &Path, dir: &Path) -> Option<String> {
    let whole = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let (workspace, dir) = (whole(workspace), whole(dir));
    let within = dir.strip_prefix(&workspace).ok().filter(|within| *within != Path::new(""))?;
    let mut pattern = "/".to_owned();
    for character in within.to_string_lossy().chars() {
        match character {
            // Bytes that are no text.
            char::REPLACEMENT_CHARACTER => pattern.push('*'),
            '*' | '?' | '[' | ']' | '{' | '}' | '!' | '#' | '\\' | ' ' => pattern.extend(['\\', character]),
            character => pattern.push(character),
        }
    }
    Some(pattern + "/")
}

/// As it is recorded.
pub(crate) fn recorded(snapshot: &Snapshot) -> RecordedSnapshot {
    let left_out = snapshot.left_out + snapshot.special + missing(snapshot).count() as u64;
    RecordedSnapshot { tree: snapshot.tree, files: snapshot.entries, bytes: snapshot.bytes, left_out }
}

/// What is left out though nobody said so.
fn missing(snapshot: &Snapshot) -> impl Iterator<Item = &CaptureNotice> {
    let is_missing = |notice: &&CaptureNotice| {
        matches!(notice.why, Why::Unreadable(_) | Why::TooLarge { .. } | Why::Secret)
    };
    snapshot.notices.iter().filter(is_missing)
}

/// What people are told of a snapshot that has not all; nothing of one that has.
pub(crate) fn partial(snapshot: &Snapshot) -> Option<String> {
    let all = missing(snapshot).count();
    let named = missing(snapshot).take(NAMED).map(|CaptureNotice { path, why }| {
        let why = match why {
            Why::TooLarge { size, allowed } => {
                format!("it has {size} bytes, and `snapshots.maxFileBytes` allows {allowed}")
            }
            Why::Unreadable(error) => format!("it cannot be read: {error}"),
            Why::Secret => "it holds a key of this run".to_owned(),
            why => why.to_string(),
        };
        format!("'{}': {why}", path.display())
    });
    let named = named.collect::<Vec<_>>().join("; ");
    let more = if all > NAMED { format!("; and {} more", all - NAMED) } else { String::new() };
    (all > 0).then(|| {
        format!(
            "not all of the workspace is in its snapshots, and what commands change of the rest is not recorded: \
             {named}{more}"
        )
    })
}

/// What people are told where there is no snapshot.
pub(crate) fn failed(why: &str) -> String {
    format!("the workspace cannot be captured, and what commands change is not recorded: {why}")
}

/// Why there is no snapshot, with the settings as the file calls them.
fn reason(error: &SnapshotError) -> String {
    match error {
        SnapshotError::TooLarge { limit, allowed, path } => {
            let (what, setting) = match limit {
                Limit::Entries => ("files and directories", "maxFiles"),
                Limit::Bytes => ("bytes", "maxBytes"),
            };
            format!(
                "at '{}' it has more than {allowed} {what}; raise `snapshots.{setting}` in agents/builtin.yaml, or leave \
                 more out by `snapshots.ignore`",
                path.display()
            )
        }
        SnapshotError::TooDeep { path, allowed } => format!(
            "the directory '{}' is more than {allowed} levels deep; leave it out by `snapshots.ignore` in \
             agents/builtin.yaml",
            path.display()
        ),
        error => error.to_string(),
    }
}

#[cfg(test)]
#[path = "snapshots_tests.rs"]
mod tests;
