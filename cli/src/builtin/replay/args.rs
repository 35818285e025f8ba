//! What can be typed after `replay`, the same in both programs.

use clap::Args;

const AFTER_HELP: &str = "\
Exit: 0 every request is the same; 1 one is not, or a step cannot be played again; 2 usage.

Examples, which uwf-builtin takes as well:
  uwf replay 01K…:2
  uwf replay --all 01K…
  uwf replay --asked 01K…:2
  uwf replay --run-tools 4FEM2JTVTC79H";

/// Play a recorded step again and compare each request
///
/// The loop runs again against the recorded replies: nothing is sent, nothing of the thread changes, and each request must be
/// the one that was sent, byte for byte. Where one is not, the first difference is shown: a prompt template or a tool's
/// description that another version of this program has changed, a parameter, an order. Tools are not run: they answer what
/// they answered.
#[derive(Debug, Args)]
#[command(after_long_help = AFTER_HELP)]
pub(crate) struct ReplayArgs {
    /// The step: a hash or a part of one; or T:3, T:-1, T:last, T:ROLE, T:ROLE.2, where T is a thread; with --all, the thread's id
    #[arg(value_name = "STEP|T:n|T")]
    pub(crate) step: String,
    /// Every step of the thread and every failed attempt, the oldest first
    #[arg(long)]
    pub(crate) all: bool,
    /// Play the questions that were put to the step (`uwf step ask`), as long as they are remembered
    #[arg(long, conflicts_with = "all")]
    pub(crate) asked: bool,
    /// Run the tools as well, in a new directory with the workspace as it was; what they answer must be the
    /// same. For one step at a time, since the process is confined to its directory
    #[arg(long, conflicts_with_all = ["all", "asked"])]
    pub(crate) run_tools: bool,
}
