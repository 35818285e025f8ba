//! What a journal's file is called: `<thread>.<head>.<session>.jsonl`.
//!
//! Apart because the name is the index: from a listing of the directory alone a start knows which journals are of its
//! thread and head, and a collection which belong to a head that has moved on. Nothing here opens a file.

use std::fmt;
use std::path::{Path, PathBuf};

use uwf_store::Hash;

use crate::thread::ThreadId;

const SUFFIX: &str = ".jsonl";

/// The name of one journal. Later sessions sort after earlier ones of the same thread and head.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct JournalName {
    /// The thread.
    pub thread: ThreadId,
    /// The head the run started from.
    pub head: Hash,
    /// The session.
    pub session: ThreadId,
}

impl JournalName {
    /// Where the full outputs of commands are, for the journal of this name in `dir`.
    pub fn spool_dir(&self, dir: &Path) -> PathBuf {
        spool_dir(&dir.join(self.to_string()))
    }

    /// A file's name; none when it is no journal's.
    pub fn parse(file: &str) -> Option<JournalName> {
        let mut parts = file.strip_suffix(SUFFIX)?.split('.');
        let name = JournalName {
            thread: parts.next()?.parse().ok()?,
            head: parts.next()?.parse().ok()?,
            session: parts.next()?.parse().ok()?,
        };
        // Lower case is read elsewhere; here a name is what we wrote, or none.
        (parts.next().is_none() && name.to_string() == file).then_some(name)
    }
}

impl fmt::Display for JournalName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}{SUFFIX}", self.thread, self.head, self.session)
    }
}

/// The directory beside a journal for what does not fit into its lines.
pub fn spool_dir(journal: &Path) -> PathBuf {
    journal.with_extension("")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_reads_back_and_nothing_else_is_one() {
        let (thread, session) = (ThreadId::new(1), ThreadId::new(2));
        let name = JournalName { thread, head: "0123456789ABC".parse().unwrap(), session };
        let text = name.to_string();
        assert_eq!(JournalName::parse(&text), Some(name));
        assert_eq!(spool_dir(Path::new(&text)), Path::new(text.strip_suffix(".jsonl").unwrap()));
        let older = format!("{session}.jsonl");
        for other in [&text[1..], &text.to_lowercase(), &format!("x.{text}"), &older, "notes.txt", ""] {
            assert_eq!(JournalName::parse(other), None, "{other}");
        }
    }
}
