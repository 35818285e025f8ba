//! Ids of tool calls as an endpoint takes them.
//!
//! Apart because ids are given by whoever made the call, and a conversation may go on elsewhere: an id that does not fit
//! is replaced, in the call and in its result alike.

use std::borrow::Cow;

/// What an endpoint takes for an id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallIds {
    /// Anything.
    Any,
    /// Up to 64 letters, digits, `_` and `-`.
    Words,
    /// Exactly nine letters and digits.
    Nine,
}

impl CallIds {
    /// The id, or the one that stands for it.
    pub(in crate::provider) fn fit(self, id: &str) -> Cow<'_, str> {
        let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        let fits = match self {
            CallIds::Any => true,
            CallIds::Words => (1..=64).contains(&id.len()) && id.chars().all(is_word),
            CallIds::Nine => id.len() == 9 && id.chars().all(|c| c.is_ascii_alphanumeric()),
        };
        if fits { Cow::Borrowed(id) } else { Cow::Owned(stand_in(id)) }
    }
}

/// Nine letters and digits that are always the same for the same id (FNV-1a, base 36).
fn stand_in(id: &str) -> String {
    let fold = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let mut hash = id.bytes().fold(0xcbf2_9ce4_8422_2325, fold);
    let digit = |_| {
        let digit = char::from_digit((hash % 36) as u32, 36).unwrap_or('0');
        hash /= 36;
        digit
    };
    (0..9).map(digit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_that_fits_stays_and_another_is_replaced_always_alike() {
        let long = "call_x__thought__AAAA".repeat(9);
        for (rule, stays, goes) in [
            (CallIds::Nine, "call00001", "call_1"),
            (CallIds::Words, "toolu_01-x", "call.1"),
            (CallIds::Words, "a", &long),
            (CallIds::Words, "a", ""),
        ] {
            assert_eq!(rule.fit(stays), stays);
            let (one, two) = (rule.fit(goes), rule.fit(goes));
            assert!(one == two && one != goes && CallIds::Nine.fit(&one) == one, "{one}");
        }
        assert_eq!(CallIds::Any.fit(&long), long);
        assert_ne!(stand_in("call_1"), stand_in("call_2"));
    }
}
