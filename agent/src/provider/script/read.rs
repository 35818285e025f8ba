//! The text of a mock script → its plan, or everything that is wrong with it.
//!
//! Apart because reading collects problems (each with its place and line) while the plan itself is always whole.

mod behaviours;
mod servers;

use std::collections::BTreeMap;
use std::time::Duration;

use hyper::header::{HeaderName, HeaderValue};
use serde_json::{Map, Value};
use uwf_store::schema::pointer;
use uwf_store::suggest;
use uwf_workflow::yaml::{self, Document};

use super::expect::{self, ScriptExpectation};
use super::{
    BodyEnding, ScriptEntry, ScriptPlan, ScriptStep, ScriptedCall, ScriptedError, ScriptedPage,
    ScriptedServers,
};
use crate::provider::message::TokenUsage;

const ENTRY: &[&str] = &[
    "content",
    "tool_calls",
    "reasoning",
    "finish_reason",
    "usage",
    "expect",
    "error",
    "drop_after_bytes",
    "stall_after_bytes",
    "reset",
    "delay_ms",
    "body",
];
/// What may stand instead of an answer, or end one early.
const FAULTS: &[&str] = &["reset", "error", "body", "drop_after_bytes", "stall_after_bytes"];
const CALL: &[&str] = &["id", "name", "arguments"];
const ERROR: &[&str] = &["status", "retry_after", "message", "code", "headers"];
const USAGE: &[&str] = &["input_tokens", "output_tokens", "cached_tokens", "reasoning_tokens"];
const TOP: &[&str] = &["turns", "roles", "steps", "name", "description", "fetch", "mcp"];
const STEP: &[&str] = &["role", "output", "expect", "usage", "delay_ms"];

/// What a script holds: what the model says, what the web does, and what servers do.
type Read = (ScriptPlan, BTreeMap<String, ScriptedPage>, ScriptedServers);

/// Reads a script; the error names all problems, one a line.
pub(super) fn script(text: &str) -> Result<Read, String> {
    let document = yaml::parse(text).map_err(|error| error.to_string())?;
    let mut reader = ScriptReader { document: &document, problems: Vec::new() };
    let (plan, pages, servers) = (reader.plan(), reader.pages(), reader.servers());
    let mut problems = reader.problems;
    problems.sort_by_key(|(line, _)| *line);
    let problems: Vec<String> =
        problems.into_iter().map(|(line, what)| format!("line {line}: {what}")).collect();
    match (plan, problems.as_slice()) {
        (Some(plan), []) => Ok((plan, pages, servers)),
        (_, [only]) => Err(only.clone()),
        (_, problems) => Err(format!("{} problems:\n  {}", problems.len(), problems.join("\n  "))),
    }
}

/// Walks the document; `pointer` is always the JSON pointer of the value in hand.
pub(super) struct ScriptReader<'d> {
    pub(super) document: &'d Document,
    /// Each with its line.
    problems: Vec<(usize, String)>,
}

impl<'d> ScriptReader<'d> {
    fn plan(&mut self) -> Option<ScriptPlan> {
        let top = self.object("", &self.document.value, TOP)?;
        let kinds: Vec<&str> = TOP[..3].iter().copied().filter(|kind| top.contains_key(*kind)).collect();
        let [kind] = kinds[..] else {
            self.problem("", "expected one of `turns`, `roles`, `steps`".to_owned());
            return None;
        };
        let pointer = format!("/{kind}");
        match kind {
            "turns" => Some(ScriptPlan::Turns(self.entries(&pointer, &top[kind]))),
            "roles" => self.roles(&pointer, &top[kind]).map(ScriptPlan::Roles),
            _ => Some(ScriptPlan::Steps(self.items(&pointer, &top[kind], Self::step))),
        }
    }

    fn step(&mut self, pointer: &str, value: &'d Value) -> Option<ScriptStep> {
        let step = self.object(pointer, value, STEP)?;
        let role = self.text(pointer, step, "role");
        if role.is_none() {
            self.problem(pointer, "`role` is missing".to_owned());
        }
        let content = match step.get("output") {
            Some(Value::String(text)) => Some(text.clone()),
            Some(Value::Object(fields)) => Some(frontmatter(fields)),
            other => {
                let output = format!("{pointer}/output");
                self.mismatch(&output, "a text or a mapping", other.unwrap_or(&Value::Null));
                None
            }
        };
        let mut entry = ScriptEntry { at: label(pointer), content, ..ScriptEntry::default() };
        self.common(pointer, step, &mut entry);
        Some(ScriptStep { role: role?, entry })
    }

    pub(super) fn entries(&mut self, pointer: &str, value: &'d Value) -> Vec<ScriptEntry> {
        self.items(pointer, value, Self::entry)
    }

    fn entry(&mut self, pointer: &str, value: &'d Value) -> Option<ScriptEntry> {
        let map = self.object(pointer, value, ENTRY)?;
        let mut entry = ScriptEntry {
            at: label(pointer),
            content: self.text(pointer, map, "content"),
            reasoning: self.text(pointer, map, "reasoning").filter(|text| !text.is_empty()),
            finish_reason: self.text(pointer, map, "finish_reason"),
            ending: self.ending(pointer, map),
            reset: self.get(pointer, map, "reset", ("true or false", Value::as_bool)).unwrap_or_default(),
            body: self.get(pointer, map, "body", ("a text or a mapping", raw_body)),
            ..ScriptEntry::default()
        };
        self.common(pointer, map, &mut entry);
        if let Some(calls) = map.get("tool_calls") {
            entry.tool_calls = self.items(&format!("{pointer}/tool_calls"), calls, Self::call);
        }
        if let Some(error) = map.get("error") {
            entry.error = self.error(&format!("{pointer}/error"), error);
        }
        self.says_something(pointer, map);
        Some(entry)
    }

    fn ending(&mut self, pointer: &str, map: &'d Map<String, Value>) -> BodyEnding {
        let mut bytes = |key| self.get(pointer, map, key, ("a number of bytes", Value::as_u64));
        let (cut, silence) = (bytes("drop_after_bytes"), bytes("stall_after_bytes"));
        cut.map(BodyEnding::Cut).or(silence.map(BodyEnding::Silence)).unwrap_or_default()
    }

    /// An entry is an answer, an error or a raw body: one of them, and not nothing.
    fn says_something(&mut self, pointer: &str, map: &Map<String, Value>) {
        let has = |key: &&str| map.contains_key(*key);
        let answer = ["content", "tool_calls", "reasoning"].iter().find(|key| has(key));
        let faults: Vec<&str> = FAULTS.iter().copied().filter(|key| has(key)).collect();
        match (answer, faults.as_slice()) {
            (None, []) => {
                self.problem(
                    pointer,
                    "says nothing: give `content`, `tool_calls`, `error` or `body`".to_owned(),
                );
            }
            (Some(answer), [fault @ ("error" | "body" | "reset"), ..]) => {
                self.problem(pointer, format!("`{answer}` and `{fault}` exclude each other"));
            }
            (_, ["reset", fault, ..] | ["drop_after_bytes", fault @ "stall_after_bytes"]) => {
                self.problem(pointer, format!("`{}` and `{fault}` exclude each other", faults[0]));
            }
            _ => {}
        }
    }

    /// What turns and steps have in common.
    fn common(&mut self, pointer: &str, map: &'d Map<String, Value>, entry: &mut ScriptEntry) {
        let delay = self.get(pointer, map, "delay_ms", ("a number of milliseconds", Value::as_u64));
        entry.delay = Duration::from_millis(delay.unwrap_or(0));
        if let Some(value) = map.get("expect") {
            entry.expect = self.expect(&format!("{pointer}/expect"), value);
        }
        if let Some(value) = map.get("usage") {
            entry.usage = self.usage(&format!("{pointer}/usage"), value);
        }
    }

    fn call(&mut self, pointer: &str, value: &'d Value) -> Option<ScriptedCall> {
        let map = self.object(pointer, value, CALL)?;
        let name = self.text(pointer, map, "name");
        if name.is_none() {
            self.problem(pointer, "`name` is missing".to_owned());
        }
        let arguments = self.get(pointer, map, "arguments", ("a mapping or a text", raw_body));
        let arguments = arguments.unwrap_or_else(|| "{}".to_owned());
        Some(ScriptedCall { id: self.text(pointer, map, "id"), name: name?, arguments })
    }

    fn error(&mut self, pointer: &str, value: &'d Value) -> Option<ScriptedError> {
        let map = self.object(pointer, value, ERROR)?;
        let status = self.get(pointer, map, "status", ("200 or a status from 300 to 599", status));
        if !map.contains_key("status") {
            self.problem(pointer, "`status` is missing".to_owned());
        }
        let retry_after = self.get(pointer, map, "retry_after", ("a number of seconds", seconds));
        let message = self.text(pointer, map, "message");
        let code = self.text(pointer, map, "code");
        let message = message.unwrap_or_else(|| "scripted error".to_owned());
        let headers = self.get(pointer, map, "headers", ("a mapping of texts that headers may be", headers));
        let headers = headers.unwrap_or_default();
        Some(ScriptedError { status: status?, retry_after, message, code, headers })
    }

    fn usage(&mut self, pointer: &str, value: &'d Value) -> TokenUsage {
        let Some(map) = self.object(pointer, value, USAGE) else { return TokenUsage::default() };
        let mut tokens =
            |key: &str| self.get(pointer, map, key, ("a number of tokens", Value::as_u64)).unwrap_or(0);
        TokenUsage {
            input_tokens: tokens("input_tokens"),
            output_tokens: tokens("output_tokens"),
            cached_tokens: tokens("cached_tokens"),
            reasoning_tokens: tokens("reasoning_tokens"),
            written_tokens: tokens("written_tokens"),
            cost_usd: None,
        }
    }

    fn expect(&mut self, pointer: &str, value: &'d Value) -> ScriptExpectation {
        let Some(map) = self.object(pointer, value, expect::KEYS) else {
            return ScriptExpectation::default();
        };
        let mut texts = |key: &str| {
            self.get(pointer, map, key, ("a text or a list of texts", expect::texts)).unwrap_or_default()
        };
        ScriptExpectation {
            last_contains: texts("last_contains"),
            contains: texts("contains"),
            lacks: texts("lacks"),
            system_contains: texts("system_contains"),
            tools: texts("tools"),
            last_role: self.text(pointer, map, "last_role"),
        }
    }

    /// Reads each item of a list that must not be empty.
    pub(super) fn items<T>(
        &mut self,
        pointer: &str,
        value: &'d Value,
        read: fn(&mut Self, &str, &'d Value) -> Option<T>,
    ) -> Vec<T> {
        match value {
            Value::Array(items) if !items.is_empty() => {
                let one = |(n, item)| read(self, &format!("{pointer}/{n}"), item);
                items.iter().enumerate().filter_map(one).collect()
            }
            other => {
                self.mismatch(pointer, "a list that is not empty", other);
                Vec::new()
            }
        }
    }

    pub(super) fn object(
        &mut self,
        pointer: &str,
        value: &'d Value,
        known: &[&str],
    ) -> Option<&'d Map<String, Value>> {
        let Value::Object(map) = value else {
            self.mismatch(pointer, "a mapping", value);
            return None;
        };
        for key in map.keys().filter(|key| !known.contains(&key.as_str())) {
            let place = format!("{pointer}/{}", pointer::escape(key));
            self.problem(&place, format!("unknown key{}", instead(key, known)));
        }
        Some(map)
    }

    pub(super) fn text(&mut self, pointer: &str, map: &'d Map<String, Value>, key: &str) -> Option<String> {
        self.get(pointer, map, key, ("a text", |value| value.as_str().map(str::to_owned)))
    }

    /// The value of `key`, converted; `kind` says what it should be and how to read it. Absent and null are `None`.
    pub(super) fn get<T>(
        &mut self,
        pointer: &str,
        map: &'d Map<String, Value>,
        key: &str,
        kind: (&str, fn(&Value) -> Option<T>),
    ) -> Option<T> {
        let value = map.get(key).filter(|value| !value.is_null())?;
        let read = kind.1(value);
        if read.is_none() {
            self.mismatch(&format!("{pointer}/{key}"), kind.0, value);
        }
        read
    }

    pub(super) fn mismatch(&mut self, pointer: &str, expected: &str, got: &Value) {
        let got = match got {
            Value::Array(items) if items.is_empty() => "an empty list".to_owned(),
            Value::String(_) => got.to_string(),
            other => yaml::kind(other),
        };
        self.problem(pointer, format!("expected {expected}, got {got}"));
    }

    pub(super) fn problem(&mut self, pointer: &str, what: String) {
        let line = self.document.at_key(pointer).line;
        let place = match label(pointer) {
            empty if empty.is_empty() => String::new(),
            label => format!("{label}: "),
        };
        self.problems.push((line, format!("{place}{what}")));
    }
}

/// A JSON pointer as people write it: `/turns/0/name` → `turns[0].name`.
fn label(pointer: &str) -> String {
    let mut label = String::new();
    for token in pointer.split('/').skip(1) {
        if token.bytes().all(|byte| byte.is_ascii_digit()) {
            label.push_str(&format!("[{token}]"));
        } else {
            let dot = if label.is_empty() { "" } else { "." };
            label.push_str(dot);
            label.push_str(&pointer::unescape(token));
        }
    }
    label
}

fn instead(key: &str, known: &[&str]) -> String {
    match suggest::one(key, known) {
        Some(name) => format!(", did you mean `{name}`?"),
        None => format!(", expected one of `{}`", known.join("`, `")),
    }
}

/// A raw text as it is; a mapping as its JSON.
fn raw_body(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Object(_) => Some(value.to_string()),
        _ => None,
    }
}

fn headers(value: &Value) -> Option<BTreeMap<String, String>> {
    let header = |(name, text): (&String, &Value)| {
        let text = text.as_str().map(str::to_owned).or_else(|| Some(text.as_number()?.to_string()))?;
        let name = HeaderName::try_from(name).ok()?;
        HeaderValue::from_str(&text).ok().map(|_| (name.as_str().to_owned(), text))
    };
    value.as_object()?.iter().map(header).collect()
}

fn seconds(value: &Value) -> Option<Duration> {
    Duration::try_from_secs_f64(value.as_f64()?).ok()
}

fn status(value: &Value) -> Option<u16> {
    let status = u16::try_from(value.as_u64()?).ok()?;
    (status == 200 || (300..600).contains(&status)).then_some(status)
}

/// An answer of frontmatter alone. JSON is YAML, so each value is written as JSON.
fn frontmatter(fields: &Map<String, Value>) -> String {
    let line = |(key, value): (&String, &Value)| match is_plain(key) {
        true => format!("{key}: {value}\n"),
        false => format!("{}: {value}\n", Value::from(key.as_str())),
    };
    format!("---\n{}---\n", fields.iter().map(line).collect::<String>())
}

/// Whether YAML reads the key as this text without quotes.
fn is_plain(key: &str) -> bool {
    let word = key.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_$-".contains(&byte));
    let starts = key.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_' || first == '$');
    word && starts && !["true", "false", "null"].contains(&key.to_ascii_lowercase().as_str())
}
