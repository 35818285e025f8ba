//! What can be typed after `uwf step`.

use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum Step {
    /// List the steps of a thread, the oldest first
    #[command(after_long_help = "Examples:\n  uwf step list 01K… --format json")]
    List {
        /// The thread's id
        thread: String,
    },
    /// Print the agent's record of a step, with its turns
    #[command(after_long_help = "Examples:\n  uwf step show 9GDHFMG6KAC8V --format yaml")]
    Show {
        /// The step's hash
        step: String,
    },
    /// Tell what happened in a step, as markdown
    #[command(
        after_long_help = "Examples:\n  uwf step read 9GDHFMG6KAC8V\n  uwf step read 9GDHFMG6KAC8V --prompt"
    )]
    Read {
        /// The step's hash
        step: String,
        /// The opening messages as they were sent to the model, instead
        #[arg(long)]
        prompt: bool,
        /// At most about this many characters: the last turns that fit
        #[arg(long, value_name = "CHARS")]
        quota: Option<usize>,
    },
}
