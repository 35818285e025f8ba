//! How far a run is, from the entries of its journal: what a person who watches asks for, and nothing of what was said.
//!
//! Apart from [`RunState`](crate::run_state::RunState), which has all that a run goes on from: of a hundred runs that are
//! watched, nobody keeps the conversations. Pure.

use std::collections::VecDeque;

use serde::Serialize;
use serde_json::Value;
use uwf_engine::catalogue::Prices;
use uwf_engine::record::{RecordedBudget, RecordedSettings, TokenUsage};

use super::line::{Line, one_line};
use crate::journal::Entry;
use crate::prices;
use crate::provider::message::{MessageKind, ToolCall};
use crate::usd::Usd;

/// How many of the last lines are kept.
const LINES: usize = 64;

/// How long the title of a call is, in characters.
const TITLE: usize = 80;

/// What a run does just now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LivePhase {
    /// The model is asked.
    Thinking,
    /// A tool runs.
    Tool,
    /// Neither, or nobody knows.
    #[default]
    Waiting,
}

/// A call of a tool that runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LiveTool {
    #[serde(skip)]
    id: String,
    /// The tool.
    pub name: String,
    /// What it is for or on what, in a line.
    pub title: String,
    /// When it started, in ms since the epoch.
    pub since: u64,
}

impl LiveTool {
    /// Of a call that is asked for; its arguments, which may be long, are not kept.
    fn of(call: &ToolCall) -> LiveTool {
        let title = title(&call.name, &call.arguments);
        LiveTool { id: call.id.clone(), name: one_line(&call.name), title, since: 0 }
    }
}

/// Tokens of a run up to now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LiveUsage {
    /// Sent.
    pub input_tokens: u64,
    /// Of these, from the endpoint's cache.
    pub cached_tokens: u64,
    /// Received.
    pub output_tokens: u64,
}

impl LiveUsage {
    /// Both together.
    pub fn tokens(&self) -> u64 {
        self.input_tokens + self.output_tokens
    }
}

/// How far a run is.
#[derive(Clone, Debug, Default)]
pub(super) struct Progress {
    pub(super) role: Option<String>,
    pub(super) model: Option<String>,
    /// Turns that are done.
    pub(super) turns: u64,
    pub(super) max_turns: Option<u64>,
    pub(super) phase: LivePhase,
    /// When the process began that plays it, in ms since the epoch.
    pub(super) started_at: u64,
    /// The last sign of life.
    pub(super) last_at: u64,
    pub(super) usage: LiveUsage,
    /// The reply is there: the rest is the engine's.
    pub(super) is_over: bool,
    /// The last lines, and how many there were in all.
    pub(super) lines: VecDeque<Line>,
    pub(super) told: u64,
    /// What the model asked for last, none of it begun.
    calls: Vec<LiveTool>,
    running: Vec<LiveTool>,
    bill: Bill,
}

/// What the turns cost.
#[derive(Clone, Debug, Default)]
struct Bill {
    prices: Option<Prices>,
    sum: Usd,
    is_reported: bool,
    has_gap: bool,
}

impl Bill {
    fn add(&mut self, usage: Option<TokenUsage>, kind: MessageKind) {
        // Another model's tokens have no price here.
        let prices = self.prices.as_ref().filter(|_| kind != MessageKind::Extract);
        let cost = usage.and_then(|usage| prices::cost(usage, prices));
        self.sum += cost.unwrap_or_default();
        if kind != MessageKind::Extract {
            self.is_reported |= usage.is_some_and(|usage| usage.cost_usd.is_some());
            self.has_gap |= cost.is_none();
        }
    }
}

impl Progress {
    /// Which turn it is: the one that is asked for, or whose calls run.
    pub(super) fn turn(&self) -> u64 {
        self.turns + u64::from(self.phase == LivePhase::Thinking)
    }

    /// The call that runs, of several the first.
    pub(super) fn tool(&self) -> Option<&LiveTool> {
        self.running.first()
    }

    /// What it cost, in USD, where that is known.
    pub(super) fn cost(&self) -> Option<f64> {
        let Bill { prices, sum, is_reported, has_gap } = &self.bill;
        ((*is_reported || prices.is_some()) && !has_gap).then(|| sum.in_dollars())
    }

    /// A request went out, of which nothing else matters.
    pub(super) fn sent(&mut self) {
        (self.phase, self.running) = (LivePhase::Thinking, Vec::new());
    }

    /// Takes over what happened.
    pub(super) fn apply(&mut self, entry: &Entry) {
        self.last_at = entry.at();
        match entry {
            Entry::Run { role, settings, at, .. } => {
                self.role = Some(role.clone());
                self.begins(settings, *at);
            }
            Entry::Continued { settings, at, .. } => self.begins(settings, *at),
            Entry::Asked { .. } | Entry::Sent { .. } => self.sent(),
            Entry::AttemptFailed { .. } | Entry::Abandoned { .. } | Entry::Ended { .. } => self.waits(),
            Entry::Answered { message, usage, .. } => {
                self.waits();
                self.turns += 1;
                self.calls = message.tool_calls.iter().map(LiveTool::of).collect();
                let used = usage.unwrap_or_default();
                self.usage.input_tokens += used.input_tokens;
                self.usage.cached_tokens += used.cached_tokens;
                self.usage.output_tokens += used.output_tokens;
                self.bill.add(*usage, message.kind);
            }
            Entry::Started { call_id, shown, at } => self.starts(call_id, shown.as_deref(), *at),
            Entry::Finished { message, .. } => {
                self.running.retain(|tool| message.tool_call_id.as_ref() != Some(&tool.id));
                if self.running.is_empty() {
                    self.waits();
                }
            }
            Entry::Replied { .. } => {
                self.waits();
                self.is_over = true;
            }
            _ => {}
        }
        if let Some(line) = Line::of_journal(entry, self.turns) {
            self.told += 1;
            self.lines.push_back(line);
            if self.lines.len() > LINES {
                self.lines.pop_front();
            }
        }
    }

    fn waits(&mut self) {
        (self.phase, self.running) = (LivePhase::Waiting, Vec::new());
    }

    /// A process begins it, or goes on with it.
    fn begins(&mut self, settings: &Value, at: u64) {
        let RecordedSettings { model, budget, prices, .. } = RecordedSettings::of(settings.clone());
        self.waits();
        self.started_at = at;
        self.model = model;
        self.max_turns = budget.and_then(|RecordedBudget { turns, .. }| turns);
        self.bill.prices = serde_json::from_value(prices).ok();
    }

    fn starts(&mut self, id: &str, shown: Option<&str>, since: u64) {
        let Some(call) = self.calls.iter().find(|call| call.id == id) else { return };
        let title = shown.map_or_else(|| call.title.clone(), |shown| title(&call.name, shown));
        self.running.push(LiveTool { title, since, ..call.clone() });
        self.phase = LivePhase::Tool;
    }
}

/// A call that runs, in a line: what the model says that it is for, else on what.
fn title(name: &str, arguments: &str) -> String {
    let parsed: Option<Value> = serde_json::from_str(arguments).ok();
    let text = |field: &str| {
        let text = parsed.as_ref()?.get(field)?.as_str()?.trim();
        Some(text.to_owned()).filter(|text| !text.is_empty())
    };
    let on = || ["pattern", "path", "hash"].iter().find_map(|field| text(field));
    let of_command = || text("command").map(|command| format!("run {}", first_line(&command)));
    let title = text("description").or_else(of_command).unwrap_or_else(|| match on() {
        Some(on) => format!("{name} {on}"),
        None => format!("{name} {}", arguments.trim_matches(['{', '}'])),
    });
    let title = one_line(first_line(&title));
    match title.char_indices().nth(TITLE) {
        Some((end, _)) => format!("{}…", &title[..end]),
        None => title,
    }
}

fn first_line(text: &str) -> &str {
    text.trim().lines().next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_told_by_what_it_is_for() {
        for (name, arguments, told) in [
            (
                "run_command",
                r#"{"command":"cargo test","description":"Run the tests\nall"}"#,
                "Run the tests",
            ),
            ("run_command", r#"{"command":" ls -l\npwd","description":" "}"#, "run ls -l"),
            ("read_file", r#"{"path":"src/a.rs","limit":3}"#, "read_file src/a.rs"),
            ("grep", r#"{"pattern":"a.*b","path":"src"}"#, "grep a.*b"),
            ("list_dir", "{}", "list_dir"),
            ("own\x1b[2J", r#"{"deep":{"a":1}}"#, "own[2J \"deep\":{\"a\":1"),
            ("broken", "{not json", "broken not json"),
        ] {
            assert_eq!(title(name, arguments), told);
        }
        let long = format!(r#"{{"description":"{}"}}"#, "é".repeat(200));
        assert_eq!(title("x", &long).chars().count(), TITLE + 1);
    }
}
