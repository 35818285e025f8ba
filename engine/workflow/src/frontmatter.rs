//! Where the frontmatter of an answer is: the only place that knows what a fence looks like (CONTRACT section 6).
//!
//! Pure text; what the frontmatter is worth is judged by whoever has the role's schema. An opening fence is a line that
//! is exactly `---`; blanks behind a closing one are forgiven.

use std::ops::Range;

use crate::yaml;

/// The two halves of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Split<'a> {
    /// The text between the fences.
    pub yaml: &'a str,
    /// Everything behind them, leading blank lines removed.
    pub body: &'a str,
}

/// A text as fences are looked for in: LF line ends, no byte order mark, no leading white space.
pub fn normalized(text: &str) -> String {
    text.trim_start_matches('\u{feff}').trim_start().replace("\r\n", "\n")
}

/// Finds the frontmatter of a [`normalized`] text: at the very start, or else between the first pair of fences that
/// holds a mapping with `$status`; what stands before it, and a code fence around it, is dropped.
///
/// # Errors
/// Why there is none, in words that can be handed to whoever wrote the text.
pub fn split(text: &str) -> Result<Split<'_>, &'static str> {
    let fences = fences(text);
    let between = |pair: &[Fence]| &text[pair[0].line.end..pair[1].line.start];
    let after = |pair: &[Fence]| &text[pair[1].line.end..];
    if let Some(pair) = fences.get(..2).filter(|pair| pair[0].opens && pair[0].line.start == 0) {
        return Ok(Split { yaml: between(pair), body: after(pair).trim_start_matches('\n') });
    }
    for pair in fences.windows(2).filter(|pair| pair[0].opens) {
        if yaml::parse_value(between(pair)).is_ok_and(|fields| fields.get("$status").is_some()) {
            let body = without_code_fence(&text[..pair[0].line.start], after(pair));
            return Ok(Split { yaml: between(pair), body: body.trim_start_matches('\n') });
        }
    }
    Err(match fences.len() {
        0 if text.is_empty() => "the text is empty",
        0 => "the text does not start with a line `---`",
        1 => "there is only one line `---`; the frontmatter needs one before it and one after it",
        _ => "no YAML mapping with `$status` stands between two lines `---`",
    })
}

/// The body of an answer; all of it where there is no frontmatter.
pub fn body(answer: &str) -> String {
    let text = normalized(answer);
    split(&text).map_or(text.as_str(), |split| split.body).trim().to_owned()
}

/// A line of three dashes.
struct Fence {
    /// Where it is, its line end included.
    line: Range<usize>,
    /// Whether it can be the first of a pair.
    opens: bool,
}

fn fences(text: &str) -> Vec<Fence> {
    let mut at = 0;
    let mut found = Vec::new();
    for line in text.split_inclusive('\n') {
        let content = line.strip_suffix('\n').unwrap_or(line);
        if content.trim_end_matches([' ', '\t']) == "---" {
            found.push(Fence { line: at..at + line.len(), opens: content == "---" });
        }
        at += line.len();
    }
    found
}

/// Drops the end of a code fence that was opened right before the frontmatter.
fn without_code_fence<'a>(before: &str, body: &'a str) -> &'a str {
    let opened = before.trim_end().lines().last().is_some_and(|line| line.trim_start().starts_with("```"));
    match body.strip_prefix("```") {
        Some(rest) if opened => rest.split_once('\n').map_or("", |(_, rest)| rest),
        _ => body,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_pair_at_the_start_wins_whatever_it_holds() {
        assert_eq!(
            split("---\na: b: c\n---\n\n\nbody\n---\n"),
            Ok(Split { yaml: "a: b: c\n", body: "body\n---\n" })
        );
    }

    #[test]
    fn elsewhere_only_a_mapping_with_a_status_counts() {
        let text = "Notes\n---\nmore\n---\n$status: done\n---\nbody";
        assert_eq!(split(text), Ok(Split { yaml: "$status: done\n", body: "body" }));
        let fenced = "Here:\n```yaml\n---\n$status: done\n---\n```\nbody";
        assert_eq!(split(fenced), Ok(Split { yaml: "$status: done\n", body: "body" }));
    }

    #[test]
    fn blanks_are_forgiven_behind_the_closing_fence_alone() {
        assert!(split("---\n$status: done\n--- \t\nbody").is_ok());
        assert!(split("--- \n$status: done\n---\nbody").is_err());
        assert!(split("---\n$status: done\n----\nbody").is_err());
    }

    #[test]
    fn a_body_is_everything_where_there_is_no_frontmatter() {
        assert_eq!(body("\u{feff}---\r\n$status: done\r\n---\r\n\r\nBody\r\n"), "Body");
        assert_eq!(body("just text\n"), "just text");
        assert_eq!(body("---\n$status: done\n---\n"), "");
    }
}
