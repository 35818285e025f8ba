//! `grep`: lines that match a regular expression, in this process.

mod results;
mod sink;

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};
use ignore::overrides::{Override, OverrideBuilder};
use ignore::{DirEntry, WalkBuilder};
use rustix::fs::FileType;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::answer::ToolOutput;
use crate::call_deadline::CallDeadline;
use crate::limits::cut_line;
use crate::lock::lock;
use crate::open_flags::READ;
use crate::parallel;
use crate::pattern::{self, BadGlob};
use crate::tool::{ToolContext, WorkspaceTool};
use crate::walk;
use crate::workspace::{PathError, kind};
use results::Results;
use sink::Matches;

/// Memory for one file, or for one line where matches are lines. A file that takes more is passed over.
const MAX_HEAP: usize = 256 << 20;

/// Characters shown of what is wrong with a pattern, which repeats it.
const SHOWN: usize = 1_000;

/// Memory for the pattern, and for what is remembered of it while it is searched for, in each thread.
const MAX_REGEX: usize = 10 << 20;
const MAX_CACHE: usize = 64 << 20;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct GrepArgs {
    /// Regular expression
    pattern: String,
    /// File or directory (default: the workspace)
    path: Option<String>,
    /// Files to search, by name or path below `path`
    glob: Option<String>,
    /// Lines to show around each match (default 0)
    #[schemars(range(min = 0, max = 20))]
    context: Option<u64>,
    /// The pattern is plain text
    literal: Option<bool>,
    /// Upper and lower case are the same
    case_insensitive: Option<bool>,
    /// Only the names of files that match
    files_only: Option<bool>,
    /// Matches may span lines, and `.` matches a line end
    multiline: Option<bool>,
}

/// Why nothing was searched.
#[derive(Debug, thiserror::Error)]
enum GrepError {
    #[error(transparent)]
    Path(#[from] PathError),
    #[error(
        "the pattern is no regular expression: {message}\nTo search for it as plain text, set `literal`{hint}"
    )]
    Pattern { message: String, hint: &'static str },
    #[error("the glob is wrong: {0}. Give a simpler one, or search with several calls")]
    Bounds(BadGlob),
    #[error("the glob is wrong: {source}")]
    Glob { source: ignore::Error },
}

pub(crate) fn tool() -> WorkspaceTool {
    let refused = |args: &GrepArgs| format!("grep {}: not done", args.pattern);
    WorkspaceTool::new("grep", include_str!("grep.md"), true, refused, search)
}

fn search(args: &GrepArgs, context: &ToolContext) -> Result<ToolOutput, GrepError> {
    let path = args.path.as_deref().unwrap_or(".");
    let (real, stat) = context.workspace.stat(path)?;
    let matcher = matcher(args)?;
    let root = context.workspace.path().join(&real);
    let globs = globs(args, &root)?;
    let results = Mutex::new(Results::new(args.files_only(), context.limits));
    let search = GrepSearch { args, context, matcher, results };
    match kind(&stat) {
        FileType::Directory => search.walk(&real, globs),
        _ => {
            let open = context.workspace.open_file(path)?;
            search.file(&mut search.searcher(), &search.matcher, &open.file, open.real);
        }
    }
    let results = search.results.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    Ok(answer(args, &results, context))
}

impl GrepArgs {
    fn files_only(&self) -> bool {
        self.files_only.unwrap_or(false)
    }

    fn multiline(&self) -> bool {
        self.multiline.unwrap_or(false)
    }
}

fn matcher(args: &GrepArgs) -> Result<RegexMatcher, GrepError> {
    let multiline = args.multiline();
    let mut builder = RegexMatcherBuilder::new();
    builder
        .multi_line(true)
        .unicode(true)
        .octal(false)
        .size_limit(MAX_REGEX)
        .dfa_size_limit(MAX_CACHE)
        .case_insensitive(args.case_insensitive.unwrap_or(false))
        .fixed_strings(args.literal.unwrap_or(false))
        .dot_matches_new_line(multiline);
    if !multiline {
        builder.line_terminator(Some(b'\n'));
    }
    builder.build(&args.pattern).map_err(|error| {
        // What is built is the pattern in a group, and its error would point into that.
        let own = regex_syntax::parse(&args.pattern).err();
        let message = own.map_or_else(|| error.to_string(), |own| own.to_string());
        let spans = message.contains("not allowed");
        let message = cut_line(&message, SHOWN).0.to_owned();
        GrepError::Pattern {
            message,
            hint: if spans { "; to match across lines, set `multiline`" } else { "" },
        }
    })
}

fn globs(args: &GrepArgs, root: &Path) -> Result<Override, GrepError> {
    let mut builder = OverrideBuilder::new(root);
    if let Some(glob) = &args.glob {
        pattern::is_modest(glob.as_bytes()).map_err(GrepError::Bounds)?;
        builder.add(glob).map_err(|source| GrepError::Glob { source })?;
    }
    builder.build().map_err(|source| GrepError::Glob { source })
}

/// A file that ends where the call has to end: what was found before counts.
struct DeadlineReader<'a> {
    file: &'a File,
    deadline: &'a CallDeadline<'a>,
}

impl Read for DeadlineReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.deadline.may_go_on() { self.file.read(buffer) } else { Ok(0) }
    }
}

/// One search in files, shared by the threads that work on it.
struct GrepSearch<'a> {
    args: &'a GrepArgs,
    context: &'a ToolContext<'a>,
    matcher: RegexMatcher,
    results: Mutex<Results>,
}

impl GrepSearch<'_> {
    fn searcher(&self) -> Searcher {
        let around = usize::try_from(self.args.context.unwrap_or(0)).unwrap_or(0);
        SearcherBuilder::new()
            .binary_detection(BinaryDetection::quit(0))
            .multi_line(self.args.multiline())
            .heap_limit(Some(MAX_HEAP))
            .before_context(around)
            .after_context(around)
            .build()
    }

    /// Searches all files below `real`, with hidden and ignored ones left out as ripgrep does.
    fn walk(&self, real: &Path, globs: Override) {
        let root = self.context.workspace.path().join(real);
        let mut walk = WalkBuilder::new(&root);
        walk.overrides(globs);
        walk::guard(&mut walk, (self.context.workspace.path(), real), |_| true);
        let entries = walk.build().flatten().take_while(|_| self.context.deadline.may_go_on());
        parallel::for_each(entries, || {
            // Of its own for each thread: what a matcher works with is handed from thread to thread else.
            let (mut searcher, matcher) = (self.searcher(), self.matcher.clone());
            let root = &root;
            move |entry| {
                if let Some((file, real)) =
                    self.open(root, real, &entry).filter(|_| self.context.deadline.may_go_on())
                {
                    self.file(&mut searcher, &matcher, &file, real);
                }
            }
        });
    }

    /// A file is opened beneath the workspace's handle, not by the path that the walk found: a directory that has become
    /// a symlink meanwhile leads nowhere.
    fn open(&self, root: &Path, real: &Path, entry: &DirEntry) -> Option<(File, PathBuf)> {
        if !entry.file_type().is_some_and(|kind| kind.is_file()) {
            return None;
        }
        let real = real.join(entry.path().strip_prefix(root).ok()?);
        let fd = self.context.workspace.beneath(&real, READ).ok()?;
        let is_file = rustix::fs::fstat(&fd).is_ok_and(|stat| kind(&stat) == FileType::RegularFile);
        is_file.then(|| (fd.into(), real))
    }

    fn file(&self, searcher: &mut Searcher, matcher: &RegexMatcher, file: &File, real: PathBuf) {
        let limits = self.context.limits;
        let mut matches = Matches::new(matcher, self.context.deadline, limits, self.args.files_only());
        // A file that cannot be read is passed over, as those that cannot be opened are.
        let file = DeadlineReader { file, deadline: self.context.deadline };
        let searched = searcher.search_reader(matcher, file, &mut matches).is_ok();
        let found = matches.found(real);
        lock(&self.results).add(found.filter(|_| searched));
    }
}

fn answer(args: &GrepArgs, results: &Results, context: &ToolContext) -> ToolOutput {
    let mut text = results.text();
    if let Some(reason) = context.deadline.reason() {
        let _ = write!(text, "\n({reason}: not all files were searched; narrow the path or the glob)");
    }
    let mut facts = context.deadline.facts();
    facts.truncated |= results.is_truncated();
    let title = format!("grep {} ({})", args.pattern, results.summary());
    ToolOutput { text, title, is_error: facts.cancelled, facts }
}

#[cfg(test)]
#[path = "grep_tests.rs"]
mod tests;
