//! What can be typed after `uwf thread artifacts`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Of which thread, or what to take out of it.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    disable_help_subcommand = true
)]
pub(in crate::uwf) struct Artifacts {
    /// The thread: an id, the first or last characters of one, or @ for the latest of this directory
    #[arg(required = true)]
    pub(in crate::uwf) thread: Option<String>,
    /// Write this one to a file or to stdout, as `get` does
    pub(in crate::uwf) name: Option<String>,
    #[command(flatten)]
    pub(in crate::uwf) place: ArtifactPlace,
    #[command(subcommand)]
    pub(in crate::uwf) command: Option<ArtifactsCommand>,
}

#[derive(Debug, Subcommand)]
pub(in crate::uwf) enum ArtifactsCommand {
    /// Write one of them to a file or to stdout
    #[command(
        long_about = "Write an artifact to a file or to stdout, byte for byte as it was when its step was made: the newest one of \
                      that name, or that of one step. A node that is no content is written as its payload, in JSON.",
        after_long_help = "Examples:\n  uwf thread artifacts get 01K… report.md -o report.md\n  uwf thread artifacts get 01K… figures/a.png -o old.png --step 2\n  uwf thread artifacts get 01K… report.md | less"
    )]
    Get(GetArtifact),
}

/// Which artifact, and where it goes.
#[derive(Debug, Args)]
pub(in crate::uwf) struct GetArtifact {
    /// The thread: an id, the first or last characters of one, or @ for the latest of this directory
    pub(in crate::uwf) thread: String,
    /// What the artifact is called, as `uwf thread artifacts` lists it
    pub(in crate::uwf) name: String,
    #[command(flatten)]
    pub(in crate::uwf) place: ArtifactPlace,
}

/// Of which step an artifact is, and where it goes.
#[derive(Clone, Debug, Default, Args)]
pub(in crate::uwf) struct ArtifactPlace {
    /// Write to this file [default: stdout, which is also `-`]
    #[arg(short, long, value_name = "FILE", requires = "name")]
    pub(in crate::uwf) output: Option<PathBuf>,
    /// The artifact of this step, not the newest one: its number or role in the thread, its hash, or T:n for the n-th step of the thread T
    #[arg(long, value_name = "STEP", requires = "name")]
    pub(in crate::uwf) step: Option<String>,
    /// Replace a file that is there already
    #[arg(short, long, requires = "output")]
    pub(in crate::uwf) force: bool,
}
