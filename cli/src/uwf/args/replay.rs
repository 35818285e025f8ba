//! What can be typed after `uwf replay`.

use std::path::PathBuf;

use clap::Args;

use crate::builtin::ReplayArgs;
use crate::shell::SandboxLevel;

/// Which steps are played again, and whether a live run branches off.
#[derive(Debug, Args)]
pub(in crate::uwf) struct Replay {
    #[command(flatten)]
    pub(in crate::uwf) replay: ReplayArgs,
    /// With --live: the recorded turns up to this one stay, and the model is asked for the next one
    #[arg(long, value_name = "TURN", requires = "live", value_parser = clap::value_parser!(u32).range(1..))]
    pub(in crate::uwf) from: Option<u32>,
    /// Go on with the model that is configured: in a fork of the thread, which works in the directory of --worktree
    #[arg(long, requires_all = ["from", "worktree"], conflicts_with_all = ["all", "asked", "run_tools"])]
    pub(in crate::uwf) live: bool,
    /// With --live: a new or empty directory, which is given the workspace as it was after that turn
    #[arg(long, value_name = "DIR", requires = "live")]
    pub(in crate::uwf) worktree: Option<PathBuf>,
    /// With --live: who goes on; a command line of uwf-builtin, such as "uwf-builtin --model M" [default: as configured]
    #[arg(long, value_name = "CMD|ALIAS", allow_hyphen_values = true, requires = "live")]
    pub(in crate::uwf) agent: Option<String>,
    /// With --live: end the agent if it takes longer (90s, 20m, 1h) [default: no limit]
    #[arg(long, value_name = "DURATION", value_parser = crate::shell::some_time, requires = "live")]
    pub(in crate::uwf) timeout: Option<std::time::Duration>,
    /// With --live: how much of its sandbox it must have [default: as configured, else strict]
    #[arg(long, value_enum, value_name = "LEVEL", hide_possible_values = true, requires = "live")]
    pub(in crate::uwf) sandbox: Option<SandboxLevel>,
}
