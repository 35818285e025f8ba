//! What can be typed after `uwf cost`.

use clap::{Args, ValueEnum};
use uwf_engine::view::SpentBy;

/// Which runs are added up, and for what.
#[derive(Debug, Args)]
#[command(
    after_long_help = "Examples:\n  uwf cost\n  uwf cost 01K…\n  uwf cost --since 7d --by day\n  uwf cost --by workflow --json total,rows"
)]
pub(in crate::uwf) struct Cost {
    /// Only this thread, with those that were called for it [default: all threads]
    pub(in crate::uwf) thread: Option<String>,
    /// Only runs that were over after this time: 2026-11-21, 2026-11-21T08:00:00Z, or 7d for seven days ago
    #[arg(long, value_name = "TIME")]
    pub(in crate::uwf) since: Option<String>,
    /// What each row is for: model, role, workflow, thread (one that nobody called) or day (in UTC)
    #[arg(long, value_enum, value_name = "WHAT", default_value = "model", hide_possible_values = true)]
    pub(in crate::uwf) by: CostBy,
}

/// What a row is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::uwf) enum CostBy {
    /// A model
    Model,
    /// A role
    Role,
    /// A workflow
    Workflow,
    /// A thread
    Thread,
    /// A day
    Day,
}

impl From<CostBy> for SpentBy {
    fn from(by: CostBy) -> SpentBy {
        match by {
            CostBy::Model => SpentBy::Model,
            CostBy::Role => SpentBy::Role,
            CostBy::Workflow => SpentBy::Workflow,
            CostBy::Thread => SpentBy::Thread,
            CostBy::Day => SpentBy::Day,
        }
    }
}
