//! Rows under headings, which scroll on their own where they are wide.

use maud::{Markup, html};

use crate::text::visible;

/// Names in the first column, words or numbers in the others; columns of numbers have a `#` before their heading.
pub(in crate::page) fn table(label: &str, headings: &[&str], rows: &[Vec<String>]) -> Markup {
    let is_number = |at: usize| headings.get(at).is_some_and(|heading| heading.starts_with('#'));
    let class = |at: usize| is_number(at).then_some("num");
    html! {
        div .rows tabindex="0" role="region" aria-label=(visible(label)) {
            table {
                thead { tr {
                    @for (at, heading) in headings.iter().enumerate() {
                        th scope="col" class=[class(at)] { (heading.trim_start_matches('#')) }
                    }
                } }
                tbody {
                    @for row in rows {
                        tr { @for (at, cell) in row.iter().enumerate() { td class=[class(at)] { (visible(cell)) } } }
                    }
                }
            }
        }
    }
}
