//! Text of models and programs as a terminal may be given it: what would steer the terminal is shown instead.
//!
//! Apart because it is a rule of safety: an answer, a file's name or an output can hold sequences that fill the clipboard,
//! rewrite what was said above, or make a terminal type. It is for people's eyes; what programs read stays as it is.

use std::borrow::Cow;
use std::fmt::Write as _;

/// The text with its control characters as `\u001b`, but for line ends and tabs.
pub(super) fn sanitise(text: &str) -> Cow<'_, str> {
    let steers = |character: char| character.is_control() && !matches!(character, '\n' | '\t');
    if !text.chars().any(steers) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        match steers(character) {
            // JSON's and YAML's way; all control characters have four digits.
            true => drop(write!(shown, "\\u{:04x}", u32::from(character))),
            false => shown.push(character),
        }
    }
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_is_shown_and_all_else_stays() {
        assert_eq!(sanitise("a\n\tb é 🦀"), "a\n\tb é 🦀");
        assert_eq!(
            sanitise("\x1b]52;c;eA==\x07\r\u{9b}2J\x7f"),
            "\\u001b]52;c;eA==\\u0007\\u000d\\u009b2J\\u007f"
        );
    }
}
