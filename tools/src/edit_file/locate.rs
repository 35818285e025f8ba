//! Where an edit applies: the order of the ways in which `old_string` may match.
//!
//! Exact; equal once line ends are; a unique match of whole lines that differ only in white space at their ends. The
//! first that applies decides. Nothing is ever matched by similarity. Pure: text in, replacements out.

use std::collections::BTreeMap;
use std::ops::Range;

use memchr::memmem;

use crate::line_ends::{self, Normalised, bare};

/// What to put where; ranges are bytes of the content, in order, apart from each other.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    pub(crate) replacements: Vec<(Range<usize>, String)>,
    pub(crate) how: How,
}

/// Which of the ways applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    Exact,
    LineEnds,
    WhiteSpace,
}

/// Why no edit applies.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NoPlan {
    /// Several places match; their ranges.
    Several(Vec<Range<usize>>),
    /// Whole lines match but for white space, but the new text cannot be given their indentation without a guess.
    Indentation(Range<usize>),
    /// Nothing matches.
    Nowhere,
}

/// Finds `old` in `content`; `old` is not empty. With `all`, every exact match is replaced.
pub(crate) fn plan(content: &str, old: &str, new: &str, all: bool) -> Result<Plan, NoPlan> {
    let exact = find(content, old);
    if !exact.is_empty() {
        return replace_all(content, exact, new, all, How::Exact);
    }
    let same = find_with_line_ends(content, old);
    if !same.is_empty() {
        return replace_all(content, same, new, all, How::LineEnds);
    }
    by_lines(content, old, new)
}

/// Every place where `old` begins once line ends are equal. Without a CR LF on either side they are already, and a
/// large file is not copied for nothing.
fn find_with_line_ends(content: &str, old: &str) -> Vec<Range<usize>> {
    if !old.contains("\r\n") && memmem::find(content.as_bytes(), b"\r\n").is_none() {
        return Vec::new();
    }
    let normalised = Normalised::new(content);
    let found = find(&normalised.text, &old.replace("\r\n", "\n")).into_iter();
    found.map(|range| normalised.original(range)).collect()
}

/// Every place where `old` begins, overlapping ones too: two that overlap are as ambiguous as two apart.
fn find(content: &str, old: &str) -> Vec<Range<usize>> {
    let step = old.chars().next().map_or(1, char::len_utf8);
    let finder = memmem::Finder::new(old);
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(at) = finder.find(&content.as_bytes()[from..]) {
        found.push(from + at..from + at + old.len());
        from += at + step;
    }
    found
}

fn replace_all(
    content: &str,
    mut found: Vec<Range<usize>>,
    new: &str,
    all: bool,
    how: How,
) -> Result<Plan, NoPlan> {
    if found.len() > 1 && !all {
        return Err(NoPlan::Several(found));
    }
    let mut end = 0;
    found.retain(|range| {
        let apart = range.start >= end;
        end = if apart { range.end } else { end };
        apart
    });
    let replacements =
        found.into_iter().map(|range| (range.clone(), ended_like(content, &range, new))).collect();
    Ok(Plan { replacements, how })
}

/// `new` with the line ends that the file has at `range`.
fn ended_like(content: &str, range: &Range<usize>, new: &str) -> String {
    if line_ends::is_crlf_at(content, range) { line_ends::to_crlf(new).into_owned() } else { new.to_owned() }
}

fn by_lines(content: &str, old: &str, new: &str) -> Result<Plan, NoPlan> {
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
        return Err(NoPlan::Nowhere);
    }
    let matches: Vec<&[(usize, &str)]> =
        lines.windows(old_lines.len()).filter(|window| alike(window, &old_lines)).collect();
    let whole_lines = old.ends_with('\n');
    match matches[..] {
        [] => Err(NoPlan::Nowhere),
        [window] => {
            let range = range_of(window, whole_lines);
            let indentation =
                Indentation::learn(&old_lines, window).ok_or_else(|| NoPlan::Indentation(range.clone()))?;
            let text = indentation.apply(new).ok_or_else(|| NoPlan::Indentation(range.clone()))?;
            let text = ended_like(content, &range, &text);
            Ok(Plan { replacements: vec![(range, text)], how: How::WhiteSpace })
        }
        _ => Err(NoPlan::Several(matches.into_iter().map(|window| range_of(window, whole_lines)).collect())),
    }
}

fn alike(window: &[(usize, &str)], old_lines: &[&str]) -> bool {
    window.iter().zip(old_lines).all(|((_, line), old)| trimmed(line) == old.trim())
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
