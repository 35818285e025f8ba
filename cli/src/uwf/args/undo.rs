//! What can be typed after `uwf undo` and `uwf redo`.

use std::path::PathBuf;

use clap::Args;

/// Which step is undone.
#[derive(Debug, Args)]
pub(in crate::uwf) struct Undo {
    /// The step: a hash or a part of one; or T:3, T:-1, T:last, T:ROLE, T:ROLE.2, where T is a thread
    #[arg(value_name = "STEP")]
    pub(in crate::uwf) step: String,
    #[command(flatten)]
    pub(in crate::uwf) how: UndoHow,
}

/// Which undo is taken back.
#[derive(Debug, Args)]
pub(in crate::uwf) struct Redo {
    /// The step, or a thread T for the last undo in it [default: the last undo in the current directory, or that of --cwd]
    #[arg(value_name = "STEP|T:n|T")]
    pub(in crate::uwf) what: Option<String>,
    #[command(flatten)]
    pub(in crate::uwf) how: UndoHow,
}

/// Where files are changed, and what where they are not as they were.
#[derive(Debug, Args)]
pub(in crate::uwf) struct UndoHow {
    /// The directory whose files are changed [default: for undo where the step worked, for redo where it was undone]
    #[arg(long, value_name = "DIR")]
    pub(in crate::uwf) cwd: Option<PathBuf>,
    /// Leave alone what is not as it was, and change the rest
    #[arg(long)]
    pub(in crate::uwf) partial: bool,
    /// Change nothing: tell what would be done
    #[arg(long)]
    pub(in crate::uwf) dry_run: bool,
    /// Print how many lines of each file come and go, and nothing else
    #[arg(long)]
    pub(in crate::uwf) stat: bool,
    /// Print the paths of the files, and nothing else
    #[arg(long, conflicts_with = "stat")]
    pub(in crate::uwf) name_only: bool,
}
