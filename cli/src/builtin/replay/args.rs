//! What can be typed after `replay`, the same in both programs.

use clap::Args;

const AFTER_HELP: &str = "\
The loop runs again against the recorded replies: nothing is sent, nothing of the thread changes, and each request must be the
one that was sent, byte for byte. Where one is not, the first difference is shown: a prompt template or a tool's description
that another version of this program has changed, a parameter, an order. Tools are not run: they answer what they answered.

Exit status: 0 every request is the same, 1 one is not, or a step cannot be played again.

Examples:
  uwf replay 4FEM2JTVTC79H
  uwf replay --all 01KAB7M5D8WQ0R3T6V9Y2Z4C8E
  uwf replay --run-tools 4FEM2JTVTC79H       run the tools, too, in the workspace as it was before the step";

/// `replay`.
#[derive(Clone, Debug, Args)]
#[command(after_long_help = AFTER_HELP)]
pub(crate) struct ReplayArgs {
    /// The step's hash (`uwf` takes T:n as well, the n-th step of the thread T); with --all, the thread's id
    #[arg(value_name = "STEP")]
    pub(crate) step: String,
    /// Every step of the thread and every failed attempt, the oldest first
    #[arg(long)]
    pub(crate) all: bool,
    /// Run the tools as well, in a new directory with the workspace as it was; what they answer must be the same
    #[arg(long)]
    pub(crate) run_tools: bool,
}
