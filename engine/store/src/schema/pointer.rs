//! JSON pointers (RFC 6901), and keys as tokens of them. Apart because schemas, YAML and workflows say with pointers where
//! something is.

use thiserror::Error;

/// What is no pointer to something within a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum PointerFault {
    /// Nothing, or `/` alone: no key is named.
    #[error("it names no field")]
    Whole,
    /// It is not absolute.
    #[error("a JSON pointer begins with `/`")]
    Relative,
    /// `~` is special.
    #[error("`~` in a JSON pointer is followed by `0` or `1`: `~0` stands for `~`, `~1` for `/`")]
    Escape,
}

/// A key as a token of a JSON pointer (RFC 6901).
pub fn escape(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

/// The key that a token of a JSON pointer stands for.
pub fn unescape(token: &str) -> String {
    token.replace("~1", "/").replace("~0", "~")
}

/// The keys that lead to something within a value, one at least.
///
/// # Errors
/// It is no JSON pointer, or one to the whole value. `/`, to RFC 6901 the key of no characters, is taken for that too:
/// whoever writes it means the whole.
pub fn keys(text: &str) -> Result<Vec<String>, PointerFault> {
    let is_escaped = |token: &str| token.split('~').skip(1).all(|rest| rest.starts_with(['0', '1']));
    match text.strip_prefix('/') {
        None if text.trim().is_empty() => Err(PointerFault::Whole),
        None => Err(PointerFault::Relative),
        Some("") => Err(PointerFault::Whole),
        Some(tokens) if !tokens.split('/').all(is_escaped) => Err(PointerFault::Escape),
        Some(tokens) => Ok(tokens.split('/').map(unescape).collect()),
    }
}

/// The pointer that is probably meant by what is none: a path of names (`a/b`, `.a.b`), or one with `~` as it is.
pub fn meant(text: &str) -> Option<String> {
    let name = text.trim();
    let path = name.strip_prefix("$.").or_else(|| name.strip_prefix('.'));
    let tokens: Vec<&str> = match path {
        Some(path) => path.split(['.', '/']).collect(),
        None => name.trim_start_matches('/').split('/').collect(),
    };
    let pointer: String = tokens.iter().map(|token| format!("/{}", mended(token))).collect();
    let is_whole = tokens.iter().all(|token| token.is_empty());
    (!is_whole && keys(&pointer).is_ok()).then_some(pointer)
}

/// The token where each `~` that escapes nothing stands for itself.
fn mended(token: &str) -> String {
    let mut parts = token.split('~');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| match part.starts_with(['0', '1']) {
        true => text + "~" + part,
        false => text + "~0" + part,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pointer_is_read_as_its_keys() {
        for (text, expected) in [
            ("/a", &["a"][..]),
            ("/a/0/b", &["a", "0", "b"]),
            ("/a~1b~0c", &["a/b~c"]),
            ("/a//b", &["a", "", "b"]),
            ("/$status", &["$status"]),
            ("//", &["", ""]),
        ] {
            assert_eq!(keys(text).unwrap(), expected, "{text}");
        }
        for (text, fault) in [
            ("", PointerFault::Whole),
            (" ", PointerFault::Whole),
            ("/", PointerFault::Whole),
            ("a", PointerFault::Relative),
            (".a", PointerFault::Relative),
            ("/a~", PointerFault::Escape),
            ("/a~2", PointerFault::Escape),
            ("/~~0", PointerFault::Escape),
        ] {
            assert_eq!(keys(text), Err(fault), "{text}");
        }
    }

    #[test]
    fn what_is_meant_is_a_pointer() {
        for (text, expected) in [
            ("a", Some("/a")),
            ("a/b", Some("/a/b")),
            (".a.b", Some("/a/b")),
            ("$.a.b", Some("/a/b")),
            ("$status", Some("/$status")),
            ("a.b", Some("/a.b")),
            ("/a~2", Some("/a~02")),
            ("/a~1b~", Some("/a~1b~0")),
            ("", None),
            ("/", None),
            (".", None),
            ("..", None),
        ] {
            assert_eq!(meant(text).as_deref(), expected, "{text}");
        }
    }
}
