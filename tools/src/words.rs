//! Lists of names, written as text: words with white space between.
//!
//! Apart because much of what is known of other programs is such a list, and with a name a line nobody sees the rest.

use std::str::SplitAsciiWhitespace;

/// A list of words.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Words(pub(crate) &'static str);

impl Words {
    /// One after the other.
    pub(crate) fn iter(self) -> SplitAsciiWhitespace<'static> {
        self.0.split_ascii_whitespace()
    }

    /// Whether one of them is this.
    pub(crate) fn contains(self, word: impl AsRef<[u8]>) -> bool {
        self.iter().any(|known| known.as_bytes() == word.as_ref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_whole_and_lines_do_not_count() {
        let words = Words("one\ntwo \t three\n");
        assert_eq!(words.iter().collect::<Vec<_>>(), ["one", "two", "three"]);
        assert!(words.contains("two") && words.contains(b"one") && !words.contains("tw"));
        assert!(!words.contains("") && !words.contains("one two"));
    }
}
