//! What can be typed after `uwf as-agent`.

use clap::Args;

#[derive(Debug, Args)]
pub(in crate::uwf) struct AsAgent {
    /// The workflow that plays: a hash, a file seen from the current directory, or a name looked for from the thread's directory
    pub(in crate::uwf) workflow: String,
    /// The thread whose role is played
    #[arg(
        long = "thread",
        value_name = "THREAD",
        conflicts_with = "older_thread",
        required_unless_present = "older_thread"
    )]
    pub(in crate::uwf) thread: Option<String>,
    /// The role that is played
    #[arg(
        long = "role",
        value_name = "ROLE",
        conflicts_with = "older_role",
        required_unless_present = "older_role"
    )]
    pub(in crate::uwf) role: Option<String>,
    /// What it is asked for [default: $UWF_EDGE_PROMPT, else what the graph says]
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(in crate::uwf) prompt: Option<String>,
    /// The thread, in the older form
    #[arg(value_name = "THREAD", requires = "older_role")]
    pub(in crate::uwf) older_thread: Option<String>,
    /// The role, in the older form
    #[arg(value_name = "ROLE")]
    pub(in crate::uwf) older_role: Option<String>,
}
