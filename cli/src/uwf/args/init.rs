//! What can be typed after `uwf init`.

use clap::{Args, ValueEnum};

#[derive(Debug, Args)]
pub(in crate::uwf) struct Init {
    /// What the workflow is called [default: as its template]
    pub(in crate::uwf) name: Option<String>,
    /// What it begins as: single is one role, review-loop a developer and a reviewer who sends the work back, debate two sides
    /// and a judge
    #[arg(long, value_enum, value_name = "single|review-loop|debate", default_value_t = Template::ReviewLoop, hide_possible_values = true)]
    pub(in crate::uwf) template: Template,
}

/// A workflow to begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::uwf) enum Template {
    /// One role does the task
    Single,
    /// Work and review until it is right
    ReviewLoop,
    /// Two sides and a judge
    Debate,
}
