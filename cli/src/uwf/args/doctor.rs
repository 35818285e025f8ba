//! What can be typed after `uwf doctor`.

use clap::Args;

/// How thoroughly to look.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:\n  uwf doctor\n  uwf doctor --online")]
pub(in crate::uwf) struct Doctor {
    /// Let the builtin agent ask the model's endpoint, too
    #[arg(long)]
    pub(in crate::uwf) online: bool,
}
