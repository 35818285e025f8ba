//! What a thread has begun at its head and not finished, and whether it can be gone on with as if nothing had happened.
//!
//! Apart from resuming, which goes on with whatever it finds and tells the model of what was cut off: whoever measures what a
//! workflow does must know that there was anything to tell. A visit is undisturbed as long as all that it did is in its journal
//! and in its workspace. Reads journals, writes nothing.

use std::collections::HashMap;
use std::fs::TryLockError;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use uwf_engine::ThreadId;
use uwf_engine::record::adapted;
use uwf_prompts::INTERRUPTED;
use uwf_store::{Hash, open_regular};

use super::follow::Listing;
use super::progress::{LiveUsage, Progress};
use crate::fetch;
use crate::journal::Entry;
use crate::role_run::journals_dir;

/// The tool that runs commands.
const COMMANDS: &str = "run_command";

/// The visits that a thread has begun at its head and that are no steps of it, as their journals tell.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OpenVisits {
    /// How many journals tell of one.
    pub journals: usize,
    /// Whether a process still writes one.
    pub is_held: bool,
    /// Why what comes next may come otherwise than if nothing had been interrupted, or had failed: in words, for people.
    pub disturbed: Option<String>,
    /// How long the visit that would be gone on with has worked, in seconds.
    pub seconds: f64,
    /// What it cost up to now, in USD, where that is known.
    pub cost_usd: Option<f64>,
    /// How many turns of the model it has.
    pub turns: u64,
    /// What these used.
    pub usage: LiveUsage,
}

/// The visits that `thread` has begun where it stands at `head`; `home` is `$UWF_HOME`. A line that cannot be read is passed over:
/// resuming judges that.
///
/// # Errors
/// A journal cannot be read.
pub fn open_visits(home: &Path, (thread, head): (&ThreadId, &Hash)) -> io::Result<OpenVisits> {
    let mut found = OpenVisits::default();
    for path in Listing::of(journals_dir(home)).at(thread, head) {
        let file = match open_regular(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            file => file?,
        };
        found.is_held |= matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock));
        let mut visit = Visit::default();
        let (mut reader, mut line) = (BufReader::with_capacity(1 << 16, file), Vec::new());
        while reader.read_until(b'\n', &mut line)? > 0 && line.ends_with(b"\n") {
            if let Ok(entry) = serde_json::from_slice(&line) {
                visit.apply(&entry);
            }
            line.clear();
        }
        found.add(visit);
    }
    Ok(found)
}

impl OpenVisits {
    fn add(&mut self, visit: Visit) {
        self.journals += 1;
        self.disturbed = self.disturbed.take().or_else(|| visit.disturbed());
        // What is over is on record.
        if visit.failed.is_none() {
            self.seconds +=
                (visit.worked + visit.progress.last_at.saturating_sub(visit.from)) as f64 / 1000.0;
            self.cost_usd = visit.progress.cost();
            self.turns = visit.progress.turns;
            self.usage = visit.progress.usage;
        }
    }
}

/// One visit, as far as its journal tells.
#[derive(Default)]
struct Visit {
    progress: Progress,
    /// The agent, where an adapter plays it.
    adapted: Option<String>,
    is_asked: bool,
    /// The calls that were asked for: their tools.
    tools: HashMap<String, String>,
    /// The calls that run.
    running: Vec<String>,
    /// The tool of a call that was cut off.
    cut_off: Option<String>,
    /// A tool that has changed something.
    changed: Option<String>,
    /// A tool that may have changed something that is neither in the journal nor in the workspace.
    elsewhere: Option<String>,
    /// How it ends is decided.
    is_decided: bool,
    /// Whether it failed, where it is over.
    failed: Option<bool>,
    /// Work of earlier processes, and where that of the last one began, in ms.
    worked: u64,
    from: u64,
}

/// What a tool may leave behind.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Leaves {
    Nothing,
    /// Files of the workspace.
    Files,
    /// Processes, files outside of the workspace, the state of a server.
    Anything,
}

impl Leaves {
    fn of(tool: &str) -> Leaves {
        match uwf_tools::specs().iter().find(|spec| spec.name == tool) {
            Some(spec) if spec.read_only => Leaves::Nothing,
            Some(spec) if spec.name == COMMANDS => Leaves::Anything,
            Some(_) => Leaves::Files,
            None if tool == fetch::NAME => Leaves::Nothing,
            None => Leaves::Anything,
        }
    }
}

impl Visit {
    fn apply(&mut self, entry: &Entry) {
        match entry {
            Entry::Run { settings, at, .. } => {
                self.adapted = adapted(settings).map(str::to_owned);
                self.from = *at;
            }
            Entry::Continued { at, .. } => {
                self.worked += self.progress.last_at.saturating_sub(self.from);
                self.from = *at;
            }
            Entry::Asked { .. } => self.is_asked = true,
            Entry::Answered { message, .. } => {
                let calls = message.tool_calls.iter();
                self.tools.extend(calls.map(|call| (call.id.clone(), call.name.clone())));
            }
            Entry::Started { call_id, .. } => self.starts(call_id),
            Entry::Finished { message, facts, .. } => {
                let call = message.tool_call_id.as_deref().unwrap_or_default();
                self.running.retain(|running| running != call);
                // The end of its time ends a call, too: that is the workflow's own.
                if facts.cancelled && message.content.ends_with(INTERRUPTED) {
                    self.cut_off = self.tools.get(call).cloned();
                }
            }
            Entry::Ended { .. } => self.is_decided = true,
            Entry::Replied { reply, .. } => self.failed = Some(reply["isError"] == true),
            _ => {}
        }
        self.progress.apply(entry);
    }

    fn starts(&mut self, call: &str) {
        self.running.push(call.to_owned());
        let Some(tool) = self.tools.get(call) else { return };
        let leaves = Leaves::of(tool);
        if leaves != Leaves::Nothing {
            self.changed = Some(tool.clone());
        }
        if leaves == Leaves::Anything {
            self.elsewhere = Some(tool.clone());
        }
    }

    /// Why the model, or another attempt, would find something else than if nothing had happened.
    fn disturbed(&self) -> Option<String> {
        let running = self.running.iter().find_map(|call| self.tools.get(call));
        if let Some(tool) = running.or(self.cut_off.as_ref()) {
            return Some(format!("a call of {tool} was cut off"));
        }
        let adapted = self.adapted.as_ref().filter(|_| self.is_asked);
        match (self.failed, self.is_decided) {
            (Some(false), _) | (None, true) => None,
            (Some(true), _) => {
                let what = self.changed.as_ref().or(adapted)?;
                Some(format!("an attempt failed that had changed something by {what}"))
            }
            (None, false) => match (adapted, &self.elsewhere) {
                (Some(agent), _) => Some(format!("a call of {agent} was cut off")),
                (None, Some(tool)) => Some(format!("what {tool} left outside of the workspace is gone")),
                (None, None) => None,
            },
        }
    }
}

#[cfg(test)]
#[path = "open_visits_tests.rs"]
mod tests;
