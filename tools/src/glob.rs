//! `glob`: files by name, the newest first.

use std::cmp::Reverse;
use std::path::{Path, PathBuf};

use globset::GlobSet;
use ignore::{DirEntry, WalkBuilder};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::answer::ToolOutput;
use crate::limits::{count, cut_line, thousands};
use crate::open_flags::LOOK;
use crate::pattern::{self, BadGlob};
use crate::tool::{ToolContext, WorkspaceTool};
use crate::walk;
use crate::workspace::{PathError, shown};

/// How much of a pattern an error shows.
const SHOWN: usize = 200;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct GlobArgs {
    /// Glob; one without `/` matches names at any depth
    pattern: String,
    /// Directory to look in (default: the workspace)
    path: Option<String>,
}

/// Why nothing was looked for.
#[derive(Debug, thiserror::Error)]
enum GlobError {
    #[error(transparent)]
    Path(#[from] PathError),
    #[error(
        "`{pattern}` is not a valid glob: {source}. Examples: \"*.rs\", \"src/**/*.{{ts,tsx}}\", \"**/test_*.py\""
    )]
    Pattern { pattern: String, source: BadGlob },
}

pub(crate) fn tool() -> WorkspaceTool {
    let refused = |args: &GlobArgs| format!("glob {}: not done", args.pattern);
    WorkspaceTool::new("glob", include_str!("glob.md"), true, refused, find)
}

fn find(args: &GlobArgs, context: &ToolContext) -> Result<ToolOutput, GlobError> {
    let (_, real) = context.workspace.open_dir(args.path.as_deref().unwrap_or("."))?;
    let root = context.workspace.path().join(&real);
    let newest = Newest::new(context.limits.glob_files);
    let mut search = GlobSearch { matcher: matcher(&args.pattern, &root)?, context, root, real, newest };
    search.walk();
    Ok(answer(args, search.newest, context))
}

/// The pattern as one of paths below `root`: an absolute one below it is made relative.
fn matcher(pattern: &str, root: &Path) -> Result<GlobSet, GlobError> {
    let below = Path::new(pattern).strip_prefix(root).ok().and_then(Path::to_str);
    pattern::compile(below.unwrap_or(pattern))
        .map_err(|source| GlobError::Pattern { pattern: cut_line(pattern, SHOWN).0.to_owned(), source })
}

/// One search for files.
struct GlobSearch<'a> {
    matcher: GlobSet,
    context: &'a ToolContext<'a>,
    root: PathBuf,
    real: PathBuf,
    newest: Newest,
}

impl GlobSearch<'_> {
    /// Hidden files are found, ignored ones and git's own are not: as `list_dir` shows them.
    fn walk(&mut self) {
        let mut walk = WalkBuilder::new(&self.root);
        walk.hidden(false).require_git(false);
        walk::guard(&mut walk, (self.context.workspace.path(), &self.real), |entry| {
            entry.depth() == 0 || entry.file_name() != ".git"
        });
        for entry in walk.build().flatten() {
            if !self.context.deadline.may_go_on() {
                break;
            }
            self.entry(&entry);
        }
    }

    /// Looked up beneath the workspace's handle, whatever way the walk took.
    fn entry(&mut self, entry: &DirEntry) {
        let is_file = entry.file_type().is_some_and(|kind| kind.is_file() || kind.is_symlink());
        let Ok(below) = entry.path().strip_prefix(&self.root) else { return };
        if !is_file || !self.matcher.is_match(below) {
            return;
        }
        let path = self.real.join(below);
        let stat = self.context.workspace.beneath(&path, LOOK).and_then(rustix::fs::fstat);
        if let Ok(stat) = stat {
            self.newest.add((stat.st_mtime, stat.st_mtime_nsec), path);
        }
    }
}

/// The newest files so far, and how many there were.
struct Newest {
    limit: usize,
    files: Vec<(Reverse<(i64, u64)>, PathBuf)>,
    all: u64,
}

impl Newest {
    fn new(limit: usize) -> Self {
        Self { limit, files: Vec::new(), all: 0 }
    }

    /// Memory stays bounded: what cannot be among the newest is dropped now and then.
    fn add(&mut self, changed: (i64, u64), path: PathBuf) {
        self.all += 1;
        self.files.push((Reverse(changed), path));
        if self.files.len() > self.limit * 8 {
            self.cut();
        }
    }

    /// Newest first; of one time, by path.
    fn cut(&mut self) {
        self.files.sort_unstable();
        self.files.truncate(self.limit);
    }
}

fn answer(args: &GlobArgs, mut newest: Newest, context: &ToolContext) -> ToolOutput {
    newest.cut();
    let left_out = newest.all - newest.files.len() as u64;
    let mut lines: Vec<String> = newest.files.iter().map(|(_, path)| shown(path.as_os_str())).collect();
    if newest.all == 0 {
        lines.push("(no files match)".to_owned());
    }
    if left_out > 0 {
        lines.push(format!("({} more; narrow the pattern or the path)", thousands(left_out)));
    }
    if let Some(reason) = context.deadline.reason() {
        lines.push(format!("({reason}: not all directories were searched; narrow the path)"));
    }
    let mut facts = context.deadline.facts();
    facts.truncated |= left_out > 0;
    let title = format!("glob {} ({})", args.pattern, count(newest.all, "file"));
    ToolOutput { text: lines.join("\n"), title, is_error: facts.cancelled, facts }
}

#[cfg(test)]
#[path = "glob_tests.rs"]
mod tests;
