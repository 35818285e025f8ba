//! What can be typed after `uwf mcp`.

use std::path::PathBuf;

use clap::Args;

/// What a client may do.
#[derive(Debug, Args)]
pub(in crate::uwf) struct Mcp {
    /// A directory that threads may work in, and all below it; can be given again [default: the current one]
    #[arg(long, value_name = "DIR")]
    pub(in crate::uwf) root: Vec<PathBuf>,
    /// A workflow that is offered, by its registered name; can be given again [default: all that are registered]
    #[arg(long, value_name = "NAME")]
    pub(in crate::uwf) workflow: Vec<String>,
    /// Options of `uwf run` that each run is begun with
    #[arg(last = true, value_name = "OPTIONS")]
    pub(in crate::uwf) run: Vec<String>,
}
