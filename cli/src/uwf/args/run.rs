//! What can be typed after `uwf run`.

use clap::Args;

use super::exec::{AgentFlags, MAX_STEPS, Rounds, Start};

/// What begins, and how it is run.
#[derive(Debug, Args)]
pub(in crate::uwf) struct Run {
    #[command(flatten)]
    pub(in crate::uwf) start: Start,
    /// Stop after this many steps
    #[arg(long, value_name = "N", default_value_t = MAX_STEPS, value_parser = clap::value_parser!(u32).range(1..))]
    pub(in crate::uwf) max_steps: u32,
    #[command(flatten)]
    pub(in crate::uwf) rounds: Rounds,
    /// Return at once and let the steps run on their own; with -q the thread's id alone is printed
    #[arg(long)]
    pub(in crate::uwf) background: bool,
    /// The same as --format json
    #[arg(long, conflicts_with = "format")]
    pub(in crate::uwf) json: bool,
    #[command(flatten)]
    pub(in crate::uwf) flags: AgentFlags,
}
