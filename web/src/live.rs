//! What a run does just now, as its page tells it.

use uwf_agent::live::{LivePhase, LiveRun};

/// How many of the last lines are shown.
const LINES: usize = 8;

/// A run that goes on, in a line and a few of its last ones.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct LiveLine {
    pub(crate) role: Option<String>,
    /// Which turn it is; none where nobody tells.
    pub(crate) turn: Option<u64>,
    pub(crate) max_turns: Option<u64>,
    /// What it does: a tool and what for, or that the model is asked.
    pub(crate) doing: String,
    /// When the run began, in milliseconds since the epoch.
    pub(crate) started_at: u64,
    pub(crate) tokens: u64,
    pub(crate) cost: Option<f64>,
    pub(crate) lines: Vec<String>,
}

impl From<LiveRun> for LiveLine {
    fn from(run: LiveRun) -> LiveLine {
        let doing = match (&run.tool, run.phase) {
            (Some(tool), _) => format!("{} {}", tool.name, tool.title),
            (None, LivePhase::Thinking) => "the model is asked".to_owned(),
            (None, _) if run.turn.is_some() => "waits".to_owned(),
            // An agent that tells nothing.
            (None, _) => String::new(),
        };
        let lines = run.lines.iter().rev().take(LINES).rev();
        LiveLine {
            role: run.role,
            turn: run.turn,
            max_turns: run.max_turns,
            doing,
            started_at: run.started_at,
            tokens: run.usage.tokens(),
            cost: run.cost_usd,
            lines: lines.map(|line| line.text.clone()).collect(),
        }
    }
}
