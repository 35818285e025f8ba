//! A page of numbered lines out of a stream of bytes, in constant memory.
//!
//! Pure but for reading: knows neither paths nor tools. The stream is read once: skip to the first line, collect the
//! page, then count (and hash) to the end, so a page in the middle costs little more than counting lines.

use std::io::{self, Read};
use std::str::Utf8Error;

use memchr::{memchr, memchr_iter};
use xxhash_rust::xxh64::Xxh64;

use crate::limits::{ToolLimits, cut_line, thousands};
use crate::read_state::Digest;

const CHUNK: usize = 256 * 1024;

/// Which lines of a stream to read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PageRequest {
    /// The first line, from 1.
    pub(crate) offset: u64,
    /// At most this many.
    pub(crate) limit: u64,
    /// Read on after the page, for the number of lines and the hash.
    pub(crate) to_end: bool,
}

impl PageRequest {
    /// What a call asks for: lines from 1, and a whole page, unless it says otherwise.
    pub(crate) fn new(
        (offset, limit): (Option<u64>, Option<u64>),
        limits: &ToolLimits,
        to_end: bool,
    ) -> Self {
        let limit = limit.unwrap_or(limits.read_lines).min(limits.read_lines);
        Self { offset: offset.unwrap_or(1), limit, to_end }
    }
}

/// Lines as text, and what was learnt of the stream on the way.
#[derive(Debug)]
pub(crate) struct Page {
    /// Each line as `   12\ttext`, with a line end.
    pub(crate) text: String,
    /// How many lines `text` has.
    pub(crate) lines: u64,
    /// Lines in all, and the hash of everything; `None` when the stream was not read to its end.
    pub(crate) end: Option<(u64, Digest)>,
    /// Some bytes shown are not UTF-8 (they show as U+FFFD).
    pub(crate) lossy: bool,
    /// Some lines shown end in CR LF (the CR is not shown).
    pub(crate) crlf: bool,
    /// Some line was longer than the limit.
    pub(crate) cut: bool,
    /// Line ends, and bytes, that were passed on the whole way.
    pub(crate) passed: (u64, u64),
}

impl Page {
    /// The number of its last line, where `first` is that of its first.
    pub(crate) fn last(&self, first: u64) -> u64 {
        first + self.lines - u64::from(self.lines > 0)
    }

    /// Whether there is more behind it, or behind the end of one of its lines.
    pub(crate) fn is_truncated(&self, first: u64) -> bool {
        self.cut || self.end.is_none_or(|(total, _)| self.last(first) < total)
    }

    /// How many lines there are in all, where it would begin behind them.
    pub(crate) fn is_past(&self, first: u64) -> Option<u64> {
        let (lines, _) = self.end?;
        (self.lines == 0 && first > lines.max(1)).then_some(lines)
    }
}

/// Reads `stream` up to its end, or up to the end of the page. `go_on` is asked between chunks; when it says no, the
/// page is what was read so far.
pub(crate) fn read(
    mut stream: impl Read,
    wanted: PageRequest,
    limits: &ToolLimits,
    go_on: impl Fn() -> bool,
) -> io::Result<Page> {
    let mut collector = Collector::new(wanted, limits);
    let mut hasher = Xxh64::new(0);
    let mut buffer = vec![0; CHUNK];
    let (mut at_end, mut bytes) = (false, 0);
    while !at_end && (wanted.to_end || !collector.full) && go_on() {
        match stream.read(&mut buffer) {
            Ok(0) => at_end = true,
            Ok(n) => {
                bytes += n as u64;
                hasher.update(&buffer[..n]);
                collector.feed(&buffer[..n]);
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    if at_end {
        collector.last_line();
    }
    let lines = collector.newlines + u64::from(collector.unfinished);
    let passed = (collector.newlines, bytes);
    let Collector { mut page, .. } = collector;
    page.passed = passed;
    page.end = at_end.then(|| (lines, Digest::finish(&hasher)));
    Ok(page)
}

struct Collector<'a> {
    limits: &'a ToolLimits,
    wanted: PageRequest,
    page: Page,
    /// Line ends passed so far.
    newlines: u64,
    /// There are bytes after the last line end.
    unfinished: bool,
    /// The page takes no more lines.
    full: bool,
    /// The present line of the page: its first bytes …
    line: Vec<u8>,
    /// … and the number of characters that follow those.
    more: u64,
}

impl<'a> Collector<'a> {
    fn new(wanted: PageRequest, limits: &'a ToolLimits) -> Self {
        let text = String::new();
        let page = Page { text, lines: 0, end: None, lossy: false, crlf: false, cut: false, passed: (0, 0) };
        let full = wanted.limit == 0;
        Self { limits, wanted, page, newlines: 0, unfinished: false, full, line: Vec::new(), more: 0 }
    }

    fn feed(&mut self, mut chunk: &[u8]) {
        self.unfinished = chunk.last() != Some(&b'\n');
        chunk = self.skip(chunk);
        while !self.full && !chunk.is_empty() {
            match memchr(b'\n', chunk) {
                None => {
                    self.extend(chunk);
                    return;
                }
                Some(at) => {
                    self.extend(&chunk[..at]);
                    self.newlines += 1;
                    self.finish_line();
                    chunk = &chunk[at + 1..];
                }
            }
        }
        self.newlines += memchr_iter(b'\n', chunk).count() as u64;
    }

    /// What is left of `chunk` from the first wanted line on.
    fn skip<'b>(&mut self, chunk: &'b [u8]) -> &'b [u8] {
        let ahead = (self.wanted.offset - 1).saturating_sub(self.newlines);
        if ahead == 0 {
            return chunk;
        }
        let here = memchr_iter(b'\n', chunk).count() as u64;
        if here < ahead {
            self.newlines += here;
            return &[];
        }
        self.newlines += ahead;
        let nth = usize::try_from(ahead - 1).unwrap_or(usize::MAX);
        let at = memchr_iter(b'\n', chunk).nth(nth).map_or(chunk.len(), |at| at + 1);
        &chunk[at..]
    }

    /// A line of any length costs no more than the bytes that can be shown of it.
    fn extend(&mut self, bytes: &[u8]) {
        let room = self.most_bytes().saturating_sub(self.line.len()).min(bytes.len());
        self.line.extend_from_slice(&bytes[..room]);
        self.more += bytes[room..].iter().filter(|byte| (**byte & 0xC0) != 0x80).count() as u64;
    }

    /// More than the characters that are shown of a line can have.
    fn most_bytes(&self) -> usize {
        self.limits.line_chars * 4 + 4
    }

    /// A last line without a line end counts as one.
    fn last_line(&mut self) {
        if self.unfinished && !self.full && self.newlines + 1 >= self.wanted.offset {
            self.finish_line();
        }
    }

    /// Whether what is kept of the line is UTF-8, up to a character that was cut because the line is too long.
    fn is_text(&self) -> bool {
        let is_full = self.line.len() == self.most_bytes();
        let is_cut = |error: Utf8Error| is_full && error.error_len().is_none();
        std::str::from_utf8(&self.line).map_or_else(is_cut, |_| true)
    }

    fn finish_line(&mut self) {
        if self.more == 0 && self.line.last() == Some(&b'\r') {
            self.line.pop();
            self.page.crlf = true;
        }
        let number = self.wanted.offset + self.page.lines;
        let decoded = String::from_utf8_lossy(&self.line);
        let (shown, beyond) = cut_line(&decoded, self.limits.line_chars);
        let beyond = beyond + self.more;
        let mut text = format!("{number:>5}\t{shown}");
        if beyond > 0 {
            text.push_str(&format!(" [… {} more characters]", thousands(beyond)));
        }
        text.push('\n');
        if self.page.lines > 0 && self.page.text.len() + text.len() > self.limits.read_bytes {
            self.full = true;
        } else {
            self.page.lossy |= !self.is_text();
            self.page.cut |= beyond > 0;
            self.page.text.push_str(&text);
            self.page.lines += 1;
            self.full = self.page.lines >= self.wanted.limit;
        }
        self.line.clear();
        self.more = 0;
    }
}

#[cfg(test)]
#[path = "page_tests.rs"]
mod tests;
