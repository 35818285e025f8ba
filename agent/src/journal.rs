//! The journal: an append-only JSONL file of one run, synced before anything in it has an effect.
//!
//! What was sent to the model, what came back, which tool started and how it ended: a line each, in order. After a
//! crash at any instant the file tells how far the run came: `resume` goes on from there, and the record is made from
//! the same entries. A journal is locked while its run lives, so that no run is continued twice. The journal does not
//! know what a store is.
//!
//! Sync policy: `append` writes, `Journal::sync` makes everything written so far durable (fdatasync). The loop syncs
//! once before each request, before each tool starts, and after the last entry. Where a worker keeps the journal for other
//! machines, durable is what that one has, too; what comes before no effect goes with what does.

mod entry;
mod find;
mod log;
mod read;
mod recording;

use std::fs::File;
use std::io::{self, Write};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value;
use uwf_engine::AdapterOutput;
use uwf_engine::home::make_private;
use uwf_engine::journals::sink::{JournalSink, KeepRequest};
use uwf_engine::journals::{JournalName, spool_dir};
use uwf_tools::sandbox::Enforced;

pub use self::entry::{CapturePoint, Concern, Entry, FileChange, Surroundings, ToolFacts};
pub(crate) use self::find::has_failed;
pub use self::find::{FindError, Journals, PassedOver, Prompt, Unfit, WantedRun};
pub(crate) use self::log::{entries_of, raw_replies};
pub use self::read::OutOfOrder;
pub use self::read::Unreadable;
pub(crate) use self::recording::{Difference, NotTaken, SharedRecording};
use crate::provider::Learnt;

/// The version of the format that is written.
pub(crate) const VERSION: u32 = 5;

/// The versions that are continued, read as they are: version 2 has no native parts and no quirks, version 3 tells
/// less: neither of requests, windows and warnings, nor of turns that took too long, and version 4 has neither snapshots
/// nor requests as they were sent, failed attempts and signals.
pub const READABLE: RangeInclusive<u32> = 2..=VERSION;

/// What the endpoint was found to refuse, or to be, by the last entry that tells.
pub(crate) fn learnt(entries: &[Entry]) -> Option<&Learnt> {
    entries.iter().rev().find_map(|entry| match entry {
        Entry::Learnt { learnt, .. } => Some(learnt),
        _ => None,
    })
}

/// A stretch of a run that one process made: what held for it, and from when to when.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stretch<'a> {
    /// What was set.
    pub settings: &'a Value,
    /// What commands ran under.
    pub sandbox: &'a Enforced,
    /// Its first entry.
    pub from: u64,
    /// Its last entry.
    pub until: u64,
}

impl Stretch<'_> {
    /// How long it was, in ms; 0 when the clock went backwards.
    pub(crate) fn worked(&self) -> u64 {
        self.until.saturating_sub(self.from)
    }
}

/// The stretches of a run, in order: one, and one more for each time it was continued.
pub(crate) fn stretches(entries: &[Entry]) -> Vec<Stretch<'_>> {
    let mut stretches: Vec<Stretch<'_>> = Vec::new();
    for entry in entries {
        match entry {
            Entry::Run { settings, sandbox, at, .. } | Entry::Continued { settings, sandbox, at, .. } => {
                stretches.push(Stretch { settings, sandbox, from: *at, until: *at });
            }
            entry => stretches.iter_mut().last().into_iter().for_each(|last| last.until = entry.at()),
        }
    }
    stretches
}

/// The open journal of a run; its file is locked as long as this lives.
#[derive(Debug)]
pub(crate) struct Journal {
    name: JournalName,
    path: PathBuf,
    sink: Sink,
    entries: Vec<Entry>,
    /// Who keeps it elsewhere, too.
    remote: Option<Arc<JournalSink>>,
    /// How many bytes it has.
    length: u64,
}

/// Where entries go.
#[derive(Debug)]
enum Sink {
    File(File),
    /// A run that is played again: nothing is written.
    Recording(SharedRecording),
}

impl Journal {
    /// Creates the file in `dir`, readable by its owner alone.
    ///
    /// # Errors
    /// The disk's, and when the file is there already.
    pub(crate) fn create(dir: &Path, name: JournalName) -> io::Result<Journal> {
        use std::os::unix::fs::OpenOptionsExt;
        make_private(dir)?;
        let path = dir.join(name.to_string());
        let file = File::options().append(true).create_new(true).mode(0o600).open(&path)?;
        // Until here it is empty, and an empty journal is nobody's to take.
        file.lock()?;
        File::open(dir)?.sync_all()?;
        Ok(Journal { name, path, sink: Sink::File(file), entries: Vec::new(), remote: None, length: 0 })
    }

    /// The journal of a run that is played again, of which these entries are played.
    pub(crate) fn replayed(name: JournalName, recording: SharedRecording, entries: Vec<Entry>) -> Journal {
        let path = PathBuf::from(name.to_string());
        Journal { name, path, sink: Sink::Recording(recording), entries, remote: None, length: 0 }
    }

    /// The same, which this worker keeps, too.
    pub(crate) fn kept_by(self, remote: Option<&Arc<JournalSink>>) -> Journal {
        Journal { remote: remote.cloned(), ..self }
    }

    /// Whether another machine may go on with the run.
    pub(crate) fn is_kept_elsewhere(&self) -> bool {
        self.remote.is_some()
    }

    /// The recording, of a run that is played again.
    pub(crate) fn recording(&self) -> Option<&SharedRecording> {
        match &self.sink {
            Sink::Recording(recording) => Some(recording),
            Sink::File(_) => None,
        }
    }

    /// The session's id.
    pub(crate) fn session(&self) -> &str {
        self.name.session.as_str()
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Where the full outputs of its commands are until they are recorded.
    pub(crate) fn spool_dir(&self) -> PathBuf {
        spool_dir(&self.path)
    }

    /// What was appended, in order; the raw replies are on disk only.
    pub(crate) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The reply, when the run is over.
    pub(crate) fn reply(&self) -> Option<AdapterOutput> {
        let Some(Entry::Replied { reply, .. }) = self.entries.last() else { return None };
        serde_json::from_value(reply.clone()).ok()
    }

    /// One more entry, of which a recording says that it came.
    pub(crate) fn push_recorded(&mut self, entry: Entry) {
        self.entries.push(entry);
    }

    /// Writes one line, and gives the entry as it is kept. It is durable after the next [`Journal::sync`]. Of a run that is
    /// played again it is the recorded entry.
    ///
    /// # Errors
    /// The disk's; [`NotTaken`] of a run that is played again.
    pub(crate) fn append(&mut self, mut entry: Entry) -> io::Result<&Entry> {
        match &mut self.sink {
            Sink::File(file) => {
                let mut line = serde_json::to_vec(&entry)?;
                line.push(b'\n');
                file.write_all(&line)?;
                self.length += line.len() as u64;
            }
            Sink::Recording(recording) => entry = recording.take(&entry).map_err(io::Error::other)?,
        }
        entry.forget_raw();
        self.entries.push(entry);
        Ok(self.entries.last().expect("it was just pushed"))
    }

    /// Makes all lines durable, so that what they say may be done.
    ///
    /// # Errors
    /// The disk's, and that of a worker that does not keep them: then nothing more may be done.
    pub(crate) fn sync(&mut self) -> io::Result<()> {
        let Some(remote) = &self.remote else { return self.sync_here() };
        remote.ask(&KeepRequest { name: self.name.clone(), length: self.length })?;
        let here = self.sync_here();
        remote.wait().and(here)
    }

    /// Makes all lines durable on this disk: what they say is done already.
    ///
    /// # Errors
    /// The disk's.
    pub(crate) fn sync_here(&self) -> io::Result<()> {
        match &self.sink {
            Sink::File(file) => file.sync_data(),
            Sink::Recording(_) => Ok(()),
        }
    }
}

#[cfg(test)]
#[path = "journal_tests.rs"]
pub(crate) mod tests;
