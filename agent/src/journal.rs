//! The journal: an append-only JSONL file of one run, synced before anything in it has an effect.
//!
//! What was sent to the model, what came back, which tool started and how it ended: a line each, in order. After a
//! crash at any instant the file tells how far the run came; the record is made from the same entries. The journal
//! does not know what a store is.
//!
//! Sync policy: `append` writes, [`Journal::sync`] makes everything written so far durable (fdatasync). The loop syncs
//! once before each request, before each tool starts, and after the last entry.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use uwf_engine::Hash;

use crate::provider::message::{Message, TokenUsage, ToolDeclaration};

/// The version of the format; another version is not continued.
pub(crate) const VERSION: u32 = 1;

/// One line of the journal. Times are ms since the epoch.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "entry", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub(crate) enum Entry {
    /// The first line: which run this is, and under which settings it runs.
    Run {
        /// [`VERSION`].
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
        /// When it started.
        at: u64,
        /// What was set, without keys.
        settings: Value,
        /// The tools as declared to the model.
        tools: Vec<ToolDeclaration>,
    },
    /// Something said by our side that is no tool result.
    Said {
        /// The message.
        message: Message,
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
    /// A tool is about to run: from here on it may have had an effect.
    Started {
        /// The call.
        call_id: String,
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
    /// The last line: the reply, as printed.
    Replied {
        /// The AdapterOutput.
        reply: Value,
        /// When.
        at: u64,
    },
}

/// What is kept of a tool's work beside the text for the model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ToolFacts {
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
}

/// A file that a tool changed, with its contents: as text, or as a data URL where they are none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct FileChange {
    /// Relative to the workspace.
    pub path: String,
    /// The content before; `None` when there was no such file.
    pub before: Option<String>,
    /// The content after.
    pub after: String,
}

/// The open journal of a run.
#[derive(Debug)]
pub(crate) struct Journal {
    session: String,
    path: PathBuf,
    file: File,
    entries: Vec<Entry>,
}

impl Journal {
    /// Creates `<dir>/<session>.jsonl`, readable by its owner alone.
    ///
    /// # Errors
    /// The directory cannot be made or the file exists.
    pub(crate) fn create(dir: &Path, session: &str) -> io::Result<Journal> {
        use std::os::unix::fs::OpenOptionsExt;
        std::fs::create_dir_all(dir)?;
        let path = dir.join(format!("{session}.jsonl"));
        let file = File::options().append(true).create_new(true).mode(0o600).open(&path)?;
        File::open(dir)?.sync_all()?;
        Ok(Journal { session: session.to_owned(), path, file, entries: Vec::new() })
    }

    /// The session's id.
    pub(crate) fn session(&self) -> &str {
        &self.session
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// What was appended, in order; the raw replies are on disk only.
    pub(crate) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Writes one line. It is durable after the next [`Journal::sync`].
    ///
    /// # Errors
    /// The disk's.
    pub(crate) fn append(&mut self, mut entry: Entry) -> io::Result<()> {
        let mut line = serde_json::to_vec(&entry)?;
        line.push(b'\n');
        self.file.write_all(&line)?;
        if let Entry::Answered { raw, .. } = &mut entry {
            *raw = Value::Null;
        }
        self.entries.push(entry);
        Ok(())
    }

    /// Makes all lines durable.
    ///
    /// # Errors
    /// The disk's.
    pub(crate) fn sync(&mut self) -> io::Result<()> {
        self.file.sync_data()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::message::{Kind, Speaker};

    #[test]
    fn lines_read_back_as_they_were_said() {
        let dir = tempfile::tempdir().unwrap();
        let mut journal = Journal::create(dir.path(), "s1").unwrap();
        let message = Message::text(Speaker::User, Kind::Opening, "line\nbreak ☂");
        journal.append(Entry::Said { message: message.clone(), at: 7 }).unwrap();
        journal.append(Entry::Started { call_id: "a".into(), at: 8 }).unwrap();
        journal.sync().unwrap();
        let text = std::fs::read_to_string(journal.path()).unwrap();
        let entries: Vec<Entry> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert!(matches!(&entries[0], Entry::Said { message: read, at: 7 } if *read == message));
        assert!(matches!(&entries[1], Entry::Started { call_id, .. } if call_id == "a"));
        assert_eq!(entries.len(), journal.entries().len());
    }

    #[test]
    fn the_raw_reply_is_on_disk_and_not_in_memory() {
        let dir = tempfile::tempdir().unwrap();
        let mut journal = Journal::create(dir.path(), "s1").unwrap();
        let message = Message::text(Speaker::Assistant, Kind::Turn, "x");
        let raw = Value::from("as it came");
        let (usage, finish_reason) = (None, None);
        journal
            .append(Entry::Answered { message, at: 1, duration_ms: 2, usage, finish_reason, raw })
            .unwrap();
        assert!(std::fs::read_to_string(journal.path()).unwrap().contains("as it came"));
        assert!(matches!(&journal.entries()[0], Entry::Answered { raw: Value::Null, .. }));
    }

    #[test]
    fn a_second_run_never_writes_into_the_first_ones_file() {
        let dir = tempfile::tempdir().unwrap();
        let _first = Journal::create(dir.path(), "s1").unwrap();
        assert_eq!(Journal::create(dir.path(), "s1").unwrap_err().kind(), io::ErrorKind::AlreadyExists);
    }
}
