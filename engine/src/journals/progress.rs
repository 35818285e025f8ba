//! How far a journal came, told by as few of its lines as will do.
//!
//! Apart because it is all that is known here of what an agent writes: the first line says how many messages open the
//! run, and a last line `replied` that it is over. What cannot be read is taken for a run that has begun and is not
//! over.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;
use uwf_store::open_regular;

use crate::record::adapted;

/// What the first line of a journal says of its run.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JournalHeader {
    /// The role.
    pub role: String,
    /// The edge prompt.
    pub prompt: String,
    /// Whether it is engine and agent in one.
    pub stand_alone: bool,
    /// The directory it works in.
    pub workspace: String,
    /// When it began, in milliseconds since the epoch.
    pub at: u64,
    /// What was set.
    #[serde(default)]
    settings: Value,
}

impl JournalHeader {
    /// The agent that an adapter plays; none where it is the builtin one.
    pub fn adapted(&self) -> Option<&str> {
        adapted(&self.settings)
    }
}

/// How far a run came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct JournalProgress {
    /// Whether its opening is complete: before that, nothing was sent and nothing done.
    pub(super) has_begun: bool,
    /// Whether it failed, where it is over.
    pub(super) failed: Option<bool>,
}

/// What the first line of a journal says; nothing where that cannot be read.
pub fn header(journal: &Path) -> Option<JournalHeader> {
    let mut line = Vec::new();
    BufReader::new(open_regular(journal).ok()?).read_until(b'\n', &mut line).ok()?;
    serde_json::from_slice(&line).ok()
}

/// How far the journal in this file came.
pub(super) fn of(file: File) -> io::Result<JournalProgress> {
    let mut reader = BufReader::with_capacity(1 << 16, file);
    let (mut count, mut opening) = (0_u64, None);
    let (mut line, mut last) = (Vec::new(), Vec::new());
    loop {
        line.clear();
        if reader.read_until(b'\n', &mut line)? == 0 || !line.ends_with(b"\n") {
            break;
        }
        count += 1;
        if count == 1 {
            let first: Option<Value> = serde_json::from_slice(&line).ok();
            opening = first.and_then(|first| first.get("opening")?.as_u64());
        }
        std::mem::swap(&mut line, &mut last);
    }
    let has_begun = count > opening.unwrap_or_default();
    Ok(JournalProgress { has_begun, failed: failed(&last) })
}

/// Whether something was sent to the model, and nothing came back.
pub(super) fn is_unanswered(file: File) -> io::Result<bool> {
    let (mut reader, mut line, mut sent) = (BufReader::with_capacity(1 << 16, file), Vec::new(), false);
    while reader.read_until(b'\n', &mut line)? > 0 {
        sent |= line.starts_with(b"{\"entry\":\"sent\"");
        if line.starts_with(b"{\"entry\":\"answered\"") {
            return Ok(false);
        }
        line.clear();
    }
    Ok(sent)
}

fn failed(last: &[u8]) -> Option<bool> {
    // Lines of other kinds may be long.
    let last = Some(last).filter(|last| last.starts_with(b"{\"entry\":\"replied\""))?;
    let last: Value = serde_json::from_slice(last).ok()?;
    Some(last["reply"]["isError"] == true)
}
