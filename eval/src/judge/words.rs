//! Words and numbers of texts, as far as they can be found again in others.

use std::collections::BTreeSet;

/// Words that say nothing of what a text is about.
const COMMON: [&str; 24] = [
    "about", "after", "again", "before", "being", "could", "every", "first", "found", "other", "please",
    "should", "their", "there", "these", "thing", "think", "those", "under", "which", "while", "would",
    "where", "because",
];

/// The shortest word that counts.
const SHORTEST: usize = 4;

/// The words of a text that say what it is about: in small letters, none twice.
pub(super) fn telling(text: &str) -> BTreeSet<String> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.split(|c: char| !is_part(c))
        .filter(|word| word.chars().count() >= SHORTEST)
        .map(str::to_lowercase)
        .filter(|word| !COMMON.contains(&word.as_str()))
        .collect()
}

/// Whether a number stands in a text as such, and not as a part of another one.
pub(super) fn has_number(text: &str, number: &str) -> bool {
    let is_digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
    text.match_indices(number).any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + number.len()..]);
        !is_digit(before.chars().next_back()) && !is_digit(after.chars().next())
    })
}

/// A text with its blanks as one each.
pub(super) fn squeezed(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_is_found_again() {
        let words: Vec<String> =
            telling("Please fix the off-by-one in `add_two`, THERE").into_iter().collect();
        assert_eq!(words, ["add_two"]);
        assert!(has_number("3 passed, 12 failed", "12") && !has_number("123 passed", "12"));
        assert_eq!(squeezed(" a\n b "), "a b");
    }
}
