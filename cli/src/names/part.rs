//! The beginning or the end of an id or a hash. Pure.

/// How many characters are enough to look for.
const SHORTEST: usize = 3;

/// A part of an id or a hash, in upper case.
pub(super) struct IdPart(String);

impl IdPart {
    /// What was typed, if it can be a part.
    pub(super) fn of(text: &str) -> Option<IdPart> {
        let upper = text.to_ascii_uppercase();
        let is_part = upper.len() >= SHORTEST && upper.bytes().all(uwf_store::Hash::is_character);
        is_part.then_some(IdPart(upper))
    }

    /// Whether something begins or ends with it.
    pub(super) fn is_of(&self, whole: &str) -> bool {
        whole.starts_with(&self.0) || whole.ends_with(&self.0)
    }
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
}
