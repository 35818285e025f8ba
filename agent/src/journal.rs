//! The journal: an append-only JSONL file of one run, synced before anything in it has an effect.
//!
//! What was sent to the model, what came back, which tool started and how it ended: a line each, in order. After a
//! crash at any instant the file tells how far the run came: `resume` goes on from there, and the record is made from
//! the same entries. A journal is locked while its run lives, so that no run is continued twice. The journal does not
//! know what a store is.
//!
//! Sync policy: `append` writes, `Journal::sync` makes everything written so far durable (fdatasync). The loop syncs
//! once before each request, before each tool starts, and after the last entry.

mod find;
mod log;
mod read;
mod recording;

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use uwf_engine::AdapterOutput;
use uwf_engine::home::make_private;
use uwf_engine::journals::{JournalName, spool_dir};
use uwf_engine::record::RecordedSnapshot;
use uwf_store::Hash;
use uwf_tools::ReadState;
use uwf_tools::sandbox::Enforced;

pub(crate) use self::find::has_failed;
pub use self::find::{FindError, Journals, PassedOver, Prompt, Unfit, WantedRun};
pub(crate) use self::log::{entries_of, raw_replies};
pub use self::read::OutOfOrder;
pub use self::read::Unreadable;
pub(crate) use self::recording::{Difference, NotTaken, SharedRecording};
use crate::budget::Use;
use crate::context_window::Elided;
use crate::failure::Failure;
use crate::provider::attempt_error::AttemptError;
use crate::provider::message::{Message, TokenUsage, ToolDeclaration};
use crate::provider::{Learnt, SentRequest};

/// The version of the format that is written.
pub(crate) const VERSION: u32 = 5;

/// The versions that are continued, read as they are: version 2 has no native parts and no quirks, version 3 tells
/// less: neither of requests, windows and warnings, nor of turns that took too long, and version 4 has neither snapshots
/// nor requests as they were sent, failed attempts and signals.
pub(crate) const READABLE: RangeInclusive<u32> = 2..=VERSION;

/// One line of the journal. Times are ms since the epoch.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "entry", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Entry {
    /// The first line: which run this is, and under which settings it runs.
    Run {
        /// `VERSION`.
        version: u32,
        /// The session's id; also the file's name.
        session: String,
        /// The thread.
        thread: String,
        /// The role.
        role: String,
        /// The head the run started from.
        head: Hash,
        /// The edge prompt.
        prompt: String,
        /// Whether it is engine and agent in one, so that it moves the head itself.
        stand_alone: bool,
        /// The directory it works in.
        workspace: String,
        /// When it started.
        at: u64,
        /// What was set, without keys.
        settings: Value,
        /// What its commands run under.
        sandbox: Enforced,
        /// The tools as declared to the model.
        tools: Vec<ToolDeclaration>,
        /// How many messages open the conversation: before they are all here, nothing has happened.
        opening: usize,
        /// What it runs in.
        #[serde(default)]
        surroundings: Surroundings,
    },
    /// The run was interrupted, and another process goes on with it.
    Continued {
        /// When.
        at: u64,
        /// What is set from here on.
        settings: Value,
        /// What commands run under from here on.
        sandbox: Enforced,
        /// What it runs in from here on.
        #[serde(default)]
        surroundings: Surroundings,
    },
    /// Something said by our side that is no tool result.
    Said {
        /// The message.
        message: Message,
        /// The limit that it warns of.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        near: Option<Use>,
        /// When.
        at: u64,
    },
    /// The model is asked for its next turn.
    Asked {
        /// When.
        at: u64,
    },
    /// A request went out: one for each attempt.
    Sent {
        /// Its body, by what is new in it.
        request: SentRequest,
        /// When.
        at: u64,
    },
    /// The attempt failed; what comes of that follows.
    AttemptFailed {
        /// How.
        failed: AttemptError,
        /// When.
        at: u64,
    },
    /// Somebody wants the run to stop.
    Signalled {
        /// The signal's name.
        signal: String,
        /// When.
        at: u64,
    },
    /// The endpoint refused something, and is asked otherwise from here on.
    RequestChanged {
        /// What changes, in words.
        change: String,
        /// The refusal, in words.
        reason: String,
        /// When.
        at: u64,
    },
    /// A turn of the model.
    Answered {
        /// The message, as it goes on in the conversation.
        message: Message,
        /// When it was complete.
        at: u64,
        /// How long it took.
        duration_ms: u64,
        /// What it cost, where told.
        usage: Option<TokenUsage>,
        /// Why the endpoint stopped, in its own word.
        finish_reason: Option<String>,
        /// The reply as it came; on disk only, not kept in memory.
        raw: Value,
    },
    /// The time for a turn was over before the model had spoken: nobody waits for it any more.
    Abandoned {
        /// When.
        at: u64,
    },
    /// The model's window is found to have another size than was thought.
    Window {
        /// In tokens.
        size: u64,
        /// Whether a request was refused as too long; otherwise the server says so.
        refused: bool,
        /// When.
        at: u64,
    },
    /// What the endpoint was found to refuse, or to be: all that is known by now.
    Learnt {
        /// What is known.
        learnt: Learnt,
        /// When.
        at: u64,
    },
    /// A tool is about to run: from here on it may have had an effect.
    Started {
        /// The call.
        call_id: String,
        /// Its arguments as they may be shown, where they hold a secret.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        shown: Option<String>,
        /// When.
        at: u64,
    },
    /// A tool has run.
    Finished {
        /// The answer to the model.
        message: Message,
        /// When it was complete.
        at: u64,
        /// How long it took.
        duration_ms: u64,
        /// What the tool did, for the record.
        facts: ToolFacts,
    },
    /// The workspace was captured.
    Snapshot {
        /// What it was like.
        snapshot: RecordedSnapshot,
        /// Why it was captured then.
        point: CapturePoint,
        /// The call that had ended just before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call_id: Option<String>,
        /// When.
        at: u64,
    },
    /// Old results are left out of the requests from here on.
    #[serde(rename = "left-out")]
    Elided {
        /// What stands in the place of each.
        marks: Vec<Elided>,
        /// When.
        at: u64,
    },
    /// What was said up to here is replaced by a summary in the requests from here on.
    #[serde(rename = "summed-up")]
    Summarised {
        /// The summary, as it is sent; empty where none was written: all stays, and the question for it goes.
        message: Message,
        /// How many messages before the question for the summary stay.
        kept: usize,
        /// When.
        at: u64,
    },
    /// Something is amiss that people should know; the run goes on.
    Warned {
        /// What it is about.
        about: Concern,
        /// For people.
        message: String,
        /// When.
        at: u64,
    },
    /// How the run ended is decided: whatever is recorded from here on is the same, however often it is tried.
    Ended {
        /// Why there is no answer; none when the last turn is one.
        failure: Option<Failure>,
        /// When.
        at: u64,
    },
    /// The last line: the reply, as printed.
    Replied {
        /// The AdapterOutput.
        reply: Value,
        /// When.
        at: u64,
    },
}

/// The process that makes a stretch of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Surroundings {
    /// The version of this program.
    pub program: String,
    /// The kernel and its release.
    pub kernel: String,
    /// The names of the variables that commands start from; their values are nobody's business.
    pub environment: Vec<String>,
    /// The directory that the model is told it works in, where that is another one than it does; empty where it is told none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub told_workspace: Option<String>,
}

impl Surroundings {
    /// Those of this process, whose commands start from these variables.
    pub(crate) fn of(env: &[(OsString, OsString)], placeless: bool) -> Surroundings {
        let system = rustix::system::uname();
        let kernel = format!("{} {}", system.sysname().to_string_lossy(), system.release().to_string_lossy());
        let mut environment: Vec<String> =
            env.iter().map(|(name, _)| name.to_string_lossy().into_owned()).collect();
        environment.sort();
        Surroundings {
            program: env!("CARGO_PKG_VERSION").to_owned(),
            kernel,
            environment,
            told_workspace: placeless.then(String::new),
        }
    }
}

/// Why a workspace is captured at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CapturePoint {
    /// Nothing has happened yet.
    Start,
    /// The run goes on after an interruption.
    Resume,
    /// A call has ended of which nobody knows what it changed.
    Call,
    /// Nothing more happens.
    End,
}

impl CapturePoint {
    /// Where a run of these entries is that is about to ask the model.
    pub(crate) fn of(entries: &[Entry]) -> CapturePoint {
        let is_under_way = |entry: &Entry| matches!(entry, Entry::Started { .. } | Entry::Snapshot { .. });
        if entries.iter().any(is_under_way) { CapturePoint::Resume } else { CapturePoint::Start }
    }
}

/// What people are warned of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Concern {
    /// The model's window is small.
    SmallWindow,
    /// The endpoint seems to cut what it is sent.
    CutPrompt,
    /// Git may run what commands have left.
    Git,
    /// The workspace cannot be captured: until the run is continued, it is not tried again.
    NoSnapshot,
    /// Not all of the workspace is in its snapshots.
    PartialSnapshot,
}

/// What is kept of a tool's work beside the text for the model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolFacts {
    /// One line for people: what was done, on what.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// Whether the call failed.
    pub is_error: bool,
    /// The command's exit code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The signal that ended the command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// Whether its time limit ended it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub timed_out: bool,
    /// Whether the run's own end ended it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cancelled: bool,
    /// How much it printed in all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_bytes: Option<u64>,
    /// The file that holds the full output, when more was printed than shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spool: Option<PathBuf>,
    /// What a command did to git that was put back, in sentences.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub undone: Vec<String>,
    /// What changed in the workspace, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<FileChange>,
    /// What the model knows of a file since then.
    #[serde(default, rename = "seen", skip_serializing_if = "Option::is_none")]
    pub read_state: Option<ReadState>,
}

impl ToolFacts {
    /// Whether the call was not done, or its command ended otherwise than with exit code 0.
    pub fn failed(&self) -> bool {
        self.is_error || self.signal.is_some() || self.exit_code.is_some_and(|code| code != 0)
    }
}

/// A file that a tool changed, with its contents: as text, or as a data URL where they are none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FileChange {
    /// Relative to the workspace.
    pub path: String,
    /// The content before; `None` when there was no such file.
    pub before: Option<String>,
    /// The content after.
    pub after: String,
}

impl Entry {
    /// The raw reply stays on disk.
    fn forget_raw(&mut self) {
        if let Entry::Answered { raw, .. } = self {
            *raw = Value::Null;
        }
    }

    /// When it was written.
    pub(crate) fn at(&self) -> u64 {
        match self {
            Entry::Run { at, .. }
            | Entry::Continued { at, .. }
            | Entry::Said { at, .. }
            | Entry::Answered { at, .. }
            | Entry::Abandoned { at }
            | Entry::Asked { at }
            | Entry::Sent { at, .. }
            | Entry::AttemptFailed { at, .. }
            | Entry::Signalled { at, .. }
            | Entry::RequestChanged { at, .. }
            | Entry::Warned { at, .. }
            | Entry::Window { at, .. }
            | Entry::Learnt { at, .. }
            | Entry::Started { at, .. }
            | Entry::Finished { at, .. }
            | Entry::Snapshot { at, .. }
            | Entry::Elided { at, .. }
            | Entry::Summarised { at, .. }
            | Entry::Ended { at, .. }
            | Entry::Replied { at, .. } => *at,
        }
    }
}

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
        Ok(Journal { name, path, sink: Sink::File(file), entries: Vec::new() })
    }

    /// The journal of a run that is played again, of which these entries are played.
    pub(crate) fn replayed(name: JournalName, recording: SharedRecording, entries: Vec<Entry>) -> Journal {
        let path = PathBuf::from(name.to_string());
        Journal { name, path, sink: Sink::Recording(recording), entries }
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
            }
            Sink::Recording(recording) => entry = recording.take(&entry).map_err(io::Error::other)?,
        }
        entry.forget_raw();
        self.entries.push(entry);
        Ok(self.entries.last().expect("it was just pushed"))
    }

    /// Makes all lines durable.
    ///
    /// # Errors
    /// The disk's.
    pub(crate) fn sync(&mut self) -> io::Result<()> {
        match &self.sink {
            Sink::File(file) => file.sync_data(),
            Sink::Recording(_) => Ok(()),
        }
    }
}

#[cfg(test)]
#[path = "journal_tests.rs"]
pub(crate) mod tests;
