//! `edit_file`: one part of a file, named by its present text.

mod explain;
mod locate;
mod syntax;

use std::ops::Range;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::answer::ToolOutput;
use crate::limits::{bytes, count};
use crate::read_file;
use crate::read_state::Digest;
use crate::replace::{CurrentFile, WriteMethod, WriteTarget};
use crate::tool::{ToolContext, WorkspaceTool};
use crate::workspace::PathError;
use locate::{MatchKind, Plan, PlanError};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct EditFileArgs {
    /// File, relative to the workspace
    path: String,
    /// The present text, exactly
    old_string: String,
    /// The text in its place
    new_string: String,
    /// Replace every match (default false)
    replace_all: Option<bool>,
}

/// Why nothing was changed.
#[derive(Debug, thiserror::Error)]
enum EditError {
    #[error(transparent)]
    Path(#[from] PathError),
    #[error("old_string and new_string are the same; nothing was changed")]
    Same,
    #[error("`{path}` would stay as it is; nothing was changed")]
    NoChange { path: String },
    #[error(
        "old_string is empty and `{path}` exists; nothing was changed. Give the text to replace, or replace the whole \
         file with write_file"
    )]
    EmptyOld { path: String },
    #[error(
        "with every match replaced `{path}` would have {}, more than the {} that file tools change; nothing was changed. \
         Use run_command", bytes(*.size), bytes(*.limit)
    )]
    TooLong { path: String, size: u64, limit: u64 },
    #[error(
        "`{path}` is binary ({kind}, {}) and cannot be edited as text; nothing was changed. Use run_command",
        bytes(*.size)
    )]
    Binary { path: String, kind: &'static str, size: u64 },
    #[error("`{path}` is not valid UTF-8 and cannot be edited as text; nothing was changed. Use run_command")]
    NotText { path: String },
    #[error("{0}")]
    NoMatch(String),
}

pub(crate) fn tool() -> WorkspaceTool {
    let refused = |args: &EditFileArgs| format!("edit {}: not done", args.path);
    WorkspaceTool::new("edit_file", include_str!("edit_file.md"), false, refused, edit)
}

fn edit(args: &EditFileArgs, context: &ToolContext) -> Result<ToolOutput, EditError> {
    if args.old_string == args.new_string {
        return Err(EditError::Same);
    }
    context.change_file(&args.path, |target, present| match present {
        None if args.old_string.is_empty() => create(args, target, context),
        None => Err(context.workspace.missing(&args.path).into()),
        Some(present) => change(args, target, &present, context),
    })
}

fn create(args: &EditFileArgs, target: &WriteTarget, context: &ToolContext) -> Result<ToolOutput, EditError> {
    context.before_writing(target.path)?;
    target.store(None, args.new_string.as_bytes())?;
    let lines = count(args.new_string.lines().count() as u64, "line");
    let read_state = context.read_states.whole(target.real, Digest::of(args.new_string.as_bytes()));
    let facts = target.facts(None, args.new_string.clone(), read_state);
    let title = format!("created {} ({lines})", args.path);
    Ok(ToolOutput { facts, ..ToolOutput::done(title.clone(), title) })
}

fn change(
    args: &EditFileArgs,
    target: &WriteTarget,
    present: &CurrentFile,
    context: &ToolContext,
) -> Result<ToolOutput, EditError> {
    let path = || args.path.clone();
    if let Some(kind) = read_file::binary_kind(&present.content) {
        return Err(EditError::Binary { path: path(), kind, size: present.content.len() as u64 });
    }
    let content = std::str::from_utf8(&present.content).map_err(|_| EditError::NotText { path: path() })?;
    if args.old_string.is_empty() {
        return Err(EditError::EmptyOld { path: path() });
    }
    let all = args.replace_all.unwrap_or(false);
    let plan = locate::plan(content, &args.old_string, &args.new_string, all)
        .map_err(|no_plan| EditError::NoMatch(why(args, content, &no_plan)))?;
    let (size, limit) = (plan.length_of(content), context.limits.whole_file_bytes);
    if size > limit.max(content.len() as u64) {
        return Err(EditError::TooLong { path: path(), size, limit });
    }
    let (after, ranges) = apply(content, &plan);
    if after == content {
        return Err(EditError::NoChange { path: path() });
    }
    let stale = context.read_states.is_stale(target.real, Digest::of(&present.content));
    context.before_writing(target.path)?;
    let written = target.store(Some(present), after.as_bytes())?;
    let read_state =
        context.read_states.edited(target.real, Digest::of(&present.content), Digest::of(after.as_bytes()));
    let edit = Edit { before: content, after: &after, ranges, how: plan.how, stale, written };
    let (title, text) = edit.answer(&args.path);
    let facts = target.facts(Some(present), after, read_state);
    Ok(ToolOutput { facts, ..ToolOutput::done(title, text) })
}

fn why(args: &EditFileArgs, content: &str, no_plan: &PlanError) -> String {
    match no_plan {
        PlanError::Several(ranges) => explain::several(&args.path, content, ranges),
        PlanError::Indentation(range) => explain::indentation(&args.path, content, range),
        PlanError::Nowhere => explain::nowhere(&args.path, content, &args.old_string, &args.new_string),
    }
}

/// The content with the replacements made, and where they are in it.
fn apply(content: &str, plan: &Plan) -> (String, Vec<Range<usize>>) {
    let mut after = String::with_capacity(content.len());
    let mut ranges = Vec::with_capacity(plan.replacements.len());
    let mut from = 0;
    for (range, text) in &plan.replacements {
        after.push_str(&content[from..range.start]);
        let start = after.len();
        after.push_str(text);
        ranges.push(start..after.len());
        from = range.end;
    }
    after.push_str(&content[from..]);
    (after, ranges)
}

/// What was replaced by what: ranges before and after an edit.
#[cfg(feature = "fuzzing")]
pub(crate) type Replaced = Vec<(Range<usize>, Range<usize>)>;

/// The content after an edit; `None` when it does not apply.
#[cfg(feature = "fuzzing")]
pub(crate) fn planned(content: &str, old: &str, new: &str, all: bool) -> Option<(String, Replaced)> {
    let plan = locate::plan(content, old, new, all).ok()?;
    let (after, ranges) = apply(content, &plan);
    let replaced = plan.replacements.iter().map(|(range, _)| range.clone());
    Some((after, replaced.zip(ranges).collect()))
}

/// An edit that was made, for its answer.
struct Edit<'a> {
    before: &'a str,
    after: &'a str,
    ranges: Vec<Range<usize>>,
    how: MatchKind,
    stale: bool,
    written: WriteMethod,
}

impl Edit<'_> {
    fn answer(&self, path: &str) -> (String, String) {
        let replaced = count(self.ranges.len() as u64, "replacement");
        let title = format!("edited {path} ({replaced})");
        let mut text = format!("{title}\n");
        for note in self.notes(path) {
            text.push_str(&format!("note: {note}\n"));
        }
        text.push_str(&explain::changed(self.after, &self.ranges));
        (title, text)
    }

    fn notes(&self, path: &str) -> Vec<String> {
        let how = match self.how {
            MatchKind::Exact | MatchKind::LineEnds => None,
            MatchKind::WhiteSpace => Some(
                "old_string matched these lines but for white space; new_string was indented as the file is",
            ),
        };
        let stale = self.stale.then_some("the file had changed since this run last saw it");
        let broken = syntax::broken(path, self.before, self.after);
        how.into_iter().chain(stale).map(str::to_owned).chain(self.written.note()).chain(broken).collect()
    }
}

#[cfg(test)]
#[path = "edit_file_tests.rs"]
mod tests;
