//! Names as git writes them into a patch: in quotes, with escapes, where they are not plain.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The name, in quotes where it has a quote, a backslash, a control character or a byte above ASCII.
pub(super) fn quoted(name: &[u8]) -> Vec<u8> {
    let is_plain = |byte: &u8| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\');
    if name.iter().all(is_plain) {
        return name.to_vec();
    }
    let mut quoted = b"\"".to_vec();
    for byte in name {
        match byte {
            b'"' | b'\\' => quoted.extend_from_slice(&[b'\\', *byte]),
            byte if is_plain(byte) => quoted.push(*byte),
            byte => quoted.extend_from_slice(escaped(*byte).as_bytes()),
        }
    }
    quoted.push(b'"');
    quoted
}

fn escaped(byte: u8) -> String {
    match byte {
        0x07 => r"\a".to_owned(),
        0x08 => r"\b".to_owned(),
        b'\t' => r"\t".to_owned(),
        b'\n' => r"\n".to_owned(),
        0x0b => r"\v".to_owned(),
        0x0c => r"\f".to_owned(),
        b'\r' => r"\r".to_owned(),
        byte => format!(r"\{byte:03o}"),
    }
}

pub(super) fn with_prefix(prefix: &str, path: &Path) -> Vec<u8> {
    [prefix.as_bytes(), path.as_os_str().as_bytes()].concat()
}

/// The name behind `---` and `+++`: a space in it would end it, but for a tab behind it.
pub(super) fn in_header(name: &[u8]) -> Vec<u8> {
    let mut shown = quoted(name);
    if shown.contains(&b' ') && !shown.starts_with(b"\"") {
        shown.push(b'\t');
    }
    shown
}
