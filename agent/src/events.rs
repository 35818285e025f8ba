//! `--events`: what happens in a run, as JSON lines for programs.
//!
//! Apart because its shape is a promise: each line is an object with `event` (which one), `at` (ms since the epoch) and
//! the fields below; fields may be added, none is removed or renamed, and a test pins them. It knows no file; secrets
//! are gone before anything gets here.
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
//! | `message.sent` | `turn` (the next), `kind`: the model is told something: `nudge`, `warning`, `grace`, `correction`, `repeated`, `summary`, `extract` |
//! | `context.shrunk` | `turn` (the next), `results` (how many old tool results are left out of the requests) |
//! | `warning` | `turn` (the next), `message`: what is amiss, for people; the run goes on |
//! | `run.finished` | `status` (the answer's, or `error`), `phase` (null, `answer`, `budget`, `provider`, `sandbox`, `git` or `cancelled`), `error`, `step`, `turns`, `tokens`, `costUsd` |

use serde::Serialize;

use crate::budget::{Unit, Use};
use crate::prices::Usd;
use crate::provider::Progress;
use crate::provider::message::{Kind, TokenUsage};
use crate::react::{Event, millis};

/// One line.
#[derive(Debug, Serialize)]
struct Line<'a> {
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
    /// The line of an event, with its end; nothing for what is not worth one. `at` is ms since the epoch.
    pub fn line(&mut self, event: &Event<'_>, at: u64) -> Option<String> {
        let what = self.what(event)?;
        let mut line = serde_json::to_string(&Line { at, what }).ok()?;
        line.push('\n');
        Some(line)
    }

    fn what<'a>(&mut self, event: &Event<'a>) -> Option<What<'a>> {
        if let Event::TurnStarted { number: turn } | Event::Continued { turns: turn } = event {
            self.turn = *turn;
        }
        let (turn, next) = (self.turn, self.turn + 1);
        Some(match event.clone() {
            Event::RunStarted { session, thread, role, model, trace } => {
                What::RunStarted { session, thread, role, model, trace, turns_before: turn }
            }
            Event::TurnStarted { number: turn } => What::TurnStarted { turn },
            Event::Progress(Progress::Text(text)) => What::Text { turn, text },
            Event::Progress(Progress::Reasoning(reasoning)) => What::Reasoning { turn, reasoning },
            Event::Progress(Progress::Retry { attempt, wait, reason }) => {
                What::Retry { turn, attempt, wait_ms: millis(wait), reason }
            }
            Event::Progress(Progress::Learnt { change, reason }) => What::Changed { turn, change, reason },
            Event::Turn { number: turn, took, calls, usage, cost, finish_reason } => What::TurnFinished {
                turn,
                duration_ms: millis(took),
                tool_calls: calls.len(),
                finish_reason,
                usage,
                cost_usd: cost,
            },
            Event::ToolStarted { call, arguments } => {
                What::ToolStarted { turn, call: &call.id, tool: &call.name, arguments }
            }
            Event::Tool { call, title, failed, exit_code, took } => What::ToolFinished {
                turn,
                call: &call.id,
                tool: &call.name,
                title,
                failed,
                exit_code,
                duration_ms: millis(took),
            },
            Event::Near(near) => warning(next, near),
            Event::Said(Kind::Opening) | Event::NoEdgePrompt | Event::Continued { .. } | Event::Tick => {
                return None;
            }
            Event::Said(kind) => What::Sent { turn: next, kind: kind.as_str() },
            Event::Warned(message) => What::Warned { turn: next, message },
            Event::LeftOut { results } => What::Shrunk { turn: next, results },
            Event::RunFinished { step, status, phase, error, turns, tokens, cost } => {
                What::RunFinished { status, phase, error, step, turns, tokens, cost_usd: cost }
            }
        })
    }
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
