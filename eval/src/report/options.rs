//! What a report is to go by.

/// What a report goes by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReportOptions {
    /// From which score on a case passes.
    pub pass: f64,
    /// Which part of the cases may be without a score; above it there is no result.
    pub max_unscored: f64,
    /// The seed of what is drawn for intervals of 30 tasks and more.
    pub seed: u64,
}

impl Default for ReportOptions {
    fn default() -> ReportOptions {
        ReportOptions { pass: 0.5, max_unscored: 0.1, seed: 0 }
    }
}
