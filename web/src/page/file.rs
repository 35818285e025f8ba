//! What a page is in that is one file: its styles are in it, nothing comes from elsewhere, and there is no script.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::text::visible;

/// No request leaves the file, and nothing in it runs.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/// A file around its content: `by` is the program that wrote it, `style` what it has beside the style of all pages.
pub(super) fn file((title, by): (&str, &str), (class, style): (&str, &str), content: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (visible(title)) " · " (by) }
                style { (PreEscaped(crate::assets::STYLE)) (PreEscaped(style)) }
            }
            body class=(class) { main { (content) } }
        }
    }
}
