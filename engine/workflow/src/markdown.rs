//! Text that is not ours as code in Markdown: it cannot end its own quotation.
//!
//! Apart because what people are shown and what models are told quote the same texts. Nothing here interprets them.

/// The text between two lines of backticks that are longer than any run of backticks inside, the first with the name
/// of the language. Ends without a line end.
pub fn fenced(language: &str, text: &str) -> String {
    let fence = "`".repeat((longest_run(text) + 1).max(3));
    format!("{fence}{language}\n{}\n{fence}", text.trim_end_matches('\n'))
}

/// The text of one line between backticks that are more than any run of them inside.
pub fn code_span(line: &str) -> String {
    let fence = "`".repeat(longest_run(line) + 1);
    let has_edge = |at: char| line.starts_with(at) || line.ends_with(at);
    // A space at both ends is no part of a code span; a text of nothing but spaces is taken as it is.
    let is_stripped = line.starts_with(' ') && line.ends_with(' ') && !line.trim().is_empty();
    let pad = if line.is_empty() || has_edge('`') || is_stripped { " " } else { "" };
    format!("{fence}{pad}{line}{pad}{fence}")
}

/// How many backticks there are at most in a row.
pub fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_fence_is_longer_than_what_it_holds() {
        assert_eq!(fenced("", "a\n````\nb\n"), "`````\na\n````\nb\n`````");
        assert_eq!(fenced("yaml", "a: b"), "```yaml\na: b\n```");
    }

    #[test]
    fn a_code_span_is_the_text() {
        for (text, span) in [
            ("a b.md", "`a b.md`"),
            ("", "`  `"),
            ("a`b", "``a`b``"),
            ("`a``", "``` `a`` ```"),
            (" a ", "`  a  `"),
            (" a", "` a`"),
            ("  ", "`  `"),
        ] {
            assert_eq!(code_span(text), span);
        }
    }

    proptest! {
        #[test]
        fn a_fence_cannot_be_closed_from_inside(text in "[a`\n ]{0,40}") {
            let fenced = fenced("", &text);
            let fence = fenced.lines().next().unwrap();
            let closing = fenced.lines().skip(1).position(|line| line.contains(fence)).unwrap();
            prop_assert_eq!(closing, fenced.lines().count() - 2);
        }
    }
}
