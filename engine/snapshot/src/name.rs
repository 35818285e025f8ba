//! Names as they are written into a node: JSON has text, a name is any bytes but `/` and NUL.
//!
//! A name that is UTF-8 and has no backslash stands as it is. A backslash is written twice, and a byte that is no part of
//! UTF-8 as `\x` and two lower-case hexadecimal digits. Each name has one writing; another one is refused when read.

use std::ffi::OsString;
use std::fmt::Write;
use std::os::unix::ffi::OsStringExt;

/// A name, a path or the target of a symlink as text, as nodes have it.
pub fn escaped(name: &[u8]) -> String {
    let mut text = String::with_capacity(name.len());
    for chunk in name.utf8_chunks() {
        text.push_str(&chunk.valid().replace('\\', r"\\"));
        for byte in chunk.invalid() {
            write!(text, r"\x{byte:02x}").expect("a String takes any text");
        }
    }
    text
}

/// What was written; none where no name is written so.
pub fn unescaped(text: &str) -> Option<OsString> {
    let (mut bytes, mut rest) = (Vec::with_capacity(text.len()), text);
    while let Some(at) = rest.find('\\') {
        bytes.extend_from_slice(&rest.as_bytes()[..at]);
        let escape = &rest[at + 1..];
        rest = match escape.strip_prefix('\\') {
            Some(rest) => {
                bytes.push(b'\\');
                rest
            }
            None => {
                let digits = escape.strip_prefix('x')?.get(..2)?;
                bytes.push(u8::from_str_radix(digits, 16).ok()?);
                &escape[3..]
            }
        };
    }
    bytes.extend_from_slice(rest.as_bytes());
    (escaped(&bytes) == text).then(|| OsString::from_vec(bytes))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_are_written_as_stated() {
        let names: [(&[u8], &str); 5] = [
            (b"README.md", "README.md"),
            ("ä\n".as_bytes(), "ä\n"),
            (b"a\\b", r"a\\b"),
            (b"\xff\xc3", r"\xff\xc3"),
            (b"\\xff", r"\\xff"),
        ];
        for (name, text) in names {
            assert_eq!(escaped(name), text);
            assert_eq!(unescaped(text).unwrap().into_vec(), name);
        }
    }

    #[test]
    fn other_writings_are_refused() {
        for text in [r"\", r"\x", r"\xf", r"\xFF", r"\x41", r"\n", r"\x+f", r"\xc3\xa4", r"\xä"] {
            assert_eq!(unescaped(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn every_name_comes_back(name in prop::collection::vec(any::<u8>(), 0..40)) {
            prop_assert_eq!(unescaped(&escaped(&name)).unwrap().into_vec(), name);
        }
    }
}
