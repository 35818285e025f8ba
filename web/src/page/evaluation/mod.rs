//! An evaluation, and the difference of two: what they come to, charts, and every case down to its steps.

mod case;
mod difference;
mod list;
mod matrix;
mod report;
mod table;
#[cfg(test)]
mod tests;

use maud::{Markup, html};
use uwf_eval::Case;
use uwf_eval::report::{CaseDetail, Difference, Report};

pub(crate) use self::list::evaluations;
pub(super) use self::table::table;
use super::file::file;
use super::{Head, address, page};
use crate::text::visible;

/// The steps of a case and what its judges found, as far as a page is to have them.
type Details<'a> = &'a dyn Fn(&Case) -> Option<CaseDetail>;

/// How the cases of a page are shown.
struct Cases<'a> {
    details: Details<'a>,
    /// Whether there are pages of threads beside this one.
    served: bool,
}

/// The page of an evaluation; its threads have pages, too, and so has its comparison with each of `others`.
pub(crate) fn evaluation(found: &Report, others: &[String], details: Details<'_>) -> Markup {
    let content = html! {
        (report::report(found, &Cases { details, served: true }))
        @if !others.is_empty() {
            h2 { "Compare with" }
            ul { @for other in others { li { a href=(address::difference(&found.name, other)) { (visible(other)) } } } }
        }
    };
    page(&Head { title: &found.name, live: None }, &content)
}

/// The page of two evaluations side by side, with the cases of the second.
pub(crate) fn difference(found: &Difference, sides: [&Report; 2], details: Details<'_>) -> Markup {
    let content = difference::difference(found, sides, &Cases { details, served: true });
    page(&Head { title: &title(found), live: None }, &content)
}

/// An evaluation as one file.
pub(crate) fn report_file(found: &Report, details: Details<'_>) -> Markup {
    as_file(&found.name, &report::report(found, &Cases { details, served: false }))
}

/// Two evaluations side by side, as one file.
pub(crate) fn difference_file(found: &Difference, sides: [&Report; 2], details: Details<'_>) -> Markup {
    as_file(&title(found), &difference::difference(found, sides, &Cases { details, served: false }))
}

fn title(found: &Difference) -> String {
    format!("{} and {}", found.before.name, found.after.name)
}

fn as_file(title: &str, content: &Markup) -> Markup {
    file((title, "uwf-eval"), ("file-of-evaluation", crate::assets::EVALUATION), content)
}
