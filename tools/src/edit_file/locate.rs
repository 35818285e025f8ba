//! Where an edit applies: the order of the ways in which `old_string` may match.
//!
//! Exact; equal once line ends are; a unique match of whole lines that differ only in white space at their ends. The
//! first that applies decides. Nothing is ever matched by similarity. Pure: text in, replacements out.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::rc::Rc;

use memchr::memmem;

use crate::line_ends::{LineEnds, Normalised, bare, to_crlf};

/// Matches counted where one is wanted: more are as many.
pub(crate) const COUNTED: usize = 1_000;

/// What to put where; ranges are bytes of the content, in order, apart from each other.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    pub(crate) replacements: Vec<(Range<usize>, Rc<str>)>,
    pub(crate) how: MatchKind,
}

impl Plan {
    /// How long the content will be, in bytes.
    pub(crate) fn length_of(&self, content: &str) -> u64 {
        let removed: usize = self.replacements.iter().map(|(range, _)| range.len()).sum();
        let added = self.replacements.iter().map(|(_, text)| text.len() as u64);
        (content.len() - removed) as u64 + added.sum::<u64>()
    }
}

/// Which of the ways of matching applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MatchKind {
    Exact,
    LineEnds,
    WhiteSpace,
}

/// Why no edit applies.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum PlanError {
    /// Several places match; their ranges, of the first [`COUNTED`].
    Several(Vec<Range<usize>>),
    /// Whole lines match but for white space, but the new text cannot be given their indentation without a guess.
    Indentation(Range<usize>),
    /// Nothing matches.
    Nowhere,
}

/// Finds `old` in `content`; `old` is not empty. With `all`, every exact match is replaced.
pub(crate) fn plan(content: &str, old: &str, new: &str, all: bool) -> Result<Plan, PlanError> {
    let exact = find(content, old, all);
    if !exact.is_empty() {
        return replace_all(content, exact, new, all, MatchKind::Exact);
    }
    let same = find_with_line_ends(content, old, all);
    if !same.is_empty() {
        return replace_all(content, same, new, all, MatchKind::LineEnds);
    }
    by_lines(content, old, new)
}

/// Every place where `old` begins once line ends are equal. Without a CR LF on either side they are already, and a
/// large file is not copied for nothing.
fn find_with_line_ends(content: &str, old: &str, all: bool) -> Vec<Range<usize>> {
    if !old.contains("\r\n") && memmem::find(content.as_bytes(), b"\r\n").is_none() {
        return Vec::new();
    }
    let normalised = Normalised::new(content);
    let found = find(&normalised.text, &old.replace("\r\n", "\n"), all).into_iter();
    found.map(|range| normalised.original(range)).collect()
}

/// With `all`, the places of `old` that are apart, from the left. Else those where it begins, overlapping ones too: two
/// that overlap are as ambiguous as two apart.
fn find(content: &str, old: &str, all: bool) -> Vec<Range<usize>> {
    let (step, limit) = match all {
        true => (old.len(), usize::MAX),
        false => (old.chars().next().map_or(1, char::len_utf8), COUNTED),
    };
    let finder = memmem::Finder::new(old);
    let mut found = Vec::new();
    let mut from = 0;
    while found.len() < limit
        && let Some(at) = finder.find(&content.as_bytes()[from..])
    {
        found.push(from + at..from + at + old.len());
        from += at + step;
    }
    found
}

fn replace_all(
    content: &str,
    found: Vec<Range<usize>>,
    new: &str,
    all: bool,
    how: MatchKind,
) -> Result<Plan, PlanError> {
    if found.len() > 1 && !all {
        return Err(PlanError::Several(found));
    }
    let mut ended = WithLineEnds::new(content, new);
    let replacements = found.into_iter().map(|range| (range.clone(), ended.like(range.start))).collect();
    Ok(Plan { replacements, how })
}

/// A new text with the line ends of the place it goes to, LF or CR LF; shared by all places.
struct WithLineEnds<'t> {
    ends: LineEnds<'t>,
    given: Rc<str>,
    crlf: Rc<str>,
}

impl<'t> WithLineEnds<'t> {
    fn new(content: &'t str, new: &str) -> Self {
        Self { ends: LineEnds::new(content), given: Rc::from(new), crlf: Rc::from(&*to_crlf(new)) }
    }

    /// With the line ends that the file has at `start`; asked for in the order of the file.
    fn like(&mut self, start: usize) -> Rc<str> {
        Rc::clone(if self.ends.is_crlf_at(start) { &self.crlf } else { &self.given })
    }
}

fn by_lines(content: &str, old: &str, new: &str) -> Result<Plan, PlanError> {
    let old_lines: Vec<&str> = old.split_inclusive('\n').map(bare).collect();
    let mut start = 0;
    let lines: Vec<(usize, &str)> = content
        .split_inclusive('\n')
        .map(|line| {
            start += line.len();
            (start - line.len(), line)
        })
        .collect();
    if old_lines.iter().all(|line| line.trim().is_empty()) {
        return Err(PlanError::Nowhere);
    }
    let found = runs_of(&old_lines, &lines);
    let matches: Vec<&[(usize, &str)]> =
        found.into_iter().map(|at| &lines[at..at + old_lines.len()]).collect();
    let whole_lines = old.ends_with('\n');
    match matches[..] {
        [] => Err(PlanError::Nowhere),
        [window] => {
            let range = range_of(window, whole_lines);
            let indentation = Indentation::learn(&old_lines, window)
                .ok_or_else(|| PlanError::Indentation(range.clone()))?;
            let text = indentation.apply(new).ok_or_else(|| PlanError::Indentation(range.clone()))?;
            let text = WithLineEnds::new(content, &text).like(range.start);
            Ok(Plan { replacements: vec![(range, text)], how: MatchKind::WhiteSpace })
        }
        _ => {
            Err(PlanError::Several(matches.into_iter().map(|window| range_of(window, whole_lines)).collect()))
        }
    }
}

/// The lines at which a run begins that is `old_lines` but for white space at their ends, at most [`COUNTED`]. By Knuth,
/// Morris and Pratt over numbers for the texts, so that lines that resemble each other cost no more than others.
fn runs_of(old_lines: &[&str], lines: &[(usize, &str)]) -> Vec<usize> {
    let mut numbers = HashMap::new();
    let wanted: Vec<Option<usize>> = old_lines
        .iter()
        .map(|line| {
            let next = numbers.len();
            Some(*numbers.entry(line.trim()).or_insert(next))
        })
        .collect();
    let borders = borders(&wanted);
    let (mut found, mut length) = (Vec::new(), 0);
    for (at, (_, line)) in lines.iter().enumerate() {
        let number = numbers.get(trimmed(line)).copied();
        length = extended(&wanted, &borders, length, number);
        if length == wanted.len() {
            found.push(at + 1 - length);
            length = borders[length - 1];
        }
        if found.len() == COUNTED {
            break;
        }
    }
    found
}

/// For each beginning of `wanted`: the length of the longest shorter beginning that it ends with.
fn borders(wanted: &[Option<usize>]) -> Vec<usize> {
    let mut borders = vec![0; wanted.len()];
    for at in 1..wanted.len() {
        borders[at] = extended(wanted, &borders, borders[at - 1], wanted[at]);
    }
    borders
}

/// How much of the beginning of `wanted` matches with one more line, when `length` lines of it matched so far.
fn extended(wanted: &[Option<usize>], borders: &[usize], mut length: usize, number: Option<usize>) -> usize {
    while length > 0 && wanted[length] != number {
        length = borders[length - 1];
    }
    length + usize::from(wanted[length] == number)
}

/// A byte order mark is no part of the first line's text.
fn trimmed(line: &str) -> &str {
    line.trim_start_matches('\u{FEFF}').trim()
}

/// The bytes of whole lines; with the last line end only when `old_string` had one.
fn range_of(window: &[(usize, &str)], whole_lines: bool) -> Range<usize> {
    let (first, (last, last_line)) = (window[0], window[window.len() - 1]);
    let begin = first.0 + if first.1.starts_with('\u{FEFF}') { '\u{FEFF}'.len_utf8() } else { 0 };
    let end = last + if whole_lines { last_line.len() } else { bare(last_line).len() };
    begin..end.max(begin)
}

/// How the indentation of `old_string` relates to the file's.
enum Indentation<'a> {
    /// The file's is this much more.
    Add(&'a str),
    /// The file's is this much less.
    Remove(&'a str),
    /// No such rule: only what was matched is known (tabs for spaces, say).
    Known(BTreeMap<&'a str, &'a str>),
}

impl<'a> Indentation<'a> {
    /// `None` when one indentation of `old_string` is two different ones in the file.
    fn learn(old_lines: &[&'a str], window: &[(usize, &'a str)]) -> Option<Self> {
        let mut known = BTreeMap::new();
        let pairs = old_lines.iter().zip(window).filter(|(old, _)| !old.trim().is_empty());
        for (old, (_, line)) in pairs {
            let (old, line) = (indent(old), indent(line.trim_start_matches('\u{FEFF}')));
            if *known.entry(old).or_insert(line) != line {
                return None;
            }
        }
        let (old, file) = known.iter().next().map(|(old, file)| (*old, *file))?;
        if let Some(more) = file.strip_suffix(old)
            && known.iter().all(|(old, file)| file.strip_prefix(more) == Some(*old))
        {
            return Some(Self::Add(more));
        }
        if let Some(less) = old.strip_suffix(file)
            && known.iter().all(|(old, file)| old.strip_prefix(less) == Some(*file))
        {
            return Some(Self::Remove(less));
        }
        Some(Self::Known(known))
    }

    /// `new` with the file's indentation; `None` when a line of it has one that is not known.
    fn apply(&self, new: &str) -> Option<String> {
        new.split_inclusive('\n').map(|line| self.apply_line(line)).collect()
    }

    fn apply_line(&self, line: &str) -> Option<String> {
        if line.trim().is_empty() {
            return Some(line.to_owned());
        }
        let (had, text) = line.split_at(indent(line).len());
        match self {
            Self::Add(more) => Some(format!("{more}{line}")),
            Self::Remove(less) => line.strip_prefix(less).map(str::to_owned),
            Self::Known(known) => known.get(had).map(|has| format!("{has}{text}")),
        }
    }
}

fn indent(line: &str) -> &str {
    &line[..line.len() - line.trim_start().len()]
}

#[cfg(test)]
#[path = "locate_tests.rs"]
mod tests;
