//! What is left out: by the list of the options, and by the ignore files of the workspace, as git reads them.
//!
//! Read: each `.gitignore` for what is below it, and `.git/info/exclude` where `.git` is a directory. Not read: what lies
//! above the workspace, or in the home of a person. A repository within another one begins anew.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use rustix::fs::{FileType, Mode, OFlags, ResolveFlags, openat2};

use super::listing::ListedName;
use crate::error::SnapshotError;
use crate::options::Options;

/// No ignore file is larger; what is behind that is not read.
const MAX_BYTES: u64 = 4 << 20;

/// The rules for the directory that is walked just now.
pub(super) struct Ignored {
    left_out: Gitignore,
    reads_files: bool,
    /// From the outermost.
    levels: Vec<DirectoryRules>,
    /// The first level of the repository that is walked.
    first: usize,
}

/// The rules of one directory.
struct DirectoryRules {
    rules: Gitignore,
    /// Where a path goes on behind that directory.
    below: usize,
}

/// What was in force outside a directory.
pub(super) struct Outside {
    levels: usize,
    first: usize,
}

impl Ignored {
    pub(super) fn new(options: &Options) -> Result<Ignored, SnapshotError> {
        let mut list = GitignoreBuilder::new("");
        for pattern in &options.leave_out {
            let added = list.add_line(None, pattern).map(drop);
            added.map_err(|error| refused(pattern, &error))?;
        }
        let left_out = list.build().map_err(|error| refused(&options.leave_out.join(" "), &error))?;
        Ok(Ignored { left_out, reads_files: !options.ignored, levels: Vec::new(), first: 0 })
    }

    /// Has the rules of a directory in force, which has these names and is reached by a path of so many bytes.
    pub(super) fn enter(&mut self, directory: &OwnedFd, names: &[ListedName], path: usize) -> Outside {
        let outside = Outside { levels: self.levels.len(), first: self.first };
        if !self.reads_files {
            return outside;
        }
        let below = if path == 0 { 0 } else { path + 1 };
        let kind = |wanted: &[u8]| names.iter().find(|name| *name.bytes == *wanted).map(|name| name.kind);
        let git = kind(b".git");
        if git.is_some() {
            self.first = self.levels.len();
        }
        if git == Some(FileType::Directory) {
            self.push(directory, ".git/info/exclude", below);
        }
        if kind(b".gitignore").is_some() {
            self.push(directory, ".gitignore", below);
        }
        outside
    }

    pub(super) fn leave(&mut self, outside: &Outside) {
        self.levels.truncate(outside.levels);
        self.first = outside.first;
    }

    /// Whether what is at this path, in the directory that was entered last, is left out.
    pub(super) fn matches(&self, path: &[u8], is_directory: bool) -> bool {
        let matched = |rules: &Gitignore, path: &[u8]| match rules
            .matched(Path::new(OsStr::from_bytes(path)), is_directory)
        {
            Match::None => None,
            found => Some(found.is_ignore()),
        };
        if matched(&self.left_out, path) == Some(true) {
            return true;
        }
        let inner_first = self.levels[self.first..].iter().rev();
        inner_first.filter_map(|level| matched(&level.rules, &path[level.below..])).next().unwrap_or(false)
    }

    /// A line that is no pattern is none; so is a file that cannot be read.
    fn push(&mut self, directory: &OwnedFd, path: &str, below: usize) {
        let mut rules = GitignoreBuilder::new("");
        for line in read(directory, path).lines() {
            let _no_pattern = rules.add_line(None, line);
        }
        if let Ok(rules) = rules.build()
            && !rules.is_empty()
        {
            self.levels.push(DirectoryRules { rules, below });
        }
    }
}

fn refused(pattern: &str, error: &ignore::Error) -> SnapshotError {
    SnapshotError::Pattern { pattern: pattern.to_owned(), why: error.to_string() }
}

/// The file, where it is one and lies in this directory.
fn read(directory: impl AsFd, path: &str) -> String {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let mut bytes = Vec::new();
    if let Ok(file) = openat2(directory, path, flags, Mode::empty(), resolve) {
        let _unread = File::from(file).take(MAX_BYTES).read_to_end(&mut bytes);
    }
    let text = String::from_utf8_lossy(&bytes);
    text.strip_prefix('\u{feff}').unwrap_or(&text).to_owned()
}
