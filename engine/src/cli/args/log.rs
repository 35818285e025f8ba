//! What can be typed after `uwf log`.

use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum Log {
    /// List the days there are lines of
    #[command(after_long_help = "Examples:\n  uwf log list")]
    List,
    /// Print what happened on a day or to a thread
    #[command(after_long_help = "Examples:\n  uwf log show\n  uwf log show 2026-11-21\n  uwf log show 01K…")]
    Show {
        /// A day (UTC) or a thread's id [default: the last day there is]
        #[arg(value_name = "DAY|THREAD")]
        which: Option<String>,
    },
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
