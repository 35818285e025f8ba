//! Caches of prompts: with marks, as Claude has them, and by common beginnings, as the others do.

use serde_json::Value;
use uwf_store::json::sorted;

use super::blob::hash;
use super::{State, Usage, tokens};

/// How many blocks before a mark are looked at.
const LOOK_BACK: usize = 20;
/// What is read from a cache without marks comes in pieces of so many tokens.
const PIECE: u64 = 16;

/// A block of a prompt: a tool, a part of the system text, a block of a message.
#[derive(Clone, Debug)]
pub(super) struct Block {
    text: String,
    /// What the block depends on without its being a part of the prompt.
    under: String,
    /// Whether it is marked, and how long that is kept.
    mark: Option<String>,
}

impl Block {
    pub(super) fn new(value: &Value) -> Block {
        let mark = value.get("cache_control").filter(|mark| mark.is_object());
        let mark = mark.map(|mark| mark["ttl"].as_str().unwrap_or("5m").to_owned());
        Block { text: unmarked(value).to_string(), under: String::new(), mark }
    }

    /// A block that reads otherwise under another setting.
    pub(super) fn under(self, setting: &str) -> Block {
        Block { under: self.under + setting, ..self }
    }

    /// A block with more text.
    pub(super) fn after(self, text: &str) -> Block {
        Block { text: text.to_owned() + &self.text, ..self }
    }

    pub(super) fn marked(self) -> Block {
        Block { mark: Some("5m".to_owned()), ..self }
    }

    pub(super) fn tokens(&self) -> u64 {
        tokens(&self.text)
    }
}

/// A value without its marks, and texts in one form.
pub(super) fn unmarked(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields.iter().filter(|(name, _)| *name != "cache_control");
            sorted(Value::Object(fields.map(|(name, value)| (name.clone(), unmarked(value))).collect()))
        }
        Value::Array(values) => Value::Array(values.iter().map(unmarked).collect()),
        value => value.clone(),
    }
}

/// Reads what an earlier request has written up to a mark, and writes what is marked beyond.
pub(super) fn with_marks(state: &mut State, blocks: &[Block], min: u64) -> Usage {
    let mut prefix = 0;
    let mut length = 0;
    let prefixes: Vec<(u64, u64)> = blocks
        .iter()
        .map(|block| {
            prefix = hash(&[&prefix.to_string(), &block.under, &block.text]);
            length += block.tokens();
            (prefix, length)
        })
        .collect();
    let marks: Vec<usize> =
        (0..blocks.len()).filter(|at| blocks[*at].mark.is_some() && prefixes[*at].1 >= min).collect();
    let found = |mark: usize| {
        (mark.saturating_sub(LOOK_BACK - 1)..=mark).rev().find(|at| state.prefixes.contains(&prefixes[*at].0))
    };
    let read = marks.iter().filter_map(|mark| found(*mark)).map(|at| prefixes[at].1).max().unwrap_or(0);
    let mut usage = Usage { cached: read, ..Usage::default() };
    let mut reached = read;
    for mark in marks {
        let (prefix, length) = prefixes[mark];
        let more = length.saturating_sub(reached);
        usage.written += more;
        if blocks[mark].mark.as_deref() == Some("1h") {
            usage.written_1h += more;
        }
        reached = reached.max(length);
        state.prefixes.insert(prefix);
    }
    usage.input = length - reached;
    usage
}

/// Reads the longest beginning that an earlier prompt had, too; `writes` says whether the rest is reported as written.
pub(super) fn by_beginning(state: &mut State, key: &str, prompt: String, min: u64, writes: bool) -> Usage {
    let all = tokens(&prompt);
    let prompts = state.prompts.entry(key.to_owned()).or_default();
    let common = |earlier: &String| {
        earlier.bytes().zip(prompt.bytes()).take_while(|(one, other)| one == other).count()
    };
    let common = u64::try_from(prompts.iter().map(common).max().unwrap_or(0)).unwrap() / 4;
    let cached = if common >= min { common / PIECE * PIECE } else { 0 };
    let written = if writes && all >= min { all - cached } else { 0 };
    prompts.push(prompt);
    Usage { input: all - cached - written, cached, written, ..Usage::default() }
}
