//! What happens in a run, told in lines: the ones that a terminal and a log show of it.
//!
//! Apart so that a run that is watched, one that is read from its journal and one that is read from its record say the same.
//! What a model or a tool says has none of its control characters here: they could make a terminal do things.

use std::time::Duration;

use crate::journal::Entry;
use crate::provider::message::{MessageKind, ToolCall};

/// One line about a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// What it tells of.
    pub kind: LineKind,
    /// What it says, without the line's end.
    pub text: String,
}

/// What a line tells of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineKind {
    /// A turn of the model.
    Turn,
    /// A call of a tool that has ended.
    Call {
        /// Whether it failed.
        failed: bool,
    },
    /// What people should know.
    Note,
}

impl Line {
    /// The line of an entry, if it is worth one; `turns` is how many turns the model has had by then.
    pub fn of(entry: &Entry, turns: u64) -> Option<Line> {
        let note = |text| Some(Line { kind: LineKind::Note, text });
        match entry {
            Entry::Answered { message, duration_ms, .. } => {
                let took = seconds(Duration::from_millis(*duration_ms));
                let text = format!("turn {turns}: {} ({took})", tools(&message.tool_calls));
                Some(Line { kind: LineKind::Turn, text })
            }
            Entry::Finished { facts, duration_ms, .. } => {
                let (title, took) = (one_line(&facts.title), Duration::from_millis(*duration_ms));
                let (failed, took) = (facts.failed(), seconds(took));
                let text = format!("  {} {title} ({took})", if failed { "✗" } else { "✓" });
                Some(Line { kind: LineKind::Call { failed }, text })
            }
            Entry::RequestChanged { change, reason, .. } => {
                note(format!("refused: {}; {}", shown(reason), shown(change)))
            }
            Entry::Said { message, .. }
                if !matches!(message.kind, MessageKind::Opening | MessageKind::Extract) =>
            {
                note(format!("told the model: {}", message.kind.as_str()))
            }
            Entry::Warned { message, .. } => note(format!("warning: {}", shown(message))),
            Entry::Elided { marks, .. } => {
                note(format!("the window is nearly full: {} old results are left out", marks.len()))
            }
            _ => None,
        }
    }

    /// The line of an entry for whoever reads it in a journal: there, what passes has left a trace, too.
    pub fn of_journal(entry: &Entry, turns: u64) -> Option<Line> {
        let text = match entry {
            Entry::Continued { .. } => continued(turns),
            Entry::AttemptFailed { failed, .. } => {
                format!("an attempt failed: {}", shown(&failed.to_string()))
            }
            entry => return Line::of(entry, turns),
        };
        Some(Line { kind: LineKind::Note, text })
    }
}

/// That a run goes on that had so many turns.
pub fn continued(turns: u64) -> String {
    format!("continues the interrupted run, after {turns} {}", if turns == 1 { "turn" } else { "turns" })
}

/// The tools of a turn: `read_file, grep ×3`.
fn tools(calls: &[ToolCall]) -> String {
    if calls.is_empty() {
        return "text".to_owned();
    }
    let alike: Vec<String> = calls
        .chunk_by(|one, next| one.name == next.name)
        .map(|same| match same.len() {
            1 => shown(&same[0].name),
            times => format!("{} ×{times}", shown(&same[0].name)),
        })
        .collect();
    alike.join(", ")
}

/// A time as it is told of turns and calls: `1.3 s`.
pub fn seconds(duration: Duration) -> String {
    format!("{:.1} s", duration.as_secs_f64())
}

/// The text without control characters, but for line breaks and tabs.
pub fn shown(text: &str) -> String {
    text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect()
}

/// The same in one line: a line of its own would look like one of ours.
pub fn one_line(text: &str) -> String {
    shown(text).replace(['\n', '\t'], " ").trim().to_owned()
}
