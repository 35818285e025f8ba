//! What can be typed after `completions` and `man`, of both programs.

use std::path::PathBuf;

use clap::Args;
use clap_complete::Shell;

/// `completions`.
#[derive(Debug, Args)]
#[command(
    after_long_help = "Examples, in ~/.bashrc:\n  source <(uwf completions bash)\n  source <(uwf-builtin completions bash)"
)]
pub struct Completions {
    /// The shell: bash, elvish, fish, powershell or zsh
    #[arg(value_enum, hide_possible_values = true)]
    pub(crate) shell: Shell,
}

/// `man`.
#[derive(Debug, Args)]
#[command(
    after_long_help = "Examples:\n  uwf man | man -l -\n  uwf man --out ~/.local/share/man/man1\n  uwf-builtin man --out ~/.local/share/man/man1"
)]
pub struct Man {
    /// Write a page for each command into this directory, and print the names of the files
    #[arg(long, value_name = "DIR")]
    pub(in crate::shell) out: Option<PathBuf>,
}
