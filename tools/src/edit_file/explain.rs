//! Words for an edit: the changed lines when it was made, and everything that repairs the call when it was not.
//!
//! After one failed edit the chance that the next succeeds drops steeply, so the first error has to carry it all:
//! where the places are, what is there, and what differs. Lines are not compared as names are ([`uwf_store::suggest`]):
//! that takes time by the square of a line's length, for thousands of lines. Pure: text in, text out.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::ops::Range;

use memchr::memchr_iter;
use similar::{ChangeTag, TextDiff};

use super::locate::COUNTED;
use crate::limits::{count, cut_line, shorten};

/// Lines shown around a change.
const AROUND: usize = 4;
/// Places shown with their lines; more are named by their numbers.
const PLACES: usize = 5;
const NUMBERS: usize = 50;
/// Lines shown of one place; of more, the first and the last.
const PLACE_LINES: usize = 100;
/// Lines of the file searched for one that is only similar, and characters of each that are compared.
const COMPARED: usize = 10_000;
const COMPARED_CHARS: usize = 400;
/// Places of one text among the lines of `old_string` that count where the same lines are looked for.
const SAME: usize = 8;
/// Lines of a comparison that are compared, and that are shown.
const DIFF_COMPARED: usize = 500;
const DIFF_LINES: usize = 60;
/// Below this, the most similar line is no help (1 is equal).
const ALIKE: f64 = 0.5;
const LINE_CHARS: usize = 400;

/// The numbers of lines, from 1, by bytes that are in them; asked for in the order of the text, so that the text is
/// gone through once.
struct LineNumbers<'t> {
    text: &'t [u8],
    at: usize,
    line: usize,
}

impl<'t> LineNumbers<'t> {
    fn new(text: &'t str) -> Self {
        Self { text: text.as_bytes(), at: 0, line: 1 }
    }

    fn of(&mut self, at: usize) -> usize {
        if at < self.at {
            (self.at, self.line) = (0, 1);
        }
        self.line += memchr_iter(b'\n', &self.text[self.at..at]).count();
        self.at = at;
        self.line
    }
}

/// The lines of several places, numbered, each with its surroundings; `ranges` are bytes of `text`.
pub(crate) fn snippets(text: &str, ranges: &[Range<usize>], around: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let mut numbers = LineNumbers::new(text);
    let mut shown = String::new();
    let mut last_shown = 0;
    for (at, range) in ranges.iter().take(PLACES).enumerate() {
        let first = numbers.of(range.start);
        let end = if range.is_empty() { range.start } else { range.end - 1 };
        let from = first.saturating_sub(around).max(1).max(last_shown + 1);
        let to = (numbers.of(end) + around).min(lines.len());
        if at > 0 && from > last_shown + 1 {
            shown.push_str("   --\n");
        }
        place(&mut shown, &lines, from, to);
        last_shown = last_shown.max(to);
    }
    let rest = &ranges[PLACES.min(ranges.len())..];
    if !rest.is_empty() {
        let _ = writeln!(shown, "… and at {}", line_numbers(text, rest));
    }
    shown
}

/// `lines 3, 7, 9`, and how many more when there are too many.
fn line_numbers(text: &str, ranges: &[Range<usize>]) -> String {
    let mut lines = LineNumbers::new(text);
    let numbers = ranges.iter().take(NUMBERS).map(|range| lines.of(range.start).to_string());
    let numbers: Vec<String> = numbers.collect();
    let more = match ranges.len().saturating_sub(NUMBERS) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("lines {}{more}", numbers.join(", "))
}

/// The lines around each change, as they are now.
pub(crate) fn changed(text: &str, ranges: &[Range<usize>]) -> String {
    snippets(text, ranges, AROUND)
}

/// The lines of one place, without those in the middle when there are too many.
fn place(shown: &mut String, lines: &[&str], from: usize, to: usize) {
    if to < from + PLACE_LINES {
        return numbered(shown, lines, from, to);
    }
    let (head, tail) = (from + PLACE_LINES / 2, to - PLACE_LINES / 2);
    numbered(shown, lines, from, head - 1);
    let _ = writeln!(shown, "[… {} …]", count((tail + 1 - head) as u64, "line"));
    numbered(shown, lines, tail + 1, to);
}

fn numbered(shown: &mut String, lines: &[&str], from: usize, to: usize) {
    for number in from..=to {
        let Some(line) = lines.get(number - 1) else { break };
        let _ = writeln!(shown, "{number:>5}\t{}", one_line(line));
    }
}

fn one_line(line: &str) -> String {
    shorten(line.trim_end_matches('\r'), LINE_CHARS)
}

/// Several places match: which, and how to choose.
pub(crate) fn several(path: &str, content: &str, ranges: &[Range<usize>]) -> String {
    let places = snippets(content, ranges, 2);
    format!(
        "old_string matches {}{} in {path}, at {}; nothing was changed. Add lines around it until it is unique, \
         or set replace_all.\n{places}",
        if ranges.len() == COUNTED { "at least " } else { "" },
        count(ranges.len() as u64, "place"),
        line_numbers(content, ranges)
    )
}

/// Whole lines match but for their indentation, and the new text's cannot be derived.
pub(crate) fn indentation(path: &str, content: &str, range: &Range<usize>) -> String {
    format!(
        "old_string matches only when white space is ignored, and the indentation of new_string cannot be derived; \
         nothing was changed. These are the lines of {path} (mind tabs and spaces):\n{}",
        snippets(content, std::slice::from_ref(range), 0)
    )
}

/// Nothing matches: what is nearest, how it differs, and whether the edit may have been made before.
pub(crate) fn nowhere(path: &str, content: &str, old: &str, new: &str) -> String {
    let mut text = format!("old_string is not in {path}; nothing was changed.\n");
    if let Some(at) = content.find(new).filter(|_| !new.trim().is_empty()) {
        let _ = writeln!(
            text,
            "new_string is there already, at line {}: was this edit made before?",
            LineNumbers::new(content).of(at)
        );
    }
    if has_line_numbers(old) {
        text.push_str(
            "old_string seems to hold the line numbers that read_file shows: leave them and the tab out.\n",
        );
    }
    let (lines, old_lines): (Vec<&str>, Vec<&str>) = (content.lines().collect(), old.lines().collect());
    match similar_region(&lines, &old_lines) {
        Some(region) => text.push_str(&comparison(&lines, &old_lines, region)),
        None => text.push_str("No line of it is similar to any in the file: read the file again."),
    }
    text
}

fn has_line_numbers(old: &str) -> bool {
    let numbered = |line: &str| {
        let digits = line.trim_start().split('\t').next().unwrap_or_default();
        line.contains('\t') && !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
    };
    old.lines().filter(|line| !line.trim().is_empty()).all(numbered)
}

/// The lines of the file that share most lines with `old`, at least one; else those around the line that is most
/// similar to the longest of `old`.
fn similar_region(lines: &[&str], old: &[&str]) -> Option<Range<usize>> {
    sharing(lines, old).or_else(|| similar_line(lines, old))
}

/// Each line that both have votes for where `old` would begin in the file; the most votes win, then the first place.
fn sharing(lines: &[&str], old: &[&str]) -> Option<Range<usize>> {
    let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
    for (at, line) in old.iter().enumerate().filter(|(_, line)| line.chars().any(char::is_alphanumeric)) {
        let same = places.entry(line.trim()).or_default();
        if same.len() < SAME {
            same.push(at);
        }
    }
    let mut votes: HashMap<isize, usize> = HashMap::new();
    for (at, line) in lines.iter().enumerate() {
        for place in places.get(line.trim()).into_iter().flatten() {
            *votes.entry(at.cast_signed() - place.cast_signed()).or_default() += 1;
        }
    }
    let (start, _) = votes.into_iter().max_by_key(|(start, votes)| (*votes, std::cmp::Reverse(*start)))?;
    let end = (start + old.len().cast_signed()).cast_unsigned().min(lines.len());
    Some(start.max(0).cast_unsigned()..end)
}

fn similar_line(lines: &[&str], old: &[&str]) -> Option<Range<usize>> {
    let (longest_at, longest) = old.iter().enumerate().max_by_key(|(_, line)| line.trim().len())?;
    let wanted = cut_line(longest.trim(), COMPARED_CHARS).0;
    let scored = lines.iter().take(COMPARED).enumerate();
    let scored =
        scored.map(|(at, line)| (strsim::sorensen_dice(wanted, cut_line(line.trim(), COMPARED_CHARS).0), at));
    let (score, at) = scored.max_by(|left, right| left.0.total_cmp(&right.0).then(right.1.cmp(&left.1)))?;
    let start = at.saturating_sub(longest_at);
    (score >= ALIKE).then(|| start..(start + old.len()).min(lines.len()))
}

fn comparison(lines: &[&str], old: &[&str], region: Range<usize>) -> String {
    let mut text = format!(
        "Nearest: lines {}–{} (- is your old_string, + is the file):\n",
        region.start + 1,
        region.end
    );
    // Only the first lines are shown, so only they are compared.
    let (old, file) = (&old[..old.len().min(DIFF_COMPARED)], &lines[region.clone()]);
    let file = &file[..file.len().min(DIFF_COMPARED)];
    let diff = TextDiff::from_slices(old, file);
    for change in diff.iter_all_changes().take(DIFF_LINES) {
        let number = change.new_index().map(|at| (region.start + at + 1).to_string()).unwrap_or_default();
        let mark = match change.tag() {
            ChangeTag::Equal => ' ',
            ChangeTag::Delete => '-',
            ChangeTag::Insert => '+',
        };
        let _ = writeln!(text, "{number:>5} {mark}\t{}", one_line(change.value()));
    }
    text
}

#[cfg(test)]
#[path = "explain_tests.rs"]
mod tests;
