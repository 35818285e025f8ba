//! The log of a run in its record: every entry of its journal, in order, so that a run can be explained and played again when
//! the journal is gone. What was said is in the turns, and the log refers to them.
//!
//! Apart from the turns, which other programs read as a conversation. Both ways are here, since they must agree: an entry to a
//! line of the log, and back.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};
use uwf_engine::builtin;
use uwf_engine::record::{Detail, RunLog, Turn};
use uwf_store::{Batch, Hash, Store, StoreError};

use super::reply::Replies;
use super::turns::{Elision, message_of};
use crate::journal::Entry;
use crate::provider::message::Message;

/// What a line has of its turn, and does not say again.
const OF_TURN: [&str; 5] = ["message", "marks", "at", "durationMs", "usage"];

/// What of a tool's facts is elsewhere in the record: in its changes, and in the outputs of its turn.
const ELSEWHERE: [&str; 2] = ["changes", "spool"];

/// The field of a result's line that says that its call did not start; one that did has a line, or started at the time of the
/// line before.
const STARTED: &str = "started";

/// Puts the log of these entries, each with the turn that was made of it; `replies` are the raw replies in their order.
pub(super) fn put(
    batch: &mut Batch<'_>,
    entries: &[(&Entry, Option<Hash>)],
    replies: impl IntoIterator<Item = Value>,
) -> Result<Hash, StoreError> {
    let (mut tools, mut replies) = (None, replies.into_iter());
    let mut writer = LogWriter::default();
    for (entry, turn) in entries {
        let mut line = match json!(entry) {
            Value::Object(line) => line,
            _ => continue,
        };
        match entry {
            Entry::Replied { .. } => continue,
            Entry::Run { .. } => {
                let declared = line.remove("tools").unwrap_or_default();
                tools = Some(batch.put(&builtin::TEXT, &json!(uwf_store::json::line(&declared)))?);
            }
            Entry::Answered { .. } => drop(line.insert("raw".to_owned(), replies.next().unwrap_or_default())),
            _ => {}
        }
        writer.add(entry, line, *turn);
    }
    RunLog { tools, entries: writer.lines }.put(batch)
}

/// Writes the lines of a log in their order.
#[derive(Default)]
struct LogWriter {
    lines: Vec<Value>,
    last_at: u64,
    replies: Replies,
    /// The calls.
    started: BTreeSet<String>,
}

impl LogWriter {
    fn add(&mut self, entry: &Entry, mut line: Map<String, Value>, turn: Option<Hash>) {
        match entry {
            Entry::Answered { message, .. } => self.replies.shorten(&mut line, message),
            Entry::Started { call_id, .. } => drop(self.started.insert(call_id.clone())),
            Entry::Finished { message, .. } => self.finished(&mut line, message),
            _ => {}
        }
        if let Some(turn) = turn {
            OF_TURN.iter().for_each(|name| drop(line.remove(*name)));
            line.insert("turn".to_owned(), json!(turn));
        }
        // Much happens within a millisecond.
        if std::mem::replace(&mut self.last_at, entry.at()) == entry.at() {
            line.remove("at");
        }
        line.retain(|_, value| !value.is_null());
        self.lines.push(Value::Object(line));
    }

    fn finished(&mut self, line: &mut Map<String, Value>, message: &Message) {
        let facts = line.get_mut("facts").and_then(Value::as_object_mut);
        facts.into_iter().for_each(|facts| {
            facts.retain(|name, fact| !ELSEWHERE.contains(&&**name) && *fact != json!(false));
        });
        let call = message.tool_call_id.as_deref().unwrap_or_default();
        if !self.started.remove(call) {
            line.insert(STARTED.to_owned(), json!(false));
        }
        self.lines.pop_if(|last| *last == json!({"entry": "started", "callId": call}));
    }
}

/// The entries of a recorded run.
///
/// # Errors
/// What of the record cannot be read, in words.
pub(crate) fn entries(store: &Store, detail: &Detail) -> Result<Vec<Entry>, String> {
    let none = "its record has no log of the run: it is of an earlier version, or of another agent";
    let log = RunLog::read(store, &detail.log.ok_or(none)?).map_err(|error| error.to_string())?;
    let tools = match log.tools {
        Some(hash) => store.get(&hash).map_err(|error| error.to_string())?.payload,
        None => json!("[]"),
    };
    let tools = serde_json::from_str(tools.as_str().unwrap_or_default()).unwrap_or_default();
    let mut reader =
        LogReader { store, tools, last_at: 0, replies: Replies::default(), started: BTreeSet::new() };
    let mut entries = Vec::with_capacity(log.entries.len());
    for (index, line) in log.entries.into_iter().enumerate() {
        let read = reader.entry(line).map_err(|why| format!("entry {index} of its log: {why}"))?;
        entries.extend(read.into_iter().flatten());
    }
    Ok(entries)
}

/// Reads the lines of a log in their order: each leaves out what the one before it says.
struct LogReader<'r> {
    store: &'r Store,
    /// As they were declared.
    tools: Value,
    /// A line without a time came at the same time as the one before.
    last_at: u64,
    replies: Replies,
    /// The calls, as far as a line says so.
    started: BTreeSet<String>,
}

impl LogReader<'_> {
    /// What a line says, and before it what goes without saying.
    fn entry(&mut self, line: Value) -> Result<[Option<Entry>; 2], String> {
        let Value::Object(mut line) = line else { return Err("it is no object".to_owned()) };
        let did_start = line.remove(STARTED).is_none();
        if line.get("entry").is_some_and(|entry| entry == "run") {
            line.insert("tools".to_owned(), self.tools.clone());
        }
        if let Some(turn) = line.remove("turn") {
            let hash = serde_json::from_value(turn).map_err(|error| error.to_string())?;
            let turn = Turn::read(self.store, &hash).map_err(|error| error.to_string())?;
            self.with_turn(&mut line, turn)?;
        }
        line.entry("at").or_insert(json!(self.last_at));
        // Where there is nothing to say of them, the log says nothing.
        line.entry("facts").or_insert(json!({}));
        line.entry("raw").or_insert(Value::Null);
        let entry: Entry = serde_json::from_value(Value::Object(line)).map_err(|error| error.to_string())?;
        let last_at = std::mem::replace(&mut self.last_at, entry.at());
        let started = match &entry {
            Entry::Started { call_id, .. } => {
                self.started.insert(call_id.clone());
                None
            }
            Entry::Finished { message, .. } => {
                let call_id = message.tool_call_id.clone().unwrap_or_default();
                let unsaid = !self.started.remove(&call_id) && did_start;
                unsaid.then_some(Entry::Started { call_id, shown: None, at: last_at })
            }
            _ => None,
        };
        Ok([started, Some(entry)])
    }

    /// Gives a line back what its turn has of it.
    fn with_turn(&mut self, line: &mut Map<String, Value>, turn: Turn) -> Result<(), String> {
        let (at, duration, usage) = (turn.at, turn.duration_ms, turn.usage);
        let mut more: BTreeMap<&str, Value> = BTreeMap::from([
            ("at", json!(at.unwrap_or_default())),
            ("durationMs", json!(duration.unwrap_or_default())),
            ("usage", json!(usage)),
        ]);
        match Elision::of(&turn) {
            Some(Elision::LeftOut(marks)) => drop(more.insert("marks", json!(marks))),
            Some(Elision::SummedUp { message, .. }) => drop(more.insert("message", json!(message))),
            None => {
                let message: Message = message_of(turn)?.ok_or("its turn is no message")?;
                self.replies.restore(line, &message);
                more.insert("message", json!(message));
            }
        }
        more.into_iter().for_each(|(name, value)| drop(line.insert(name.to_owned(), value)));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::any_order::RunFixture;
    use crate::react::{Notice, tests::scripts};

    /// As it is in the log: without what is elsewhere in the record.
    fn on_record(entry: &Entry) -> Entry {
        let mut entry = entry.clone();
        if let Entry::Finished { facts, .. } = &mut entry {
            (facts.changes, facts.spool) = (Vec::new(), None);
        }
        entry
    }

    #[test]
    fn the_entries_of_a_run_come_back_from_its_record() {
        for (name, change, turns) in scripts() {
            let (fixture, mut live) = (RunFixture::new(), Vec::new());
            let mut on_notice = |notice: Notice<'_>| {
                if let Notice::Entry(entry, _) = notice {
                    live.push(json!(on_record(entry)));
                }
            };
            let detail = fixture.run_with(&turns, &change, &mut on_notice).unwrap().detail_hash;
            let record = Detail::read(&fixture.store, &detail).unwrap();
            let told = |entry: &Entry| {
                let mut entry = json!(entry);
                // Those who listen are not told of it.
                assert!(entry.get_mut("raw").is_none_or(|raw| raw.take().is_object()), "{name}");
                entry
            };
            let read: Vec<Value> = entries(&fixture.store, &record).unwrap().iter().map(told).collect();
            live.retain(|entry| entry["entry"] != "replied");
            // Nobody is told of the opening.
            let opening = read.len() - live.len();
            assert_eq!((read[0]["entry"].as_str(), &read[opening..]), (Some("run"), &live[..]), "{name}");
        }
    }
}
