//! An evaluation, and the difference of two: what they come to, charts, and every case down to its steps.

mod case;
mod difference;
mod list;
mod matrix;
mod report;
mod table;
#[cfg(test)]
mod tests;

use maud::Markup;
use uwf_eval::Case;
use uwf_eval::report::{CaseDetail, Difference, Report};

pub(crate) use self::list::evaluations;
pub(super) use self::table::table;
use super::file::file;
use super::{Head, page};

/// The steps of a case and what its judges found, as far as a page is to have them.
type Details<'a> = &'a dyn Fn(&Case) -> Option<CaseDetail>;

/// How the cases of a page are shown.
struct Cases<'a> {
    details: Details<'a>,
    /// Whether there are pages of threads beside this one.
    served: bool,
}

/// The page of an evaluation; its threads have pages, too.
pub(crate) fn evaluation(found: &Report, details: Details<'_>) -> Markup {
    let content = report::report(found, &Cases { details, served: true });
    page(&Head { title: &found.name, live: None }, &content)
}

/// An evaluation as one file.
pub(crate) fn report_file(found: &Report, details: Details<'_>) -> Markup {
    as_file(&found.name, &report::report(found, &Cases { details, served: false }))
}

/// Two evaluations side by side, as one file.
pub(crate) fn difference_file(found: &Difference, sides: [&Report; 2], details: Details<'_>) -> Markup {
    let title = format!("{} and {}", found.before.name, found.after.name);
    as_file(&title, &difference::difference(found, sides, &Cases { details, served: false }))
}

fn as_file(title: &str, content: &Markup) -> Markup {
    file((title, "uwf-eval"), ("file-of-evaluation", crate::assets::EVALUATION), content)
}
