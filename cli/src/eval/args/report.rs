//! `uwf-eval report` and `uwf-eval diff`, as typed.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use uwf_eval::report::ReportOptions;

/// Say what an evaluation comes to
#[derive(Debug, Args)]
#[command(
    after_long_help = "Examples:\n  uwf-eval report fix-off-by-one-1\n  uwf-eval report fix-off-by-one-1 --min 0.8\n  uwf-eval report fix-off-by-one-1 --as html -o report.html\n  uwf-eval report fix-off-by-one-1 --as junit -o junit.xml\n  uwf-eval report fix-off-by-one-1 --format json\n\nExit: 1 the score is below --min; 3 no result: too many cases have no score,\nor, with --min or --max-unscored, some are not finished."
)]
pub(in crate::eval) struct Report {
    /// The evaluation
    #[arg(value_name = "EVALUATION")]
    pub(in crate::eval) evaluation: String,
    /// Write a document: csv, junit (tests for CI), or html (a page that needs no server)
    #[arg(long = "as", value_enum, value_name = "KIND", hide_possible_values = true)]
    pub(in crate::eval) kind: Option<ReportKind>,
    /// Write the document to this file [default: stdout, which is also `-`]
    #[arg(short, long, value_name = "FILE", requires = "kind")]
    pub(in crate::eval) output: Option<PathBuf>,
    /// Exit with 1 if the score is below this, from 0 to 1
    #[arg(long, value_name = "SCORE", value_parser = share)]
    pub(in crate::eval) min: Option<f64>,
    #[command(flatten)]
    pub(in crate::eval) numbers: Numbers,
}

/// Compare two evaluations, task by task
#[derive(Debug, Args)]
#[command(
    after_long_help = "Examples:\n  uwf-eval diff v1 v2\n  uwf-eval diff v1 v2 --no-regression\n  uwf-eval diff v1 v2 --as html -o diff.html\n  uwf-eval diff v1 v2 --format json\n\nExit: 1 with --no-regression, if AFTER is worse; 3 no result: too many cases of one of them have no\nscore, or some are not finished."
)]
pub(in crate::eval) struct Diff {
    /// The evaluation that is compared with
    #[arg(value_name = "BEFORE")]
    pub(in crate::eval) before: String,
    /// The evaluation that is compared
    #[arg(value_name = "AFTER")]
    pub(in crate::eval) after: String,
    /// Write a document: csv, or html (a page that needs no server)
    #[arg(long = "as", value_enum, value_name = "KIND", hide_possible_values = true)]
    pub(in crate::eval) kind: Option<DiffKind>,
    /// Write the document to this file [default: stdout, which is also `-`]
    #[arg(short, long, value_name = "FILE", requires = "kind")]
    pub(in crate::eval) output: Option<PathBuf>,
    /// Exit with 1 if AFTER is told to be worse, on tasks like these or on these
    #[arg(long)]
    pub(in crate::eval) no_regression: bool,
    #[command(flatten)]
    pub(in crate::eval) numbers: Numbers,
}

/// What numbers go by.
#[derive(Debug, Args)]
pub(in crate::eval) struct Numbers {
    /// From which score on a case passes
    #[arg(long, value_name = "SCORE", default_value = "0.5", value_parser = share)]
    pass: f64,
    /// Exit with 3 if more than this part of the cases has no score, in percent [default: 10]
    #[arg(long, value_name = "PERCENT", value_parser = percentage)]
    max_unscored: Option<f64>,
}

impl Numbers {
    /// What reports take.
    pub(in crate::eval) fn options(&self) -> ReportOptions {
        let usual = ReportOptions::default();
        let max_unscored = self.max_unscored.map_or(usual.max_unscored, |percent| percent / 100.0);
        ReportOptions { pass: self.pass, max_unscored, ..usual }
    }

    /// Whether it is said how many may be without a score.
    pub(in crate::eval) fn bounds_unscored(&self) -> bool {
        self.max_unscored.is_some()
    }
}

/// A document of an evaluation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::eval) enum ReportKind {
    /// A line a case
    Csv,
    /// Tests for CI
    Junit,
    /// A page
    Html,
}

/// A document of two evaluations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::eval) enum DiffKind {
    /// A line a task
    Csv,
    /// A page
    Html,
}

fn share(text: &str) -> Result<f64, &'static str> {
    const EXPECTED: &str = "expected a number from 0 to 1";
    let number = text.parse().map_err(|_| EXPECTED)?;
    if (0.0..=1.0).contains(&number) { Ok(number) } else { Err(EXPECTED) }
}

fn percentage(text: &str) -> Result<f64, &'static str> {
    const EXPECTED: &str = "expected a percentage from 0 to 100";
    let number = text.trim_end_matches('%').parse().map_err(|_| EXPECTED)?;
    if (0.0..=100.0).contains(&number) { Ok(number) } else { Err(EXPECTED) }
}
