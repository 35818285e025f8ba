//! JSON's way to escape characters beyond U+FFFF: as two, a surrogate pair.
//!
//! Apart because YAML's own escapes know no pairs and the parser refuses them, while JSON, which is YAML otherwise,
//! is full of them: many programs write `\ud83e\udd80` for a crab.

/// The text with each escaped pair as the one escape that YAML has for it; `None` if there is no pair. Columns behind
/// a pair shift.
pub(super) fn joined(text: &str) -> Option<String> {
    let mut joined = String::new();
    let mut rest = text;
    while let Some((at, character)) = first_pair(rest) {
        joined.push_str(&rest[..at]);
        joined.push_str(&format!("\\U{:08x}", u32::from(character)));
        rest = &rest[at + PAIR..];
    }
    (!joined.is_empty()).then(|| joined + rest)
}

/// Bytes of `\uXXXX\uXXXX`.
const PAIR: usize = 12;

fn first_pair(text: &str) -> Option<(usize, char)> {
    text.match_indices("\\u").find_map(|(at, _)| {
        let pair = text.get(at..at + PAIR)?;
        let (high, low) = (unit(pair.get(..6)?)?, unit(pair.get(6..)?)?);
        // Two units that are no pair are two characters, or none.
        let mut characters = char::decode_utf16([high, low]);
        let character = characters.next()?.ok()?;
        characters.next().is_none().then_some((at, character))
    })
}

fn unit(escape: &str) -> Option<u16> {
    let hex = escape.strip_prefix("\\u").filter(|hex| hex.bytes().all(|digit| digit.is_ascii_hexdigit()))?;
    u16::from_str_radix(hex, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::joined;

    #[test]
    fn only_pairs_are_joined() {
        assert_eq!(joined(r#"a "\ud83e\udd80" b"#).as_deref(), Some(r#"a "\U0001f980" b"#));
        assert_eq!(joined(r"\uD83E\uDD80\ud83e\udd80").as_deref(), Some(r"\U0001f980\U0001f980"));
        for text in [
            r"\u00e4\u00f6",
            r"\ud83e",
            r"\ud83e\u0041",
            r"\udd80\ud83e",
            r"\ud83e\udd8",
            r"\u☂☂☂☂",
            r"\u0☂☂☂☂",
            "",
        ] {
            assert_eq!(joined(text), None, "{text}");
        }
    }
}
