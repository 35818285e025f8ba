//! A command's output while it streams by: the beginning and the end of it in memory, all of it in a file.
//!
//! stdout and stderr are kept apart, so that a flood on one cannot push out the other, and are put together again in
//! the order in which they arrived. What is left out is marked, with its lines and bytes. Memory is bounded by the
//! budget, whatever the length. It knows no processes.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use crate::limits::{bytes, count};
use crate::redact::ByteRedactor;
use crate::shell::spool::{FullOutput, Spool, SpooledOutput};

/// Which of the two a piece of output came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stream {
    Out,
    Err,
}

/// The output, for the model and for the record.
#[derive(Debug)]
pub(crate) struct Captured {
    /// At most about the budget, plus the marks.
    pub(crate) text: String,
    /// Something was left out of `text`.
    pub(crate) truncated: bool,
    /// Bytes in all.
    pub(crate) total: u64,
    /// Bytes that were not UTF-8 and show as U+FFFD in `text`.
    pub(crate) invalid: u64,
    /// Where all of it is, when `text` has not all.
    pub(crate) output: Option<SpooledOutput>,
}

pub(crate) struct Capture {
    budget: usize,
    out: Side,
    err: Side,
    /// Counts the changes from one stream to the other.
    turn: u64,
    last: Option<Stream>,
    total: u64,
    invalid: u64,
    spool: Spool,
}

impl Capture {
    /// Shows about `budget` bytes.
    pub(crate) fn new(budget: usize, spool: Spool) -> Self {
        let side = || Side::new(budget);
        Self { budget, out: side(), err: side(), turn: 0, last: None, total: 0, invalid: 0, spool }
    }

    /// Takes what was read from one stream.
    pub(crate) fn push(&mut self, stream: Stream, chunk: &[u8]) {
        self.total += chunk.len() as u64;
        if self.last.replace(stream) != Some(stream) {
            self.turn += 1;
        }
        let side = if stream == Stream::Out { &mut self.out } else { &mut self.err };
        let safe = side.redactor.pass(chunk);
        let decoded = side.decoder.decode(&safe);
        side.push(self.turn, &decoded.text);
        self.keep(&decoded);
    }

    /// Takes these secrets out of all that comes.
    pub(crate) fn without(mut self, secrets: &Arc<[String]>) -> Self {
        self.out.redactor = ByteRedactor::new(Arc::clone(secrets));
        self.err.redactor = ByteRedactor::new(Arc::clone(secrets));
        self
    }

    fn keep(&mut self, decoded: &Decoded<'_>) {
        self.invalid += decoded.invalid;
        self.spool.push(&decoded.bytes, self.is_flood());
    }

    /// Whether there is more already than can be shown. What is not UTF-8 takes more room as text: that is what is shown,
    /// and what the budget is for.
    pub(crate) fn is_flood(&self) -> bool {
        self.out.total + self.err.total > self.budget as u64
    }

    /// The output, put together.
    pub(crate) fn finish(mut self) -> Captured {
        self.turn += 1;
        for stream in [Stream::Out, Stream::Err] {
            let side = if stream == Stream::Out { &mut self.out } else { &mut self.err };
            let held = side.redactor.end();
            let last = side.decoder.end(&held);
            if !last.bytes.is_empty() {
                side.push(self.turn, &last.text);
                self.keep(&last);
            }
        }
        let (out, err) = self.budgets();
        let truncated = self.out.total > out || self.err.total > err;
        let kept = self.spool.finish();
        let both = self.out.total > 0 && self.err.total > 0;
        let mut pieces = self.out.shown(out, if both { " of stdout" } else { "" }, &kept);
        pieces.extend(self.err.shown(err, if both { " of stderr" } else { "" }, &kept));
        pieces.sort_by_key(|piece| piece.turn);
        let mut text = String::new();
        for piece in pieces {
            if piece.is_mark && !text.is_empty() && !text.ends_with('\n') {
                text.push('\n');
            }
            text.push_str(&piece.text);
        }
        let output = kept.into_output().filter(|_| truncated);
        Captured { text, truncated, total: self.total, invalid: self.invalid, output }
    }

    /// Bytes of each stream to show: stderr gets a third at least, and each what the other leaves.
    fn budgets(&self) -> (u64, u64) {
        let budget = self.budget as u64;
        let err = self.err.total.min((budget / 3).max(budget.saturating_sub(self.out.total)));
        (budget - err, err)
    }
}

/// Text of one stream that arrived without any of the other between.
struct Piece {
    /// See [`Capture::turn`].
    turn: u64,
    text: String,
    /// Whether it stands for what was left out, on a line of its own.
    is_mark: bool,
}

impl Piece {
    fn new(turn: u64, text: &str) -> Self {
        Self { turn, text: text.to_owned(), is_mark: false }
    }
}

/// One stream: its first and its last bytes, up to the budget each.
struct Side {
    budget: usize,
    head: VecDeque<Piece>,
    head_left: usize,
    tail: VecDeque<Piece>,
    tail_bytes: usize,
    total: u64,
    newlines: u64,
    decoder: Decoder,
    redactor: ByteRedactor,
}

impl Side {
    fn new(budget: usize) -> Self {
        Self {
            budget,
            head: VecDeque::new(),
            head_left: budget,
            tail: VecDeque::new(),
            tail_bytes: 0,
            total: 0,
            newlines: 0,
            decoder: Decoder::default(),
            redactor: ByteRedactor::default(),
        }
    }

    fn push(&mut self, turn: u64, text: &str) {
        self.total += text.len() as u64;
        self.newlines += newlines(text);
        let (first, mut rest) = text.split_at(text.floor_char_boundary(self.head_left));
        append(&mut self.head, turn, first);
        // After what did not fit nothing is at the beginning any more, be it ever so short.
        self.head_left = if rest.is_empty() { self.head_left - first.len() } else { 0 };
        if rest.len() > self.budget {
            // Of a long text only the end can ever be shown, and nothing that came before it.
            rest = &rest[rest.ceil_char_boundary(rest.len() - self.budget)..];
            self.tail.clear();
            self.tail_bytes = 0;
        }
        append(&mut self.tail, turn, rest);
        self.tail_bytes += rest.len();
        if self.tail_bytes > self.budget * 2 {
            self.tail_bytes = keep_last(&mut self.tail, self.budget);
        }
    }

    /// What is shown of this stream within `limit` bytes, with a mark in place of the rest.
    fn shown(&mut self, limit: u64, of: &str, kept: &FullOutput) -> Vec<Piece> {
        if self.total <= limit {
            return self.head.drain(..).chain(self.tail.drain(..)).collect();
        }
        let half = usize::try_from(limit / 2).unwrap_or(usize::MAX);
        let (first, last) = (self.first(half), self.last(half));
        let length = |pieces: &[Piece]| pieces.iter().map(|piece| piece.text.len() as u64).sum::<u64>();
        let lines = |pieces: &[Piece]| pieces.iter().map(|piece| newlines(&piece.text)).sum::<u64>();
        let omitted = bytes(self.total - length(&first) - length(&last));
        let omitted = match self.newlines - lines(&first) - lines(&last) {
            0 => omitted,
            n => format!("{} ({omitted})", count(n, "line")),
        };
        let text = format!("[… {omitted}{of} omitted; {kept} …]\n");
        let turn =
            first.last().map_or_else(|| self.head.front().map_or(0, |piece| piece.turn), |piece| piece.turn);
        first.into_iter().chain([Piece { turn, text, is_mark: true }]).chain(last).collect()
    }

    /// The first `limit` bytes, back to a line end when there is one.
    fn first(&self, limit: usize) -> Vec<Piece> {
        let mut text: String = self.head.iter().map(|piece| piece.text.as_str()).collect();
        text.truncate(text.floor_char_boundary(limit));
        let end = text.rfind('\n').map_or(text.len(), |at| at + 1);
        part_of(self.head.iter(), 0..end)
    }

    /// The last `limit` bytes, from a line's beginning when there is one. They may begin in what is kept as head, but
    /// only when nothing was dropped between head and tail.
    fn last(&self, limit: usize) -> Vec<Piece> {
        let head_bytes: usize = self.head.iter().map(|piece| piece.text.len()).sum();
        let is_all = (head_bytes + self.tail_bytes) as u64 == self.total;
        let kept = || self.head.iter().filter(|_| is_all).chain(&self.tail);
        let text: String = kept().map(|piece| piece.text.as_str()).collect();
        let from = text.ceil_char_boundary(text.len().saturating_sub(limit));
        let at_line_start = from > 0 && text.as_bytes()[from - 1] == b'\n';
        let line = text[from..].find('\n').filter(|at| !at_line_start && from + at + 1 < text.len());
        part_of(kept(), from + line.map_or(0, |at| at + 1)..text.len())
    }
}

/// Bytes to text across chunks: a character may be cut by the end of one.
#[derive(Default)]
struct Decoder {
    begun: Vec<u8>,
}

/// Some of the output: whole characters, and bytes that are none.
struct Decoded<'a> {
    /// With U+FFFD in the place of each sequence of bytes that is no character.
    text: Cow<'a, str>,
    /// As it was printed.
    bytes: Cow<'a, [u8]>,
    /// How many bytes were not UTF-8.
    invalid: u64,
}

impl Decoder {
    /// What came, up to a character that may go on.
    fn decode<'a>(&mut self, chunk: &'a [u8]) -> Decoded<'a> {
        // Nearly all output is text, chunk by chunk: then nothing is copied.
        if self.begun.is_empty()
            && let Ok(text) = std::str::from_utf8(chunk)
        {
            return Decoded { text: Cow::Borrowed(text), bytes: Cow::Borrowed(chunk), invalid: 0 };
        }
        self.decode_across(chunk)
    }

    fn decode_across(&mut self, chunk: &[u8]) -> Decoded<'static> {
        let mut joined = [&std::mem::take(&mut self.begun), chunk].concat();
        let (mut text, mut invalid) = (String::with_capacity(joined.len()), 0);
        let mut parts = joined.utf8_chunks().peekable();
        while let Some(part) = parts.next() {
            text.push_str(part.valid());
            let rest = part.invalid();
            let is_begun = || std::str::from_utf8(rest).is_err_and(|error| error.error_len().is_none());
            if parts.peek().is_none() && is_begun() {
                self.begun = rest.to_vec();
            } else if !rest.is_empty() {
                text.push('\u{FFFD}');
                invalid += rest.len() as u64;
            }
        }
        joined.truncate(joined.len() - self.begun.len());
        Decoded { text: Cow::Owned(text), bytes: Cow::Owned(joined), invalid }
    }

    /// What came last, with the bytes of a character that never was completed.
    fn end<'a>(&mut self, chunk: &'a [u8]) -> Decoded<'a> {
        let mut last = self.decode(chunk);
        let left = std::mem::take(&mut self.begun);
        if !left.is_empty() {
            last.text.to_mut().push('\u{FFFD}');
            last.bytes.to_mut().extend_from_slice(&left);
            last.invalid += left.len() as u64;
        }
        last
    }
}

fn append(pieces: &mut VecDeque<Piece>, turn: u64, text: &str) {
    if text.is_empty() {
        return;
    }
    match pieces.back_mut().filter(|last| last.turn == turn) {
        Some(last) => last.text.push_str(text),
        None => pieces.push_back(Piece::new(turn, text)),
    }
}

/// What of the text of several pieces lies in `range`.
fn part_of<'p>(pieces: impl Iterator<Item = &'p Piece>, range: Range<usize>) -> Vec<Piece> {
    let mut at = 0;
    let part = |piece: &Piece| {
        let within = |end: usize| end.saturating_sub(at).min(piece.text.len());
        let text = &piece.text[within(range.start)..within(range.end)];
        at += piece.text.len();
        (!text.is_empty()).then(|| Piece::new(piece.turn, text))
    };
    pieces.filter_map(part).collect()
}

/// Drops from the front until about `budget` bytes are left; how many are.
fn keep_last(pieces: &mut VecDeque<Piece>, budget: usize) -> usize {
    let mut length: usize = pieces.iter().map(|piece| piece.text.len()).sum();
    while let Some(first) = pieces.front_mut().filter(|_| length > budget) {
        let excess = length - budget;
        if first.text.len() <= excess {
            length -= first.text.len();
            pieces.pop_front();
        } else {
            // Down to the next character: a few bytes less than the budget at most.
            let at = first.text.ceil_char_boundary(excess);
            first.text.drain(..at);
            return length - at;
        }
    }
    length
}

fn newlines(text: &str) -> u64 {
    memchr::memchr_iter(b'\n', text.as_bytes()).count() as u64
}

#[cfg(test)]
#[path = "capture_tests.rs"]
mod tests;
