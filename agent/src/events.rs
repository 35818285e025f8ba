//! `--events`: what happens in a run, as JSON lines for programs.
//!
//! Apart because its shape is a promise: each line is an object with `event` (which one), `at` (ms since the epoch) and
//! the fields below; fields may be added, none is removed or renamed, and a test pins them. They follow from the
//! journal's entries, and from what passes without being kept. It knows no file; secrets are gone before anything gets
//! here.
//!
//! | `event` | fields |
//! |---|---|
//! | `run.started` | `session`, `thread`, `role`, `model`, `trace` (the trace id of `TRACEPARENT`, or null), `turnsBefore` (done by earlier processes: an interrupted run that goes on) |
//! | `turn.started` | `turn` (from 1) |
//! | `message.delta` | `turn`, and `text` or `reasoning`: a piece as it arrives; after a `retry` the turn's text begins anew |
//! | `retry` | `turn`, `attempt` (the one that failed, from 1), `waitMs`, `reason` |
//! | `request.changed` | `turn`, `change` (what is asked otherwise from here on, for people), `reason` (the endpoint's refusal) |
//! | `turn.finished` | `turn`, `durationMs`, `toolCalls` (how many), `finishReason`, `usage` (null, or `inputTokens`, `outputTokens`, `cachedTokens`, `writtenTokens`, `reasoningTokens`, and `costUsd` where the endpoint tells it), `costUsd` (null where neither the endpoint nor a price tells) |
//! | `tool.started` | `turn`, `call` (its id), `tool`, `arguments` (JSON text as the model sent it) |
//! | `tool.finished` | `turn`, `call`, `tool`, `title` (a line for people), `failed`, `exitCode`, `durationMs` |
//! | `budget.warning` | `turn` (the next), `unit` (`turns`, `tokens`, `seconds`, `usd`), `used`, `total`, `percent` |
//! | `message.sent` | `turn` (the next), `kind`: the model is told something: `nudge`, `warning`, `grace`, `correction`, `repeated`, `summary`, `closing` |
//! | `context.shrunk` | `turn` (the next), `results` (how many old tool results are left out of the requests) |
//! | `warning` | `turn` (the next), `message`: what is amiss, for people; the run goes on |
//! | `run.finished` | `status` (the answer's, or `error`), `phase` (null, `answer`, `budget`, `provider`, `sandbox`, `git`, `cancelled`, and of agents of other kinds `spawn`, `timeout` or `agent`), `error`, `step`, `turns`, `tokens`, `costUsd` |

use serde::Serialize;

use crate::budget::{Unit, Use};
use crate::journal::Entry;
use crate::provider::message::{MessageKind, TokenUsage};
use crate::react::{Notice, Progress, RunEnd, millis};
use crate::run_state::RunState;
use crate::usd::Usd;

/// One line.
#[derive(Debug, Serialize)]
struct EventLine<'a> {
    at: u64,
    #[serde(flatten)]
    what: What<'a>,
}

/// What happened.
#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all_fields = "camelCase")]
enum What<'a> {
    #[serde(rename = "run.started")]
    RunStarted {
        session: &'a str,
        thread: &'a str,
        role: &'a str,
        model: &'a str,
        trace: Option<&'a str>,
        turns_before: u64,
    },
    #[serde(rename = "turn.started")]
    TurnStarted { turn: u64 },
    #[serde(rename = "message.delta")]
    Text { turn: u64, text: &'a str },
    #[serde(rename = "message.delta")]
    Reasoning { turn: u64, reasoning: &'a str },
    #[serde(rename = "retry")]
    Retry { turn: u64, attempt: u32, wait_ms: u64, reason: &'a str },
    #[serde(rename = "request.changed")]
    Changed { turn: u64, change: &'a str, reason: &'a str },
    #[serde(rename = "turn.finished")]
    TurnFinished {
        turn: u64,
        duration_ms: u64,
        tool_calls: usize,
        finish_reason: Option<&'a str>,
        usage: Option<TokenUsage>,
        cost_usd: Option<Usd>,
    },
    #[serde(rename = "tool.started")]
    ToolStarted { turn: u64, call: &'a str, tool: &'a str, arguments: &'a str },
    #[serde(rename = "tool.finished")]
    ToolFinished {
        turn: u64,
        call: &'a str,
        tool: &'a str,
        title: &'a str,
        failed: bool,
        exit_code: Option<i32>,
        duration_ms: u64,
    },
    #[serde(rename = "budget.warning")]
    BudgetWarning { turn: u64, unit: &'static str, used: Amount, total: Amount, percent: u64 },
    #[serde(rename = "message.sent")]
    Sent { turn: u64, kind: &'static str },
    #[serde(rename = "context.shrunk")]
    Shrunk { turn: u64, results: usize },
    #[serde(rename = "warning")]
    Warned { turn: u64, message: &'a str },
    #[serde(rename = "run.finished")]
    RunFinished {
        status: &'a str,
        phase: Option<&'a str>,
        error: Option<&'a str>,
        step: Option<&'a str>,
        turns: u64,
        tokens: u64,
        cost_usd: Option<Usd>,
    },
}

/// A count, or dollars.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Amount {
    Count(u64),
    Money(Usd),
}

/// The lines of one run.
#[derive(Debug, Default)]
pub struct Events {
    /// The turn that runs, or ran last.
    turn: u64,
}

impl Events {
    /// The lines of a notice, each with its end; nothing for what is not worth one. `now` is ms since the epoch, for what
    /// tells no time of its own.
    pub fn lines(&mut self, notice: &Notice<'_>, now: u64) -> Option<String> {
        let mut lines = String::new();
        let at = if let Notice::Entry(entry, _) = notice { entry.at() } else { now };
        for what in self.what(notice).into_iter().flatten() {
            lines += &serde_json::to_string(&EventLine { at, what }).ok()?;
            lines.push('\n');
        }
        (!lines.is_empty()).then_some(lines)
    }

    fn what<'a>(&mut self, notice: &Notice<'a>) -> [Option<What<'a>>; 2] {
        match *notice {
            Notice::Opened { session, thread, role, model, trace, resumed } => {
                self.turn = resumed.unwrap_or_default();
                let turns_before = self.turn;
                [Some(What::RunStarted { session, thread, role, model, trace, turns_before }), None]
            }
            Notice::Entry(Entry::Said { near, message, .. }, _) => {
                let turn = self.turn + 1;
                [near.map(|near| warning(turn, near)), sent(turn, message.kind)]
            }
            Notice::Entry(entry, state) => {
                if let Entry::Asked { .. } = entry {
                    self.turn = state.spent.turns + 1;
                }
                [happened(entry, state, self.turn).or_else(|| finished(notice)), None]
            }
            Notice::Progress(ref progress) => [passing(progress, self.turn), None],
            Notice::Stopped { .. } => [finished(notice), None],
        }
    }
}

/// What an entry tells, in or after the `turn`.
fn happened<'a>(entry: &'a Entry, state: &'a RunState, turn: u64) -> Option<What<'a>> {
    let next = turn + 1;
    Some(match entry {
        Entry::Asked { .. } => What::TurnStarted { turn },
        Entry::RequestChanged { change, reason, .. } => What::Changed { turn, change, reason },
        Entry::Answered { message, duration_ms, usage, finish_reason, .. } => What::TurnFinished {
            turn: state.spent.turns,
            duration_ms: *duration_ms,
            tool_calls: message.tool_calls.len(),
            finish_reason: finish_reason.as_deref(),
            usage: *usage,
            cost_usd: state.cost(message.kind, *usage),
        },
        Entry::Started { call_id, shown, .. } => {
            let call = state.call(call_id)?;
            let arguments = shown.as_deref().unwrap_or(&call.arguments);
            What::ToolStarted { turn, call: &call.id, tool: &call.name, arguments }
        }
        Entry::Finished { message, duration_ms, facts, .. } => {
            let call = state.call(message.tool_call_id.as_deref()?)?;
            What::ToolFinished {
                turn,
                call: &call.id,
                tool: &call.name,
                title: &facts.title,
                failed: facts.failed(),
                exit_code: facts.exit_code,
                duration_ms: *duration_ms,
            }
        }
        Entry::Elided { marks, .. } => What::Shrunk { turn: next, results: marks.len() },
        Entry::Warned { message, .. } => What::Warned { turn: next, message },
        _ => return None,
    })
}

/// What passes in a turn and is not kept.
fn passing<'a>(progress: &Progress<'a>, turn: u64) -> Option<What<'a>> {
    match *progress {
        Progress::Text(text) => Some(What::Text { turn, text }),
        Progress::Reasoning(reasoning) => Some(What::Reasoning { turn, reasoning }),
        Progress::Retry { attempt, wait, reason } => {
            Some(What::Retry { turn, attempt, wait_ms: millis(wait), reason })
        }
        Progress::NoEdgePrompt | Progress::Tick => None,
    }
}

/// The opening is told with the run, and an extraction is no part of the conversation.
fn sent(turn: u64, kind: MessageKind) -> Option<What<'static>> {
    let is_told = !matches!(kind, MessageKind::Opening | MessageKind::Extract);
    is_told.then(|| What::Sent { turn, kind: kind.as_str() })
}

fn finished<'a>(notice: &Notice<'a>) -> Option<What<'a>> {
    let RunEnd { step, status, phase, error, state } = RunEnd::of(notice)?;
    let (turns, tokens, cost_usd) = state.sums();
    Some(What::RunFinished { status, phase, error, step, turns, tokens, cost_usd })
}

fn warning(turn: u64, near: Use) -> What<'static> {
    let amount = |amount| match near.unit {
        Unit::Usd => Amount::Money(Usd::of_billionths(amount)),
        _ => Amount::Count(amount),
    };
    let (used, total) = (amount(near.used), amount(near.total));
    What::BudgetWarning { turn, unit: near.unit.as_str(), used, total, percent: near.percent() }
}

#[cfg(test)]
#[path = "events_tests.rs"]
mod tests;
