//! What can be typed after `uwf workflow`.

use std::path::PathBuf;

use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum Workflow {
    /// Check a workflow file and register it by its name
    #[command(
        alias = "put",
        after_long_help = "Examples:\n  uwf workflow add solve-issue.yaml\n  uwf workflow add .workflows/review/index.yaml"
    )]
    Add {
        /// The workflow's YAML file
        file: PathBuf,
    },
    /// Check a workflow file and say everything that is wrong with it; nothing is stored
    #[command(after_long_help = "Examples:\n  uwf workflow validate solve-issue.yaml")]
    Validate {
        /// The workflow's YAML file
        file: PathBuf,
    },
    /// Print a workflow as it is stored
    #[command(
        after_long_help = "Examples:\n  uwf workflow show solve-issue\n  uwf workflow show 9GDHFMG6KAC8V"
    )]
    Show {
        /// A hash, a file, or a name: local ones first, then the registry
        workflow: String,
    },
    /// List the workflows that `thread start` finds from here
    #[command(after_long_help = "Examples:\n  uwf workflow list --format json")]
    List,
}
