//! The beginning or the end of an id or a hash. Pure.

/// How many characters are enough to look for.
const SHORTEST: usize = 3;

/// A part of an id or a hash, in upper case.
pub(crate) struct IdPart(String);

impl IdPart {
    /// What was typed, if it can be a part.
    pub(crate) fn of(text: &str) -> Option<IdPart> {
        let upper = text.to_ascii_uppercase();
        let is_part = upper.len() >= SHORTEST && upper.bytes().all(uwf_store::Hash::is_character);
        is_part.then_some(IdPart(upper))
    }

    /// It.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether something begins or ends with it.
    pub(super) fn is_of(&self, whole: &str) -> bool {
        whole.starts_with(&self.0) || whole.ends_with(&self.0)
    }
}

/// How many of the last characters of each name it and no other, in the order of `ids`: at least three, and all where
/// fewer do not tell it from the others.
pub(crate) fn distinct_ends<S: AsRef<str>>(ids: &[S]) -> Vec<usize> {
    let reversed = |id: &S| id.as_ref().bytes().rev().collect::<Vec<u8>>();
    let mut by_end: Vec<(Vec<u8>, usize)> = ids.iter().map(reversed).zip(0..).collect();
    by_end.sort();
    let shared =
        |one: &[u8], other: &[u8]| one.iter().zip(other).take_while(|(one, other)| one == other).count();
    let mut ends = vec![SHORTEST; ids.len()];
    for pair in by_end.windows(2) {
        let ((one, first), (other, second)) = (&pair[0], &pair[1]);
        let needed = shared(one, other) + 1;
        for (at, length) in [(*first, one.len()), (*second, other.len())] {
            ends[at] = ends[at].max(needed).min(length);
        }
    }
    ends
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_three_characters_of_the_alphabet_or_more() {
        for none in ["", "AB", "ABL", "a-b", "äbc", "solve-issue"] {
            assert!(IdPart::of(none).is_none(), "{none}");
        }
        let part = IdPart::of("4c8e").unwrap();
        assert!(part.is_of("4C8E0") && part.is_of("04C8E") && !part.is_of("04C8E0"));
    }

    #[test]
    fn ends_are_as_long_as_it_takes() {
        assert_eq!(distinct_ends(&["XAAAB", "CCCCC", "XYAAB", "AAACC"]), [4, 3, 4, 3]);
        assert_eq!(distinct_ends(&["AAAA", "AAAA"]), [4, 4]);
        assert_eq!(distinct_ends(&Vec::<String>::new()), Vec::<usize>::new());
        assert_eq!(distinct_ends(&["AAAA"]), [3]);
    }
}
