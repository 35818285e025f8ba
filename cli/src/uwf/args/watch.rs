//! What can be typed after `uwf watch`, `uwf logs` and `uwf wait`.

use std::time::Duration;

use clap::Args;

/// Which threads are watched.
#[derive(Debug, Args)]
pub(in crate::uwf) struct Watch {
    /// The thread [default: every thread that runs]
    pub(in crate::uwf) thread: Option<String>,
    /// The thread is at this remote, not here: each step is told as it is pushed
    #[arg(long, value_name = "REMOTE", requires = "thread")]
    pub(in crate::uwf) remote: Option<String>,
}

/// Whose lines are printed.
#[derive(Debug, Args)]
pub(in crate::uwf) struct Logs {
    /// The thread
    pub(in crate::uwf) thread: String,
    /// Go on printing until its run ends
    #[arg(short, long)]
    pub(in crate::uwf) follow: bool,
    /// Begin with the last N lines
    #[arg(short = 'n', long, value_name = "N")]
    pub(in crate::uwf) tail: Option<usize>,
}

/// Which thread is waited for.
#[derive(Debug, Args)]
pub(in crate::uwf) struct Wait {
    /// The thread
    pub(in crate::uwf) thread: String,
    /// Wait no longer than this (90s, 20m, 1h) [default: no limit]
    #[arg(long, value_name = "DURATION", value_parser = crate::shell::some_time)]
    pub(in crate::uwf) timeout: Option<Duration>,
}
