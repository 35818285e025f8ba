//! One thread or workflow as an old state file has it, in any of the shapes they came in. Never looks at a store.

use std::time::UNIX_EPOCH;

use serde_json::{Map, Value};
use uwf_store::json::sorted;

use crate::thread::Status;

/// What an entry says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct LegacyEntry {
    pub(super) name: String,
    pub(super) hash: Option<String>,
    status: Option<String>,
    role: Option<String>,
    message: Option<String>,
    pub(super) completed_at: Option<u64>,
}

const NAMES: [&str; 4] = ["thread", "threadId", "id", "name"];
const HASHES: [&str; 6] = ["head", "headHash", "hash", "current", "step", "workflow"];

impl LegacyEntry {
    fn of(name: &str, value: &Value) -> LegacyEntry {
        match value {
            Value::Object(map) => {
                let text = |keys: &[&str]| first(map, keys);
                LegacyEntry {
                    name: name.to_owned(),
                    hash: text(&HASHES),
                    status: text(&["status", "state", "reason"]),
                    role: text(&["suspendedRole", "role"]),
                    message: text(&["suspendMessage", "message"]),
                    completed_at: ["completedAt", "completed_at", "endedAt"]
                        .iter()
                        .find_map(|key| milliseconds(map.get(*key)?)),
                }
            }
            Value::String(hash) => {
                LegacyEntry { name: name.to_owned(), hash: Some(hash.clone()), ..LegacyEntry::default() }
            }
            _ => LegacyEntry { name: name.to_owned(), ..LegacyEntry::default() },
        }
    }

    /// The state it speaks of; `fallback` is the time of completion if it tells none.
    pub(super) fn status(&self, fallback: u64) -> Result<Status, String> {
        let completed_at = self.completed_at.unwrap_or(fallback);
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        match self.status.as_deref().unwrap_or("idle") {
            "idle" | "active" | "running" => Ok(Status::Idle),
            "suspended" => Ok(Status::Suspended { role: text(&self.role), message: text(&self.message) }),
            "end" | "ended" | "completed" | "done" => Ok(Status::Ended { completed_at }),
            "cancelled" | "canceled" | "killed" => Ok(Status::Cancelled { completed_at }),
            other => Err(format!("its status is `{other}`, which this uwf does not know")),
        }
    }
}

/// The entries of a file of names; the second list is what cannot be read.
pub(super) fn named(value: &Value) -> Result<(Vec<LegacyEntry>, Vec<String>), String> {
    match value {
        Value::Null => Ok(Default::default()),
        Value::Array(items) => {
            Ok(listed(items.iter().enumerate().map(|(at, item)| (format!("entry {}", at + 1), item))))
        }
        Value::Object(map) => match below(map) {
            Some(inner) => named(inner),
            None => Ok((map.iter().map(|(name, value)| LegacyEntry::of(name, value)).collect(), Vec::new())),
        },
        _ => Err("it is neither a mapping nor a list".to_owned()),
    }
}

/// The entries of a history, one JSON value a line.
pub(super) fn lines(text: &str) -> (Vec<LegacyEntry>, Vec<String>) {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let values: Vec<(String, Value)> = lines
        .map(|(at, line)| {
            (format!("line {}", at + 1), serde_json::from_str(line).map_or(Value::Null, sorted))
        })
        .collect();
    listed(values.iter().map(|(place, value)| (place.clone(), value)))
}

/// A file that keeps its entries below one key.
fn below(map: &Map<String, Value>) -> Option<&Value> {
    let inner = ["threads", "workflows", "registry"].iter().find_map(|key| map.get(*key))?;
    (inner.is_object() || inner.is_array()).then_some(inner)
}

fn listed<'v>(items: impl Iterator<Item = (String, &'v Value)>) -> (Vec<LegacyEntry>, Vec<String>) {
    let (mut entries, mut unread) = (Vec::new(), Vec::new());
    for (place, item) in items {
        match item.as_object().and_then(|map| first(map, &NAMES)) {
            Some(name) => entries.push(LegacyEntry::of(&name, item)),
            None => unread.push(format!("{place}: it has no id")),
        }
    }
    (entries, unread)
}

fn first(map: &Map<String, Value>, keys: &[&str]) -> Option<String> {
    keys.iter().find_map(|key| map.get(*key)?.as_str()).map(str::to_owned)
}

/// Milliseconds, as a number or as text, or a time in words.
fn milliseconds(value: &Value) -> Option<u64> {
    match value {
        Value::Number(ms) => ms.as_u64(),
        Value::String(text) => text.parse().ok().or_else(|| {
            let time = humantime::parse_rfc3339_weak(text).ok()?;
            u64::try_from(time.duration_since(UNIX_EPOCH).ok()?.as_millis()).ok()
        }),
        _ => None,
    }
}
