//! The beginning of a text that is too long to be shown whole.
//!
//! Apart because errors everywhere quote what others wrote, and none may be as long as what it quotes.

use std::borrow::Cow;

/// The first `limit` characters and `…`; a text that has no more than these, as it is.
pub fn excerpt(text: &str, limit: usize) -> Cow<'_, str> {
    match text.char_indices().nth(limit) {
        Some((end, _)) => Cow::Owned(format!("{}…", &text[..end])),
        None => Cow::Borrowed(text),
    }
}

#[cfg(test)]
mod tests {
    use super::excerpt;

    #[test]
    fn characters_are_counted_and_what_fits_is_whole() {
        assert_eq!(excerpt("äöü", 2), "äö…");
        assert_eq!(excerpt("äöü", 3), "äöü");
        assert_eq!(excerpt("", 0), "");
    }
}
