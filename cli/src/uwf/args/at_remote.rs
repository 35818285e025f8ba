//! What commands take that are about a thread at a remote.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::exec::Start;
use crate::shell::dollars;

/// Where the thread is.
#[derive(Debug, Args)]
pub(in crate::uwf) struct AtRemote {
    /// The thread is at this remote, not here
    #[arg(long, value_name = "REMOTE")]
    pub(in crate::uwf) remote: Option<String>,
}

/// What begins, and where it is run.
#[derive(Debug, Args)]
pub(in crate::uwf) struct Begin {
    #[command(flatten)]
    pub(in crate::uwf) start: Start,
    #[command(flatten)]
    pub(in crate::uwf) terms: SubmitTerms,
}

/// How a thread is to be run by the workers of a remote.
#[derive(Debug, Args)]
#[command(next_help_heading = "At a remote")]
pub(in crate::uwf) struct SubmitTerms {
    /// Have the workers of this remote run it; it is not kept here
    #[arg(long, value_name = "REMOTE")]
    pub(in crate::uwf) remote: Option<String>,
    /// Only workers that offer these labels
    #[arg(long, value_name = "A,B", value_delimiter = ',', requires = "remote")]
    pub(in crate::uwf) label: Vec<String>,
    /// The larger the sooner
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true, requires = "remote")]
    pub(in crate::uwf) priority: i32,
    /// How many claims in a row may come to nothing before it is left for a person
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(i32).range(1..), requires = "remote")]
    pub(in crate::uwf) max_attempts: i32,
    /// What its steps may cost together, in USD; then it is paused
    #[arg(long, value_name = "USD", value_parser = dollars, requires = "remote")]
    pub(in crate::uwf) max_cost: Option<f64>,
    /// The directory that it works in: shared by the machines, a snapshot of the directory here that goes along, or a branch
    /// of a git repository
    #[arg(long, value_enum, value_name = "KIND", default_value_t = WorkspaceKind::Shared, hide_possible_values = true, requires = "remote")]
    pub(in crate::uwf) workspace: WorkspaceKind,
    /// shared: a root that workers have a directory for (`uwf worker --shared-root NAME=DIR`), or an absolute path that is the same
    /// everywhere [default: the directory that it was begun in]
    #[arg(long, value_name = "NAME|DIR", requires = "remote")]
    pub(in crate::uwf) root: Option<String>,
    /// git: the repository, without a login; a path must be in a `uwf worker --repository-root` of the worker
    #[arg(long, value_name = "URL", requires = "remote")]
    pub(in crate::uwf) repository: Option<String>,
    /// git: the branch or commit that the thread's own branch begins at
    #[arg(long, value_name = "REF", default_value = "HEAD", requires = "remote")]
    pub(in crate::uwf) base: String,
    /// shared, git: the directory below the root
    #[arg(long, value_name = "DIR", requires = "remote")]
    pub(in crate::uwf) dir: Option<PathBuf>,
}

/// A kind of workspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(in crate::uwf) enum WorkspaceKind {
    /// A directory of a file system that the machines share
    Shared,
    /// Files that are kept at the remote
    Snapshot,
    /// A branch of a git repository
    Git,
}
