//! The matches of all files, in path order however many threads found them.
//!
//! Holds what can be shown and one file more: memory is bounded, and the numbers are of everything.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use crate::limits::{ToolLimits, count, thousands};
use crate::workspace::shown;

/// The matches of one file.
pub(crate) struct FileMatches {
    /// As it is shown: relative to the workspace.
    pub(crate) path: PathBuf,
    /// Matching lines in all; `lines` may have fewer.
    pub(crate) matches: u64,
    pub(crate) lines: Vec<GrepLine>,
}

/// One line to show.
pub(crate) struct GrepLine {
    /// From 1.
    pub(crate) number: u64,
    pub(crate) text: String,
    /// Whether it is part of a match, not a line around one.
    pub(crate) is_match: bool,
    /// Whether a match begins in it.
    pub(crate) matches: bool,
}

/// What was found so far.
pub(crate) struct Results {
    files_only: bool,
    limit: u64,
    /// The first files by path, as many as can be shown.
    first: BTreeMap<PathBuf, FileMatches>,
    /// How many entries `first` shows: matches, or files where only these are wanted.
    kept: u64,
    /// How many files were searched.
    searched: u64,
    /// How many files have matches.
    files: u64,
    /// How many lines match in all files.
    matches: u64,
}

impl Results {
    pub(crate) fn new(files_only: bool, limits: &ToolLimits) -> Self {
        let limit = if files_only { limits.list_entries as u64 } else { limits.grep_matches };
        Self { files_only, limit, first: BTreeMap::new(), kept: 0, searched: 0, files: 0, matches: 0 }
    }

    /// A file was searched.
    pub(crate) fn add(&mut self, found: Option<FileMatches>) {
        self.searched += 1;
        let Some(found) = found else { return };
        self.files += 1;
        self.matches += found.matches;
        self.kept += self.weight(&found);
        self.first.insert(found.path.clone(), found);
        while let Some(last) = self.first.last_entry() {
            let weight = if self.files_only { 1 } else { last.get().matches };
            if self.kept - weight < self.limit {
                break;
            }
            self.kept -= weight;
            last.remove();
        }
    }

    fn weight(&self, found: &FileMatches) -> u64 {
        if self.files_only { 1 } else { found.matches }
    }

    /// `3 matches in 2 files`
    pub(crate) fn summary(&self) -> String {
        let files = count(self.files, "file");
        if self.files_only { files } else { format!("{} in {files}", count(self.matches, "match")) }
    }

    pub(crate) fn is_truncated(&self) -> bool {
        self.limit < if self.files_only { self.files } else { self.matches }
    }

    /// For the model: each file's path, then its lines, `12:` for a match and `12-` for a line around one.
    pub(crate) fn text(&self) -> String {
        if self.files == 0 {
            return format!("(no matches in {})", count(self.searched, "file"));
        }
        let mut text = String::new();
        let mut left = self.limit;
        for found in self.first.values() {
            let _ = writeln!(text, "{}", shown(found.path.as_os_str()));
            if !self.files_only {
                left = write_lines(&mut text, &found.lines, left);
            }
        }
        let end = match self.is_truncated() {
            false => self.summary(),
            true => format!(
                "{} in all, the first {} shown; narrow the pattern, the path or the glob",
                self.summary(),
                thousands(self.limit)
            ),
        };
        let _ = write!(text, "({end})");
        text
    }
}

/// Writes lines up to `left` matches, a gap between those that are not adjacent; how many matches are left.
fn write_lines(text: &mut String, lines: &[GrepLine], mut left: u64) -> u64 {
    let mut previous = None;
    for line in lines {
        if line.matches && left == 0 {
            break;
        }
        left -= u64::from(line.matches);
        if previous.is_some_and(|previous| previous + 1 < line.number)
            && lines.iter().any(|line| !line.is_match)
        {
            text.push_str("  --\n");
        }
        previous = Some(line.number);
        let _ = writeln!(text, "  {}{} {}", line.number, if line.is_match { ':' } else { '-' }, line.text);
    }
    left
}
