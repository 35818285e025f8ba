//! CR LF and LF: models write LF, files have either, or both.
//!
//! Pure functions over text. They never change text that is not handed to them: which bytes of a file are replaced is
//! decided elsewhere.

use std::borrow::Cow;
use std::ops::Range;
use std::time::Duration;

use memchr::{memchr, memrchr};

/// A diff that is not found within this is settled for as it is; then more lines count as new.
const DIFF_TIME: Duration = Duration::from_secs(2);

/// Text with every CR LF as LF, and the way back.
pub(crate) struct Normalised {
    pub(crate) text: String,
    /// Where, in `text`, a CR was taken out: each is the place of a LF.
    removed: Vec<usize>,
}

impl Normalised {
    pub(crate) fn new(original: &str) -> Self {
        let mut text = String::with_capacity(original.len());
        let mut removed = Vec::new();
        let mut pieces = original.split("\r\n").peekable();
        while let Some(piece) = pieces.next() {
            text.push_str(piece);
            if pieces.peek().is_some() {
                removed.push(text.len());
                text.push('\n');
            }
        }
        Self { text, removed }
    }

    /// The bytes of the original that a range of `text` stands for. A LF stands for its CR LF whole.
    pub(crate) fn original(&self, range: Range<usize>) -> Range<usize> {
        let back = |at: usize| at + self.removed.partition_point(|removed| *removed < at);
        back(range.start)..back(range.end)
    }
}

/// The line ends around places of a text, asked for in the order of the text: however many the questions, each byte is
/// looked at once or twice.
pub(crate) struct LineEnds<'t> {
    text: &'t str,
    /// The first line end from the place asked for last on; when there is none, the last of all.
    at: Option<usize>,
    /// None follows it.
    is_last: bool,
}

impl<'t> LineEnds<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        let at = memchr(b'\n', text.as_bytes());
        Self { text, at, is_last: at.is_none() }
    }

    /// Whether text put in at `start` has its lines end in CR LF: as the first line end from there on, else the last one
    /// before it.
    pub(crate) fn is_crlf_at(&mut self, start: usize) -> bool {
        let bytes = self.text.as_bytes();
        if !self.is_last && self.at.is_some_and(|at| at < start) {
            let next = memchr(b'\n', &bytes[start..]).map(|at| start + at);
            self.is_last = next.is_none();
            self.at = next.or_else(|| memrchr(b'\n', &bytes[..start]));
        }
        self.at.is_some_and(|at| at > 0 && bytes[at - 1] == b'\r')
    }
}

/// `text` with each LF as CR LF; what is CR LF stays.
pub(crate) fn to_crlf(text: &str) -> Cow<'_, str> {
    if text.contains('\n') {
        Cow::Owned(text.replace("\r\n", "\n").replace('\n', "\r\n"))
    } else {
        Cow::Borrowed(text)
    }
}

/// `new` with the line ends of `old`: lines that are in both keep those they have, others get the more frequent kind.
/// `new` is expected to have LF alone.
pub(crate) fn like(old: &str, new: &str) -> String {
    let old_lines: Vec<&str> = old.split_inclusive('\n').collect();
    let new_lines: Vec<&str> = new.split_inclusive('\n').collect();
    let old_bare: Vec<&str> = old_lines.iter().map(|line| bare(line)).collect();
    let new_bare: Vec<&str> = new_lines.iter().map(|line| bare(line)).collect();
    let crlf = old_lines.iter().filter(|line| line.ends_with("\r\n")).count();
    let mostly_crlf = crlf * 2 > old_lines.iter().filter(|line| line.ends_with('\n')).count();
    let mut text = String::with_capacity(new.len());
    let diff = similar::TextDiff::configure().timeout(DIFF_TIME).diff_slices(&old_bare, &new_bare);
    for change in diff.iter_all_changes() {
        let Some(at) = change.new_index() else { continue };
        let crlf = change.old_index().map_or(mostly_crlf, |old| match old_lines[old] {
            line if line.ends_with('\n') => line.ends_with("\r\n"),
            _ => mostly_crlf,
        });
        text.push_str(new_bare[at]);
        if new_lines[at].ends_with('\n') {
            text.push_str(if crlf { "\r\n" } else { "\n" });
        }
    }
    text
}

/// A line without its line end.
pub(crate) fn bare(line: &str) -> &str {
    let line = line.strip_suffix('\n').unwrap_or(line);
    line.strip_suffix('\r').unwrap_or(line)
}

#[cfg(test)]
#[path = "line_ends_tests.rs"]
mod tests;
