//! From a journal's bytes to its entries, after whatever ended the run that wrote them.
//!
//! A crash can tear the last line: it was never synced, so nothing in it had an effect, and it is cut off. Damage
//! anywhere else is no crash's doing: such a journal is not continued. Pure: bytes in, entries out.

use serde::Deserialize;
use thiserror::Error;

use super::{Entry, READABLE};

/// An entry that cannot follow those before it.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{0}")]
pub struct OutOfOrder(pub(crate) &'static str);

/// Why a journal cannot be continued.
#[derive(Debug, Error)]
pub enum Unreadable {
    /// Another program, older or newer, wrote it.
    #[error("it is of version {found} of the format, and this program continues {} to {}", READABLE.start(), READABLE.end())]
    OtherVersion {
        /// What it says.
        found: u64,
    },
    /// A line that is none of ours, with lines after it.
    #[error("line {line} cannot be read: {source}")]
    Line {
        /// From 1.
        line: usize,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// The lines do not make a run.
    #[error("its lines do not make a run: line {line}: {why}")]
    Order {
        /// The first that cannot follow those before it, from 1.
        line: usize,
        /// What it does not fit to.
        why: OutOfOrder,
    },
}

/// The first line; none when it is torn, for then nothing has happened.
pub(super) fn first(line: &[u8]) -> Result<Option<Entry>, Unreadable> {
    #[derive(Deserialize)]
    struct Version {
        version: u64,
    }
    let Some(line) = line.strip_suffix(b"\n") else { return Ok(None) };
    let damaged = |source| Unreadable::Line { line: 1, source };
    let Version { version: found } = serde_json::from_slice(line).map_err(damaged)?;
    if !u32::try_from(found).is_ok_and(|found| READABLE.contains(&found)) {
        return Err(Unreadable::OtherVersion { found });
    }
    serde_json::from_slice(line).map(Some).map_err(damaged)
}

/// The entries, and how many bytes they take: what follows is a torn line.
pub(super) fn entries(bytes: &[u8]) -> Result<(Vec<Entry>, usize), Unreadable> {
    let (mut entries, mut length, mut damage) = (Vec::new(), 0, None);
    for (index, line) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
        if let Some(damage) = damage {
            return Err(damage);
        }
        // A line without its end is torn even if it reads well: what is appended next would go on in it.
        let entry = line.strip_suffix(b"\n").map(serde_json::from_slice::<Entry>);
        match entry {
            Some(Ok(mut entry)) => {
                entry.forget_raw();
                entries.push(entry);
                length += line.len();
            }
            Some(Err(source)) => damage = Some(Unreadable::Line { line: index + 1, source }),
            None => break,
        }
    }
    Ok((entries, length))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = "{\"entry\":\"started\",\"callId\":\"a\",\"at\":1}\n";

    #[test]
    fn a_torn_last_line_is_left_out_at_every_byte() {
        let whole = LINE.repeat(3);
        for cut in 0..whole.len() {
            let (read, length) = entries(&whole.as_bytes()[..cut]).unwrap();
            assert_eq!((read.len(), length), (cut / LINE.len(), cut / LINE.len() * LINE.len()));
        }
        let zeroes = format!("{LINE}\0\0\0\n");
        assert_eq!(entries(zeroes.as_bytes()).unwrap().1, LINE.len(), "a block that never reached the disk");
    }

    #[test]
    fn damage_before_the_end_is_named() {
        let text = format!("{LINE}garbage\n{LINE}");
        assert!(entries(text.as_bytes()).unwrap_err().to_string().starts_with("line 2 cannot be read"));
    }

    #[test]
    fn the_first_line_tells_the_version() {
        assert!(first(b"{\"entry\":\"run\"").unwrap().is_none());
        let error = first(b"{\"entry\":\"run\",\"version\":1}\n").unwrap_err().to_string();
        assert_eq!(error, "it is of version 1 of the format, and this program continues 2 to 5");
        assert!(matches!(first(b"no\n"), Err(Unreadable::Line { line: 1, .. })));
    }
}
