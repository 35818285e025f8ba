//! What a run does just now, as its page tells it.

/// A run that goes on, in a line and a few of its last ones.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct LiveLine {
    pub(crate) role: Option<String>,
    /// Which turn it is; 0 where nobody tells.
    pub(crate) turn: u64,
    pub(crate) max_turns: Option<u64>,
    /// What it does: a tool and what for, or that the model is asked.
    pub(crate) doing: String,
    /// When the run began, in milliseconds since the epoch.
    pub(crate) started_at: u64,
    pub(crate) tokens: u64,
    pub(crate) cost: Option<f64>,
    pub(crate) lines: Vec<String>,
}
