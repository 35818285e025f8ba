//! A recording: the entries of a run that is played again. Where a live journal takes the next entry, a recording looks whether
//! it is the one that was recorded.
//!
//! Apart from the file. The recording is shared with whoever stands in for the world: the provider, which gives the recorded
//! replies, and the tools.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use thiserror::Error;

use super::Entry;
use crate::failure::{FailedAt, Failure};
use crate::provider::message::{Completion, MessageKind, ToolCall};
use crate::provider::recorded::{RecordedOutcome, RecordedReplies};
use crate::provider::retry::AfterFailure;

/// What differs from one time to the next, and says nothing of the run.
const VOLATILE: [&str; 3] = ["at", "durationMs", "raw"];

/// A recorded run, as far as it is played.
#[derive(Debug, Default)]
pub(crate) struct Recording {
    entries: Vec<Entry>,
    /// The next one.
    at: usize,
    /// Where the present process's part of the run ends.
    until: usize,
    /// Whether tools are run once more; else their recorded results are taken over.
    runs_tools: bool,
    /// The body that was sent last, by whoever plays it.
    body: String,
    difference: Option<Difference>,
}

/// The first thing that is not as it was.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Difference {
    /// Which entry of the log.
    pub index: usize,
    /// How far the run was: the turns of the model before it.
    pub turns: usize,
    /// What is on record; none where the recorded run was over.
    pub recorded: Option<Value>,
    /// What came.
    pub found: Value,
    /// The body of the request that was sent last.
    pub body: String,
}

/// Why a recording takes no entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub(crate) enum NotTaken {
    /// It is another one than was recorded.
    #[error("the run is not as it was recorded")]
    Different,
    /// The process that was recorded did not come that far.
    #[error("the recorded process ended here")]
    Over,
}

/// A recording that several hold.
#[derive(Clone, Debug)]
pub(crate) struct SharedRecording(Arc<Mutex<Recording>>);

impl SharedRecording {
    /// A recording of these entries.
    pub(crate) fn new(entries: Vec<Entry>, runs_tools: bool) -> SharedRecording {
        let mut recording = Recording { entries, runs_tools, ..Recording::default() };
        recording.end_stretch();
        SharedRecording(Arc::new(Mutex::new(recording)))
    }

    fn lock(&self) -> MutexGuard<'_, Recording> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether tools are run once more.
    pub(crate) fn runs_tools(&self) -> bool {
        self.lock().runs_tools
    }

    /// Keeps that something else came than what is on record.
    pub(crate) fn differs(&self, recorded: Value, found: Value) {
        self.lock().differs(Some(recorded), found);
    }

    /// The recorded entry, if it is this one.
    ///
    /// # Errors
    /// [`NotTaken`]; a difference is kept, and is the first.
    pub(crate) fn take(&self, entry: &Entry) -> Result<Entry, NotTaken> {
        self.lock().take(entry)
    }

    /// The next entry, if it is one of these.
    pub(crate) fn take_if(&self, is_one: impl FnOnce(&Entry) -> bool) -> Option<Entry> {
        let mut recording = self.lock();
        let entry = recording.next().filter(|entry| is_one(entry)).cloned()?;
        recording.at += 1;
        Some(entry)
    }

    /// The failure of a run that was refused before its first request.
    pub(crate) fn refused(&self) -> Option<Failure> {
        match self.lock().next() {
            Some(Entry::Ended { failure, .. }) => {
                failure.clone().filter(|failure| failure.phase == FailedAt::Sandbox)
            }
            _ => None,
        }
    }

    /// How many of these calls started one after the other.
    pub(crate) fn started(&self, calls: &[ToolCall]) -> usize {
        let recording = self.lock();
        let rest = recording.rest().iter();
        let is_of = |(entry, call): &(&Entry, &ToolCall)| match entry {
            Entry::Started { call_id, .. } => *call_id == call.id,
            _ => false,
        };
        rest.zip(calls).take_while(is_of).count()
    }

    /// Whether nobody waited for the reply of the request that is next.
    pub(crate) fn is_abandoned(&self) -> bool {
        is_abandoned(self.lock().rest())
    }

    /// How long after the last entry the next one came.
    pub(crate) fn until_next(&self) -> Duration {
        let recording = self.lock();
        let last = recording.at.checked_sub(1).map_or(0, |last| recording.entries[last].at());
        let next = recording.next().map_or(last, Entry::at);
        Duration::from_millis(next.saturating_sub(last))
    }

    /// The entries of the process that goes on: passes over what the recorded one did when it was stopped. Gives all entries
    /// before those.
    pub(crate) fn begin_next_stretch(&self) -> Option<Vec<Entry>> {
        let mut recording = self.lock();
        recording.at = recording.until;
        if recording.at == recording.entries.len() {
            return None;
        }
        recording.end_stretch();
        Some(recording.entries[..recording.at].to_vec())
    }

    /// The first difference.
    pub(crate) fn difference(&self) -> Option<Difference> {
        self.lock().difference.clone()
    }

    /// What is on record where the run has ended, if there is anything.
    pub(crate) fn left(&self) -> Option<Difference> {
        let mut recording = self.lock();
        let left = recording.next().map(essence)?;
        recording.differs(Some(left), Value::Null);
        recording.difference.clone()
    }

    /// How many requests were sent, and how many turns the model had, as far as it was played.
    pub(crate) fn played(&self) -> (usize, usize) {
        let recording = self.lock();
        let played = &recording.entries[..recording.at];
        let sent = played.iter().filter(|entry| matches!(entry, Entry::Sent { .. })).count();
        (sent, turns(played))
    }
}

impl RecordedReplies for SharedRecording {
    fn sends(&self, body: String) {
        self.lock().body = body;
    }

    fn outcome(&self) -> RecordedOutcome {
        self.lock().outcome()
    }

    fn told_window(&self) -> Option<u64> {
        match self.lock().next() {
            Some(Entry::Window { size, refused: false, .. }) => Some(*size),
            _ => None,
        }
    }
}

impl Recording {
    /// What of the present process's part is not yet played.
    fn rest(&self) -> &[Entry] {
        &self.entries[self.at..self.until]
    }

    fn next(&self) -> Option<&Entry> {
        self.rest().first()
    }

    fn end_stretch(&mut self) {
        let is_next = |entry: &Entry| matches!(entry, Entry::Continued { .. });
        let after = self.entries.iter().skip(self.at + 1).position(is_next);
        self.until = after.map_or(self.entries.len(), |after| self.at + 1 + after);
    }

    fn take(&mut self, entry: &Entry) -> Result<Entry, NotTaken> {
        let is_cut_off = self.until < self.entries.len();
        let recorded = match self.next() {
            // What followed was no longer the run's own doing.
            Some(Entry::Signalled { .. }) => return Err(NotTaken::Over),
            None if is_cut_off => return Err(NotTaken::Over),
            recorded => recorded.cloned(),
        };
        let is_same = recorded.as_ref().is_some_and(|recorded| essence(recorded) == essence(entry));
        match recorded {
            Some(recorded) if is_same => {
                self.at += 1;
                Ok(recorded)
            }
            recorded => {
                self.differs(recorded.as_ref().map(essence), essence(entry));
                Err(NotTaken::Different)
            }
        }
    }

    fn differs(&mut self, recorded: Option<Value>, found: Value) {
        let turns = turns(&self.entries[..self.at]);
        let difference = Difference { index: self.at, turns, recorded, found, body: self.body.clone() };
        self.difference.get_or_insert(difference);
    }

    fn outcome(&self) -> RecordedOutcome {
        let rest = self.rest();
        // What was learnt stands between a request and the turn that it brought.
        let mut told =
            rest.iter().filter(|entry| !matches!(entry, Entry::Learnt { .. } | Entry::Warned { .. }));
        match told.next() {
            Some(entry @ Entry::Answered { .. }) => RecordedOutcome::Answered(Box::new(completion(entry))),
            Some(Entry::AttemptFailed { failed, .. }) => {
                let after = match told.next() {
                    Some(Entry::Sent { .. }) => AfterFailure::Repeated,
                    _ if is_abandoned(rest) => AfterFailure::Abandoned,
                    _ => AfterFailure::GaveUp,
                };
                RecordedOutcome::Failed(failed.clone(), after)
            }
            _ if is_abandoned(rest) => RecordedOutcome::Abandoned,
            _ => RecordedOutcome::None(self.ending()),
        }
    }

    /// Why the run failed.
    fn ending(&self) -> String {
        let ended = self.entries.iter().rev().find_map(|entry| match entry {
            Entry::Ended { failure: Some(failure), .. } => Some(failure.error.clone()),
            _ => None,
        });
        ended.unwrap_or_else(|| "the recorded process ended here".to_owned())
    }
}

/// Whether nobody waited for the reply to the request of which the rest is on record. A turn that took too long is told as that;
/// a summary or an extraction is known by what was made without it.
fn is_abandoned(rest: &[Entry]) -> bool {
    let is_beside = |entry: &Entry| match entry {
        Entry::Sent { .. } | Entry::AttemptFailed { .. } | Entry::RequestChanged { .. } => true,
        Entry::Learnt { .. } | Entry::Warned { .. } | Entry::Snapshot { .. } => true,
        Entry::Said { message, .. } => message.kind == MessageKind::Closing,
        _ => false,
    };
    match rest.iter().find(|entry| !is_beside(entry)) {
        Some(Entry::Abandoned { .. } | Entry::Summarised { .. } | Entry::Said { .. }) => true,
        Some(Entry::Ended { failure: Some(failure), .. }) => failure.phase == FailedAt::Answer,
        _ => false,
    }
}

fn completion(entry: &Entry) -> Completion {
    let Entry::Answered { message, usage, finish_reason, .. } = entry.clone() else {
        return Completion::default();
    };
    Completion {
        content: message.content,
        reasoning: message.reasoning,
        tool_calls: message.tool_calls,
        finish_reason,
        usage,
        native: message.native,
        raw: Value::Null,
    }
}

fn turns(entries: &[Entry]) -> usize {
    entries.iter().filter(|entry| matches!(entry, Entry::Answered { .. })).count()
}

/// What of an entry must be the same whenever it is played. A run's first line says under which settings it ran, which are
/// those that it is played under; of a tool's work counts what the model was told.
fn essence(entry: &Entry) -> Value {
    let mut value = json!(entry);
    if let Value::Object(fields) = &mut value {
        VOLATILE.iter().for_each(|name| drop(fields.remove(*name)));
        match entry {
            Entry::Run { .. } => {
                fields.retain(|name, _| matches!(&**name, "entry" | "tools" | "opening" | "prompt"))
            }
            Entry::Continued { .. } => fields.retain(|name, _| name == "entry"),
            Entry::Started { .. } => drop(fields.remove("shown")),
            Entry::Finished { .. } => drop(fields.remove("facts")),
            // The endpoint's words are those on record, but not what is said of keys and waits.
            Entry::Ended { failure: Some(failure), .. } if failure.phase == FailedAt::Provider => {
                fields.insert("failure".to_owned(), json!({"phase": failure.phase}));
            }
            _ => {}
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::message::{Message, Speaker};

    /// What is on record after a request was sent, of entries of these kinds.
    fn rest(kinds: &str) -> Vec<Entry> {
        let entry = |kind: &str| {
            let said = |kind| Message::text(Speaker::User, kind, "");
            let (request, message) = (json!({"digest": "", "bytes": 0}), said(MessageKind::Turn));
            let learnt = json!({"host": "h", "model": "m", "lessons": []});
            let mut line = match kind {
                "sent" => json!({"request": request}),
                "attempt-failed" => json!({"failed": {"error": "connect", "reason": "no"}}),
                "request-changed" => json!({"change": "", "reason": ""}),
                "learnt" => json!({ "learnt": learnt }),
                "answered" => json!({"message": message, "durationMs": 0, "raw": null}),
                "correction" => json!({"entry": "said", "message": said(MessageKind::Correction)}),
                "closing" => json!({"entry": "said", "message": said(MessageKind::Closing)}),
                "summed-up" => json!({"message": message, "kept": 0}),
                "warned" => json!({"about": "git", "message": ""}),
                "no-answer" => json!({"entry": "ended", "failure": {"phase": "answer", "error": ""}}),
                "no-reply" => json!({"entry": "ended", "failure": {"phase": "provider", "error": ""}}),
                "signalled" => json!({"signal": "SIGINT"}),
                "window" => json!({"size": 1, "refused": true}),
                "left-out" => json!({"marks": []}),
                _ => json!({}),
            };
            line["at"] = json!(0);
            line.as_object_mut().unwrap().entry("entry").or_insert(json!(kind));
            serde_json::from_value(line).unwrap()
        };
        kinds.split_whitespace().map(entry).collect()
    }

    #[test]
    fn a_request_is_abandoned_whatever_is_told_beside_it() {
        for (kinds, outcome) in [
            ("answered", "answered"),
            ("learnt warned answered", "answered"),
            ("abandoned", "abandoned"),
            ("learnt abandoned", "abandoned"),
            ("summed-up", "abandoned"),
            ("correction", "abandoned"),
            ("warned closing no-answer", "abandoned"),
            ("attempt-failed sent", "Repeated"),
            ("attempt-failed abandoned", "Abandoned"),
            ("attempt-failed learnt abandoned", "Abandoned"),
            ("attempt-failed closing no-reply", "GaveUp"),
            ("attempt-failed signalled", "GaveUp"),
            ("attempt-failed window left-out asked", "GaveUp"),
            ("no-reply", "none"),
            ("", "none"),
            ("signalled", "none"),
        ] {
            let recording = SharedRecording::new(rest(kinds), false);
            let came = match recording.outcome() {
                RecordedOutcome::Answered(_) => "answered".to_owned(),
                RecordedOutcome::Failed(_, after) => format!("{after:?}"),
                RecordedOutcome::Abandoned => "abandoned".to_owned(),
                RecordedOutcome::None(_) => "none".to_owned(),
            };
            assert_eq!(came, outcome, "{kinds}");
            let mut sent = rest("sent");
            sent.extend(rest(kinds));
            let is_abandoned = SharedRecording::new(sent, false).is_abandoned();
            assert_eq!(is_abandoned, outcome.eq_ignore_ascii_case("abandoned"), "{kinds}");
        }
    }
}
