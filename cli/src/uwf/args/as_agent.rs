//! What can be typed after `uwf as-agent`.

use clap::Args;

#[derive(Debug, Args)]
pub(in crate::uwf) struct AsAgent {
    /// The workflow that plays: a hash, a file, or a name
    pub(in crate::uwf) workflow: String,
    /// The thread whose role is played
    #[arg(
        long = "thread",
        value_name = "THREAD",
        conflicts_with = "positional",
        required_unless_present = "positional"
    )]
    pub(in crate::uwf) thread: Option<String>,
    /// The role that is played
    #[arg(
        long = "role",
        value_name = "ROLE",
        conflicts_with = "positional",
        required_unless_present = "positional"
    )]
    pub(in crate::uwf) role: Option<String>,
    /// What it is asked for [default: $UWF_EDGE_PROMPT, else what the graph says]
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(in crate::uwf) prompt: Option<String>,
    /// The thread and the role, in the older form
    #[arg(value_names = ["THREAD", "ROLE"], num_args = 2)]
    pub(in crate::uwf) positional: Vec<String>,
}
