//! What one file's search finds, as lines to show.
//!
//! Keeps no more matches than can ever be shown, and counts the rest.

use std::io;
use std::path::PathBuf;

use grep_regex::RegexMatcher;
use grep_searcher::{Searcher, Sink, SinkContext, SinkFinish, SinkMatch};

use super::results::{FileMatches, GrepLine};
use crate::call_deadline::CallDeadline;
use crate::limits::{ToolLimits, cut_line, shorten};
use crate::line_ends::bare;

/// Characters shown before a match that would else be cut off.
const LEAD: usize = 80;

/// Takes the matches of one file.
pub(crate) struct Matches<'a> {
    matcher: &'a RegexMatcher,
    deadline: &'a CallDeadline<'a>,
    limits: &'a ToolLimits,
    files_only: bool,
    lines: Vec<GrepLine>,
    count: u64,
    binary: bool,
}

impl<'a> Matches<'a> {
    pub(crate) fn new(
        matcher: &'a RegexMatcher,
        deadline: &'a CallDeadline<'a>,
        limits: &'a ToolLimits,
        files_only: bool,
    ) -> Self {
        Self { matcher, deadline, limits, files_only, lines: Vec::new(), count: 0, binary: false }
    }

    /// `None` when nothing matched, or the file is binary.
    pub(crate) fn found(self, path: PathBuf) -> Option<FileMatches> {
        (self.count > 0 && !self.binary).then_some(FileMatches {
            path,
            matches: self.count,
            lines: self.lines,
        })
    }

    fn push(&mut self, number: Option<u64>, bytes: &[u8], is_match: bool) {
        let number = number.unwrap_or(0);
        for (at, line) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
            let line = String::from_utf8_lossy(line);
            let text = self.window(bare(&line), is_match);
            // A match over several lines counts once: with its first.
            let matches = is_match && at == 0;
            self.lines.push(GrepLine { number: number + at as u64, text, is_match, matches });
        }
    }

    /// A long line is cut so that the match is in what is shown.
    fn window(&self, line: &str, is_match: bool) -> String {
        use grep_matcher::Matcher as _;
        let limit = self.limits.grep_line_chars;
        if cut_line(line, limit).1 == 0 {
            return line.to_owned();
        }
        let at = is_match.then(|| self.matcher.find(line.as_bytes()).ok().flatten()).flatten();
        let at = at.map_or(0, |found| line.floor_char_boundary(found.start()));
        let before = line[..at].chars().count();
        let skip = if before + LEAD > limit { before - LEAD.min(before) } else { 0 };
        let from = line.char_indices().nth(skip).map_or(line.len(), |(at, _)| at);
        let lead = if skip > 0 { format!("[{skip} characters …] ") } else { String::new() };
        format!("{lead}{}", shorten(&line[from..], limit))
    }
}

impl Sink for Matches<'_> {
    type Error = io::Error;

    fn matched(&mut self, _searcher: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        self.count += 1;
        if !self.files_only && self.count <= self.limits.grep_matches {
            self.push(found.line_number(), found.bytes(), true);
        }
        // One match is enough for a file's name, but whether it is binary shows only at the end of what is buffered.
        Ok(!self.files_only && self.deadline.may_go_on())
    }

    fn context(&mut self, _searcher: &Searcher, context: &SinkContext<'_>) -> Result<bool, io::Error> {
        if !self.files_only && self.count <= self.limits.grep_matches {
            self.push(context.line_number(), context.bytes(), false);
        }
        Ok(true)
    }

    fn context_break(&mut self, _searcher: &Searcher) -> Result<bool, io::Error> {
        Ok(true)
    }

    fn binary_data(&mut self, _searcher: &Searcher, _offset: u64) -> Result<bool, io::Error> {
        self.binary = true;
        Ok(false)
    }

    fn finish(&mut self, _searcher: &Searcher, finish: &SinkFinish) -> Result<(), io::Error> {
        self.binary |= finish.binary_byte_offset().is_some();
        Ok(())
    }
}
