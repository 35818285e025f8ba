//! What can be typed after `uwf log`.

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(in crate::uwf) enum LogCommand {
    /// List the days there are lines of, the last one first
    #[command(after_long_help = "Examples:\n  uwf log list")]
    List,
    /// Print what happened on a day or to a thread
    #[command(
        after_long_help = "Examples:\n  uwf log show\n  uwf log show 2026-11-21\n  uwf log show 01K…\n  uwf log show --thread 01K… --date 2026-11-21"
    )]
    Show(LogShow),
    /// Remove old days
    #[command(
        after_long_help = "Examples:\n  uwf log clean --before 30d\n  uwf log clean --before 2026-01-01"
    )]
    Clean {
        /// Days that were over by then: 2026-11-21, or 30d for thirty days ago
        #[arg(long, value_name = "TIME")]
        before: String,
    },
}

/// Which lines are shown: those for which all holds that is given.
#[derive(Debug, Args)]
pub(in crate::uwf) struct LogShow {
    /// A day (UTC) or a thread's id [default: the last day there is]
    #[arg(value_name = "DAY|THREAD", conflicts_with_all = ["thread", "date"])]
    pub(in crate::uwf) which: Option<String>,
    /// Only what happened to this thread, on all days
    #[arg(long, value_name = "THREAD")]
    pub(in crate::uwf) thread: Option<String>,
    /// Only what this process wrote, on all days
    #[arg(long, value_name = "PID")]
    pub(in crate::uwf) process: Option<u32>,
    /// Only this day (UTC); that there is nothing of it is no error
    #[arg(long, value_name = "DAY")]
    pub(in crate::uwf) date: Option<String>,
}
