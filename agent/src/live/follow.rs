//! Journals that others write, read as they grow: which of a directory is whose, and each from where it was left off.
//!
//! Apart so that looking again at many runs is cheap: the directory is listed when it has changed, and of a file only what
//! is new is read. A line without its end is left for the next time.

use std::collections::HashMap;
use std::fs;
use std::io::{self, BufRead, BufReader, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use uwf_engine::ThreadId;
use uwf_engine::journals::JournalName;
use uwf_store::{Hash, open_regular};

use super::progress::Progress;
use crate::journal::Entry;

/// How the longest lines begin, of which nothing matters here but that they are there.
const SENT: &[u8] = b"{\"entry\":\"sent\"";

/// How long after a change of a directory another one may bear the same time, in ms.
const COARSE: u64 = 100;

/// The journals of a directory, by thread.
#[derive(Debug)]
pub(super) struct Listing {
    dir: PathBuf,
    /// When the directory changed last, when that was looked at long enough afterwards.
    changed: Option<u64>,
    names: HashMap<ThreadId, Vec<JournalName>>,
}

impl Listing {
    pub(super) fn of(dir: PathBuf) -> Listing {
        Listing { dir, changed: None, names: HashMap::new() }
    }

    /// The journal of a thread that was written last, of those that are wanted: by name, and time in ms since the epoch.
    pub(super) fn newest(
        &mut self,
        thread: &ThreadId,
        now: u64,
        is_wanted: impl Fn(&JournalName, u64) -> bool,
    ) -> Option<PathBuf> {
        self.refresh(now);
        let names = self.names.get(thread).into_iter().flatten();
        let written = names.filter_map(|name| {
            let path = self.dir.join(name.to_string());
            let written = millis(&fs::metadata(&path).ok()?)?;
            is_wanted(name, written).then_some((written, name, path))
        });
        written.max().map(|(_, _, path)| path)
    }

    /// The journals of the visits that a thread has begun at this head, the oldest first.
    pub(super) fn at(mut self, thread: &ThreadId, head: &Hash) -> Vec<PathBuf> {
        self.refresh(0);
        let mut names = self.names.remove(thread).unwrap_or_default();
        names.retain(|name| name.head == *head);
        names.sort_unstable();
        names.into_iter().map(|name| self.dir.join(name.to_string())).collect()
    }

    fn refresh(&mut self, now: u64) {
        let changed = fs::metadata(&self.dir).ok().and_then(|dir| millis(&dir));
        if changed.is_some() && changed == self.changed {
            return;
        }
        self.changed = changed.filter(|changed| changed + COARSE < now);
        self.names.clear();
        for entry in fs::read_dir(&self.dir).into_iter().flatten().flatten() {
            if let Some(name) = entry.file_name().to_str().and_then(JournalName::parse) {
                self.names.entry(name.thread).or_default().push(name);
            }
        }
    }
}

fn millis(file: &fs::Metadata) -> Option<u64> {
    Some(file.modified().ok()?.duration_since(UNIX_EPOCH).ok()?.as_millis() as u64)
}

/// A journal, as far as it is read.
#[derive(Debug)]
pub(super) struct Followed {
    path: PathBuf,
    /// Up to here every line is read.
    offset: u64,
    pub(super) progress: Progress,
}

impl Followed {
    pub(super) fn new(path: PathBuf) -> Followed {
        Followed { path, offset: 0, progress: Progress::default() }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// Reads what is new.
    ///
    /// # Errors
    /// The file is gone, or cannot be read.
    pub(super) fn read(&mut self) -> io::Result<()> {
        let length = fs::metadata(&self.path)?.len();
        if length == self.offset {
            return Ok(());
        }
        if length < self.offset {
            // What was read is not there any more: this is another journal.
            *self = Followed::new(std::mem::take(&mut self.path));
        }
        let mut file = open_regular(&self.path)?;
        file.seek(SeekFrom::Start(self.offset))?;
        let mut reader = BufReader::with_capacity(1 << 16, file);
        let mut line = Vec::new();
        loop {
            line.clear();
            let count = reader.read_until(b'\n', &mut line)?;
            if !line.ends_with(b"\n") {
                return Ok(());
            }
            self.offset += count as u64;
            if line.starts_with(SENT) {
                self.progress.sent();
            } else if let Ok(entry) = serde_json::from_slice::<Entry>(&line) {
                self.progress.apply(&entry);
            }
        }
    }
}
