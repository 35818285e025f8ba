//! An evaluation as one page in a file, and two of them side by side.

use uwf_eval::Case;
use uwf_eval::report::{CaseDetail, Difference, Report};

use crate::page;

/// An evaluation as one page; `details` reads the steps of a case, for those that the page has in full.
pub fn report_page(report: &Report, details: &dyn Fn(&Case) -> Option<CaseDetail>) -> String {
    page::report_file(report, details).into_string()
}

/// Two evaluations side by side as one page, with the cases of the second.
pub fn difference_page(
    difference: &Difference,
    sides: [&Report; 2],
    details: &dyn Fn(&Case) -> Option<CaseDetail>,
) -> String {
    page::difference_file(difference, sides, details).into_string()
}
