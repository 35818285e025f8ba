//! What can be typed: every option and every help text of `uwf-eval`, and nothing of what they mean.

mod report;

use clap::{Args, Parser, Subcommand};

pub(super) use self::report::{Diff, DiffKind, Report, ReportKind};
use crate::shell::{Completions, Global, Man};

const AFTER_HELP: &str = "\
Examples:
  uwf-eval list
  uwf-eval report fix-off-by-one-1
  uwf-eval diff fix-off-by-one-1 fix-off-by-one-2

Files: what was found out is in the store, $OCAS_HOME (default ~/.ocas), as the threads are.
Exit: 0 done; 1 you can mend it, or it is less than was asked for; 2 usage; 3 no result: too many cases have no score; 70 a bug
  of ours; 129/130/143 ended by a signal.";

/// Evaluate workflows: run them over and over on the same tasks, judge what they do, and compare.
#[derive(Debug, Parser)]
#[command(name = "uwf-eval", version, after_long_help = AFTER_HELP, args_override_self = true)]
pub(super) struct EvalCli {
    /// What to do.
    #[command(subcommand)]
    pub(super) command: Command,
    /// How to print.
    #[command(flatten)]
    pub(super) global: Global,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// List the evaluations
    #[command(after_long_help = "Examples:\n  uwf-eval list\n  uwf-eval list --format json")]
    List,
    Show(Show),
    Report(Report),
    Diff(Diff),
    /// Print a completion script for a shell
    Completions(Completions),
    /// Print the manual page, or write all of them
    Man(Man),
}

/// Show an evaluation, or one of its cases with what its judges found
#[derive(Debug, Args)]
#[command(
    after_long_help = "Examples:\n  uwf-eval show fix-off-by-one-1\n  uwf-eval show fix-off-by-one-1/fix-off-by-one/3\n  uwf-eval show fix-off-by-one-1/fix-off-by-one/3 --format json"
)]
pub(super) struct Show {
    /// EVALUATION, EVALUATION/TASK/REPEAT, or the hash of a case's record
    #[arg(value_name = "CASE")]
    pub(super) case: String,
}
