//! Text of models and programs as a terminal may be given it: what would steer the terminal is shown instead.
//!
//! Apart because it is a rule of safety: an answer, a file's name or an output can hold sequences that fill the clipboard,
//! rewrite what was said above, or make a terminal type. It is for people's eyes; what programs read stays as it is.
//! A name stands on one line among others, so that in it a line end is such a character too.

use std::borrow::Cow;
use std::fmt::Write as _;

/// The text with its control characters as `\u001b`, but for line ends and tabs.
pub(super) fn sanitise(text: &str) -> Cow<'_, str> {
    shown(text, |character| character.is_control() && !matches!(character, '\n' | '\t'))
}

/// A name on one line: all control characters as `\u000a`, and so what ends a line or turns its direction without being one.
pub(super) fn one_line(name: &str) -> Cow<'_, str> {
    let turns = |character| matches!(character, '\u{2028}' | '\u{2029}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    shown(name, |character| character.is_control() || turns(character))
}

fn shown(text: &str, steers: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.chars().any(&steers) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        match steers(character) {
            // JSON's and YAML's way; all of these have four digits.
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

    #[test]
    fn a_name_stays_on_its_line() {
        assert_eq!(one_line("figures/a b é.png"), "figures/a b é.png");
        assert_eq!(one_line("a\n\tb\r\x1b[2J\u{2028}c"), "a\\u000a\\u0009b\\u000d\\u001b[2J\\u2028c");
        assert_eq!(one_line("fdp\u{202e}exe.c"), "fdp\\u202eexe.c");
    }
}
